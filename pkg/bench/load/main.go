// Command load measures `waitless dev` from outside: it starts dev with its default settings and a new store, runs
// executions over HTTP on connections that it keeps, and prints a line for each workload. This program needs processor
// time of the same machine, and prints that too.
//
//	load [-in-flight 64] [-executions 20000] WAITLESS [WORKLOAD...]
//
// WAITLESS is the command, for example bin/waitless. The workloads are:
//
//	polling     start the polling sample, changed to wait for no time and to end at the third poll; wait for its end
//	activities  the same with both functions at a URL that this program serves
//	callbacks   start the callback sample, read its token, report its outcome at the callback URL, wait for its end
//	resume      callbacks, one at a time: the time from the report to the response of the request that waits for the end
//
// It is for this repository and may change between releases.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"text/tabwriter"
	"time"
)

func main() {
	var l load
	flag.IntVar(&l.inFlight, "in-flight", 64, "how many executions are in flight")
	flag.IntVar(&l.executions, "executions", 20000, "how many executions of each workload run")
	flag.Parse()
	if err := l.run(context.Background(), os.Stdout, flag.Arg(0), flag.Args()[min(1, flag.NArg()):]); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// load is what to run.
type load struct {
	inFlight, executions int
}

// result is what one workload took.
type result struct {
	took     []time.Duration // of each execution
	elapsed  time.Duration   // of all of them
	cpu      time.Duration   // of dev, from its start to its end
	client   time.Duration   // of the processor, for this program
	requests int64
}

func (l load) run(ctx context.Context, out io.Writer, command string, names []string) error {
	if command == "" {
		return errors.New("which command? Usage: load WAITLESS [WORKLOAD...]")
	}
	if len(names) == 0 {
		names = []string{"polling", "activities", "callbacks", "resume"}
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "workload\texecutions/s\tp50 ms\tp99 ms\tCPU of dev us/execution\tof the client\trequests/execution\t")
	for _, name := range names {
		w, ok := workloads[name]
		if !ok {
			return fmt.Errorf("no workload is called %q", name)
		}
		r, err := l.measure(ctx, command, w)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		r.write(table, name)
	}
	return table.Flush()
}

func (r result) write(to io.Writer, name string) {
	slices.Sort(r.took)
	n := len(r.took)
	_, _ = fmt.Fprintf(to, "%s\t%.0f\t%.2f\t%.2f\t%d\t%d\t%.1f\t\n", name, float64(n)/r.elapsed.Seconds(),
		r.took[n/2].Seconds()*1000, r.took[n*99/100].Seconds()*1000, r.cpu.Microseconds()/int64(n), r.client.Microseconds()/int64(n), float64(r.requests)/float64(n))
}

// measure runs the executions of a workload on a dev of its own.
func (l load) measure(ctx context.Context, command string, w workload) (r result, err error) {
	d, err := startDev(ctx, command, w)
	if err != nil {
		return r, err
	}
	r.took = make([]time.Duration, l.executions)
	inFlight := l.inFlight
	if w.alone {
		inFlight = 1
	}
	failed := make([]error, inFlight)
	var next atomic.Int64
	var all sync.WaitGroup
	begin, used := time.Now(), ownTime()
	for i := range failed {
		all.Go(func() { failed[i] = l.work(d, w, &next, r.took) })
	}
	all.Wait()
	r.elapsed, r.client, r.requests = time.Since(begin), ownTime()-used, d.requests.Load()
	r.cpu, err = d.end()
	return r, errors.Join(append(failed, err)...)
}

// ownTime returns the processor time that this program has used.
func ownTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // fails for invalid arguments only
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// work runs executions one after the other until all have been run.
func (load) work(d *dev, w workload, next *atomic.Int64, took []time.Duration) error {
	c := client{dev: d}
	for i := next.Add(1) - 1; i < int64(len(took)); i = next.Add(1) - 1 {
		begin := time.Now()
		since, err := w.run(&c, fmt.Sprintf("run-%d", i))
		if err != nil {
			return err
		}
		if since.IsZero() {
			since = begin
		}
		took[i] = time.Since(since)
	}
	return nil
}
