package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// job is a load for a system.
type job struct {
	Workload string
	InFlight int           // executions that are open at once
	Length   time.Duration // for how long executions are started
	Prefix   string        // of the names of executions
}

// load is what a job measured.
type load struct {
	Executions int
	Took       time.Duration
	// Median and Late are the 50th and the 99th percentile of the times from sending the event of a
	// callback to the end of its execution.
	Median, Late time.Duration
}

func (l load) rate() float64 { return float64(l.Executions) / l.Took.Seconds() }

// limit is how long an execution may take, on a machine that is busy.
const limit = 2 * time.Minute

// run starts executions until the length is over, and awaits those that it started.
func (j job) run(ctx context.Context, a app) (load, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, j.Length+limit, fmt.Errorf("%s: not all executions end within %s", j.Workload, limit))
	defer cancel()
	var (
		all    sync.WaitGroup
		next   atomic.Int64
		mu     sync.Mutex
		failed error
		took   []time.Duration
	)
	begin := time.Now()
	for range j.InFlight {
		all.Go(func() {
			for time.Since(begin) < j.Length {
				resumed, err := j.one(ctx, a, fmt.Sprintf("%s-%d", j.Prefix, next.Add(1)))
				mu.Lock()
				took = append(took, resumed)
				if err != nil && failed == nil {
					failed = errors.Join(err, context.Cause(ctx))
					cancel()
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	all.Wait()
	result := load{Executions: len(took), Took: time.Since(begin)}
	slices.Sort(took)
	if len(took) > 0 {
		result.Median, result.Late = took[len(took)/2], took[len(took)*99/100]
	}
	return result, failed
}

// one runs an execution and returns how long it took after its event.
func (j job) one(ctx context.Context, a app, name string) (time.Duration, error) {
	if err := a.Start(ctx, j.Workload, name); err != nil {
		return 0, fmt.Errorf("start %s %s: %w", j.Workload, name, err)
	}
	begin := time.Now()
	if j.Workload == callback {
		if err := a.Signal(ctx, name); err != nil {
			return 0, fmt.Errorf("signal %s: %w", name, err)
		}
	}
	if err := a.Wait(ctx, name); err != nil {
		return 0, fmt.Errorf("wait for %s %s: %w", j.Workload, name, err)
	}
	return time.Since(begin), nil
}
