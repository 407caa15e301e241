package enginetest

import (
	"context"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
)

// Stops is the suite of [engine.Stops]. Each case gets an empty store.
func Stops(t *testing.T, open func(t *testing.T) engine.Stops) {
	t.Helper()
	runCases(t, open, []testCase[engine.Stops]{
		{"the first request stays", stopsFirst},
		{"an execution without a request has none", stopsNone},
		{"a cancelled context is an error and changes nothing", stopsCancelled},
	})
}

var stopped, other = engine.NewID("flow", "stopped"), engine.NewID("flow", "other")

func stopsFirst(c on[engine.Stops]) {
	want := engine.StopRequest{Error: "Enough", Cause: "it is \"enough\"\n\u00e9"}
	for _, request := range []engine.StopRequest{want, {Error: "Later"}, {}} {
		if err := c.it.RequestStop(c.t.Context(), stopped, request, epoch.Add(time.Hour)); err != nil {
			c.t.Fatal(err)
		}
		if got, ok, err := c.it.StopRequest(c.t.Context(), stopped); got != want || !ok || err != nil {
			c.t.Errorf("the request is %+v, %t, error %v; want %+v", got, ok, err, want)
		}
	}
}

func stopsNone(c on[engine.Stops]) {
	if err := c.it.RequestStop(c.t.Context(), stopped, engine.StopRequest{}, epoch.Add(time.Hour)); err != nil {
		c.t.Fatal(err)
	}
	if got, ok, err := c.it.StopRequest(c.t.Context(), other); got != (engine.StopRequest{}) || ok || err != nil {
		c.t.Errorf("the request is %+v, %t, error %v; want none", got, ok, err)
	}
	if got, ok, err := c.it.StopRequest(c.t.Context(), stopped); got != (engine.StopRequest{}) || !ok || err != nil {
		c.t.Errorf("the empty request is %+v, %t, error %v", got, ok, err)
	}
}

func stopsCancelled(c on[engine.Stops]) {
	ctx, cancel := context.WithCancel(c.t.Context())
	cancel()
	if err := c.it.RequestStop(ctx, stopped, engine.StopRequest{Error: "Enough"}, epoch.Add(time.Hour)); err == nil {
		c.t.Error("a request with a cancelled context is stored")
	}
	if _, _, err := c.it.StopRequest(ctx, stopped); err == nil {
		c.t.Error("a request is read with a cancelled context")
	}
	if _, ok, err := c.it.StopRequest(c.t.Context(), stopped); ok || err != nil {
		c.t.Errorf("the request is there: %t, error %v", ok, err)
	}
}
