package target

import (
	"context"
	"net/http"
)

// maxAtWork is how many requests a server handles at once. Requests that wait for an execution do
// not count. Other requests wait for their turn, so clients cannot fill the memory with bodies.
const maxAtWork = 256

// atWork is a handler that handles so many requests at once.
type atWork struct {
	next  http.Handler
	turns chan struct{} // has an element for each request that is handled
}

type turnsKey struct{}

// ServeHTTP implements [http.Handler].
func (a atWork) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case a.turns <- struct{}{}:
	case <-r.Context().Done():
		return
	}
	defer func() { <-a.turns }()
	a.next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), turnsKey{}, a.turns)))
}

// Pause leaves the turn of a request to others until resume is called.
func Pause(ctx context.Context) (resume func()) {
	turns, ok := ctx.Value(turnsKey{}).(chan struct{})
	if !ok {
		return func() {}
	}
	<-turns
	return func() { turns <- struct{}{} }
}
