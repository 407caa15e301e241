// Command bench measures Waitless and other engines on the same machine, with the same workloads.
// `make bench-dev` measures Waitless and prints a table. `make bench-peers` measures all and writes
// the tables into pages of the documentation.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	_ "github.com/waitless/waitless/pkg/internal/collector" // the collector of waitless dev, for all that this program runs itself
)

// options are the flags.
type options struct {
	tools

	rounds   int
	length   time.Duration
	inFlight int
	data     string
	page     string
	devPage  string
	revision string
	only     string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var o options
	var role, address string
	flag.StringVar(&o.waitless, "waitless", "", "the command of Waitless")
	flag.StringVar(&o.restate, "restate", "", "the server of Restate")
	flag.StringVar(&o.temporal, "temporal", "", "the command of Temporal")
	flag.StringVar(&o.postgres, "postgres", "", "the folder of the programs of PostgreSQL")
	flag.IntVar(&o.rounds, "rounds", 5, "how often each system is measured")
	flag.DurationVar(&o.length, "length", 5*time.Second, "how long each workload starts executions")
	flag.IntVar(&o.inFlight, "in-flight", 64, "how many executions are open at once")
	flag.StringVar(&o.data, "data", os.TempDir(), "the folder for data, on a disk")
	flag.StringVar(&o.page, "page", "", "the page to write the table into; without one it is printed")
	flag.StringVar(&o.devPage, "dev-page", "", "the page to write the rows of waitless dev into")
	flag.StringVar(&o.revision, "revision", "", "the revision of Waitless")
	flag.StringVar(&o.only, "only", "", "measure only systems whose row begins with this; a page says that the others are left out")
	flag.StringVar(&role, "child", "", "internal: serve one part of a system")
	flag.StringVar(&address, "address", "", "internal: the address that the part uses")
	flag.Parse()
	if role != "" {
		return child(ctx, role, o.data, address)
	}
	if err := os.Unsetenv("GOGC"); err != nil { // package collector sets it, in the processes of this program too
		return err
	}
	for _, tool := range []*string{&o.waitless, &o.restate, &o.temporal, &o.postgres} {
		if absolute, err := filepath.Abs(*tool); err == nil && *tool != "" {
			*tool = absolute // systems have working folders of their own
		}
	}
	if err := onDisk(o.data); err != nil {
		return err
	}
	report := report{about: about(ctx, o), rows: measureAll(ctx, o)}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("ended by a signal; the page is as before: %w", err)
	}
	if o.page == "" {
		report.rows = slices.DeleteFunc(report.rows, func(r row) bool { return errors.Is(r.failed, errLeftOut) })
		fmt.Print(report.text())
		return nil
	}
	if err := report.write(o.page); err != nil || o.devPage == "" {
		return err
	}
	return report.ofDev().write(o.devPage)
}

// onDisk returns an error if a folder is in memory, where a sync costs nothing.
func onDisk(dir string) error {
	const tmpfs = 0x01021994
	var info syscall.Statfs_t
	if err := syscall.Statfs(dir, &info); err != nil {
		return fmt.Errorf("folder for data %s: %w", dir, err)
	}
	if info.Type == tmpfs {
		return fmt.Errorf("folder for data %s is in memory, where syncs cost nothing; use -data", dir)
	}
	return nil
}

// measureAll measures the systems in turn, round by round, so that what disturbs the machine
// disturbs all.
func measureAll(ctx context.Context, o options) []row {
	rows := make([]row, len(systems))
	for i, s := range systems {
		rows[i].system = s
		if !strings.HasPrefix(s.name, o.only) {
			rows[i].failed = errLeftOut
		}
	}
	for round := range o.rounds {
		for i := range rows {
			if errors.As(rows[i].failed, new(missingError)) || errors.Is(rows[i].failed, errLeftOut) || ctx.Err() != nil {
				continue
			}
			if err := o.measure(ctx, &rows[i], round); err != nil {
				rows[i].failed = err
				rows[i].failures++
				slog.Error("not measured", "system", rows[i].name, "client", rows[i].client, "error", err)
			}
		}
	}
	return rows
}

var errLeftOut = errors.New("left out")

// measure starts a system, puts each load on it, and stops it.
func (o options) measure(ctx context.Context, r *row, round int) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dir, err := os.MkdirTemp(o.data, "bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	p := &processes{dir: dir}
	defer p.close()
	put, err := r.start(ctx, o.tools, p)
	if err != nil {
		return err
	}
	for _, workload := range r.uses {
		warm := job{workload, o.inFlight, o.length / 5, workload + "-warm"}
		if _, err := put(ctx, warm); err != nil {
			return err
		}
		if err := r.add(p, o.job(workload, o.inFlight), func(j job) (load, error) { return put(ctx, j) }); err != nil {
			return err
		}
	}
	if len(r.uses) == len(both) {
		err = r.add(p, o.job(callback, 1), func(j job) (load, error) { return put(ctx, j) })
	}
	slog.Info("measured", "round", round+1, "system", r.name, "client", r.client)
	return err
}

func (o options) job(workload string, inFlight int) job {
	return job{workload, inFlight, o.length, fmt.Sprintf("%s-%d", workload, inFlight)}
}
