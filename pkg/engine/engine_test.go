package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// TestDefaults: what New gives where the config says nothing.
func TestDefaults(t *testing.T) {
	t.Parallel()
	e := engine.New(engine.Config{})
	a, b := e.Fresh(), e.Fresh()
	if a == b || len(a) != 16 {
		t.Errorf("fresh texts are %q and %q", a, b)
	}
	e.Observer.Committed(engine.ID{}, machine.State{}, nil) // nobody minds
}

// A base that ends with a slash would give URLs with two.
func TestTheCallbackBaseEndsWithoutASlash(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"https://host", "https://host/"} {
		if e := engine.New(engine.Config{CallbackBase: base}); e.CallbackBase != "https://host" {
			t.Errorf("%s becomes %s", base, e.CallbackBase)
		}
	}
}

func TestPauseTakesItsTimeAndEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := engine.New(engine.Config{})
		begin := time.Now()
		if err := e.Pause(t.Context(), time.Second); err != nil || time.Since(begin) != time.Second {
			t.Errorf("the pause took %s, error %v", time.Since(begin), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := e.Pause(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 2*time.Second {
			t.Errorf("after %s error %v", time.Since(begin), err)
		}
	})
}
