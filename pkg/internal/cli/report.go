package cli

import (
	"embed"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// schemas are the JSON Schemas of everything that --json prints.
//
//go:embed schema/*.json
var schemas embed.FS

// runReport is the JSON of run; schema/run.json describes it.
type runReport struct {
	Flow           string         `json:"flow"`
	Execution      string         `json:"execution"`
	Status         machine.Status `json:"status"`
	Input          value.Value    `json:"input"`
	Output         *value.Value   `json:"output,omitempty"`
	Error          string         `json:"error,omitempty"`
	Cause          string         `json:"cause,omitempty"`
	StartedTime    string         `json:"startedTime"`
	StoppedTime    string         `json:"stoppedTime"`
	ElapsedSeconds float64        `json:"elapsedSeconds"`
	Calls          map[string]int `json:"calls"`
	History        []eventReport  `json:"history"`
}

func runReportOf(flow *flow.Flow, state machine.State, events []machine.Event) runReport {
	r := runReport{
		Flow: state.Flow.Name, Execution: state.Execution, Status: state.Status,
		Input: state.Input, Error: state.Error, Cause: state.Cause,
		StartedTime: state.Started.UTC().Format(machine.TimeFormat), StoppedTime: state.At.UTC().Format(machine.TimeFormat),
		ElapsedSeconds: state.At.Sub(state.Started).Seconds(), Calls: map[string]int{},
	}
	if !state.Output.IsMissing() {
		r.Output = &state.Output
	}
	for _, e := range events {
		h := e.Render(flow)
		h.EventDetail = token.MaskAll(h.EventDetail)
		r.History = append(r.History, eventReportOf(h))
		if e.Type == machine.TaskStarted {
			r.Calls[flow.All[e.Step].Name]++ // of polls the first one
		}
		if e.Polls > 1 {
			r.Calls[flow.All[e.Step].Name] += e.Polls - 1
		}
	}
	return r
}

// jsonTopic is the help topic that shows the schemas below their titles.
func jsonTopic() *cobra.Command {
	topic := &cobra.Command{Use: "json", Short: "What --json prints, as JSON Schemas", Example: "  waitless run flow.yaml --skip-time --json"}
	topic.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		cmd.Long = "With --json a command prints one JSON object; history --follow prints one a line. The member \"schema\" names the form and its version;\n" +
			"members may be added to a version, none is removed or changes its meaning.\n"
		for _, name := range []string{
			"run", "execution", "executions", "history", "event", "tokens", "token", "callback", "flow", "flows", "jobs", "policy", "job-event", "job-events",
			"dev", "validate", "advise", "init", "samples", "docs", "version",
		} {
			schema, _ := schemas.ReadFile("schema/" + name + ".json") // embedded, so it is there
			var of struct{ Title string }
			_ = json.Unmarshal(schema, &of) // a test compiles it
			cmd.Long += fmt.Sprintf("\n%s:\n\n%s", of.Title, schema)
		}
		cmd.Root().HelpFunc()(cmd, args)
	})
	return topic
}
