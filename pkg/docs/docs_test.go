package docs_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/waitless/waitless/pkg/docs"
)

func TestFindNamesOneTopic(t *testing.T) {
	t.Parallel()
	for _, topic := range docs.Topics() {
		if found, ok := docs.Find(topic.Name); !ok || found != topic {
			t.Errorf("Find(%q) = %q, %t", topic.Name, found.Name, ok)
		}
	}
	pages, err := filepath.Glob("reference/*.md")
	if err != nil || len(pages) != len(docs.Topics())+1 {
		t.Errorf("%d pages, want one a topic and the list of them (%v)", len(pages), err)
	}
	if found, ok := docs.Find("nothing"); ok {
		t.Errorf("Find of no topic's name gives %q", found.Name)
	}
}

func TestFindRule(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"W-3": "W-3", "w-3": "W-3", "E-14": "E-14", "W-999": "", "W": "", "wait": "", "": ""} {
		if got, ok := docs.FindRule(name); got.Number != want || ok != (want != "") || ok && got.Text == "" {
			t.Errorf("%q: %+v, %t; want %q", name, got, ok, want)
		}
	}
}

func TestFindError(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]docs.Error{
		"FnF.TaskTimeout": {Name: "FnF.TaskTimeout", Rules: []string{"T-11", "B-6", "B-9"}},
		"fnf.tasktimeout": {Name: "FnF.TaskTimeout", Rules: []string{"T-11", "B-6", "B-9"}},
		"Token.Revoked":   {Name: "Token.Revoked", Rules: []string{"E-10"}},
		"FnF.NoSuchError": {}, "error": {}, "": {}, "T-11": {},
	} {
		got, ok := docs.FindError(name)
		if got.Name != want.Name || !slices.Equal(got.Rules, want.Rules) || ok != (want.Name != "") || ok && got.When == "" {
			t.Errorf("%q: %+v, %t; want %+v", name, got, ok, want)
		}
	}
}

// TestErrorsMatchTheTable compares Errors with the table, as tests read it.
func TestErrorsMatchTheTable(t *testing.T) {
	t.Parallel()
	var names []string
	for _, e := range docs.Errors() {
		names = append(names, e.Name)
	}
	if want := unquoted(tableOf(t, "errors", "error").column("error")); !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}
