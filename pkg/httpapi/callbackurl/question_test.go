package callbackurl_test

import (
	"errors"
	"html"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// asking is a fixture whose step asks a question.
func asking(t *testing.T, prompt string, choices ...string) *fixture {
	t.Helper()
	b := newFixture(t)
	question := &machine.Question{Prompt: prompt, Choices: choices}
	for _, label := range choices {
		question.Outputs = append(question.Outputs, value.Object(value.Member{Key: "answer", Value: value.String(label)}))
	}
	b.wait = &engine.Wait{Flow: "expenses", Execution: "of-a-person", Step: "Approve[3]", Since: now.Add(-time.Hour), Question: question}
	return b
}

// rules: B-19
func TestThePageSaysWhatWaits(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.wait = &engine.Wait{Flow: "expenses", Execution: "of-a-person", Step: "Approve[3]", Since: now.Add(-time.Hour), Deadline: now.Add(time.Hour)}
	b.get().wantText(t, 200, "Report the outcome", "<dt>Flow</dt><dd>expenses</dd>", "<dt>Step</dt><dd>Approve[3]</dd>",
		"<dt>Asked</dt><dd>31 January 2026 at 09:00:00 UTC</dd>", "<dt>Deadline</dt><dd>31 January 2026 at 11:00:00 UTC</dd>")
	b.send("", "output=x").wantText(t, 400, "<dt>Step</dt><dd>Approve[3]</dd>")
	b.wait.Deadline = time.Time{}
	page := b.get()
	page.wantText(t, 200, "<dt>Deadline</dt><dd>none</dd>")
	if strings.Contains(page.body, "of-a-person") || b.uses.Load() != 0 {
		t.Errorf("%d uses of the store; the page is %s", b.uses.Load(), page.body)
	}
}

// rules: B-20 B-21
func TestThePageHasAButtonForEachChoice(t *testing.T) {
	t.Parallel()
	b := asking(t, "Pay 50?", "Approve", "Reject")
	page := b.get()
	page.wantText(t, 200, "Your answer is needed", `<p id="prompt" dir="auto">Pay 50?</p>`,
		`<button name="choice" value="0" dir="auto">Approve</button>`, `<button name="choice" value="1" dir="auto">Reject</button>`, "<details>")
	base := "https://example.com/stage/callbacks/" + b.text
	if got := strings.Join(page.places(t, base), " "); got != base+" "+base+" "+base+"/failure" {
		t.Errorf("the forms go to %s", got)
	}
	b.get()
	b.do(http.MethodHead, "/callbacks/"+b.text, "")
	if b.uses.Load() != 0 {
		t.Errorf("a GET used the store %d times", b.uses.Load())
	}
	b.send("", "choice=1&output=%7B%22answer%22%3A%22forged%22%7D").wantText(t, 200, "Your answer is recorded", "You chose “Reject” on 31 January 2026")
	if output := b.held().Outcome.Output.JSON(); output != `{"answer":"Reject"}` {
		t.Errorf("the token holds %s", output)
	}
	b.send("", "choice=1").wantText(t, 200, "You chose “Reject”") // clicked twice
	b.send("", "choice=0").wantText(t, 409, "The question was answered before", "“Reject” was chosen on 31 January 2026")
	b.wait = nil // the execution went on
	b.send("", "choice=1").wantText(t, 409, "The question was answered before", "if you pressed a button twice, it is yours")
	b.get().wantText(t, 200, "The outcome is recorded", "“Reject” was chosen on 31 January 2026")
	b.do(http.MethodPost, "/callbacks/"+b.text, `{"other":1}`).wantText(t, 409, "a success was reported") // programs see no label
	if page := b.get(); strings.Contains(page.body, "<form") || strings.Contains(page.body, "Pay 50?") {
		t.Errorf("the page of a closed token is %s", page.body)
	}
}

// rules: B-19
//
// The outcome can be reported although the log of the execution cannot be read. A choice is then
// not known.
func TestThePageWithoutItsQuestion(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.waitFails = errors.New("no right to read " + b.text)
	page := b.get()
	page.wantText(t, 200, "Report the outcome", "What the workflow asks cannot be read now; open the page again, or report the outcome.",
		`name="output"`, `name="error"`)
	if log := b.log.String(); !strings.Contains(log, "no right to read") || strings.Contains(log, b.text) || strings.Contains(page.body, "no right") {
		t.Errorf("logged %s; the page is %s", log, page.body)
	}
	b.send("", "choice=0").wantText(t, 500, "Internal error")
	b.send("", "output=%7B%7D").wantText(t, 200, "The outcome is recorded")
}

// A prompt without choices leaves the outcome to the person.
func TestThePageOfAPromptAlone(t *testing.T) {
	t.Parallel()
	page := asking(t, "How much?").get()
	page.wantText(t, 200, "How much?", `name="output"`, `name="error"`)
	if len(page.places(t, "/")) != 2 || strings.Contains(page.body, "<details") {
		t.Errorf("the page is %s", page.body)
	}
}

func TestInvalidChoices(t *testing.T) {
	t.Parallel()
	for _, choice := range []string{"2", "-1", "", "Approve", "0x0", "99999999999999999999"} {
		b := asking(t, "Pay?", "Approve", "Reject")
		page := b.send("", "choice="+choice)
		page.wantText(t, 400, "The choice is not one of those that the step offers; open the page again.", `value="1" dir="auto">Reject</button>`)
		if strings.Contains(page.body, "<details open") || b.uses.Load() != 0 {
			t.Errorf("%q: %d uses, and the page is %s", choice, b.uses.Load(), page.body)
		}
	}
	newFixture(t).send("", "choice=0").wantText(t, 400, "The choice is not one of those")
	asking(t, "Pay?").send("", "choice=0").wantText(t, 400, "The choice is not one of those")
	asking(t, "Pay?", "Yes").send("/failure", "choice=0").wantText(t, 400, "A failure has no error")
	asking(t, "Pay?", "Yes").send("", "output=x").wantText(t, 400, "<details open>")
	b := asking(t, "Pay?", "Yes")
	b.fails = errors.New("table gone")
	b.send("", "choice=0").wantText(t, 500, "Internal error; try again.")
}

// A program may choose, too.
func TestAProgramChooses(t *testing.T) {
	t.Parallel()
	b := asking(t, "Pay?", "Approve")
	got := b.do(http.MethodPost, "/callbacks", "choice=0", "Authorization", "Bearer "+b.text, "Content-Type", "application/x-www-form-urlencoded")
	if got.status != 200 || b.held().Outcome.Output.JSON() != `{"answer":"Approve"}` {
		t.Errorf("response %+v", got)
	}
}

// What a value has in it stays a text, and does not change what is around it.
func TestThePageShowsHostileTexts(t *testing.T) {
	t.Parallel()
	const (
		override, isolate = "\u202e", "\u2066"
		rightToLeft       = "\u05dc\u05d0\u05e9\u05e8 \u200f50?"
	)
	b := asking(t, "", "x")
	hostile := `</p><script>alert(1)</script>"'&amp;` + override + isolate + "\x00\x1b[2J" + b.text
	long := strings.Repeat("a very long question\n", 800)
	b.wait.Question.Prompt, b.wait.Question.Choices = hostile+rightToLeft+long, []string{hostile}
	b.wait.Flow, b.wait.Step = "<b>flow", "<b>step"
	page := b.get()
	shown := html.UnescapeString(page.body)
	masked := `</p><script>alert(1)</script>"'&amp;` + "\ufffd\ufffd\ufffd\ufffd[2J" + token.Mask(b.text)
	if strings.Count(shown, masked) != 2 || !strings.Contains(shown, rightToLeft) || !strings.Contains(shown, long) {
		t.Errorf("the page is %s", page.body)
	}
	for _, banned := range []string{"<script", "<b>", override, isolate, "\x00", "\x1b"} {
		if strings.Contains(page.body, banned) {
			t.Errorf("the page has %q", banned)
		}
	}
	if strings.Count(page.body, b.text) != 1 { // where the failure is sent
		t.Errorf("the page shows the token: %s", page.body)
	}
}

// Only an open token of a flow has a step to read.
func TestThePageReadsNoMoreThanItShows(t *testing.T) {
	t.Parallel()
	for flags, want := range map[token.Flags]int32{0: 2, token.FlagExternal: 1} {
		b := newFixtureOf(t, flags)
		b.get().wantText(t, 200, "Report the outcome")
		if got := b.reads.Load(); got != want {
			t.Errorf("flags %d: %d reads, want %d", flags, got, want)
		}
	}
	b := newFixture(t)
	b.post("", "{}")
	b.get()
	if got := b.reads.Load(); got != 1 {
		t.Errorf("%d reads for the page of a closed token, want 1", got)
	}
}

func TestThePageOfADeadlineThatPassed(t *testing.T) {
	t.Parallel()
	b := asking(t, "Pay?", "Yes")
	handle, _, _ := strings.Cut(b.text, ".")
	if _, err := b.Close(t.Context(), handle, token.CloseOp{Outcome: token.Failure("E", ""), By: token.ClosedByDeadline, At: now}); err != nil {
		t.Fatal(err)
	}
	b.get().wantText(t, 200, "<h1>The deadline has passed</h1>", "Its deadline passed on 31 January 2026")
	b.send("", "choice=0").wantText(t, 409, "<h1>The deadline has passed</h1>")
	b.do(http.MethodGet, "/callbacks/unknown", "").wantText(t, 404, "<h1>This link is not valid</h1>")
}
