package machinetest

import (
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

//go:embed flows
var files embed.FS

// Case is a flow of the folder flows, with an input and the end that its author wants.
type Case struct {
	Name string
	Flow []byte
	// Subflows are the flows that it starts, by their names.
	Subflows map[string][]byte
	Input    value.Value
	// Replies close tokens, each as often as its step waits.
	Replies map[string]Reply
	Want    Want
}

// Want is the end of an execution as its author sees it.
type Want struct {
	Output  any     // of a success
	Error   string  // of a failure
	Seconds float64 // until the end
	Calls   int
}

// file is a file of the folder.
type file struct {
	Flow     yaml.Node
	Subflows map[string]yaml.Node
	Input    any
	Answers  []struct {
		Step         string
		AfterSeconds float64 `yaml:"afterSeconds"`
		Output       any
		Error        string
	}
	Want Want
}

// Cases returns all cases.
func Cases() ([]Case, error) {
	entries, err := files.ReadDir("flows")
	if err != nil {
		return nil, fmt.Errorf("read the flows: %w", err)
	}
	var cases []Case
	for _, entry := range entries {
		c, err := readCase(entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", entry.Name(), err)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

func readCase(name string) (Case, error) {
	c := Case{Name: strings.TrimSuffix(name, ".yaml"), Subflows: map[string][]byte{}, Replies: map[string]Reply{}}
	text, err := files.ReadFile(path.Join("flows", name))
	if err != nil {
		return c, err
	}
	var read file
	if err := yaml.Load(text, &read, yaml.WithKnownFields()); err != nil {
		return c, err
	}
	if c.Flow, err = yaml.Dump(&read.Flow); err != nil {
		return c, err
	}
	for name, node := range read.Subflows {
		if c.Subflows[name], err = yaml.Dump(&node); err != nil {
			return c, err
		}
	}
	if c.Input, err = toValue(read.Input); err != nil {
		return c, err
	}
	for _, answer := range read.Answers {
		output, err := toValue(answer.Output)
		if err != nil {
			return c, err
		}
		reply := Reply{time.Duration(answer.AfterSeconds * float64(time.Second)), token.Success(output)}
		if answer.Error != "" {
			reply.Outcome = token.Failure(answer.Error, "why")
		}
		c.Replies[answer.Step] = reply
	}
	c.Want = read.Want
	return c, nil
}

// Parse parses definitions that have no problems.
func Parse(texts map[string][]byte) (map[string]*flow.Flow, error) {
	flows := map[string]*flow.Flow{}
	for name, text := range texts {
		flow, problems := fdl.Parse(text)
		if flow == nil {
			return nil, fmt.Errorf("flow %s: %v\n%s", name, problems, text)
		}
		flows[name] = flow
	}
	return flows, nil
}

// toValue returns a value of YAML; nothing is {}.
func toValue(v any) (value.Value, error) {
	if v == nil {
		return value.Object(), nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return value.Value{}, err
	}
	return value.ParseJSON(text)
}

// Differs returns how an end differs from the wanted one, "" if it does not.
func (want Want) Differs(got End, epoch time.Time) string {
	output, err := toValue(want.Output)
	failure := strings.Join(got.Failures, " or ")
	switch {
	case err != nil:
		return err.Error()
	case failure != want.Error:
		return fmt.Sprintf("failure %q, want %q", failure, want.Error)
	case failure == "" && got.Local.JSON() != output.JSON():
		return fmt.Sprintf("output %s, want %s", got.Local, output)
	case got.At.Sub(epoch).Seconds() != want.Seconds:
		return fmt.Sprintf("ends after %s, want %v s", got.At.Sub(epoch), want.Seconds)
	case len(got.Calls) != want.Calls:
		return fmt.Sprintf("%d calls, want %d", len(got.Calls), want.Calls)
	}
	return ""
}
