package fdl_test

import (
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/internal/suite/lineartest"
)

func TestLoadYAMLExplainsProblems(t *testing.T) {
	t.Parallel()
	bomb := "a0: &a0 [x]\n"
	for i := range 12 {
		bomb += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	for text, why := range map[string]string{
		"": "1:1: yaml: no documents in stream", "# none\n": "1:1: yaml: no documents in stream",
		"a: 1\nb: [1, x, {c: null}]\n": "", "a: &x {b: 1}\nc: *x\nd: {<<: *x, e: 2}\n": "",
		"- a\n":                     "1:1: found a list; allowed: a mapping",
		"a: 1\nb: 2\na: 3\n":        `3:1: mapping key "a" already defined at line 1`,
		"a: [{b: 1, c: 2, b: 3}]\n": `1:18: mapping key "b" already defined at line 1`,
		"a: 1\n--- \nb: 2\n":        "1:1: yaml: expected single document, found multiple",
		"a: [\n":                    "2:1: did not find expected node content",
		"a: *b\n":                   "1:4: unknown anchor 'b' referenced",
		bomb:                        "1:5: document contains excessive aliasing",
	} {
		var got, want map[string]any
		err, wantErr := fdl.LoadYAML([]byte(text), &got), yaml.Load([]byte(text), &want)
		if (err != nil) != (wantErr != nil) || err == nil && fmt.Sprint(got) != fmt.Sprint(want) || err != nil && err.Error() != why {
			t.Errorf("%.200q: error %v, want %s, of the library %.200v", text, err, why, wantErr)
		}
	}
	var fields struct {
		Each []struct {
			Name string `yaml:"name"`
		} `yaml:"each"`
	}
	err := fdl.LoadYAML([]byte("each:\n- {nam: a}\n- {name: [b]}\n- 3\n"), &fields, yaml.WithKnownFields())
	want := `2:4: field "nam" is unknown; did you mean "name"? (allowed: name)
3:10: found a list; allowed: a text
4:3: found a number; allowed: a mapping with name`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestLoadYAMLIsLinear(t *testing.T) {
	t.Parallel()
	read := func(text string) {
		var into map[string]any
		_ = fdl.LoadYAML([]byte(text), &into)
	}
	lineartest.Check(t, read, 2000, map[string]lineartest.Text{
		"keys":     lineartest.Repeated("", "a#: 1\n", ""),
		"repeated": lineartest.Repeated("", "a: 1\n", ""),
		"merged":   lineartest.Repeated("x: &x {y: 1}\n", "a#: {<<: *x}\n", ""),
	})
}
