package wakes

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/waitless/waitless/pkg/engine"
)

// version is that of the messages that this release writes.
const version = 1

// message is a wake in the queue.
type message struct {
	Version   int       `json:"v"`
	Execution string    `json:"execution"`
	Cause     string    `json:"cause"`
	Due       time.Time `json:"due"`
	Sent      time.Time `json:"sent"`
	Seq       uint64    `json:"seq,omitempty"`
}

// causes are the texts that can be a cause. The length is no part of the pattern,
// which would be compiled into that many states whenever a process starts.
var causes = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// isCause: a token has a dot in it, so none is ever carried, whoever asks for it.
func isCause(text string) bool { return len(text) <= 64 && causes.MatchString(text) }

// errCause does not repeat the text: it may be a secret.
var errCause = errors.New("the cause is neither a word, nor a timer's tag, nor a token's handle")

// Encode is the wake as a message. Receives is not part of it.
func Encode(w engine.Wake) (string, error) {
	if !isCause(w.Cause) {
		return "", fmt.Errorf("wake of execution %s: %w", w.Execution, errCause)
	}
	body, err := json.Marshal(message{version, w.Execution.String(), w.Cause, w.Due.UTC(), w.Sent.UTC(), w.Seq})
	if err != nil {
		return "", fmt.Errorf("wake of execution %s: %w", w.Execution, err)
	}
	return string(body), nil
}

// Decode reads a message. One that a newer release wrote is an [*engine.Error]
// with [engine.CodeTooNew], one that nobody wrote has [engine.CodeInvalid].
func Decode(body string) (engine.Wake, error) {
	var m message
	if err := json.Unmarshal([]byte(body), &m); err != nil && m.Version <= version {
		return engine.Wake{}, invalid(errors.New("it is not the JSON of a wake"))
	}
	switch {
	case m.Version > version:
		return engine.Wake{}, &engine.Error{Code: engine.CodeTooNew, Op: decoding, Err: fmt.Errorf("it has version %d and the limit is %d", m.Version, version)}
	case m.Version < version:
		return engine.Wake{}, invalid(fmt.Errorf("it has version %d", m.Version))
	case !isCause(m.Cause):
		return engine.Wake{}, invalid(errCause)
	}
	w := engine.Wake{Cause: m.Cause, Due: m.Due, Sent: m.Sent, Seq: m.Seq}
	if len(m.Execution) != hex.EncodedLen(len(w.Execution)) {
		return engine.Wake{}, invalid(errors.New("it names no execution"))
	}
	if _, err := hex.Decode(w.Execution[:], []byte(m.Execution)); err != nil {
		return engine.Wake{}, invalid(errors.New("it names no execution"))
	}
	return w, nil
}

const decoding = "read a wake's message"

func invalid(err error) error {
	return &engine.Error{Code: engine.CodeInvalid, Op: decoding, Err: err}
}
