package fdl_test

import (
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/internal/suite/lineartest"
)

func TestLoadYAMLReportsWhatTheLibraryReports(t *testing.T) {
	t.Parallel()
	bomb := "a0: &a0 [x]\n"
	for i := range 12 {
		bomb += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	for _, text := range []string{
		"", "# none\n", "a: 1\nb: [1, x, {c: null}]\n", "a: &x {b: 1}\nc: *x\nd: {<<: *x, e: 2}\n", "- a\n", "a: 1\nb: 2\na: 3\n", "a: [{b: 1, c: 2, b: 3}]\n",
		"a: 1\n--- \nb: 2\n", "a: [\n", "a: *b\n", bomb,
	} {
		var got, want map[string]any
		err, wantErr := fdl.LoadYAML([]byte(text), &got), yaml.Load([]byte(text), &want)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) || wantErr == nil && fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%.200q: got %v, %v; want %v, %v", text, got, err, want, wantErr)
		}
	}
	var fields struct{ A int }
	err, wantErr := fdl.LoadYAML([]byte("b: 1\n"), &fields, yaml.WithKnownFields()), yaml.Load([]byte("b: 1\n"), &fields, yaml.WithKnownFields())
	if wantErr == nil || fmt.Sprint(err) != wantErr.Error() {
		t.Errorf("an unknown field: %v; want %v", err, wantErr)
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
