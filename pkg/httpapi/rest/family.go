package rest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// mostSubflows is how many sub-flows [Below] reads.
const mostSubflows = 20

// Below returns the open waits of the sub-flows for which an execution waits, at any depth, of at
// most 20 sub-flows. It reads them with the functions execution and waits.
func Below(
	ctx context.Context, e Execution, execution func(ctx context.Context, flow, name string, unmask bool) (Execution, error),
	waits func(ctx context.Context, flow, name string) ([]Token, error),
) (tokens []Token, err error) {
	var names []string
	add := func(e Execution) {
		if e.Waiting != nil {
			names = append(names, e.Waiting.Subflows()...)
		}
	}
	add(e)
	for i := 0; i < min(len(names), mostSubflows) && err == nil; i++ {
		if slices.Contains(names[:i], names[i]) {
			continue
		}
		flow, name, _ := strings.Cut(names[i], "/")
		var found []Token
		if e, err = execution(ctx, flow, name, false); err == nil {
			add(e)
			found, err = waits(ctx, flow, name)
		}
		if refused, ok := errors.AsType[*Error](err); ok && refused.Status == http.StatusNotFound { // it has not started, or is gone
			err = nil
		}
		tokens = append(tokens, found...)
	}
	return tokens, err
}
