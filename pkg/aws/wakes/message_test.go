package wakes_test

import (
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/aws/wakes"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

var now = time.Date(2026, 1, 31, 10, 0, 0, 123456789, time.UTC)

func wakeAfter(after time.Duration) engine.Wake {
	return engine.Wake{Execution: engine.NewID("flow", "run"), Cause: "0123456789abcdef", Due: now.Add(after), Sent: now, Seq: 7}
}

func encode(t *testing.T, w engine.Wake) string {
	t.Helper()
	body, err := wakes.Encode(w)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// What is under way during a deployment is read by the next release.
func TestTheFormOfAMessage(t *testing.T) {
	t.Parallel()
	const want = `{"v":1,"execution":"0a7f4c0d24b8a7be5d4a1c92","cause":"start","due":"2026-01-31T10:00:00.123456789Z","sent":"2026-01-31T09:59:59Z"}`
	w := engine.Wake{
		Execution: engine.ID{0x0a, 0x7f, 0x4c, 0x0d, 0x24, 0xb8, 0xa7, 0xbe, 0x5d, 0x4a, 0x1c, 0x92},
		Cause:     machine.CauseStart, Due: now, Sent: time.Date(2026, 1, 31, 10, 59, 59, 0, time.FixedZone("", 3600)), Receives: 9,
	}
	if got := encode(t, w); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	got, err := wakes.Decode(want)
	if err != nil || got.Execution != w.Execution || got.Cause != w.Cause || !got.Due.Equal(w.Due) || !got.Sent.Equal(w.Sent) ||
		got.Seq != 0 || got.Receives != 0 {
		t.Errorf("got %+v, error %v", got, err)
	}
}

func TestWhatIsNoWake(t *testing.T) {
	t.Parallel()
	body := encode(t, wakeAfter(0))
	for name, tt := range map[string]struct {
		body string
		code engine.Code
	}{
		"nothing":                   {``, engine.CodeInvalid},
		"null":                      {`null`, engine.CodeInvalid},
		"another message":           {`{"hello":"world"}`, engine.CodeInvalid},
		"more behind it":            {body + body, engine.CodeInvalid},
		"no version":                {strings.Replace(body, `"v":1`, `"v":0`, 1), engine.CodeInvalid},
		"no execution":              {strings.Replace(body, `"execution"`, `"x"`, 1), engine.CodeInvalid},
		"a short execution":         {strings.Replace(body, `"execution":"`, `"execution":"","x":"`, 1), engine.CodeInvalid},
		"an execution in letters":   {strings.Replace(body, wakeAfter(0).Execution.String(), strings.Repeat("z", 24), 1), engine.CodeInvalid},
		"no cause":                  {strings.Replace(body, `"cause"`, `"x"`, 1), engine.CodeInvalid},
		"a token for a cause":       {strings.Replace(body, `0123456789abcdef`, `handle.signature`, 1), engine.CodeInvalid},
		"an instant that is none":   {strings.Replace(body, `2026-01-31T`, `2026-01-32T`, 1), engine.CodeInvalid},
		"a number below 0":          {strings.Replace(body, `"seq":7`, `"seq":-7`, 1), engine.CodeInvalid},
		"a newer release's":         {`{"v":2}`, engine.CodeTooNew},
		"a newer release's, larger": {`{"v":2,"execution":{"a":"b"},"due":7}`, engine.CodeTooNew},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, err := wakes.Decode(tt.body)
			if engine.CodeOf(err) != tt.code {
				t.Errorf("it is %+v, error %v; want %s", w, err, tt.code)
			}
			if err != nil && strings.Contains(err.Error(), "signature") {
				t.Errorf("the error tells a token: %v", err)
			}
		})
	}
}

func TestATokenIsNeverSent(t *testing.T) {
	t.Parallel()
	for _, cause := range []string{"", "handle.signature", "a b", strings.Repeat("a", 65)} {
		w := wakeAfter(0)
		w.Cause = cause
		if body, err := wakes.Encode(w); err == nil || strings.Contains(err.Error(), "signature") {
			t.Errorf("cause %q: body %s, error %v", cause, body, err)
		}
	}
}

// FuzzDecode: nothing panics, and what is a wake stays the same wake.
func FuzzDecode(f *testing.F) {
	f.Add(`{"v":1,"execution":"0a7f4c0d24b8a7be5d4a1c92","cause":"start","due":"2026-01-31T10:00:00Z","sent":"2026-01-31T09:59:59Z","seq":1}`)
	f.Add(`{"v":1,"execution":"0a7f4c0d24b8a7be5d4a1c92","cause":"a_-9"}`)
	f.Fuzz(func(t *testing.T, body string) {
		w, err := wakes.Decode(body)
		if err != nil {
			return
		}
		again, err := wakes.Decode(encode(t, w))
		if err != nil || again.Execution != w.Execution || again.Cause != w.Cause || again.Seq != w.Seq || !again.Due.Equal(w.Due) || !again.Sent.Equal(w.Sent) {
			t.Errorf("%+v became %+v, error %v", w, again, err)
		}
	})
}
