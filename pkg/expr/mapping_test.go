package expr_test

import (
	"testing"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/value"
)

func mapping(tb testing.TB, target, source string) expr.Mapping {
	tb.Helper()
	s, err := expr.ParseSource(parse(tb, source))
	if err != nil {
		tb.Fatalf("source %s: %v", source, err)
	}
	return expr.Mapping{Target: target, Source: s}
}

func TestSource(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, source, path, want string }{ // path empty: a constant; want empty: missing
		{"path into the input", `"$input.delay"`, `$input.delay`, `5`},
		{"whole root", `"$context"`, `$context`, `{"execution":{"name":"E"},"task":{"token":"T"}}`},
		{"path to all", `"$local[*].result"`, `$local[*].result`, `[1,null,[7,8]]`},
		{"path to null", `"$input.none"`, `$input.none`, `null`},
		{"path to nothing", `"$input.missing"`, `$input.missing`, ``},
		{"text", `"done"`, ``, `"done"`},
		{"empty text", `""`, ``, `""`},
		{"text of another root", `"$.messageTag"`, ``, `"$.messageTag"`},
		{"dollar", `"$"`, ``, `"$"`},
		{"price", `"$5"`, ``, `"$5"`},
		{"item, which v1 does not have", `"$item"`, ``, `"$item"`},
		{"root in the middle", `"the $input"`, ``, `"the $input"`},
		{"space before the root", `" $input"`, ``, `" $input"`},
		{"other case", `"$Input"`, ``, `"$Input"`},
		{"negative number", `-1`, ``, `-1`},
		{"huge number", `12345678901234567890.10`, ``, `12345678901234567890.10`},
		{"boolean", `false`, ``, `false`},
		{"null", `null`, ``, `null`},
		{"empty object", `{}`, ``, `{}`},
		{"empty array", `[]`, ``, `[]`},
		{"path inside of an object", `{"a":"$input.delay"}`, ``, `{"a":"$input.delay"}`},
		{"path inside of an array", `["$local"]`, ``, `["$local"]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			source, err := expr.ParseSource(parse(t, tt.source))
			if err != nil {
				t.Fatal(err)
			}
			if p, ok := source.Path(); ok != (tt.path != "") || p.String() != tt.path {
				t.Errorf("path %s, %t; want %s", p, ok, tt.path)
			}
			got, want := source.Eval(sampleScope(t)), parse(t, tt.want)
			if got.Kind() != want.Kind() || got.JSON() != want.JSON() {
				t.Errorf("got %s (%s), want %s", got, got.Kind(), tt.want)
			}
		})
	}
}

// A mapping without a source reads as a missing value.
func TestSourceMissing(t *testing.T) {
	t.Parallel()
	source, err := expr.ParseSource(value.Missing())
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := source.Path(); ok {
		t.Errorf("a source that is not there has the path %q", p)
	}
	if v := source.Eval(sampleScope(t)); !v.IsMissing() {
		t.Errorf("value %s", v)
	}
}

func TestSourceErrors(t *testing.T) {
	t.Parallel()
	_, err := expr.ParseSource(value.String(`$local[1].`))
	checkSyntaxError(t, err, 10, `path $local[1].: found the end where a key belongs; a key has letters, digits, "_" and "-", others are written ["key"]`)
}

func TestMappingsEval(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		list []expr.Mapping
		want string
	}{
		{"none", nil, `{}`},
		{"sorted", []expr.Mapping{mapping(t, "b", `"$input.delay"`), mapping(t, "a", `1`)}, `{"a":1,"b":5}`},
		{"only what is listed", []expr.Mapping{mapping(t, "k", `"$context.task.token"`)}, `{"k":"T"}`},
		{"missing source", []expr.Mapping{mapping(t, "gone", `"$local.x"`), mapping(t, "k", `"$input.none"`)}, `{"k":null}`},
		{"dotted target", []expr.Mapping{mapping(t, "a.b", `1`), mapping(t, "a[0]", `2`), mapping(t, "", `3`)}, `{"":3,"a.b":1,"a[0]":2}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ms := expr.NewMappings(tt.list...)
			if ms == nil {
				t.Error("the list is nil, which is one that the flow does not have")
			}
			got := ms.Eval(sampleScope(t))
			if got.JSON() != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			checkSize(t, got)
		})
	}
}

func TestNewMappingsCopies(t *testing.T) {
	t.Parallel()
	list := []expr.Mapping{mapping(t, "b", `1`), mapping(t, "a", `2`)}
	ms := expr.NewMappings(list...)
	if list[0].Target != "b" {
		t.Error("NewMappings sorted the slice of its caller")
	}
	list[0].Target = "z"
	if got := ms.Eval(&expr.Scope{}).JSON(); got != `{"a":2,"b":1}` {
		t.Errorf("the list changed with its caller's slice: %s", got)
	}
}

func TestMappingsUses(t *testing.T) {
	t.Parallel()
	ms := expr.NewMappings(mapping(t, "a", `"$local.x"`), mapping(t, "b", `"$context.task.token"`), mapping(t, "c", `"$.input"`))
	for root, want := range map[expr.Root]bool{expr.RootLocal: true, expr.RootContext: true, expr.RootInput: false, expr.RootSelf: false} {
		if ms.Uses(root) != want {
			t.Errorf("Uses(%s) = %t, want %t", root, ms.Uses(root), want)
		}
	}
	if expr.Mappings(nil).Uses(expr.RootLocal) {
		t.Error("a nil list uses a root")
	}
}
