package callbackurl_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/token"
)

func (b *fixture) get() response {
	b.t.Helper()
	return b.do(http.MethodGet, "/callbacks/"+b.text, "")
}

// wantText looks for a text of the page, as a person reads it.
func (a response) wantText(t *testing.T, status int, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if a.status != status || !strings.Contains(html.UnescapeString(a.body), text) {
			t.Errorf("response %d %s; want %d with %q", a.status, a.body, status, text)
		}
	}
}

// places are where the forms of a page go, as a browser makes them out.
func (a response) places(t *testing.T, base string) []string {
	t.Helper()
	at, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	var places []string
	for _, tag := range strings.Split(a.body, "<form ")[1:] {
		tag, _, _ = strings.Cut(tag, ">")
		_, action, _ := strings.Cut(tag, ` action="`)
		place, err := at.Parse(strings.TrimSuffix(action, `"`))
		if err != nil || !strings.Contains(tag, `method="post"`) {
			t.Fatalf("form %s: %v", tag, err)
		}
		places = append(places, place.String())
	}
	return places
}

func TestThePageHasAFormForEachOutcome(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	page := b.get()
	page.wantText(t, 200, "Report the outcome", `name="output"`, `name="error"`, `name="cause"`)
	base := "https://example.com/stage/callbacks/" + b.text
	want := base + " " + base + "/failure"
	if got := strings.Join(page.places(t, base), " "); got != want {
		t.Errorf("the forms go to %s; want %s", got, want)
	}
	// Of the pages that say what was wrong.
	if got := strings.Join(b.send("", "output=").places(t, base), " "); got != want {
		t.Errorf("the forms go to %s; want %s", got, want)
	}
	if got := strings.Join(b.send("/failure", "error=").places(t, base+"/failure"), " "); got != want {
		t.Errorf("the forms go to %s; want %s", got, want)
	}
}

// The only thing that the policy lets a page load is the style that it has.
func TestThePageObeysItsPolicy(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	page := b.get()
	_, style, _ := strings.Cut(page.body, "<style>")
	style, _, ok := strings.Cut(style, "</style>")
	sum := sha256.Sum256([]byte(style))
	policy := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
	if got := page.header.Get("Content-Security-Policy"); !ok || got != policy {
		t.Errorf("the policy is %s; want %s", got, policy)
	}
	if banned := regexp.MustCompile(`(?i)<script|\s(style|src|href|on[a-z]+)=|javascript:`).FindString(page.body); banned != "" {
		t.Errorf("the page has %q", banned)
	}
}

// A form brings what JSON brings.
func TestFormReportsASuccess(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for range 2 {
		b.send("", "output="+url.QueryEscape("{\r\n \"status\": \"<ok>\"\r\n}")).wantText(t, 200, "The outcome is recorded",
			"A success was reported on 31 January 2026 at 10:00:00 UTC.")
	}
	if output := b.held().Outcome.Output.JSON(); output != `{"status":"<ok>"}` {
		t.Errorf("the token holds %s", output)
	}
	b.send("/failure", "error=Late&cause=").wantText(t, 409, "An outcome was reported before", "A success was reported on 31 January 2026 at 10:00:00 UTC.")
	b.get().wantText(t, 200, "The outcome is recorded", "A success was reported on 31 January 2026 at 10:00:00 UTC.")
	if page := b.get(); len(page.places(t, "/")) > 0 || strings.Contains(page.body, "status") {
		t.Errorf("the page of a closed token is %s", page.body)
	}
}

func TestFormReportsAFailure(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.send("/failure", "error=+Rejected+&cause="+url.QueryEscape("not\r\nnow")).wantText(t, 200, "A failure was reported on")
	if record := b.held(); record.Outcome.Error != "Rejected" || record.Outcome.Cause != "not\nnow" {
		t.Errorf("the token holds %+v", record.Outcome)
	}
	b.send("", "output={}").wantText(t, 409, "A failure was reported on")
}

// Of two values the page would show one, and count one.
func TestFormWithAFieldTwiceIsRejected(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for end, body := range map[string][]string{
		"":         {"choice=0&choice=1", "output={}&output=%7B%22a%22:1%7D", "output={}&choice=0&choice=0"},
		"/failure": {"error=A&error=B", "error=A&cause=&cause=b"},
	} {
		for _, body := range body {
			b.send(end, body).wantText(t, 400, "2 times; send it once")
		}
	}
	if record := b.held(); !record.Open() {
		t.Errorf("the token holds %+v", record)
	}
}

// What was typed is there again, as a text.
func TestInvalidFormIsShownAgain(t *testing.T) {
	t.Parallel()
	const typed = `{"a": </textarea><script>alert("x")</script> 'é&amp;`
	b := newFixture(t)
	for _, tt := range []struct {
		end, field string
		status     int
		want       string
	}{
		{"", "output=" + url.QueryEscape(typed), 400, "The output cannot be read; allowed: a JSON object."},
		{"", "output=[]&x=" + url.QueryEscape(typed), 400, "The output is an array; allowed: an object."},
		{"", "output=" + url.QueryEscape(`{"a":"`+strings.Repeat("a", 32<<10)+`"}`), 413, "the limit is 32768"},
		{"", "output=", 400, "The output cannot be read"},
		{"/failure", "error=&cause=" + url.QueryEscape(typed), 400, "A failure has no error"},
		{"/failure", "error=+&cause=" + url.QueryEscape(typed), 400, "A failure has no error"},
		{"/failure", "cause=x&error=" + url.QueryEscape(strings.Repeat(typed, 1000)), 413, "the limit is 32768"},
	} {
		page := b.send(tt.end, tt.field)
		page.wantText(t, tt.status, tt.want)
		values, err := url.ParseQuery(tt.field)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"output", "error", "cause"} {
			if text := values.Get(name); text != "" {
				page.wantText(t, tt.status, text)
			}
		}
		if strings.Contains(page.body, "<script") || len(page.places(t, "/")) != 2 {
			t.Errorf("the page is %s", page.body)
		}
	}
	b.send("", "output=%zz").wantText(t, 400, "The form cannot be read")
	b.send("", "output="+strings.Repeat("a", 1<<20)).wantText(t, 413, "The request has 1048583 bytes and the limit is 262144")
	if b.uses.Load() != 0 || !b.held().Open() {
		t.Errorf("the token holds %+v after %d uses", b.held(), b.uses.Load())
	}
}

// Programs get JSON, whatever they say of what they send.
func TestProgramsGetJSON(t *testing.T) {
	t.Parallel()
	const form = "application/x-www-form-urlencoded"
	for name, tt := range map[string]struct {
		body   string
		header []string
	}{
		"as JSON":             {`{"a":"output="}`, []string{"Content-Type", "application/json", "Accept", "text/html"}},
		"as nothing":          {`{"a":"output="}`, nil},
		"as text":             {`{"a":"output="}`, []string{"Content-Type", "text/plain"}},
		"by curl":             {`{"a":"output="}`, []string{"Content-Type", form, "Accept", "*/*"}},
		"a form of a program": {`output=%7B%22a%22%3A%22output%3D%22%7D`, []string{"Content-Type", form}},
		"a form that asks JSON": {
			`output=%7B%22a%22%3A%22output%3D%22%7D`, []string{"Content-Type", form + "; charset=utf-8", "Accept", "text/html, application/json"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t)
			got := b.do(http.MethodPost, "/callbacks/"+b.text, tt.body, tt.header...)
			if got.status != 200 || !json.Valid([]byte(got.body)) || b.held().Outcome.Output.JSON() != `{"a":"output="}` {
				t.Errorf("response %+v; the token holds %+v", got, b.held())
			}
		})
	}
}

// What looks like a form and is not called one is no JSON either.
func TestAFormThatIsCalledJSON(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	if got := b.do(http.MethodPost, "/callbacks/"+b.text, "output={}", "Content-Type", "application/json"); got.status != 400 || !b.held().Open() {
		t.Errorf("response %+v", got)
	}
}

// A browser that sends no form of ours is told so on a page.
func TestTheFormOfAPageMayBringJSON(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.send("", `{"a":1}`).wantText(t, 200, "A success was reported")
	b.send("", "other=1").wantText(t, 400, "The output cannot be read")
}

func TestThePageSaysWhatClosedTheToken(t *testing.T) {
	t.Parallel()
	for by, want := range map[token.Closer]string{
		token.ClosedByEvent: "Its job ended with a failure on 31", token.ClosedByReconcile: "Its job ended with a failure on 31",
		token.ClosedByDeadline: "Its deadline passed on 31", token.ClosedByCallback: "A failure was reported on 31",
	} {
		b := newFixture(t)
		handle, _, _ := strings.Cut(b.text, ".")
		closing := token.CloseOp{Outcome: token.Failure("secret", "secret"), By: by, At: now}
		if _, err := b.Close(t.Context(), handle, closing); err != nil {
			t.Fatal(err)
		}
		b.get().wantText(t, 200, want)
		if strings.Contains(b.get().body, "secret") {
			t.Errorf("the page tells the outcome: %s", b.get().body)
		}
	}
}

func TestThePageOfAStoreThatFails(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.fails = errors.New("table gone near " + b.text)
	for _, got := range []response{b.get(), b.send("", `output={"a":"typed"}`)} {
		got.wantText(t, 500, "Internal error; try again.")
		if strings.Contains(got.body, "table gone") {
			t.Errorf("response %s", got.body)
		}
	}
	b.send("", `output={"a":"typed"}`).wantText(t, 500, `{"a":"typed"}`)
	if !strings.Contains(b.log.String(), "table gone") || strings.Contains(b.log.String(), b.text) {
		t.Errorf("the log says %s", b.log.String())
	}
}

// No page has a form for heartbeats, so the response to one is JSON.
func TestAHeartbeatHasNoPage(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.send("/heartbeat", "").want(t, 200, `{"open":true,"lastHeartbeat":"2026-01-31T10:00:00.000Z"}`)
}
