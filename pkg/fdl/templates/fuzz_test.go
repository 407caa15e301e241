package templates_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/fdl/templates"
	"github.com/waitless/waitless/pkg/flow"
)

// FuzzFill: a value replaces placeholders in scalars and changes nothing else, and every problem is
// at a place of the text.
func FuzzFill(f *testing.F) {
	for _, text := range seeds(f) {
		f.Add(text, "fn-demo")
	}
	for _, value := range []string{"", "30", "x: 1", "a # b", `"`, "'", `\`, "- a", "{a: 1}", "*a", "null", "  ", "é", "|", "%", "${V}"} {
		f.Add("a: ${V}\nb: [x${V}, \"${V}\", '${V}']\nc: |\n  ${V} y\nd: ${V} # ${V}\n${V}: {e: &v ${V}, f: *v}\n", value)
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		if templates.CheckVar("V", value) != nil {
			return
		}
		filled, problems := templates.Fill([]byte(text), map[string]string{"V": value})
		for _, p := range problems {
			checkPlace(t, text, p)
		}
		if len(problems) > 0 {
			return
		}
		before, after := scalars(text), scalars(string(filled.Text))
		if len(before) != len(after) {
			t.Fatalf("%d scalars became %d:\n%s", len(before), len(after), filled.Text)
		}
		for i := range before {
			if want := replaced(before[i], value); after[i] != want {
				t.Errorf("%q became %q, want %q", before[i], after[i], want)
			}
		}
		_, found := fdl.Parse(filled.Text)
		for _, p := range found {
			p.Position = filled.Position(p.Position)
			checkPlace(t, text, p)
		}
	})
}

// replaced is a second way to say what Fill does to one scalar.
func replaced(text, value string) string {
	return regexp.MustCompile(`\$\$\{|\$\{!([A-Za-z_][A-Za-z0-9_.:-]*)\}|\$\{V\}`).ReplaceAllStringFunc(text, func(found string) string {
		switch found {
		case "$${":
			return "${"
		case "${V}":
			return value
		}
		return "${" + found[3:]
	})
}

// scalars returns the scalars of a text. Inside of braces a placeholder may stand without quotes.
func scalars(text string) (values []string) {
	text = strings.TrimPrefix(text, "\uFEFF")
	var documents []yaml.Node
	if yaml.Load([]byte(text), &documents, yaml.WithAllDocuments()) != nil {
		documents = nil
		isPart := regexp.MustCompile(`\$\$\{|\$\{!?[A-Za-z_][A-Za-z0-9_.:-]*\}`)
		text = isPart.ReplaceAllStringFunc(text, strings.NewReplacer("{", "\uE000", "}", "\uE001").Replace)
		if yaml.Load([]byte(text), &documents, yaml.WithAllDocuments()) != nil {
			return nil
		}
	}
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if n.Kind == yaml.ScalarNode {
			values = append(values, strings.NewReplacer("\uE000", "{", "\uE001", "}").Replace(n.Value))
		}
		for _, child := range n.Content {
			walk(child)
		}
	}
	for i := range documents {
		walk(&documents[i])
	}
	return values
}

func checkPlace(t *testing.T, text string, p flow.Problem) {
	t.Helper()
	lines := strings.Split(strings.TrimPrefix(text, "\uFEFF"), "\n")
	if p.Line < 1 || p.Line > len(lines) || p.Column < 1 || p.Column > utf8.RuneCountInString(lines[p.Line-1])+1 {
		t.Errorf("%s is beyond the text: %s", p.Position, p.Message)
	}
}

// seeds are flows.
func seeds(tb testing.TB) (texts []string) {
	tb.Helper()
	for _, pattern := range []string{"../../../events/*/flow.yaml", "../../internal/cli/testdata/flows/*.yaml", "../../internal/cli/testdata/templates/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			tb.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				tb.Fatal(err)
			}
			texts = append(texts, string(text))
		}
	}
	if len(texts) < 10 {
		tb.Fatalf("found %d flows", len(texts))
	}
	return texts
}

// FuzzImport: a template has flows or not, and each problem of one is at a place of the template or
// of the definition's file.
func FuzzImport(f *testing.F) {
	for _, name := range []string{"ros.yaml", "funcraft.yml", "s.yaml", "flows/resize.yml"} {
		text, err := os.ReadFile("../../internal/cli/testdata/templates/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), "test")
	}
	f.Add(resources+`{Fn::Sub: ["a: !Ref ${V}", {A: &a {Fn::Sub: [x, {B: *a}]}}]}}}`, "x")
	f.Fuzz(func(t *testing.T, text, value string) {
		vars := map[string]string{"V": value, "Stage": value}
		const file = "a: !Ref Album/resize\nb: ${V}\n"
		for _, flow := range append(templates.Find([]byte(text), vars), templates.Flow{}) {
			of := file
			if flow.Kind != "" && flow.File == "" {
				of = text
			}
			filled, problems := flow.Import([]byte(file), vars)
			for _, p := range problems {
				checkPlace(t, of, p)
			}
			_, found := fdl.Parse(filled.Text)
			for _, p := range found {
				p.Position = filled.Position(p.Position)
				checkPlace(t, of, p)
			}
		}
	})
}
