package sqs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/token"
)

const (
	// version is the version of all messages.
	version = 1
	// messageLimit is the size in bytes of the largest message that SQS accepts.
	messageLimit = 1 << 20
)

// The kinds of messages.
const (
	kindWake      = "wake"
	kindTask      = "task"
	kindEnd       = "end"
	kindDelivery  = "delivery"
	kindHeartbeat = "heartbeat"
	kindPoll      = "poll"
	kindReplay    = "replay"
	kindFiring    = "firing"
	kindNotice    = "notice"
)

// envelope is a message. Payload is a value to encode, or the [json.RawMessage] that was read.
type envelope[T any] struct {
	Version int    `json:"v"`
	Kind    string `json:"kind"`
	Payload T      `json:"payload"`
}

// encode returns the text of a message. It escapes only the two characters of JSON that SQS rejects, because an escape takes up
// to six times the space.
func encode(kind string, payload any) (string, error) {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	if err := e.Encode(envelope[any]{version, kind, payload}); err != nil {
		return "", err
	}
	text := strings.NewReplacer("\ufffe", `\ufffe`, "\uffff", `\uffff`).Replace(strings.TrimSuffix(body.String(), "\n"))
	if len(text) > messageLimit {
		return "", &engine.Error{Code: engine.CodeInvalid, Op: "write the message", Err: fmt.Errorf(
			"it has %d bytes and the limit of SQS is %d: pass a reference to large data, not the data", len(text), messageLimit)}
	}
	return text, nil
}

// ErrNewer says that a newer release wrote the message.
var ErrNewer = errors.New("a newer release wrote it")

// Decode returns the work that a message asks for. After [ErrNewer] the message returns to the queue, after any other error it
// is discarded.
type Decode func(m Message) (Work, error)

// kinds decode payloads, by their kinds.
type kinds map[string]func(m Message, payload json.RawMessage) (Work, error)

// decode implements [Decode].
func (k kinds) decode(m Message) (Work, error) {
	var e envelope[json.RawMessage]
	err := json.Unmarshal([]byte(m.Body), &e)
	decode, known := k[e.Kind]
	switch {
	case e.Version > version:
		return Work{}, fmt.Errorf("version %d is over %d: %w", e.Version, version, ErrNewer)
	case err != nil:
		return Work{}, errors.New("the message is not JSON of the expected form")
	case e.Version < version || e.Kind == "":
		return Work{}, fmt.Errorf("the message has version %d and kind %q; want version %d and a kind", e.Version, e.Kind, version)
	case !known:
		return Work{}, fmt.Errorf("kind %q is unknown: %w", e.Kind, ErrNewer)
	}
	return decode(m, e.Payload)
}

// payloadOf makes a decoder of payloads of type T.
func payloadOf[T any](work func(m Message, payload T) (Work, error)) func(Message, json.RawMessage) (Work, error) {
	return func(m Message, text json.RawMessage) (Work, error) {
		var payload T
		if json.Unmarshal(text, &payload) != nil { // its error would quote the text, which may be a secret
			return Work{}, errors.New("the payload does not have the form of its kind")
		}
		return work(m, payload)
	}
}

// errHandle does not repeat the text, which may be a secret.
var errHandle = errors.New("the token is not named by a handle")

func checkHandle(handle string) error {
	if _, ok := token.HandleID(handle); !ok {
		return errHandle
	}
	return nil
}
