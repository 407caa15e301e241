package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
)

func TestErrorsCompareByCode(t *testing.T) {
	t.Parallel()
	notFound := &engine.Error{Code: engine.CodeNotFound, Op: "read flow a", Err: io.EOF}
	wrapped := fmt.Errorf("above: %w", notFound)
	conflict := &engine.ConflictError{Nonce: "n"}
	cases := []struct {
		name        string
		err, target error
		want        bool
	}{
		{"same code", notFound, engine.ErrNotFound, true},
		{"same code below", wrapped, engine.ErrNotFound, true},
		{"another code", notFound, engine.ErrConflict, false},
		{"the cause", wrapped, io.EOF, true},
		{"a conflict", conflict, engine.ErrConflict, true},
		{"a conflict is not missing", conflict, engine.ErrNotFound, false},
		{"only a sentinel matches others", notFound, &engine.Error{Code: engine.CodeNotFound, Op: "read flow b"}, false},
		{"a sentinel itself", engine.ErrNotFound, engine.ErrNotFound, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := errors.Is(c.err, c.target); got != c.want {
				t.Errorf("errors.Is is %v, want %v", got, c.want)
			}
		})
	}
}

func TestCodeOf(t *testing.T) {
	t.Parallel()
	cases := []struct {
		err  error
		want engine.Code
	}{
		{nil, ""},
		{io.EOF, engine.CodeInternal},
		{context.Canceled, engine.CodeInternal},
		{engine.ErrNotFound, engine.CodeNotFound},
		{&engine.ConflictError{}, engine.CodeConflict},
		{fmt.Errorf("above: %w", &engine.Error{Code: engine.CodeTooNew}), engine.CodeTooNew},
		{&engine.Error{Code: engine.CodeInvalid, Err: engine.ErrNotFound}, engine.CodeInvalid},
	}
	for _, c := range cases {
		if got := engine.CodeOf(c.err); got != c.want {
			t.Errorf("the code of %v is %q, want %q", c.err, got, c.want)
		}
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	cases := []struct {
		err  error
		want string
	}{
		{engine.ErrNotFound, "NotFound"},
		{&engine.Error{Code: engine.CodeInvalid, Op: "start a/b"}, "start a/b: Invalid"},
		{&engine.Error{Code: engine.CodeNotFound, Op: "start a/b", Err: engine.ErrNotFound}, "start a/b: NotFound"},
		{&engine.Error{Code: engine.CodeInternal, Op: "start a/b", Err: io.EOF}, "start a/b: EOF"},
		{&engine.ConflictError{Nonce: "n"}, "the log has an item with this number already"},
	}
	for _, c := range cases {
		if got := c.err.Error(); got != c.want {
			t.Errorf("the text is %q, want %q", got, c.want)
		}
	}
}

func TestIDIsOfBothNames(t *testing.T) {
	t.Parallel()
	ids := map[engine.ID]bool{}
	for _, names := range [][2]string{{"a", "b"}, {"a", "b"}, {"ab", ""}, {"b", "a"}, {"", "ab"}} {
		ids[engine.NewID(names[0], names[1])] = true
	}
	if len(ids) != 4 {
		t.Errorf("%d ids, want 4", len(ids))
	}
	if got := engine.NewID("polling", "run-1").String(); len(got) != 24 {
		t.Errorf("the id is %q, want 24 digits", got)
	}
}
