package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/events"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// sampleEntry is one sample in the JSON of samples; schema/samples.json describes it.
type sampleEntry struct {
	Name     string   `json:"name"`
	Shows    string   `json:"shows"`
	Commands []string `json:"commands"` // each runs the sample
}

// runsHere and runsOnStack are the commands that run the sample of a name. The second one is for a
// clone of the repository.
func runsHere(name string) string { return "waitless init my-project --sample " + name + " --run" }

func runsOnStack(name string) string { return "make sample NAME=" + name }

func samplesCommand(c Command) *cobra.Command {
	return c.plain(helpOf("samples", arguments(0, 0)), func(context.Context, []string) (view.Result, error) {
		var entries []sampleEntry
		for _, sample := range events.Samples() {
			entries = append(entries, sampleEntry{sample, events.Description(sample), []string{runsHere(sample), runsOnStack(sample)}})
		}
		for _, sample := range events.Deployed() {
			entries = append(entries, sampleEntry{sample, events.Description(sample), []string{runsOnStack(sample)}})
		}
		text := "Flows, on this machine:\n  " + runsHere("SAMPLE") + "\nThe same on a stack, in a clone of the repository:\n  " + runsOnStack("SAMPLE") + "\n" +
			view.Columns(described(events.Samples())) +
			"Other engines that wait, beside a stack:\n  " + runsOnStack("SAMPLE") + "\n" + view.Columns(described(events.Deployed()))
		return view.Result{Form: "samples", JSON: map[string]any{"samples": entries}, Text: text}, nil
	})
}
