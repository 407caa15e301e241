package local

import (
	"time"

	"github.com/waitless/waitless/pkg/value"
)

// EventOf is the event that a script has, of the job that StartJob answered with.
func EventOf(event string, started value.Value) string {
	return string((&scriptEvent{text: []byte(event)}).of(started, time.Time{}))
}

// NewDatabase returns an empty database in memory.
func NewDatabase() Database { return newMemory() }
