package sqs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/resume"
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
	MAC     string `json:"mac,omitempty"` // of the payload's text; see [Queue]
}

// encode returns the text of a message without a MAC.
func encode(kind string, payload any) (string, error) { return sign(token.Keys{}, kind, payload) }

// sign returns the text of a message. It has a MAC if the keys are usable.
func sign(keys token.Keys, kind string, payload any) (string, error) {
	body, err := jsonText(payload)
	if err != nil {
		return "", err
	}
	text, err := jsonText(envelope[json.RawMessage]{version, kind, json.RawMessage(body), keys.MAC(token.Use(kind), []byte(body))})
	if err != nil {
		return "", err
	}
	if len(text) > messageLimit {
		return "", &engine.Error{Code: engine.CodeInvalid, Op: "write the message", Err: fmt.Errorf(
			"it has %d bytes and the limit of SQS is %d: pass a reference to large data, not the data", len(text), messageLimit)}
	}
	return text, nil
}

// jsonText returns the JSON of a value. It escapes only the two characters of JSON that SQS
// rejects, because an escape takes up to six times the space.
func jsonText(v any) (string, error) {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return strings.NewReplacer("\ufffe", `\ufffe`, "\uffff", `\uffff`).Replace(strings.TrimSuffix(body.String(), "\n")), nil
}

// ErrNewer says that a newer release wrote the message.
var ErrNewer = errors.New("a newer release wrote it")

// ErrUnknownKind says that this release knows no such kind of messages of its own format. A
// function of another release may know it while the stack is updated.
var ErrUnknownKind = errors.New("this release knows no such kind of message")

// Decode returns the work that a message asks for. After [ErrNewer] the message returns to the
// queue. After [ErrUnknownKind] it does so a few times. After any other error it is discarded.
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
		return Work{}, fmt.Errorf("kind %q: %w", e.Kind, ErrUnknownKind)
	}
	m.kind, m.payload, m.mac = e.Kind, e.Payload, e.MAC
	return decode(m, e.Payload)
}

// authentic returns work that first checks the MAC of its message. A message without one is
// accepted: release 0.1.0 writes no other. A wrong MAC discards the message.
func authentic[T any](keys resume.KeySource, work func(Message, T) (Work, error)) func(Message, T) (Work, error) {
	return func(m Message, payload T) (Work, error) {
		made, err := work(m, payload)
		if m.mac == "" {
			return made, err
		}
		do := made.Do
		made.Do = func(ctx context.Context) (time.Time, error) {
			known, err := keys.Get(ctx)
			if err == nil {
				check := func(keys token.Keys) error { return keys.CheckMAC(token.Use(m.kind), m.payload, m.mac) }
				err = known.With(func() (token.Keys, error) { return keys.Newer(ctx) }, check)
			}
			switch {
			case errors.Is(err, token.ErrForged):
				return time.Time{}, discard(err)
			case err != nil:
				return time.Time{}, err
			}
			return do(ctx)
		}
		return made, err
	}
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
