package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/cli/target"
	"github.com/waitless/waitless/pkg/cli/view"
)

func deadLettersCommand(c Command) *cobra.Command {
	return group(helpOf("dead-letters", nil), deadLettersListCommand(c),
		deadLettersFinishCommand(c, "dead-letters replay", "replayed", target.DeadLetters.Replay),
		deadLettersFinishCommand(c, "dead-letters drop", "dropped", target.DeadLetters.Drop))
}

// letterOptions are the flags of the commands on dead letters.
type letterOptions struct {
	stack  string
	queues []string
}

// onLetters makes a command on the dead letters of a stack. Those that it received and did not delete are released at its end.
func (c Command) onLetters(
	cmd *cobra.Command, run func(ctx context.Context, m *mailbox, args []string) (view.Result, error),
) *cobra.Command {
	var o letterOptions
	cmd.Flags().StringVar(&o.stack, "stack", "", "the name of a deployed stack (default: WAITLESS_STACK)")
	cmd.Flags().StringSliceVar(&o.queues, "queue", nil, "only this dead-letter queue, like WakeDeadLetters; several with commas")
	return c.plain(cmd, func(ctx context.Context, args []string) (result view.Result, err error) {
		m, err := c.openMailbox(ctx, o)
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

func (c Command) openMailbox(ctx context.Context, o letterOptions) (*mailbox, error) {
	place, err := c.locate(target.Place{Stack: o.stack})
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
	m := &mailbox{DeadLetters: letters, stack: place.Stack, queues: o.queues, held: map[string]target.Letter{}}
	for _, queue := range o.queues {
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
}

// each calls f with each letter until f returns false. A letter that comes a second time ends the queue: all were seen.
func (m *mailbox) each(ctx context.Context, f func(target.Letter) (more bool, err error)) error {
	seen := map[string]bool{}
	for _, queue := range m.queues {
		for {
			letters, err := m.Receive(ctx, queue)
			if err != nil {
				return lettersError(err)
			}
			for _, letter := range letters {
				m.held[letter.ID] = letter
			}
			if len(letters) == 0 || seen[letters[0].ID] {
				break
			}
			for _, letter := range letters {
				seen[letter.ID] = true
				if more, err := f(letter); err != nil || !more {
					return err
				}
			}
		}
	}
	return nil
}

// lettersError returns an error of SQS as it is shown.
func lettersError(err error) error {
	if strings.Contains(err.Error(), "AccessDenied") {
		return view.Internal(err.Error(), "the rights in waitless docs recovery, and your role in the parameter Operators of the stack")
	}
	return target.AWSError(err)
}

// mostLetters is how many letters are listed without --limit.
const mostLetters = 100

func deadLettersListCommand(c Command) *cobra.Command {
	limit := mostLetters
	cmd := helpOf("dead-letters list", arguments(0, 0))
	cmd.Flags().IntVar(&limit, "limit", mostLetters, "how many; 0 means all")
	return c.onLetters(cmd, func(ctx context.Context, m *mailbox, _ []string) (view.Result, error) {
		letters, more := []target.Letter{}, false
		err := m.each(ctx, func(letter target.Letter) (bool, error) {
			if more = limit > 0 && len(letters) == limit; !more {
				letters = append(letters, letter)
			}
			return !more, nil
		})
		text := view.Columns(letterRows(letters, time.Now()))
		if more {
			text += view.Line("there are more; --limit 0 lists all")
		}
		return view.Result{Form: "dead-letters", JSON: map[string]any{"stack": m.stack, "letters": letters, "more": more}, Text: text}, err
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

// deadLettersFinishCommand makes a command that deletes letters after something was done with them.
func deadLettersFinishCommand(
	c Command, name, done string, finish func(target.DeadLetters, context.Context, target.Letter) error,
) *cobra.Command {
	var all bool
	cmd := helpOf(name, func(_ *cobra.Command, ids []string) error {
		if all == (len(ids) > 0) {
			return view.Usage("name the ids of letters, or --all", "waitless dead-letters list --stack NAME")
		}
		return nil
	})
	cmd.Flags().BoolVar(&all, "all", false, "all letters of the queues")
	return c.onLetters(cmd, func(ctx context.Context, m *mailbox, ids []string) (view.Result, error) {
		left, finished := slices.Clone(ids), []target.Letter{}
		err := m.each(ctx, func(letter target.Letter) (bool, error) {
			if i := slices.Index(left, letter.ID); i >= 0 {
				left = slices.Delete(left, i, i+1)
			} else if !all {
				return true, nil
			}
			if err := finish(m, ctx, letter); err != nil {
				return false, lettersError(err)
			}
			delete(m.held, letter.ID)
			finished = append(finished, letter)
			return all || len(left) > 0, nil
		})
		result := view.Result{
			Form: "dead-letters", JSON: map[string]any{"stack": m.stack, "letters": finished, "more": false},
			Text: view.Columns(letterRows(finished, time.Now())) + view.Line("%s %d", done, len(finished)),
		}
		if err == nil && len(left) > 0 {
			why := "no dead letter " + strings.Join(left, ", ") + ": it is gone, or another command hides it for two minutes"
			return result, &view.Failure{Exit: ExitFailed, Why: fmt.Sprintf("%s %d; %s", done, len(finished), why)}
		}
		return result, err
	})
}
