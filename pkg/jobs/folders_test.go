package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the expected.txt of each kind instead of comparing with it")

// kindsFolder has a folder for each kind with events or with a start:
//
//   - success, failure and ignored.event.json, and others: events as EventBridge delivers them. An
//     ignored one says nothing about an end.
//   - start.params.json and start.response.json: a start as the service takes it and responds.
//   - described.running, described.success and described.failure.json, and others: descriptions.
//   - SOURCE.md: where the forms of these files come from.
//   - roundtrip.json: such a job on an emulator, for package services, or why there is none.
//   - expected.txt: what the row of the kind reads in them, and its rights. Run the test with
//     -update and review it.
//
// All files of a folder are about one job.
const kindsFolder = "testdata/kinds"

// folderOf returns the folder of a kind. A custom kind has a declaration.json beside the other
// files, and no round trip.
func folderOf(kind string) string {
	if name, ok := strings.CutPrefix(kind, "custom:"); ok {
		return filepath.Join("testdata/custom", name)
	}
	return filepath.Join(kindsFolder, kind)
}

// declared returns the kinds of this package and the custom ones that have a folder.
func declared(t *testing.T) Table {
	t.Helper()
	entries, err := os.ReadDir("testdata/custom")
	if err != nil {
		t.Fatal(err)
	}
	declarations := map[string]json.RawMessage{}
	for _, entry := range entries {
		declarations["custom:"+entry.Name()] = file(t, "custom:"+entry.Name(), "declaration.json")
	}
	text, err := json.Marshal(declarations)
	if err != nil {
		t.Fatal(err)
	}
	table, err := ParseTable(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// folder is what the files of one kind's folder are called.
func folder(t *testing.T, kind string) []string {
	t.Helper()
	entries, err := os.ReadDir(folderOf(kind))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// file returns a file of a kind's folder.
func file(t *testing.T, kind, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folderOf(kind), name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestEachKindHasItsFolder(t *testing.T) {
	t.Parallel()
	var want, got []string
	for _, kind := range Kinds() {
		if kind.HasEvents() || kind.DescribeOp != "" {
			want = append(want, kind.Name)
		}
	}
	entries, err := os.ReadDir(kindsFolder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s has %q, want %q", kindsFolder, got, want)
	}
}

func TestFolders(t *testing.T) {
	t.Parallel()
	table := declared(t)
	for _, kind := range table.Kinds() {
		if !kind.HasEvents() && kind.DescribeOp == "" {
			continue
		}
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			r := &reader{T: t, table: table, kind: kind}
			r.readAll()
			golden := filepath.Join(folderOf(kind.Name), "expected.txt")
			if *update {
				if err := os.WriteFile(golden, r.text.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(golden); err != nil || !bytes.Equal(want, r.text.Bytes()) {
				t.Errorf("%s differs (%v); got\n%s", golden, err, r.text.Bytes())
			}
		})
	}
}

// reader reads the files of one kind and writes what they say.
type reader struct {
	*testing.T

	table   Table
	kind    Kind
	key     Key    // of all files
	id      string // the job_id
	outputs [][]byte
	text    bytes.Buffer
}

func (r *reader) readAll() {
	names := folder(r.T, r.kind.Name)
	for _, required := range r.required() {
		if !slices.Contains(names, required) {
			r.Errorf("the folder has no %s", required)
		}
	}
	r.readStart()
	for _, name := range names {
		switch {
		case strings.HasSuffix(name, ".event.json"):
			r.readEvent(name)
		case strings.HasPrefix(name, "described.") && strings.HasSuffix(name, ".json"):
			r.readDescription(name)
		case !slices.Contains(r.required(), name) && name != "expected.txt" && name != "roundtrip.json" && name != "declaration.json":
			r.Errorf("%s is not read", name)
		}
	}
	for _, output := range r.outputs {
		if !bytes.Equal(output, r.outputs[0]) {
			r.Errorf("two outputs of one success: %s and %s", r.outputs[0], output)
		}
	}
	r.writeRights()
}

func (r *reader) required() []string {
	names := []string{"SOURCE.md"}
	if r.kind.HasEvents() {
		names = append(names, "success.event.json", "failure.event.json", "ignored.event.json")
	}
	if r.kind.StartOp != "" {
		names = append(names, "start.params.json", "start.response.json")
	}
	if r.kind.DescribeOp != "" {
		names = append(names, "described.running.json", "described.success.json", "described.failure.json")
	}
	return names
}

func (r *reader) write(format string, args ...any) { fmt.Fprintf(&r.text, format+"\n", args...) }

// know notes the key of a file, which all files share.
func (r *reader) know(name string, key Key, id string) {
	if r.key == (Key{}) {
		r.key, r.id = key, id
		r.write("key %s", key)
	}
	if key != r.key || id != r.id {
		r.Errorf("%s is about %s (%s), want %s (%s)", name, key, id, r.key, r.id)
	}
}

// readStart reads a start that is made with an idempotency key, and what a description and a stop
// of its job are asked with.
func (r *reader) readStart() {
	if r.kind.StartOp == "" {
		return
	}
	params, err := r.kind.StartParams(file(r.T, r.kind.Name, "start.params.json"), "order-42")
	if err != nil {
		r.Fatal(err)
	}
	started, err := r.kind.ReadStart(account, region, params, file(r.T, r.kind.Name, "start.response.json"))
	if err != nil {
		r.Fatal(err)
	}
	r.know("start.response.json", started.Key, started.ID)
	r.write("%s %s\n  job_id %s", r.kind.StartOp, params, started.ID)
	if started.BeginText != "" {
		r.write("  began %s", started.BeginText)
	}
	r.writeParams(r.kind.DescribeOp, r.kind.DescribeParams, started.ID)
	r.writeParams(r.kind.StopOp, r.kind.StopParams, started.ID)
}

func (r *reader) writeParams(operation string, of func(id string) ([]byte, error), id string) {
	if operation == "" {
		return
	}
	params, err := of(id)
	if err != nil {
		r.Errorf("%s: %v", operation, err)
	}
	r.write("%s %s", operation, params)
}

func (r *reader) readEvent(name string) {
	text := file(r.T, r.kind.Name, name)
	key, seen, err := r.table.ReadEvent(text)
	what, _, _ := strings.Cut(name, ".")
	if errors.Is(err, ErrNoEnd) {
		if what == "success" || what == "failure" {
			r.Errorf("%s is ignored", name)
		}
		r.write("%s\n  ignored", name)
		return
	}
	document, _ := readMessage(text)
	if err != nil || what == "ignored" {
		r.Fatalf("%s: %+v, %v", name, seen, err)
	}
	r.know(name, key, r.kind.event.whole(r.kind.event.id, document))
	if at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC); !seen.At.Equal(at) || seen.BeginText != "" || !seen.Began.IsZero() {
		r.Errorf("%s: at %v, run %q, began %v, want at %v alone", name, seen.At, seen.BeginText, seen.Began, at)
	}
	r.check(name, what, seen, true)
}

func (r *reader) readDescription(name string) {
	key, seen, err := r.kind.ReadDescription(account, region, r.id, file(r.T, r.kind.Name, name))
	if err != nil {
		r.Fatalf("%s: %v", name, err)
	}
	r.know(name, key, r.id)
	if seen.Word == "" {
		r.Errorf("%s: no status", name)
	}
	r.check(name, strings.Split(name, ".")[1], seen, false)
}

// check: the name of a file says how the job ended, though an event may be a hint.
func (r *reader) check(name, what string, seen Sighting, event bool) {
	want := map[string]Status{"success": StatusSuccess, "failure": StatusFailed, "running": StatusRunning}[what]
	if want != "" && seen.Status != want && (!event || !seen.IsHint() || !r.kind.event.hint && r.kind.describe.stop == nil) {
		r.Errorf("%s is %q, want %q", name, seen.Status, want)
	}
	checkEnd(r.T, name, seen)
	if what == "success" && seen.Output != nil {
		r.outputs = append(r.outputs, seen.Output)
	}
	r.write("%s\n  %s (%s)", name, seen.Status, seen.Word)
	if seen.BeginText != "" {
		r.write("  began %s", seen.BeginText)
	}
	if seen.Output != nil {
		r.write("  output %s", seen.Output)
	}
	if seen.Error != "" {
		r.write("  %s: %s", seen.Error, seen.Cause)
	}
	if whole := r.kind.Whole(seen, 0); whole != nil && seen.Status != StatusRunning {
		r.write("  in a machine %s", whole)
	}
}

// checkEnd: a success has an output alone, a failure error and cause alone.
func checkEnd(t *testing.T, name string, seen Sighting) {
	t.Helper()
	hasOutput, hasError := seen.Output != nil, seen.Error != "" && seen.Cause != ""
	if hasOutput != (seen.Status == StatusSuccess) || hasError != (seen.Status == StatusFailed) || (seen.Error != "") != (seen.Cause != "") {
		t.Errorf("%s: %s with output %s, error %q, cause %q", name, seen.Status, seen.Output, seen.Error, seen.Cause)
	}
}

func (r *reader) writeRights() {
	for _, of := range []struct {
		what string
		are  []Statement
		want bool
	}{
		{"start", r.kind.StartStatements(account, region), r.kind.StartOp != ""},
		{"describe", r.kind.DescribeStatements(account, region), r.kind.DescribeOp != ""},
		{"stop", r.kind.StopStatements(account, region), r.kind.CanStop()},
	} {
		if (len(of.are) > 0) != of.want {
			r.Errorf("%d rights to %s", len(of.are), of.what)
		}
		for _, s := range of.are {
			r.write("right to %s: %s on %s", of.what, strings.Join(s.Action, ", "), strings.Join(s.Resource, ", "))
			for name, value := range s.Condition["StringEquals"] {
				r.write("  if %s is %s", name, value)
			}
		}
	}
}
