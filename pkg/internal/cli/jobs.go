package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/jobs"
)

// jobKind is one kind of jobs.
type jobKind struct {
	Kind     string `json:"kind"`
	Action   string `json:"action,omitempty"`   // that starts one
	Describe string `json:"describe,omitempty"` // the operation that tells how one is
	Source   string `json:"source,omitempty"`   // of its events
	Once     string `json:"once"`               // the protection from a second start
}

func jobsListCommand(c Command) *cobra.Command {

	cmd := helpOf("jobs list", arguments(0, 0))
	registerConfig(cmd.Flags())
	return c.plain(cmd, func(context.Context, []string) (view.Result, error) {
		var kinds []jobKind
		var rows [][]string
		for _, k := range c.kinds.Kinds() {
			kind := jobKind{Kind: k.Name, Source: k.Source, Once: string(k.Once)}
			if k.Service != "" {
				kind.Action = k.Service + ":" + k.StartOp
			}
			if k.DescribeOp != "" {
				kind.Describe = k.Service + ":" + k.DescribeOp
			}
			again := map[jobs.Once]string{ // the effect of a repeated start
				jobs.OnceNot:     "a repeated start is a second job",
				jobs.OnceByName:  "a repeated start is known by its name",
				jobs.OnceByToken: "a repeated start is known by its token",
				jobs.OnceBusy:    "a repeated start is refused while it runs",
			}[k.Once]
			if k.Service == "" {
				again = "-"
			} else if !k.HasEnd() {
				again = "a repeated start is a second message, unless its queue or topic is a FIFO one"
			}
			kinds = append(kinds, kind)
			rows = append(rows, []string{k.Name, cmp.Or(kind.Action, "-"), cmp.Or(k.Source, "-"), again})
		}
		return view.Result{Form: "jobs", JSON: map[string]any{"kinds": kinds}, Rows: rows}, nil
	})
}

// kindNames are the kinds that have rights to show.
func kindNames() (names []string) {
	for _, kind := range jobs.Kinds() {
		if kind.Service != "" {
			names = append(names, kind.Name)
		}
	}
	return names
}

// findKind returns the named kind if a service runs its jobs.
func findKind(name string) (jobs.Kind, error) {
	names := kindNames()
	switch kind, ok := jobs.Find(name); {
	case !ok:
		why := fmt.Sprintf("%q is no kind of jobs%s", name, similar.MeantOrKnown(name, names))
		return kind, view.Usage(why, "waitless jobs list, or waitless jobs iam dynamodb:PutItem for an operation")
	case kind.Custom():
		return kind, view.Usage("a function of yours starts jobs of this kind; the setting JobKindFunctions of the stack gives the right to invoke it",
			"JobKindFunctions: ARN in the mappings of template.yaml, then sam deploy")
	case kind.Service == "":
		return kind, view.Usage("no service stands behind this kind, so it needs no rights", "waitless jobs list")
	default:
		return kind, nil
	}
}
