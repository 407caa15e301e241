package failpoints

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
)

// The decorated ports are those of the engine that ships: what it extends, sends together and holds
// back reaches the store and the queue. With decorators that lost these methods, no killed worker
// used them.
func TestDecoratorsPassEachMethodOn(t *testing.T) {
	t.Parallel()
	var met ports
	on := &trail{last: "receive"}
	log, queue := engine.Log(Log{met.log(), on}), engine.Wakes(wakes{met.queue(), on})
	if err := log.Extend(t.Context(), time.Time{}, engine.ItemKey{}); err != nil {
		t.Error(err)
	}
	if err := queue.SendAll(t.Context(), []engine.Wake{{}, {}}); err != nil {
		t.Error(err)
	}
	if on.last != "send lanes" {
		t.Errorf("the last gap is before %q", on.last)
	}
	queue.HoldBack(engine.ID{})()
	if want := []string{"extend", "send 2", "hold back", "release"}; !slices.Equal(met, want) {
		t.Errorf("%q, want %q", met, want)
	}
	if on.last != "release" {
		t.Errorf("the last gap is before %q", on.last)
	}
}

// ports notes what reaches a log and a queue.
type ports []string

func (p *ports) log() engine.Log     { return noted{ports: p} }
func (p *ports) queue() engine.Wakes { return queued{ports: p} }

type noted struct {
	engine.Log
	*ports
}

func (n noted) Extend(context.Context, time.Time, ...engine.ItemKey) error {
	*n.ports = append(*n.ports, "extend")
	return nil
}

type queued struct {
	engine.Wakes
	*ports
}

func (q queued) SendAll(_ context.Context, wakes []engine.Wake) error {
	*q.ports = append(*q.ports, "send "+string(rune('0'+len(wakes))))
	return nil
}

func (q queued) HoldBack(engine.ID) (release func()) {
	*q.ports = append(*q.ports, "hold back")
	return func() { *q.ports = append(*q.ports, "release") }
}
