package resumetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Tokens is the suite of [resume.Tokens] over a store: what a closer is told,
// and the order of effects (rule 10 of the engine's contract).
func Tokens(t *testing.T, open func(t *testing.T) resume.TokenStore) {
	t.Helper()
	for name, test := range map[string]func(*tokensFixture){
		"the wake comes before the update and the update before the response": tokensOrder,
		"the same outcome again is the same and wakes again":                  tokensSame,
		"another outcome is different and returns the first one":              tokensDifferent,
		"of 64 concurrent closers one wins and all learn its outcome":         tokensRace,
		"a forged or expired token is rejected without a read or a wake":      tokensForged,
		"an invalid output is rejected before any effect":                     tokensOutput,
		"a token is valid until the last instant before it expires":           tokensExpiry,
		"a closing whose wake is 5 s old updates nothing":                     tokensTooSlow,
		"a closing whose wake is younger than 5 s updates":                    tokensInTime,
		"a closing has 5 s in all":                                            tokensTimeLimit,
		"a closing whose wake was not sent updates nothing":                   tokensWakeFails,
		"a store that fails is an error and can be retried":                   tokensStoreFails,
		"after a lost response the second attempt is the same":                tokensLostAnswer,
		"a heartbeat needs no wake":                                           tokensBeat,
		"a heartbeat after the end returns the outcome":                       tokensBeatAfterEnd,
		"Describe returns the record of a token":                              tokensDescribe,
		"no error shows a token":                                              tokensMasked,
		"a report with an error name of Waitless is rejected":                 tokensReserved,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newTokensFixture(t, open(t)))
		})
	}
}

// tokensFixture is a [resume.Tokens] with everything around it in a case's hands.
type tokensFixture struct {
	*resume.Tokens
	resume.TokenStore
	t    *testing.T
	keys token.Keys
	id   token.ID

	mu    sync.Mutex
	now   time.Time
	trace []string
	// fails are the errors of the next effects of that name, in order; nil for
	// none. A store's effect has happened when its error is errLost.
	fails map[string][]error
	// slow is how much time each wake takes.
	slow time.Duration
}

var (
	errFault = errors.New("resumetest: a fault was asked for")
	errLost  = errors.New("resumetest: the answer was lost")
)

func newTokensFixture(t *testing.T, store resume.TokenStore) *tokensFixture {
	t.Helper()
	b := &tokensFixture{
		t: t, TokenStore: store, now: epoch, fails: map[string][]error{},
		keys: token.Keys{Current: token.Key{ID: 7, Secret: []byte(strings.Repeat("k", token.SecretSize))}},
		id:   token.ID{Execution: [12]byte{1, 2, 3}, Number: 4, Expires: epoch.Add(time.Hour).Truncate(time.Second)},
	}
	b.Tokens = resume.NewTokens(resume.TokensConfig{Keys: resume.FixedKeys(b.keys), Store: noted{b}, Wakes: b, Now: b.clock})
	return b
}

func (b *tokensFixture) text() string { return b.keys.Sign(b.id) }

func (b *tokensFixture) clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *tokensFixture) pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

// effect notes what is being done and gives the error that was asked for.
func (b *tokensFixture) effect(name string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trace = append(b.trace, name)
	if fails := b.fails[name]; len(fails) > 0 {
		b.fails[name] = fails[1:]
		return fails[0]
	}
	return nil
}

// Send implements [resume.Wakes].
func (b *tokensFixture) Send(_ context.Context, id token.ID, handle string, at time.Time) error {
	if id.Execution != b.id.Execution || id.Number != b.id.Number || handle != b.keys.Handle(b.id) || !at.Equal(b.clock()) {
		b.t.Errorf("the wake is for %v, handle %s, sent at %s", id, handle, at)
	}
	b.pass(b.slow)
	return b.effect("wake")
}

// noted is the store, whose effects are noted.
type noted struct{ *tokensFixture }

func (n noted) do(name string, effect func() (token.Record, error)) (token.Record, error) {
	switch fault := n.effect(name); {
	case errors.Is(fault, errLost):
		if _, err := effect(); err != nil {
			n.t.Error(err)
		}
		return token.Record{}, fault
	case fault != nil:
		return token.Record{}, fault
	}
	return effect()
}

func (n noted) Record(ctx context.Context, handle string) (token.Record, error) {
	return n.do("read", func() (token.Record, error) { return n.TokenStore.Record(ctx, handle) })
}

func (n noted) Close(ctx context.Context, handle string, closing token.CloseOp) (token.Record, error) {
	return n.do("update", func() (token.Record, error) { return n.TokenStore.Close(ctx, handle, closing) })
}

func (n noted) CloseEarly(ctx context.Context, handle string, closing token.CloseOp, applied func()) (token.Record, error) {
	return n.do("update", func() (token.Record, error) { return n.TokenStore.CloseEarly(ctx, handle, closing, applied) })
}

func (n noted) Beat(ctx context.Context, handle string, at time.Time) (token.Record, error) {
	return n.do("beat", func() (token.Record, error) { return n.TokenStore.Beat(ctx, handle, at) })
}

// wantTrace compares the effects since the last time.
func (b *tokensFixture) wantTrace(want ...string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Equal(b.trace, want) {
		b.t.Errorf("effects %q, want %q", b.trace, want)
	}
	b.trace = nil
}

// wantClose closes the token and compares what the closer is told.
func (b *tokensFixture) wantClose(outcome token.Outcome, want resume.CloseResult, holds token.Outcome) token.Record {
	b.t.Helper()
	answer, record, err := Close(b.t.Context(), b.Tokens, b.text(), outcome)
	if err != nil || answer != want || record.Open() || !token.Same(*record.Outcome, holds) {
		b.t.Fatalf("answer %d with %+v, error %v; want answer %d with %+v", answer, record, err, want, holds)
	}
	return record
}

func (b *tokensFixture) wantOpen() {
	b.t.Helper()
	if r, err := b.Record(b.t.Context(), b.keys.Handle(b.id)); err != nil || !r.Open() {
		b.t.Errorf("the token holds %+v, error %v; want it open", r, err)
	}
}

func (b *tokensFixture) wantCloseError(want error) {
	b.t.Helper()
	if _, record, err := Close(b.t.Context(), b.Tokens, b.text(), success); !errors.Is(err, want) || !record.Open() {
		b.t.Errorf("record %+v, error %v; want error %v", record, err, want)
	}
}

func tokensOrder(b *tokensFixture) {
	record := b.wantClose(success, resume.Closed, success)
	b.wantTrace("wake", "update")
	if record.ClosedBy != token.ClosedByHand || !record.ClosedAt.Equal(epoch) {
		b.t.Errorf("the record is %+v", record)
	}
}

func tokensSame(b *tokensFixture) {
	first := b.wantClose(failure, resume.Closed, failure)
	b.pass(time.Minute)
	again := b.wantClose(failure, resume.ClosedSame, failure)
	b.wantTrace("wake", "update", "wake", "update")
	if !sameRecord(again, first) {
		b.t.Errorf("the record is %+v, want %+v", again, first)
	}
}

func tokensDifferent(b *tokensFixture) {
	for i, first := range []token.Outcome{success, failure} {
		b.id.Number = uint32(10 + i)
		b.wantClose(first, resume.Closed, first)
		b.wantClose(another, resume.ClosedDifferent, first)
		b.pass(time.Second)
		b.wantClose(token.Failure("Broken", "for another reason"), resume.ClosedDifferent, first)
	}
}

func tokensRace(b *tokensFixture) {
	var answers [racers]resume.CloseResult
	var told [racers]token.Record
	together(racers, func(i int) {
		var err error
		if answers[i], told[i], err = Close(b.t.Context(), b.Tokens, b.text(), outcomeOf(i)); err != nil {
			b.t.Error(err)
		}
	})
	won := 0
	for i, answer := range answers {
		if !sameRecord(told[i], told[0]) {
			b.t.Errorf("closer %d was told %+v and another %+v", i, told[i], told[0])
		}
		ours := !told[i].Open() && token.Same(*told[i].Outcome, outcomeOf(i))
		if ours {
			won++
		}
		if want := map[bool]resume.CloseResult{true: resume.Closed, false: resume.ClosedDifferent}[ours]; answer != want {
			b.t.Errorf("closer %d: answer %d, want %d", i, answer, want)
		}
	}
	if won != 1 {
		b.t.Errorf("%d closers won", won)
	}
}

func tokensForged(b *tokensFixture) {
	valid := b.text()
	stranger := token.Keys{Current: token.Key{ID: 7, Secret: []byte(strings.Repeat("x", token.SecretSize))}}
	expired := b.id
	expired.Expires = epoch.Truncate(time.Second)
	for _, text := range []string{"", ".", "x", valid[1:], valid + "A", b.keys.Handle(b.id), stranger.Sign(b.id), b.keys.Sign(expired)} {
		_, _, closeErr := Close(b.t.Context(), b.Tokens, text, success)
		_, beatErr := Beat(b.t.Context(), b.Tokens, text)
		_, _, describeErr := Describe(b.t.Context(), b.Tokens, text)
		for _, err := range []error{closeErr, beatErr, describeErr} {
			if err == nil || err.Error() != token.ErrInvalid.Error() {
				b.t.Errorf("%q: error %v, want the one answer for all reasons", text, err)
			}
		}
	}
	b.wantTrace()
}

func tokensOutput(b *tokensFixture) {
	large := object("large", strings.Repeat("x", resume.DefaultLimit))
	for name, output := range map[string]value.Value{
		"nothing": value.Missing(), "null": value.Null(), "a text": value.String("ok"), "a list": value.Array(), "a large one": large,
	} {
		_, _, err := Close(b.t.Context(), b.Tokens, b.text(), token.Success(output))
		var refused *resume.ReportError
		if !errors.As(err, &refused) {
			b.t.Errorf("%s: error %v", name, err)
		}
	}
	b.wantTrace()
	b.Tokens = resume.NewTokens(resume.TokensConfig{Keys: resume.FixedKeys(b.keys), Store: noted{b}, Wakes: b, Now: b.clock, Limit: 2 * resume.DefaultLimit})
	b.wantClose(token.Success(large), resume.Closed, token.Success(large))
}

func tokensExpiry(b *tokensFixture) {
	b.pass(b.id.Expires.Sub(epoch) - time.Nanosecond)
	b.wantClose(success, resume.Closed, success)
	b.pass(time.Nanosecond)
	if _, _, err := Close(b.t.Context(), b.Tokens, b.text(), success); !errors.Is(err, token.ErrInvalid) {
		b.t.Errorf("error %v", err)
	}
}

// closerLimit is how long a closer may take (rule 10).
const closerLimit = 5 * time.Second

func tokensTooSlow(b *tokensFixture) {
	b.slow = closerLimit
	b.wantCloseError(resume.ErrTooSlow)
	b.wantTrace("wake")
	b.wantOpen()
	b.slow = 0
	b.wantClose(success, resume.Closed, success)
}

func tokensInTime(b *tokensFixture) {
	b.slow = closerLimit - time.Nanosecond
	b.wantClose(success, resume.Closed, success)
}

// tokensTimeLimit: what follows the wake ends with the time limit too.
func tokensTimeLimit(b *tokensFixture) {
	var deadline time.Time
	tokens := resume.NewTokens(resume.TokensConfig{Keys: resume.FixedKeys(b.keys), Wakes: b, Now: b.clock, Store: deadlineStore{b.TokenStore, &deadline}})
	begin := time.Now()
	if _, _, err := Close(b.t.Context(), tokens, b.text(), success); err != nil {
		b.t.Fatal(err)
	}
	if limit := deadline.Sub(begin); deadline.IsZero() || limit < 0 || limit > closerLimit+time.Minute {
		b.t.Errorf("the update may take until %s after the begin", limit)
	}
}

type deadlineStore struct {
	resume.TokenStore
	deadline *time.Time
}

func (s deadlineStore) CloseEarly(ctx context.Context, handle string, closing token.CloseOp, applied func()) (token.Record, error) {
	*s.deadline, _ = ctx.Deadline()
	return s.TokenStore.CloseEarly(ctx, handle, closing, applied)
}

func tokensWakeFails(b *tokensFixture) {
	b.fails["wake"] = []error{errFault}
	b.wantCloseError(errFault)
	b.wantTrace("wake")
	b.wantOpen()
}

func tokensStoreFails(b *tokensFixture) {
	b.fails["update"] = []error{errFault}
	b.wantCloseError(errFault)
	b.wantOpen()
	b.wantClose(success, resume.Closed, success)
	b.wantTrace("wake", "update", "wake", "update")
}

func tokensLostAnswer(b *tokensFixture) {
	b.fails["update"] = []error{errLost}
	b.wantCloseError(errLost)
	b.pass(time.Second)
	b.wantClose(success, resume.ClosedSame, success)
	b.wantClose(failure, resume.ClosedDifferent, success)
}

func tokensBeat(b *tokensFixture) {
	for i := range 3 {
		b.pass(time.Second)
		r, err := Beat(b.t.Context(), b.Tokens, b.text())
		if want := epoch.Add(time.Duration(i+1) * time.Second); err != nil || !r.Open() || !r.LastBeat.Equal(want) {
			b.t.Errorf("the record is %+v, error %v; want a heartbeat at %s", r, err, want)
		}
	}
	b.wantTrace("beat", "beat", "beat")
}

func tokensBeatAfterEnd(b *tokensFixture) {
	b.wantClose(failure, resume.Closed, failure)
	r, err := Beat(b.t.Context(), b.Tokens, b.text())
	if err != nil || r.Open() || !token.Same(*r.Outcome, failure) || !r.LastBeat.IsZero() {
		b.t.Errorf("the record is %+v, error %v", r, err)
	}
}

func tokensDescribe(b *tokensFixture) {
	id, r, err := Describe(b.t.Context(), b.Tokens, b.text())
	if err != nil || id != b.id || !r.Open() {
		b.t.Errorf("%v is %+v, error %v", id, r, err)
	}
	b.wantTrace("read")
	b.wantClose(success, resume.Closed, success)
	if _, r, err = Describe(b.t.Context(), b.Tokens, b.text()); err != nil || r.Open() || !token.Same(*r.Outcome, success) {
		b.t.Errorf("after the end it is %+v, error %v", r, err)
	}
}

func tokensMasked(b *tokensFixture) {
	handle, signature, _ := strings.Cut(b.text(), ".")
	wantMasked := func(err error) {
		b.t.Helper()
		switch text := fmt.Sprint(err); {
		case err == nil:
			b.t.Error("no error")
		case strings.Contains(text, handle), strings.Contains(text, signature), !strings.Contains(text, token.Mask(b.text())):
			b.t.Errorf("the error %q does not show the token masked", text)
		}
	}
	for _, effect := range []string{"wake", "update", "beat", "read"} {
		b.fails[effect] = []error{errFault}
	}
	for range 2 { // the wake, then the update
		_, _, err := Close(b.t.Context(), b.Tokens, b.text(), success)
		wantMasked(err)
	}
	_, err := Beat(b.t.Context(), b.Tokens, b.text())
	wantMasked(err)
	_, _, err = Describe(b.t.Context(), b.Tokens, b.text())
	wantMasked(err)
}

// tokensReserved: a flow that catches FnF.TaskTimeout believes that Waitless found it.
func tokensReserved(b *tokensFixture) {
	callback := resume.NewTokens(resume.TokensConfig{Keys: resume.FixedKeys(b.keys), Store: noted{b}, Wakes: b, Now: b.clock, By: token.ClosedByCallback})
	for _, name := range []string{"FnF.TaskTimeout", "FnF.Stopped", "FnF.InternalError", "FnF.", "Token.Anything"} {
		for who, tokens := range map[string]*resume.Tokens{"by hand": b.Tokens, "by callback": callback} {
			_, _, err := Close(b.t.Context(), tokens, b.text(), token.Failure(name, "c"))
			if refused, ok := errors.AsType[*resume.ReportError](err); !ok || !strings.Contains(refused.What, "report a name of your own") {
				b.t.Errorf("%s, %s: error %v", name, who, err)
			}
		}
	}
	if _, _, err := Close(b.t.Context(), callback, b.text(), token.Failure(token.ErrorRevoked, "")); err == nil {
		b.t.Error("a third caller revokes a token")
	}
	if len(b.trace) > 0 {
		b.t.Errorf("effects %q", b.trace)
	}
	if met, _, err := Close(b.t.Context(), b.Tokens, b.text(), token.Failure(token.ErrorRevoked, "")); err != nil || met != resume.Closed {
		b.t.Errorf("its owner: %v, error %v", met, err)
	}
}
