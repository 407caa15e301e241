package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/suite/resumetest"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// answers counts the answers to requests and keeps the size of the largest.
type answers struct {
	http.RoundTripper
	count, largest int
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := a.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	a.count++
	a.largest = max(a.largest, len(body))
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, err
}

// largestAnswer is what Lambda lets a function answer; with less than
// fullEnough in the largest of several pages there are too many of them.
const (
	largestAnswer = 6 << 20
	fullEnough    = 1 << 20
)

// What is larger than one answer may be comes in pages, which the client reads
// to the end.
func TestListsLargerThanAResponseArePaged(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	text := strings.Repeat("x", 28<<10)
	flow, err := a.PutFlow(t.Context(), "callback", []byte(callbackFlow), "")
	if err != nil {
		t.Fatal(err)
	}
	const executions = 250
	for i := range executions {
		start := rest.Start{Name: fmt.Sprintf("run-%d", i), Hash: flow.Hash, Input: value.Object(value.Member{Key: "text", Value: value.String(text)})}
		if _, _, err := a.Start(t.Context(), "callback", start); err != nil {
			t.Fatal(err)
		}
	}
	a.run()
	seen := &answers{RoundTripper: a.HTTP.Transport}
	a.HTTP.Transport = seen
	list, err := a.Executions(t.Context(), rest.Filter{Flow: "callback", Statuses: []machine.Status{machine.StatusRunning}})
	names := map[string]bool{}
	for _, e := range list {
		names[e.Name] = true
	}
	if err != nil || len(list) != executions || len(names) != executions {
		t.Errorf("%d executions of %d names are listed, error %v", len(list), len(names), err)
	}
	if seen.count < 2 || seen.largest > largestAnswer || seen.largest < fullEnough {
		t.Errorf("%d pages, the largest of %d bytes", seen.count, seen.largest)
	}
	if open, err := a.Tokens(t.Context(), "", "", false); err != nil || len(open) != executions {
		t.Errorf("%d tokens are open, error %v", len(open), err)
	}
}

const callbackFlow = `version: v1
type: flow
steps:
  - type: task
    name: Wait
    resourceArn: acs:fc:::services/s/functions/echo
    pattern: waitForCallback
    outputMappings:
      - target: text
        source: $input.text
`

// loopFlow has a history of some 15 MB: each turn has events with the input.
const loopFlow = `version: v1
type: flow
steps:
  - type: pass
    name: Turn
  - type: choice
    name: Again
    choices:
      - condition: $.never == 1
        goto: Turn
    default:
      goto: Turn
`

func TestAHistoryLargerThanAnAnswer(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	flow, err := a.PutFlow(t.Context(), "loop", []byte(loopFlow), "")
	if err != nil {
		t.Fatal(err)
	}
	input := value.Object(value.Member{Key: "text", Value: value.String(strings.Repeat("x", 8<<10))})
	if _, _, err := a.Start(t.Context(), "loop", rest.Start{Name: "one", Hash: flow.Hash, Input: input}); err != nil {
		t.Fatal(err)
	}
	a.run()
	seen := &answers{RoundTripper: a.HTTP.Transport}
	a.HTTP.Transport = seen
	events, _, err := a.History(t.Context(), "loop", "one", "", false, 0)
	if err != nil || len(events) < 4000 {
		t.Fatalf("%d events, error %v", len(events), err)
	}
	for i, e := range events {
		if e.EventID != i+1 {
			t.Fatalf("event %d has the id %d", i+1, e.EventID)
		}
	}
	if seen.count < 2 || seen.largest > largestAnswer || seen.largest < fullEnough {
		t.Errorf("%d pages, the largest of %d bytes", seen.count, seen.largest)
	}
}

// wideIndex lists one execution more, unless it is listed.
type wideIndex struct {
	engine.Catalog
	more engine.ID
}

func (i wideIndex) Executions(ctx context.Context, of engine.Selection, after string, limit int) ([]engine.ID, string, error) {
	ids, next, err := i.Catalog.Executions(ctx, of, after, limit)
	if slices.Contains(ids, i.more) {
		return ids, next, err
	}
	return append(ids, i.more), next, err
}

// An index knows of an execution whose latest item cannot be read.
func TestADamagedExecutionIsLeftOutOfLists(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.started("callback", "{}")
	a.run()
	store := a.store
	damaged := engine.NewID("callback", "damaged")
	if err := store.Append(t.Context(), engine.Item{Execution: damaged, Nonce: "n", Body: []byte{machine.Format, 0xff}}); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	a.server.Config.Handler = checkedHandler(t, rest.Config{
		Engine: a.system.Client, Tokens: a.system.Tokens, Catalog: wideIndex{store, damaged}, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if list, err := a.Executions(t.Context(), rest.Filter{}); err != nil || len(list) != 1 || list[0].Name != "one" {
		t.Errorf("listed: %+v, error %v", list, err)
	}
	if open, err := a.Tokens(t.Context(), "", "", false); err != nil || len(open) != 1 {
		t.Errorf("open tokens: %+v, error %v", open, err)
	}
	if strings.Count(log.String(), "execution="+damaged.String()) != 2 {
		t.Errorf("the log has: %s", log.String())
	}
}

// losingStore finds no large value once it has lost them.
type losingStore struct {
	*store.Memory

	lost *bool
}

func (s losingStore) LoadValue(ctx context.Context, name string) ([]byte, error) {
	if *s.lost {
		return nil, engine.ErrNotFound
	}
	return s.Memory.LoadValue(ctx, name)
}

// An execution whose large input is missing is listed and shown with its status, and its open token
// too. The reason stands for the input, and nothing is hidden. The execution can be stopped.
func TestAnExecutionWithoutItsLargeInputIsListed(t *testing.T) {
	t.Parallel()
	a, lost := newAPI(t), false
	limits := machine.Limits{Data: machine.MaxLargeData}
	a.system = local.New(local.Config{Store: losingStore{a.store, &lost}, Clock: local.NewVirtualClock(a.now), Limits: limits})
	a.config.Engine, a.config.Tokens, a.config.Start, a.config.Stop = a.system.Client, a.system.Tokens, a.system.Start, a.system.Stop
	a.serve()
	flow, err := a.PutFlow(t.Context(), "asks", []byte(strings.ReplaceAll(callbackFlow, "pattern:", "prompt: Is ${$.text}?\n    pattern:")), "")
	for name, size := range map[string]int{"small": 1, "large": 1 << 20} {
		start := rest.Start{Name: name, Hash: flow.Hash, Input: value.Object(value.Member{Key: "text", Value: value.String(strings.Repeat("x", size))})}
		if err == nil {
			_, _, err = a.Start(t.Context(), "asks", start)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	a.run()
	lost = true
	const reason = "left out: read large value "
	list, err := a.Executions(t.Context(), rest.Filter{})
	if err != nil || len(list) != 2 {
		t.Errorf("listed: %+v, error %v", list, err)
	}
	for _, e := range list {
		if isText := strings.Contains(e.Input.JSON(), reason); e.Status != machine.StatusRunning || isText != (e.Name == "large") {
			t.Errorf("listed: %+v", e)
		}
	}
	shown, err := a.Execution(t.Context(), "asks", "large", false)
	if err != nil || shown.Status != machine.StatusRunning || !strings.Contains(shown.Waiting.Question.Prompt, reason) {
		t.Errorf("shown: %+v, error %v", shown, err)
	}
	if events, _, err := a.History(t.Context(), "asks", "large", "", false, 0); err != nil || !strings.Contains(events[0].EventDetail, reason) {
		t.Errorf("history: %+v, error %v", events, err)
	}
	if open, err := a.Tokens(t.Context(), "", "", false); err != nil || len(open) != 2 {
		t.Errorf("open tokens: %+v, error %v", open, err)
	}
	if _, err := a.Stop(t.Context(), "asks", "large", rest.Failure{}); err != nil {
		t.Errorf("stop: %v", err)
	}
}

func TestUnknownPageTokenIsRejected(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	response, err := a.HTTP.Get(a.Base + "/executions?" + url.Values{"after": {"1-2"}}.Encode()) //nolint:noctx // a test
	if err != nil || response.StatusCode != http.StatusBadRequest {
		t.Fatalf("answer %+v, error %v", response, err)
	}
	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
}

// Waits of external engines are listed after the tokens of executions.
func TestTokensOfExternalEngines(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.started("callback", "{}")
	a.run()
	store := a.store
	external := resumetest.WithExternalWaits(store)
	a.server.Config.Handler = checkedHandler(t, rest.Config{
		Engine: a.system.Client, Tokens: a.system.Tokens, Catalog: store, External: external,
	})
	since := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	const waits = 60
	var handles []string
	for i := range waits {
		id := token.ID{Execution: [12]byte{byte(i)}, Flags: token.FlagExternal, Expires: since.Add(48 * time.Hour)}
		handle := a.keys.Handle(id)
		handles = append(handles, handle)
		wait := resume.ExternalWait{
			Handle: handle, Recipient: resume.RecipientStepFunctions, Sealed: []byte("sealed"), Job: jobs.Key{Kind: "batch-job", Name: "arn"},
			Opened: since, Deadline: since.Add(time.Hour), Expires: id.Expires,
		}
		if _, err := external.Open(t.Context(), handle, wait); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.Close(t.Context(), handles[0], token.CloseOp{Outcome: token.Success(value.Null()), By: token.ClosedByHand, At: since}); err != nil {
		t.Fatal(err)
	}
	for _, unmask := range []bool{false, true} {
		list, err := a.Tokens(t.Context(), "", "", unmask)
		if err != nil || len(list) != 1+waits-1 || list[0].Flow != "callback" {
			t.Fatalf("%d tokens, error %v", len(list), err)
		}
		last := list[len(list)-1]
		if last.Recipient != "step-functions" || last.Job != "arn" || last.Since != "2026-01-31T09:00:00.000Z" ||
			last.Deadline != "2026-01-31T10:00:00.000Z" || !last.Open {
			t.Errorf("listed: %+v", last)
		}
		if _, _, err := a.keys.Verify(last.Token, since); (err == nil) != unmask {
			t.Errorf("with unmask %t the token is %q", unmask, last.Token)
		}
	}
	reportsByHandle(t, a, handles[1])
}

// reportsByHandle reports the outcome of an external wait without reading its token.
func reportsByHandle(t *testing.T, a *api, handle string) {
	t.Helper()
	if got, err := a.Token(t.Context(), handle); err != nil || got.Handle != handle || got.Kind != "batch-job" || !got.Open || got.Token != token.Mask(handle) {
		t.Errorf("the token is %+v, error %v", got, err)
	}
	got, first, err := a.Fail(t.Context(), handle, rest.Failure{Error: "Rejected"})
	if err != nil || !first || got.Recipient != "step-functions" || got.Error != "Rejected" {
		t.Errorf("the report returns %+v, %t, error %v", got, first, err)
	}
	if _, first, err = a.Succeed(t.Context(), handle, value.Object()); err != nil || first {
		t.Errorf("another outcome: first %t, error %v", first, err)
	}
	unknown := a.keys.Handle(token.ID{Execution: [12]byte{99}, Flags: token.FlagExternal, Expires: time.Now()})
	open, err := a.Tokens(t.Context(), "callback", "one", true)
	if err != nil || len(open) != 1 {
		t.Fatalf("%d tokens, error %v", len(open), err)
	}
	ofExecution, _, _ := strings.Cut(open[0].Token, ".")
	for _, other := range []string{unknown, ofExecution} {
		var refused *rest.Error
		if _, _, err = a.Succeed(t.Context(), other, value.Object()); !errors.As(err, &refused) || refused.Status != http.StatusNotFound {
			t.Errorf("a report for the handle %s: %v", other, err)
		}
	}
}

// quotesFlow has an event with a text of quotes, which a response escapes three times.
func quotesFlow(quotes int) string {
	return "version: v1\ntype: flow\nsteps:\n  - type: pass\n    name: A\n    inputMappings: [{target: q, source: '" + strings.Repeat(`"`, quotes) + "'}]\n"
}

// bounded is a transport that notes the largest response as a text of JSON, as a Lambda function
// sends it.
type bounded struct {
	http.RoundTripper
	count, largest int
}

func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err = errors.Join(err, encoder.Encode(string(body)))
	b.count, b.largest = b.count+1, max(b.largest, text.Len())
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, err
}

// A page ends before the event with which it would be too large. Of an event that is too large
// alone, the page has the size.
//
// rules: Z-14
func TestPagesOfABoundedResponse(t *testing.T) {
	t.Parallel()
	const most = 60_000
	for quotes, want := range map[int]struct {
		pages   int
		leftOut bool
	}{
		100:  {2, false},
		5200: {4, false},
		9000: {1, true},
	} {
		t.Run(fmt.Sprint(quotes, " quotes"), func(t *testing.T) {
			t.Parallel()
			a := newAPI(t)
			seen := a.bounded(most)
			flow, err := a.PutFlow(t.Context(), "quotes", []byte(quotesFlow(quotes)), "")
			if err != nil {
				t.Fatal(err)
			}
			input := value.Object(value.Member{Key: "text", Value: value.String(strings.Repeat("x", 18_000))})
			if _, _, err := a.Start(t.Context(), "quotes", rest.Start{Name: "one", Hash: flow.Hash, Input: input}); err != nil {
				t.Fatal(err)
			}
			a.run()
			seen.count = 0
			events, _, err := a.History(t.Context(), "quotes", "one", "", false, 0)
			leftOut := 0
			for i, e := range events {
				if e.EventID != i+1 {
					t.Errorf("event %d has the id %d", i+1, e.EventID)
				}
				leftOut += strings.Count(e.EventDetail, "left out: a value of ")
			}
			if err != nil || len(events) == 0 || seen.count != want.pages || (leftOut > 0) != want.leftOut {
				t.Errorf("%d events on %d pages, %d values are left out, error %v; want %+v", len(events), seen.count, leftOut, err, want)
			}
			list, err := a.Executions(t.Context(), rest.Filter{})
			if err != nil || len(list) != 1 || !strings.Contains(list[0].Input.JSON(), "left out: a value of 18011 bytes") {
				t.Errorf("listed are %v, error %v", list, err)
			}
			if seen.largest > most || seen.largest < most/4 {
				t.Errorf("the largest response has %d bytes, and may have %d", seen.largest, most)
			}
		})
	}
}

// Also a page of executions whose values have room one by one is not too large.
//
// rules: Z-14
func TestListOfABoundedResponse(t *testing.T) {
	t.Parallel()
	const most = 60_000
	for _, length := range []int{500, 1100, 2300} {
		t.Run(fmt.Sprint(length, " bytes"), func(t *testing.T) {
			t.Parallel()
			a := newAPI(t)
			seen := a.bounded(most)
			flow, err := a.PutFlow(t.Context(), "copy", []byte(copyFlow), "")
			if err != nil {
				t.Fatal(err)
			}
			input := value.Object(value.Member{Key: "text", Value: value.String(strings.Repeat("x", length))})
			for n := range 60 {
				if _, _, err := a.Start(t.Context(), "copy", rest.Start{Name: fmt.Sprint("e", n), Hash: flow.Hash, Input: input}); err != nil {
					t.Fatal(err)
				}
			}
			a.run()
			list, err := a.Executions(t.Context(), rest.Filter{})
			if err != nil || len(list) != 60 {
				t.Errorf("%d executions, error %v", len(list), err)
			}
			if seen.largest > most || seen.largest < most/4 {
				t.Errorf("the largest response has %d bytes, and may have %d", seen.largest, most)
			}
		})
	}
}

const copyFlow = `version: v1
type: flow
steps:
  - type: pass
    name: A
    outputMappings: [{target: text, source: $input.text}]
outputMappings: [{target: text, source: $local.text}]
`

// bounded gives the responses of the API a limit, and returns what notes the largest.
func (a *api) bounded(most int) *bounded {
	a.server.Config.Handler = checkedHandler(a.t, rest.Config{
		Engine: a.system.Client, Tokens: a.system.Tokens, Catalog: a.store, Start: a.system.Start, MaxResponse: most,
	})
	seen := &bounded{RoundTripper: a.HTTP.Transport}
	a.HTTP.Transport = seen
	return seen
}
