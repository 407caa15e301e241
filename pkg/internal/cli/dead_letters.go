package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// onLetters makes a command on the dead letters of a stack. Letters that it received and did not
// delete are released at its end.
func (c Command) onLetters(
	cmd *cobra.Command, run func(ctx context.Context, m *mailbox, args []string) (view.Result, error),
) *cobra.Command {
	var stack string
	var queues []string
	cmd.Flags().StringVar(&stack, "stack", "", "the name of a deployed stack (default: WAITLESS_STACK)")
	cmd.Flags().StringSliceVar(&queues, "queue", nil, "only this dead-letter queue, like WakeDeadLetters; several with commas")
	return c.plain(cmd, func(ctx context.Context, args []string) (result view.Result, err error) {
		m, err := c.openMailbox(ctx, stack, queues)
		if err != nil {
			return result, err
		}
		defer func() {
			// Also after an interrupt: letters that stay hidden look lost.
			if releaseErr := m.Release(context.WithoutCancel(ctx), slices.Collect(maps.Values(m.held))); err == nil && releaseErr != nil {
				err = lettersError(releaseErr)
			}
		}()
		return run(ctx, m, args)
	})
}

func (c Command) openMailbox(ctx context.Context, stack string, queues []string) (*mailbox, error) {
	place, err := c.locate(target.Place{Stack: stack})
	if err != nil {
		return nil, err
	}
	if place.Stack == "" {
		return nil, view.Usage("dead letters are those of a stack, and none is named", "--stack NAME")
	}
	account, err := c.openAWS(ctx, false)
	if err != nil {
		return nil, err
	}
	if _, err := target.Output(ctx, account, place.Stack, target.CallbackOutput); err != nil { // it is no stack of Waitless
		return nil, err
	}
	letters, err := account.DeadLetters(ctx, place.Stack)
	if err != nil {
		return nil, target.AWSError(err)
	}
	m := &mailbox{DeadLetters: letters, stack: place.Stack, queues: queues, held: map[string]target.Letter{}, notes: c.Stderr}
	for _, queue := range queues {
		if all := letters.Queues(); !slices.Contains(all, queue) {
			return nil, view.Usage(fmt.Sprintf("the stack has no dead-letter queue %q", queue), "--queue "+strings.Join(all, ","))
		}
	}
	if len(m.queues) == 0 {
		m.queues = letters.Queues()
	}
	return m, nil
}

// mailbox are the dead-letter queues that a command works on.
type mailbox struct {
	target.DeadLetters
	stack  string
	queues []string
	held   map[string]target.Letter // that were received and not deleted
	notes  io.Writer                // of the messages that are left out
}

// note prints a line beside the result. An error is ignored: there is no other place to report to.
func (m *mailbox) note(format string, args ...any) {
	_, _ = io.WriteString(m.notes, view.Line(format, args...))
}

// each calls f with each letter until f returns false. It notes queues that were deleted, and fails
// if there is no other.
func (m *mailbox) each(ctx context.Context, f func(target.Letter) (more bool, err error)) error {
	missing := 0
	for _, queue := range m.queues {
		more, err := m.eachOf(ctx, queue, f)
		switch {
		case errors.Is(err, target.ErrNoQueue):
			missing++
			m.note("waitless: %s: %v; try: waitless doctor --stack %s", queue, err, m.stack)
		case err != nil || !more:
			return err
		}
	}
	if missing > 0 && missing == len(m.queues) {
		return view.Internal("no dead-letter queue could be read", "waitless doctor --stack "+m.stack+", or --queue ANOTHER-QUEUE")
	}
	return nil
}

// eachOf is each for one queue. A letter that comes a second time ends the queue: all were seen.
func (m *mailbox) eachOf(ctx context.Context, queue string, f func(target.Letter) (more bool, err error)) (more bool, err error) {
	seen := map[string]bool{}
	for {
		letters, err := m.Receive(ctx, queue)
		if errors.Is(err, target.ErrNoQueue) {
			return true, err
		}
		if err != nil {
			return false, lettersError(err)
		}
		for _, letter := range letters {
			m.held[letter.ID] = letter
		}
		if len(letters) == 0 || seen[letters[0].ID] {
			return true, nil
		}
		for _, letter := range letters {
			seen[letter.ID] = true
			if more, err := f(letter); err != nil || !more {
				return false, err
			}
		}
	}
}

// lettersError returns an error of SQS as it is shown.
func lettersError(err error) error {
	if errors.Is(err, target.ErrNoQueue) {
		return view.Internal(err.Error(), "waitless docs recovery, which says how to create a deleted queue again")
	}
	if strings.Contains(err.Error(), "AccessDenied") {
		return view.Internal(err.Error(), "the rights in waitless docs recovery, and your role in the setting Operators of the stack")
	}
	return target.AWSError(err)
}

// mostLetters is how many letters are listed without --limit.
const mostLetters = 100

func deadLettersListCommand(c Command) *cobra.Command {
	limit := mostLetters
	cmd := helpOf("dead-letters list", func(cmd *cobra.Command, args []string) error {
		if limit < 0 {
			return view.Usage(fmt.Sprintf("--limit is %d; allowed: a number of letters, or 0 for all", limit), "--limit 10")
		}
		return arguments(0, 0)(cmd, args)
	})
	cmd.Flags().IntVar(&limit, "limit", mostLetters, "how many; 0 means all")
	return c.onLetters(cmd, func(ctx context.Context, m *mailbox, _ []string) (view.Result, error) {
		letters, more := []target.Letter{}, false
		err := m.each(ctx, func(letter target.Letter) (bool, error) {
			if more = limit > 0 && len(letters) == limit; !more {
				letters = append(letters, letter)
			}
			return !more, nil
		})
		text := ""
		if len(letters) == 0 {
			text = view.Line("no dead letters")
		}
		if more {
			text += view.Line("there are more; --limit 0 lists all")
		}
		report := map[string]any{"stack": m.stack, "letters": letters, "more": more}
		return view.Result{Form: "dead-letters", JSON: report, Rows: letterRows(letters, time.Now()), Text: text}, err
	})
}

func letterRows(letters []target.Letter, now time.Time) (rows [][]string) {
	for _, l := range letters {
		var about []string
		for _, key := range slices.Sorted(maps.Keys(l.About)) {
			about = append(about, key+"="+l.About[key])
		}
		age := now.Sub(l.SentTime).Truncate(time.Second)
		kind := l.Kind
		if kind == "" {
			kind = "unreadable"
		}
		rows = append(rows, []string{
			l.ID, l.Queue, kind, strings.Join(about, " "), fmt.Sprintf("sent %s ago, received %d times", age, l.Receives), l.Problem,
		})
	}
	return rows
}

// finishing is the work of a command on letters before they are deleted.
type finishing struct {
	name, done   string
	onlyReadable bool // with --all: the functions would discard the others
	finish       func(target.DeadLetters, context.Context, target.Letter) error
}

func deadLettersFinishCommand(c Command, f finishing) *cobra.Command {
	var all bool
	cmd := helpOf(f.name, func(_ *cobra.Command, ids []string) error {
		if all == (len(ids) > 0) {
			return view.Usage("name the ids of letters, or --all", "waitless dead-letters list --stack NAME")
		}
		return nil
	})
	cmd.Flags().BoolVar(&all, "all", false, "all letters of the queues")
	return c.onLetters(cmd, func(ctx context.Context, m *mailbox, ids []string) (view.Result, error) {
		left, finished, unreadable := slices.Clone(ids), []target.Letter{}, []string(nil)
		err := m.each(ctx, func(letter target.Letter) (bool, error) {
			if i := slices.Index(left, letter.ID); i >= 0 {
				left = slices.Delete(left, i, i+1)
			} else if !all {
				return true, nil
			} else if f.onlyReadable && letter.Kind == "" {
				unreadable = append(unreadable, letter.ID)
				return true, nil
			}
			if err := f.finish(m, ctx, letter); err != nil {
				return false, lettersError(err)
			}
			delete(m.held, letter.ID)
			finished = append(finished, letter)
			return all || len(left) > 0, nil
		})
		if err == nil && len(left) > 0 {
			err = &view.Failure{
				Exit: view.ExitFailed, What: f.name + ": " + strings.Join(left, ", "),
				Why: fmt.Sprintf("no such dead letter: it is gone, or another command hides it for two minutes; %s %d", f.done, len(finished)),
				Try: "waitless dead-letters list --stack " + m.stack,
			}
		}
		form := map[string]any{"stack": m.stack, "letters": finished, "more": false}
		if len(unreadable) > 0 {
			form["left"] = unreadable
			m.note("waitless: left %s that cannot be read: %s; try: waitless dead-letters list --stack %s --json, then drop or replay by ID",
				flow.Count(len(unreadable), "letter"), strings.Join(unreadable, ", "), m.stack)
		}
		text := view.Columns(letterRows(finished, time.Now())) + view.Line("%s %d", f.done, len(finished))
		return view.Result{Form: "dead-letters", JSON: form, Text: text}, err
	})
}
