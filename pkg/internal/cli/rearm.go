package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

func rearmCommand(c Command) *cobra.Command {
	var request rest.Rearm
	var endedSince string
	cmd := helpOf("rearm", arguments(0, 0))
	cmd.Flags().BoolVar(&request.DryRun, "dry-run", false, "print what would be sent, and send nothing")
	cmd.Flags().BoolVar(&request.Calls, "calls", false, "the task queue lost messages, too: queue long calls again; one that is under way is made twice")
	cmd.Flags().BoolVar(&request.Notices, "notices", false, "notices were lost, too: send those of open waits again; a receiver discards the second one of an id")
	cmd.Flags().StringVar(&endedSince, "ended-since", "", "also report again the ends of executions that started since then: 24h, 7d, or an instant")
	return c.remote(cmd, func(ctx context.Context, a *target.Client, _ []string) (view.Result, error) {
		since, err := parseInstant(endedSince, time.Now())
		if err != nil {
			return view.Result{}, view.Usage("--ended-since "+err.Error(), "--ended-since 24h")
		}
		found, err := rearmAll(ctx, a, request)
		if err == nil && endedSince != "" {
			request.EndedSince = since.UTC().Format(time.RFC3339Nano)
			var ended []rest.Rearmed
			ended, err = rearmAll(ctx, a, request)
			found = append(found, ended...)
		}
		if err != nil {
			return view.Result{}, err
		}
		return view.Result{
			Form: "rearm", JSON: map[string]any{"dryRun": request.DryRun, "rearmed": append([]rest.Rearmed{}, found...)},
			Text: rearmText(found, request.DryRun),
		}, nil
	})
}

// rearmAll requests one page after the other. Run an interrupted command again: a repeated message
// changes nothing.
func rearmAll(ctx context.Context, a *target.Client, request rest.Rearm) (found []rest.Rearmed, err error) {
	for {
		page, err := a.Rearm(ctx, request)
		if err != nil {
			return found, err
		}
		found = append(found, page.Rearmed...)
		if request.After = page.Next; page.Next == "" {
			return found, nil
		}
	}
}

// rearmText returns a row for each execution and wait that was found, and a summary.
func rearmText(found []rest.Rearmed, dryRun bool) string {
	var rows [][]string
	failed, notices := 0, 0
	for _, f := range found {
		what := f.Flow + "/" + f.Execution
		switch {
		case f.Recipient != "":
			what = "wait of " + f.Recipient + " " + f.Token
		case f.Flow == "":
			what = "id " + f.ID
		}
		note := ""
		switch {
		case f.Problem != "":
			note = "nothing sent: " + f.Problem
			failed++
		case f.OverdueSeconds > 0:
			note = "overdue by " + (time.Duration(f.OverdueSeconds) * time.Second).String()
		}
		notices += f.Notices
		rows = append(rows, []string{what, strings.Join(f.Needs, ", "), note})
	}
	text := fmt.Sprintf("rearmed %d", len(found)-failed)
	if dryRun {
		text = fmt.Sprintf("would rearm %d", len(found)-failed)
	}
	if notices > 0 {
		text += fmt.Sprintf(", notices of open waits: %d", notices)
	}
	if failed > 0 {
		text += fmt.Sprintf(", and %d cannot be rearmed", failed)
	}
	return view.Columns(rows) + view.Line("%s", text)
}
