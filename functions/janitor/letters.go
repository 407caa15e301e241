package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path"
	"slices"

	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/telemetry"
)

// mostReplays is how often a dead wake is sent again before its execution fails. Each time the
// queue delivers it a thousand times.
const mostReplays = 2

// mailbox has the dead letters of the wake queue. [sqs.DeadLetters] implements it.
type mailbox interface {
	Receive(ctx context.Context) ([]sqs.Letter, error)
	ReplayCounted(ctx context.Context, letter sqs.Letter) error
	Drop(ctx context.Context, letter sqs.Letter) error
	Release(ctx context.Context, letters []sqs.Letter) error
}

// counter counts the letters of another queue.
type counter interface {
	Count(ctx context.Context) (int, error)
}

// deadWakes handles dead letters (rule 13). A wake is sent again twice. After that its execution
// fails if it depends on the wake. All other letters are left for the operator. A letter is deleted
// after it was handled, so a crash loses none.
type deadWakes struct {
	letters mailbox
	abandon func(ctx context.Context, wake engine.Wake, cause error) (engine.Abandoned, error)
	others  map[string]counter // by the URLs of their queues
	log     *slog.Logger
	metrics telemetry.Sink
}

// handled counts letters by their disposition.
type handled map[string]int

// The dispositions of a letter.
const (
	replayed = "replayed"
	failed   = "failed"  // the execution or the branch
	dropped  = "dropped" // the wake does not apply any more
	left     = "left"    // for the operator, or for the next run
)

func (d deadWakes) run(ctx context.Context) (handled, error) {
	done := handled{}
	err := d.handleAll(ctx, done)
	d.metrics.Add(telemetry.WakesReplayed, "", float64(done[replayed]))
	d.metrics.Add(telemetry.ExecutionsAbandoned, "", float64(done[failed]))
	for url, letters := range d.others {
		n, countErr := letters.Count(ctx)
		err = errors.Join(err, countErr)
		if n > 0 {
			done[left] += n
			d.log.WarnContext(ctx, "dead letters", "queue", path.Base(url), "count", n, "try", "waitless dead-letters list")
		}
	}
	d.metrics.Add(telemetry.DeadLettersLeft, "", float64(done[left]))
	return done, err
}

// handleAll handles each letter of the wake queue once. It releases the letters that it leaves, so
// they can be received again at once.
func (d deadWakes) handleAll(ctx context.Context, done handled) (err error) {
	seen, kept := map[string]bool{}, map[string]sqs.Letter{}
	for hasTime(ctx) {
		letters, receiveErr := d.letters.Receive(ctx)
		err = errors.Join(err, receiveErr)
		for _, letter := range letters {
			kept[letter.ID] = letter
		}
		if len(letters) == 0 || seen[letters[0].ID] {
			break
		}
		for _, letter := range letters {
			what, handleErr := d.decide(ctx, letter)
			err = errors.Join(err, handleErr)
			attrs := []any{"kind", letter.Kind, "outcome", what, "receives", letter.Receives, "replays", letter.Replays}
			for _, name := range slices.Sorted(maps.Keys(letter.About)) {
				attrs = append(attrs, name, letter.About[name])
			}
			if handleErr != nil {
				attrs = append(attrs, "error", handleErr.Error())
			}
			d.log.WarnContext(ctx, "dead letter", attrs...)
			if seen[letter.ID] = true; what != left {
				delete(kept, letter.ID)
			}
			done[what]++
		}
	}
	return errors.Join(err, d.letters.Release(ctx, slices.Collect(maps.Values(kept))))
}

// decide handles one letter and returns its disposition. After the last replay it ends the
// execution or branch that depends on the wake, and deletes the letter.
func (d deadWakes) decide(ctx context.Context, letter sqs.Letter) (what string, err error) {
	if letter.Wake == nil {
		return left, nil
	}
	if what = replayed; letter.Replays < mostReplays {
		err = d.letters.ReplayCounted(ctx, letter)
	} else {
		cause := fmt.Errorf("a message to continue it failed %d times, and each replay too; the log of the interpreter has the cause", letter.Receives)
		abandoned, abandonErr := d.abandon(ctx, *letter.Wake, cause)
		if abandonErr != nil || abandoned == engine.AbandonedNot {
			return left, abandonErr
		}
		if what = dropped; abandoned == engine.AbandonedExecution {
			what = failed
		}
		err = d.letters.Drop(ctx, letter)
	}
	if err != nil {
		return left, err
	}
	return what, nil
}
