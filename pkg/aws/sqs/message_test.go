package sqs_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

func wakeAfter(after time.Duration) engine.Wake {
	return engine.Wake{Execution: engine.NewID("flow", "run"), Cause: "0123456789abcdef", Due: now.Add(after), Sent: now, Seq: 7}
}

// encode returns the message that [sqs.Wakes] sends.
func encode(t *testing.T, w engine.Wake) string {
	t.Helper()
	f := newFixture(nil)
	if err := newWakes(t, f, nil, 0).Send(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	return f.bodies[0]
}

// decode returns the wake that [sqs.DecodeWakes] makes of a message.
func decode(t *testing.T, body string) (got engine.Wake, err error) {
	t.Helper()
	work, err := sqs.DecodeWakes(func(_ context.Context, w engine.Wake) (engine.Disposition, error) {
		got = w
		return engine.Disposition{}, nil
	}, nil)(sqs.Message{Body: body})
	if err != nil {
		return got, err
	}
	_, err = work.Do(t.Context())
	return got, err
}

// Messages that are under way during a deployment are read by the next release.
func TestFormOfMessage(t *testing.T) {
	t.Parallel()
	const want = `{"v":1,"kind":"wake","payload":{"execution":"0a7f4c0d24b8a7be5d4a1c92","cause":"start",` +
		`"due":"2026-01-31T10:00:00.123456789Z","sent":"2026-01-31T09:59:59Z"}}`
	w := engine.Wake{
		Execution: engine.ID{0x0a, 0x7f, 0x4c, 0x0d, 0x24, 0xb8, 0xa7, 0xbe, 0x5d, 0x4a, 0x1c, 0x92},
		Cause:     machine.CauseStart, Due: now, Sent: time.Date(2026, 1, 31, 10, 59, 59, 0, time.FixedZone("", 3600)), Receives: 9,
	}
	if got := encode(t, w); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	got, err := decode(t, want)
	if err != nil || got.Execution != w.Execution || got.Cause != w.Cause || !got.Due.Equal(w.Due) || !got.Sent.Equal(w.Sent) ||
		got.Seq != 0 || got.Receives != 0 {
		t.Errorf("got %+v, error %v", got, err)
	}
}

func TestInvalidWakes(t *testing.T) {
	t.Parallel()
	body := encode(t, wakeAfter(0))
	for name, tt := range map[string]struct {
		body  string
		newer bool
	}{
		"nothing":                   {``, false},
		"null":                      {`null`, false},
		"another message":           {`{"hello":"world"}`, false},
		"more behind it":            {body + body, false},
		"no version":                {strings.Replace(body, `"v":1`, `"v":0`, 1), false},
		"a negative version":        {strings.Replace(body, `"v":1`, `"v":-1`, 1), false},
		"no kind":                   {`{"v":1,"execution":"x"}`, false},
		"no payload":                {`{"v":1,"kind":"wake"}`, false},
		"a payload of another form": {`{"v":1,"kind":"wake","payload":7}`, false},
		"no execution":              {strings.Replace(body, `"execution"`, `"x"`, 1), false},
		"a short execution":         {strings.Replace(body, `"execution":"`, `"execution":"","x":"`, 1), false},
		"a long execution":          {strings.Replace(body, `"execution":"`, `"execution":"00`, 1), false},
		"an execution in letters":   {strings.Replace(body, wakeAfter(0).Execution.String(), strings.Repeat("z", 24), 1), false},
		"no cause":                  {strings.Replace(body, `"cause"`, `"x"`, 1), false},
		"a token as cause":          {strings.Replace(body, `0123456789abcdef`, `handle.signature`, 1), false},
		"an invalid instant":        {strings.Replace(body, `2026-01-31T`, `2026-01-32T`, 1), false},
		"a number below 0":          {strings.Replace(body, `"seq":7`, `"seq":-7`, 1), false},
		"a newer version":           {`{"v":2}`, true},
		"a newer version, other":    {`{"v":2,"kind":{"a":"b"},"payload":7}`, true},
		"an unknown kind":           {strings.Replace(body, `"wake"`, `"later"`, 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, err := decode(t, tt.body)
			if err == nil || errors.Is(err, sqs.ErrNewer) != tt.newer {
				t.Errorf("it is %+v, error %v; newer: want %t", w, err, tt.newer)
			}
			if err != nil && strings.Contains(err.Error(), "signature") {
				t.Errorf("the error has a token: %v", err)
			}
		})
	}
}

func TestTokenIsNeverSentAsCause(t *testing.T) {
	t.Parallel()
	for _, cause := range []string{"", "handle.signature", "a b", strings.Repeat("a", 65)} {
		w, f := wakeAfter(0), newFixture(nil)
		w.Cause = cause
		if err := newWakes(t, f, nil, 0).Send(t.Context(), w); err == nil || strings.Contains(err.Error(), "signature") || len(f.bodies) > 0 {
			t.Errorf("cause %q: sent %q, error %v", cause, f.bodies, err)
		}
	}
}

// FuzzDecode: decoding does not panic, and a decoded wake stays the same wake.
func FuzzDecode(f *testing.F) {
	f.Add(`{"v":1,"kind":"wake","payload":{"execution":"0a7f4c0d24b8a7be5d4a1c92","cause":"start",` +
		`"due":"2026-01-31T10:00:00Z","sent":"2026-01-31T09:59:59Z","seq":1}}`)
	f.Add(`{"v":1,"kind":"wake","payload":{"execution":"0a7f4c0d24b8a7be5d4a1c92","cause":"a_-9"}}`)
	f.Fuzz(func(t *testing.T, body string) {
		w, err := decode(t, body)
		if err != nil {
			return
		}
		again, err := decode(t, encode(t, w))
		if err != nil || again.Execution != w.Execution || again.Cause != w.Cause || again.Seq != w.Seq || !again.Due.Equal(w.Due) || !again.Sent.Equal(w.Sent) {
			t.Errorf("%+v became %+v, error %v", w, again, err)
		}
	})
}
