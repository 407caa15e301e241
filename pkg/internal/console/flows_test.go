package console

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// hostile is text that breaks pages that do not escape it.
const hostile = `</textarea><script>alert("x")</script>'&amp;{{.}}`

func TestFlowsAreListedWithTheirLatestDefinition(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if !strings.Contains(f.get("/flows"), "There is no flow yet") {
		t.Error("a store without flows has no text that says so")
	}
	f.put("approval", approval)
	f.put("approval", approval+"# newer\n")
	list := f.get("/flows")
	if strings.Count(list, `<a href="/flows/approval">`) != 1 || !strings.Contains(list, `<td class="wide">1</td>`) {
		t.Errorf("the flow and its older definition are not listed once: %s", list)
	}
	shown := f.get("/flows/approval")
	if !strings.Contains(shown, "# newer") || !strings.Contains(shown, `class="flow"`) || strings.Count(shown, "?hash=") != 1 {
		t.Errorf("the page of the flow lacks the latest text, the graph or the older definition: %s", shown)
	}
}

func TestTheEditorShowsProblemsAtTheirPlaceAndStoresNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("approval", approval)
	text := strings.Replace(approval, "timeoutSeconds: 600", "timeoutSecond: "+hostile, 1)
	for path, form := range map[string]url.Values{
		"/flows/approval": {"definition": {text}, "do": {"store"}},
		"/new-flow":       {"definition": {text}, "do": {"store"}, "name": {hostile}},
	} {
		status, shown, _ := f.post(path, form)
		if status != http.StatusUnprocessableEntity || strings.Contains(shown, "<script>") || strings.Count(shown, "<textarea") != 1 {
			t.Errorf("%s: %d: %s", path, status, shown)
		}
		for _, want := range []string{">8:5</a>", "did you mean &#34;timeoutSeconds&#34;", "    timeoutSecond: ", "    ^", "is not stored"} {
			if !strings.Contains(shown, want) {
				t.Errorf("%s: the page lacks %q: %s", path, want, shown)
			}
		}
		if !strings.Contains(html.UnescapeString(shown), text) {
			t.Errorf("%s: the page does not have what was typed: %s", path, shown)
		}
	}
	if list, err := f.api.Flows(t.Context(), ""); err != nil || len(list) != 1 {
		t.Errorf("stored: %v, error %v", list, err)
	}
}

func TestTheEditorStoresAFlow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	text := strings.ReplaceAll(approval, "\n", "\r\n") // as browsers send it
	for _, c := range []struct {
		do, name string
		status   int
		says     string
	}{
		{"check", "", http.StatusOK, "The definition is valid"},
		{"store", "", http.StatusUnprocessableEntity, "give the flow a name"},
		{"store", "no/name", http.StatusUnprocessableEntity, "no/name"},
	} {
		status, shown, _ := f.post("/new-flow", url.Values{"definition": {text}, "do": {c.do}, "name": {c.name}})
		if status != c.status || !strings.Contains(shown, c.says) {
			t.Errorf("%s as %q: %d: %s", c.do, c.name, status, shown)
		}
	}
	if _, _, at := f.post("/new-flow", url.Values{"definition": {text}, "do": {"store"}, "name": {"approval"}}); at != "/flows/approval" {
		t.Errorf("the page after storing is %s", at)
	}
	if stored, err := f.api.Flow(t.Context(), "approval", ""); err != nil || stored.Definition != approval {
		t.Errorf("stored: %q, error %v", stored.Definition, err)
	}
}
