package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// row is what was measured of a system.
type row struct {
	system

	failed   error // the last one
	failures int   // rounds that failed
	samples  map[sampleKey][]sample
}

type sampleKey struct {
	workload string
	alone    bool // one execution at a time
}

type sample struct {
	load

	cpu    time.Duration // an execution
	others float64       // the share of the machine's processor time that neither the system nor its client used
}

// add measures a load.
func (r *row) add(p *processes, j job, put func(job) (load, error)) error {
	before, err := p.used()
	if err != nil {
		return err
	}
	l, err := put(j)
	if err != nil {
		return err
	}
	after, err := p.used()
	if err != nil {
		return err
	}
	if r.samples == nil {
		r.samples = map[sampleKey][]sample{}
	}
	key := sampleKey{j.Workload, j.InFlight == 1}
	cpu, total := after.system-before.system, max(after.total-before.total, 1)
	others := max(0, after.busy-before.busy-cpu-(after.client-before.client))
	r.samples[key] = append(r.samples[key], sample{l, cpu / time.Duration(max(l.Executions, 1)), float64(others) / float64(total)})
	return nil
}

// usage is the processor time that was used until now.
type usage struct{ system, client, busy, total time.Duration }

// used returns the processor time of the processes, of this program, and of the machine.
func (p *processes) used() (u usage, err error) {
	if u.system, err = p.cpu(); err == nil {
		u.busy, u.total, err = machineTime()
	}
	u.client = ownTime()
	return u, err
}

// figures returns a figure of all rounds in order.
func (r *row) figures(key sampleKey, figure func(sample) float64) []float64 {
	var all []float64
	for _, s := range r.samples[key] {
		all = append(all, figure(s))
	}
	slices.Sort(all)
	return all
}

// median returns the median of sorted figures.
func median(all []float64) float64 { return (all[(len(all)-1)/2] + all[len(all)/2]) / 2 }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// cells returns the row of the table.
func (r *row) cells() []string {
	cells := []string{r.name, r.client}
	if r.failures > 0 && len(r.samples) > 0 {
		cells[0] += fmt.Sprintf(" (%d rounds failed)", r.failures)
	} else if r.failed != nil {
		return append(cells, reason(r.failed), "", "", "", "", "", "")
	}
	show := func(key sampleKey, form string, figure func(sample) float64) {
		text := "-"
		if all := r.figures(key, figure); len(all) > 0 {
			text = fmt.Sprintf(form, median(all))
		}
		cells = append(cells, text)
	}
	alone := sampleKey{callback, true}
	for _, workload := range both {
		text := "-"
		if all := r.figures(sampleKey{workload, false}, func(s sample) float64 { return s.rate() }); len(all) > 0 {
			text = fmt.Sprintf("%.0f (%.0f)", median(all), all[len(all)-1])
		}
		cells = append(cells, text)
	}
	for _, workload := range both {
		show(sampleKey{workload, false}, "%.2f", func(s sample) float64 { return milliseconds(s.cpu) })
	}
	show(alone, "%.2f", func(s sample) float64 { return milliseconds(s.Median) })
	show(alone, "%.2f", func(s sample) float64 { return milliseconds(s.Late) })
	var others []float64
	for key := range r.samples {
		others = append(others, r.figures(key, func(s sample) float64 { return 100 * s.others })...)
	}
	slices.Sort(others)
	return append(cells, fmt.Sprintf("%.0f", median(others)))
}

// reason says in the table why there are no figures. Errors have paths of this machine, so they are
// only logged.
func reason(err error) string {
	var missing missingError
	switch {
	case errors.As(err, &missing):
		return "not measured: " + missing.Error()
	case errors.Is(err, errLeftOut):
		return "not measured: left out"
	}
	return "not measured: it failed"
}

// report is the section of the page that the program writes.
type report struct {
	about []string
	rows  []row
}

// ofDev returns the part of the report about waitless dev.
func (r report) ofDev() report {
	return report{
		about: r.about[:aboutMachine],
		rows:  slices.DeleteFunc(slices.Clone(r.rows), func(one row) bool { return !strings.HasPrefix(one.name, dev) }),
	}
}

const heading = "## Figures\n"

func (r report) text() string {
	var b strings.Builder
	b.WriteString(heading + "\n")
	for _, line := range r.about {
		b.WriteString("- " + line + "\n")
	}
	b.WriteString("\n| system | client | polling/s | callback/s | CPU ms, polling | CPU ms, callback | resume ms, p50 | p99 | others % |\n")
	b.WriteString("|---|---|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, one := range r.rows {
		b.WriteString("| " + strings.Join(one.cells(), " | ") + " |\n")
	}
	return b.String()
}

// write replaces the section of a page.
func (r report) write(file string) error {
	page, err := os.ReadFile(file) // #nosec G304 -- -page
	if err != nil {
		return err
	}
	text, err := replaceSection(string(page), r.text())
	if err != nil {
		return fmt.Errorf("write the figures: %s: %w", file, err)
	}
	return os.WriteFile(file, []byte(text), 0o644) // #nosec G306 G703 -- a page of the documentation
}

// replaceSection replaces the section of the figures, up to the next heading.
func replaceSection(page, section string) (string, error) {
	before, rest, ok := strings.Cut(page, heading)
	if !ok {
		return "", fmt.Errorf("no heading %q", strings.TrimSpace(heading))
	}
	if _, after, ok := strings.Cut(rest, "\n## "); ok {
		section += "\n## " + after
	}
	return before + section, nil
}

// aboutMachine is how many of the lines about a report are about the machine and Waitless.
const aboutMachine = 4

// about returns what the figures depend on.
func about(ctx context.Context, o options) []string {
	cpu := firstMatch("/proc/cpuinfo", `(?m)^model name\s*: (.+)$`)
	memory := firstMatch("/proc/meminfo", `MemTotal:\s*(\d+)`)
	kernel := firstMatch("/proc/version", `^(Linux version \S+)`)
	system := firstMatch("/etc/os-release", `(?m)^PRETTY_NAME="(.+)"$`)
	loaded := firstMatch("/proc/loadavg", `^(\S+)`)
	return []string{
		fmt.Sprintf("Date: %s. Machine: %d cores of %s, %s kB of memory.", time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), cpu, memory),
		fmt.Sprintf("%s, %s. Load average before the run: %s.", system, kernel, loaded),
		fmt.Sprintf("Medians of %d rounds of %s, and the best round in parentheses. %d executions in flight.", o.rounds, o.length, o.inFlight),
		"Waitless " + cmp.Or(o.revision, "(unknown revision)") + ", " + runtime.Version() + ".",
		"Restate: " + version(ctx, o.restate, "--version") + ", SDK " + module("github.com/restatedev/sdk-go") + ".",
		"Temporal: " + version(ctx, o.temporal, "--version") + ", SDK " + module("go.temporal.io/sdk") + ".",
		"DBOS " + module("github.com/dbos-inc/dbos-transact-golang") + ": " +
			version(ctx, filepath.Join(o.postgres, "postgres"), "--version") + ". go-workflows " + module("github.com/cschleiden/go-workflows") + ".",
	}
}

// firstMatch returns the first group of the pattern in a file.
func firstMatch(file, pattern string) string {
	text, err := os.ReadFile(file) // #nosec G304 -- a file of the system
	match := regexp.MustCompile(pattern).FindSubmatch(text)
	if err != nil || match == nil {
		return "unknown"
	}
	return string(match[1])
}

func version(ctx context.Context, program, flag string) string {
	out, err := exec.CommandContext(ctx, program, flag).Output() // #nosec G204 -- a tool of the flags
	if err != nil {
		return "not installed"
	}
	return strings.TrimSpace(string(out))
}

// module returns the version of a module that is linked.
func module(path string) string {
	info, _ := debug.ReadBuildInfo()
	for _, dep := range info.Deps {
		if dep.Path == path {
			return dep.Version
		}
	}
	return "(unknown version)"
}
