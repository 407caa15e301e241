package expr_test

import (
	"errors"
	"testing"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/value"
)

var everyRoot = []expr.Root{expr.RootSelf, expr.RootInput, expr.RootLocal, expr.RootContext}

// sampleScope has something for every root.
func sampleScope(tb testing.TB) *expr.Scope {
	tb.Helper()
	return &expr.Scope{
		Self: parse(tb, `{"n":3,"s":"text","t":true,"f":false,"z":null,"list":[1,"b",[2],null],"o":{"n":3.0,"s":"o"},
			"big":9007199254740993,"empty":[],"a b":"space","":"nothing","key-1":"hyphen","é":"accent"}`),
		Input: parse(tb, `{"events":[{"oss":{"object":{"key":"k"}}}],"delay":5,"none":null}`),
		Local: parse(tb, `[{"result":1,"parts":[{"id":"a","tags":[1,2]},{"id":"b"}]},{"result":null,"parts":[]},{"other":2},
			{"result":[7,8],"parts":[{"id":"c","tags":[3]}]},"text"]`),
		Context: parse(tb, `{"task":{"token":"T"},"execution":{"name":"E"}}`),
	}
}

func TestPathEval(t *testing.T) {
	t.Parallel()
	tests := []struct{ path, want string }{ // want empty: missing
		{`$.n`, `3`},
		{`$.o.s`, `"o"`},
		{`$["a b"]`, `"space"`},
		{`$[""]`, `"nothing"`},
		{`$["\u0061\u0020b"]`, `"space"`},
		{`$["n"]`, `3`},
		{`$.key-1`, `"hyphen"`},
		{`$.é`, `"accent"`},
		{`$.z`, `null`},
		{`$.list[2][0]`, `2`},
		{`$.list[03]`, `null`},
		{`$input`, `{"delay":5,"events":[{"oss":{"object":{"key":"k"}}}],"none":null}`},
		{`$input.events[0].oss.object.key`, `"k"`},
		{`$input["events"][0]["oss"].object`, `{"key":"k"}`},
		{`$context.task.token`, `"T"`},
		{`$local[1]`, `{"parts":[],"result":null}`},
		// [*]
		{`$input.events[*].oss.object.key`, `["k"]`},
		{`$local[*].result`, `[1,null,[7,8]]`},
		{`$local[*].parts`, `[[{"id":"a","tags":[1,2]},{"id":"b"}],[],[{"id":"c","tags":[3]}]]`},
		{`$local[*].parts[*]`, `[{"id":"a","tags":[1,2]},{"id":"b"},{"id":"c","tags":[3]}]`},
		{`$local[*].parts[*].id`, `["a","b","c"]`},
		{`$local[*].parts[*].tags[*]`, `[1,2,3]`},
		{`$local[*].parts[0].id`, `["a","c"]`},
		{`$local[*].nowhere`, `[]`},
		{`$local[*].nowhere[*]`, `[]`},
		{`$.list[*]`, `[1,"b",[2],null]`},
		{`$.empty[*].x`, `[]`},
		// What is not there.
		{`$.missing`, ``},
		{`$.missing.x`, ``},
		{`$.z.x`, ``},
		{`$.s.x`, ``},
		{`$.s[0]`, ``},
		{`$.list[4]`, ``},
		{`$.list.0`, ``},
		{`$.o[0]`, ``},
		{`$.o[*]`, ``},
		{`$.n[*]`, ``},
		{`$input.missing[*].x`, ``},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			t.Parallel()
			p, err := expr.ParsePath(tt.path, everyRoot...)
			if err != nil {
				t.Fatal(err)
			}
			got, want := p.Eval(sampleScope(t)), parse(t, tt.want)
			if got.Kind() != want.Kind() || got.JSON() != want.JSON() {
				t.Errorf("got %s (%s), want %s", got, got.Kind(), tt.want)
			}
			checkSize(t, got)
			if missing := p.Eval(&expr.Scope{}); !missing.IsMissing() {
				t.Errorf("%s in an empty scope", missing)
			}
		})
	}
}

func TestPathString(t *testing.T) {
	t.Parallel()
	tests := []struct {
		path, want string
		root       expr.Root
	}{
		{`$`, `$`, expr.RootSelf},
		{`$input`, `$input`, expr.RootInput},
		{`$local[*].a[0].b-c`, `$local[*].a[0].b-c`, expr.RootLocal},
		{`$context["task"]["token"]`, `$context.task.token`, expr.RootContext},
		{`$["a b"]["\u0063"]["é"]["1"]`, `$["a b"].c.é.1`, expr.RootSelf},
		{`$[""]["a.b"]["\""]["\n"]`, `$[""]["a.b"]["\""]["\n"]`, expr.RootSelf},
		{`$[007]`, `$[7]`, expr.RootSelf},
	}
	for _, tt := range tests {
		p, err := expr.ParsePath(tt.path, everyRoot...)
		if err != nil {
			t.Errorf("ParsePath(%s): %v", tt.path, err)
			continue
		}
		if p.String() != tt.want || p.Root() != tt.root {
			t.Errorf("%s prints %s with root %s, want %s with %s", tt.path, p, p.Root(), tt.want, tt.root)
		}
	}
}

// checkSyntaxError says that err is a SyntaxError with this place and message.
func checkSyntaxError(t *testing.T, err error, offset int, message string) {
	t.Helper()
	var syntax *expr.SyntaxError
	if !errors.As(err, &syntax) {
		t.Fatalf("error %v, want a SyntaxError", err)
	}
	if syntax.Offset != offset {
		t.Errorf("offset %d, want %d", syntax.Offset, offset)
	}
	if syntax.Message != message || syntax.Error() != message {
		t.Errorf("message\n%s\nwant\n%s", syntax.Message, message)
	}
}

func TestPathErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		path   string
		offset int
		want   string
	}{
		{`$input `, 6, `path $input : found " " after $input; a path goes on with ".key", ["key"], [0] or [*]`},
		{`$input.é.a:b`, 10, `path $input.é.a:b: found ":" after $input.é.a; a path goes on with ".key", ["key"], [0] or [*]`},
		{`$input.`, 7, `path $input.: found the end where a key belongs; a key has letters, digits, "_" and "-", others are written ["key"]`},
		{`$input..x`, 7, `path $input..x: found "." where a key belongs; a key has letters, digits, "_" and "-", others are written ["key"]`},
		{`$input.*`, 7, `path $input.*: found "*" where a key belongs; a key has letters, digits, "_" and "-", others are written ["key"]`},
		{`$input[`, 7, `path $input[: found the end in brackets; allowed: an index from 0 to 2147483647, "*" or a key in double quotes`},
		{`$input[]`, 7, `path $input[]: found "]" in brackets; allowed: an index from 0 to 2147483647, "*" or a key in double quotes`},
		{`$input[-1]`, 7, `path $input[-1]: found "-" in brackets; allowed: an index from 0 to 2147483647, "*" or a key in double quotes`},
		{`$input[?(@.x)]`, 7, `path $input[?(@.x)]: found "?" in brackets; allowed: an index from 0 to 2147483647, "*" or a key in double quotes`},
		{`$input['k']`, 7, `path $input['k']: found "'" in brackets; allowed: an index from 0 to 2147483647, "*" or a key in double quotes`},
		{`$input[0`, 8, `path $input[0: found the end where "]" belongs`},
		{`$input[0:2]`, 8, `path $input[0:2]: found ":" where "]" belongs`},
		{`$input[*`, 8, `path $input[*: found the end where "]" belongs`},
		{`$input["k`, 7, `path $input["k: text that begins with "k has no closing quote`},
		{`$input["a\x"]`, 7, `path $input["a\x"]: text "a\x" has a control character or an unknown escape; write \n for a line break and \\ for a backslash`},
		{"$input[\"a\n\"]", 7,
			"path $input[\"a\n\"]: text \"a\n\" has a control character or an unknown escape; write \\n for a line break and \\\\ for a backslash"},
		{`$input[99999999999999999999]`, 7, `path $input[99999999999999999999]: found "99999999999999999999" in brackets; ` +
			`allowed: an index from 0 to 2147483647, "*" or a key in double quotes`},
		{``, 0, `path "": found the end where a path belongs; a path here begins with $input or $local or $context, like $input.key`},
		{`é.x`, 0, `path é.x: found "é" where a path belongs; a path here begins with $input or $local or $context, like $input.key`},
		{`$`, 0, `path $: found "$" where a path belongs; a path here begins with $input or $local or $context, like $input.key`},
		{`$.x`, 0, `path $.x: found "$" where a path belongs; a path here begins with $input or $local or $context, like $input.key`},
		{`$item.x`, 0, `path $item.x: found "$item" where a path belongs; a path here begins with $input or $local or $context, like $input.key`},
		{`$inputs`, 0, `path $inputs: found "$inputs" where a path belongs; a path here begins with $input or $local or $context, like $input.key`},
		{`$input"k"`, 6, `path $input"k": found '"' after $input; a path goes on with ".key", ["key"], [0] or [*]`},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			t.Parallel()
			_, err := expr.ParsePath(tt.path, expr.MappingRoots...)
			checkSyntaxError(t, err, tt.offset, tt.want)
		})
	}
}

// FuzzParsePath checks that what parses prints, and parses again to a path
// that prints and selects the same.
func FuzzParsePath(f *testing.F) {
	for _, path := range []string{
		`$`, `$input.events[0].oss`, `$local[*].parts[*].tags[*]`, `$["a b"].key-1`, `$[""]["\u2028\"\ud83d"]`, `$context[007].é`, "$[\"\xff\"]",
	} {
		f.Add(path)
	}
	scope := sampleScope(f)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := expr.ParsePath(text, everyRoot...)
		if err != nil {
			var syntax *expr.SyntaxError
			if !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len([]rune(text)) || syntax.Message == "" {
				t.Fatalf("bad error %#v", err)
			}
			return
		}
		again, err := expr.ParsePath(p.String(), p.Root())
		if err != nil {
			t.Fatalf("%q prints %s: %v", text, p, err)
		}
		if again.String() != p.String() {
			t.Errorf("%s reads back as %s", p, again)
		}
		got, want := again.Eval(scope), p.Eval(scope)
		if !value.Equal(got, want) {
			t.Errorf("%s selects %s, read back %s", p, want, got)
		}
		checkSize(t, got)
	})
}
