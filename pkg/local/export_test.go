package local

import (
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/value"
)

// EventOf is the event that a script has, of the job that StartJob answered with.
func EventOf(event string, started value.Value) string {
	return string((&scriptEvent{text: []byte(event)}).of(started, time.Time{}))
}

// Patience is how long a test waits for what happens at once.
const Patience = time.Minute

// Within returns what the channel gives, or fails the test after a while.
func Within[T any](t *testing.T, signal <-chan T, what string) T {
	t.Helper()
	select {
	case given := <-signal:
		return given
	case <-time.After(Patience):
		t.Fatalf("%s does not come within %s", what, Patience)
	}
	panic("unreachable")
}
