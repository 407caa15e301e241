package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waitless/waitless/pkg/engine"
)

func TestConstructorsRejectMissingPorts(t *testing.T) {
	t.Parallel()
	_, worker := engine.NewWorker(engine.Config{})
	_, runner := engine.NewTaskRunner(engine.Config{Now: time.Now})
	_, client := engine.NewClient(engine.Config{Now: time.Now})
	for want, err := range map[string]error{
		"the worker lacks Log, Wakes, Caller, TaskQueue, Flows, TokenStore, Stops, Joins, Now": worker,
		"the task runner lacks Wakes, Caller, TokenStore":                                      runner,
		"the client lacks Log, Wakes, Flows, TokenStore, Stops":                                client,
	} {
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("the error is %v; want %q", err, want)
		}
	}
}

func TestRandomTextsDiffer(t *testing.T) {
	t.Parallel()
	if a, b := engine.RandomText(), engine.RandomText(); a == b || len(a) != 16 {
		t.Errorf("the texts are %q and %q", a, b)
	}
}

func TestSleepEndsInTimeOrWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		if err := engine.Sleep(t.Context(), time.Second); err != nil || time.Since(begin) != time.Second {
			t.Errorf("it slept %s, error %v", time.Since(begin), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := engine.Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 2*time.Second {
			t.Errorf("after %s error %v", time.Since(begin), err)
		}
	})
}

// allPorts are there and not used.
type allPorts struct {
	engine.Log
	engine.Flows
	engine.TokenStore
	engine.Stops
	engine.Joins
	engine.Wakes
	engine.Caller
	engine.TaskQueue
}

// A base that ends with a slash would give URLs with two.
func TestTheCallbackBaseEndsWithoutASlash(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"https://host", "https://host/"} {
		ports := allPorts{}
		w, err := engine.NewWorker(engine.Config{
			Log: ports, Wakes: ports, Caller: ports, TaskQueue: ports, Flows: ports, TokenStore: ports, Stops: ports, Joins: ports, Now: time.Now, CallbackBase: base,
		})
		if err != nil || w.CallbackBase() != "https://host" {
			t.Errorf("%s: error %v", base, err)
		}
	}
}
