package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// reloading are the files of a folder, and what becomes of them.
type reloading struct {
	*testing.T
	*flowFiles
	folder string
	puts   []string // NAME TEXT
	logged strings.Builder
	writes int
}

func newReloading(t *testing.T, flows map[string]string, args ...string) *reloading {
	t.Helper()
	r := &reloading{T: t, folder: t.TempDir()}
	log, err := view.NewLogger(&r.logged, "text", false)
	if err != nil {
		t.Fatal(err)
	}
	c := Command{settings: &settings{path: filepath.Join(r.folder, "waitless.yaml"), flows: flows}, Stderr: &r.logged}
	for i := range args {
		args[i] = filepath.Join(r.folder, args[i])
	}
	if len(args) == 0 {
		args = []string{r.folder}
	}
	if r.flowFiles, err = c.newFlowFiles(args, log); err != nil {
		t.Fatal(err)
	}
	r.put = func(_ context.Context, name string, text []byte, _ string) (rest.Flow, error) {
		if strings.Contains(string(text), "refused") {
			return rest.Flow{}, errors.New("the store refuses it")
		}
		r.puts = append(r.puts, name+" "+string(text[strings.LastIndex(string(text), "#"):]))
		return rest.Flow{Name: name, Hash: "hash"}, nil
	}
	r.missing = func(*flow.Flow) []error { return nil }
	return r
}

const reloadedFlow = "version: v1\ntype: flow\nsteps: [{type: pass, name: P}]\n"

// write writes a file. Its time is another one than that of the file before.
func (r *reloading) write(name, text string) {
	r.Helper()
	path := filepath.Join(r.folder, name)
	r.writes++
	at := time.Unix(int64(1_700_000_000+r.writes), 0)
	if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, at, at)); err != nil {
		r.Fatal(err)
	}
}

// want checks the files, and what was stored and logged since the last time.
func (r *reloading) want(puts []string, logged ...string) {
	r.Helper()
	r.puts = nil
	r.logged.Reset()
	r.check(r.Context())
	r.check(r.Context())
	if !slices.Equal(r.puts, puts) {
		r.Errorf("stored %q, want %q", r.puts, puts)
	}
	for _, text := range logged {
		if !strings.Contains(r.logged.String(), strings.ReplaceAll(text, "FOLDER", r.folder)) {
			r.Errorf("not in the log: %s\n%s", text, r.logged.String())
		}
	}
	if len(logged) == 0 && r.logged.Len() > 0 {
		r.Errorf("logged: %s", r.logged.String())
	}
}

func TestChangedFlowFilesAreStored(t *testing.T) {
	t.Parallel()
	r := newReloading(t, nil)
	r.write("a.yaml", reloadedFlow+"#1")
	r.write("waitless.yaml", "store: x\n")
	r.write("a.test.yaml", "flow: a.yaml\n")
	r.write("data.json", `{"type":"other"}`)
	r.want([]string{"a #1"}, "flow stored")
	r.want(nil)
	r.write("a.yaml", reloadedFlow+"#2")
	r.write("b.yml", reloadedFlow+"#3")
	r.want([]string{"a #2", "b #3"}, "flow=a hash=hash file=FOLDER/a.yaml", "flow=b")
	r.write("a.yaml", strings.Replace(reloadedFlow, "pass", "pas", 1)+"#4")
	r.want(nil, `FOLDER/a.yaml:3:16: `, `did you mean`, `msg="flow is not stored; the definition before stays" flow=a file=FOLDER/a.yaml`)
	r.want(nil) // the errors are told once
	r.write("typed.yaml", strings.Replace(reloadedFlow, "flow", "flw", 1))
	r.want(nil, `FOLDER/typed.yaml:2:7: `, `msg="flow is not stored"`)
	r.write("typo.asl.json", `{"Startat":"A","States":{}}`)
	r.want(nil, `FOLDER/typo.asl.json:1:`, `msg="flow is not stored"`)
	r.write("a.yaml", "version: [")
	r.want(nil, "FOLDER/a.yaml:1:", "the definition before stays")
	r.write("a.yaml", reloadedFlow+"#5 refused")
	r.want(nil, "the store refuses it")
	r.write("a.yaml", reloadedFlow+"#6")
	r.want([]string{"a #6"}, "flow stored")
	if err := os.Remove(filepath.Join(r.folder, "b.yml")); err != nil {
		t.Fatal(err)
	}
	r.want(nil, `msg="flow file is gone; its definition stays" flow=b file=FOLDER/b.yml remove="waitless flows delete b"`)
	r.want(nil)
	r.write("b.yml", reloadedFlow+"#7")
	r.want([]string{"b #7"}, "flow stored")
	if got, want := r.describe(), "a, b (stored again when a file changes: "+r.folder+")"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A file that changed between two looks may be half written.
func TestFileThatIsBeingWrittenIsNotStored(t *testing.T) {
	t.Parallel()
	r := newReloading(t, nil)
	r.write("a.yaml", reloadedFlow+"#1")
	r.want([]string{"a #1"}, "flow stored")
	for _, part := range []string{"", reloadedFlow + "#half"} {
		r.write("a.yaml", part)
		r.puts = nil
		r.logged.Reset()
		if r.check(r.Context()); len(r.puts) > 0 || r.logged.Len() > 0 {
			t.Errorf("stored %q of a file that is being written: %s", r.puts, r.logged.String())
		}
	}
	r.write("a.yaml", reloadedFlow+"#2")
	r.want([]string{"a #2"}, "flow stored")
}

func TestRenamedFlowFile(t *testing.T) {
	t.Parallel()
	r := newReloading(t, nil)
	r.write("b.yaml", "name: c\n"+reloadedFlow+"#1")
	r.want([]string{"c #1"}, "flow stored")
	if err := os.Rename(filepath.Join(r.folder, "b.yaml"), filepath.Join(r.folder, "a.yaml")); err != nil {
		t.Fatal(err)
	}
	r.want([]string{"c #1"}, "flow file is gone", "flow=c hash=hash file=FOLDER/a.yaml")
}

func TestTwoFilesOfOneFlow(t *testing.T) {
	t.Parallel()
	r := newReloading(t, nil)
	r.write("a.yaml", reloadedFlow+"#1")
	r.write("b.yaml", "name: a\n"+reloadedFlow+"#2")
	r.want([]string{"a #1"}, `msg="flow is not stored" file=FOLDER/b.yaml why="flow a is also in FOLDER/a.yaml"`)
	r.write("b.yaml", "name: c\n"+reloadedFlow+"#3")
	r.want([]string{"c #3"}, "flow stored")
}

// A file that was rejected because another one has its flow is stored when the other one is gone,
// or has another flow.
func TestSecondFileOfAFlowIsStoredAfterTheFirst(t *testing.T) {
	t.Parallel()
	r := newReloading(t, nil)
	r.write("a.yaml", reloadedFlow+"#1")
	r.write("b.yaml", "name: a\n"+reloadedFlow+"#2")
	r.write("c.yaml", "name: a\n"+reloadedFlow+"#3")
	r.want([]string{"a #1"}, "FOLDER/b.yaml", "FOLDER/c.yaml")
	if err := os.Remove(filepath.Join(r.folder, "a.yaml")); err != nil {
		t.Fatal(err)
	}
	r.want([]string{"a #2"}, "flow file is gone", "flow=a hash=hash file=FOLDER/b.yaml")
	r.want(nil)
	r.write("b.yaml", reloadedFlow+"#4")
	r.want([]string{"b #4", "a #3"}, "flow=b hash=hash file=FOLDER/b.yaml", "flow=a hash=hash file=FOLDER/c.yaml")
}

// A named file is read even if it is missing or no flow; other files of its folder are not.
func TestNamedFlowFiles(t *testing.T) {
	t.Parallel()
	r := newReloading(t, map[string]string{"payment": "pay.yaml", "late": "late.yaml"}, ".")
	r.folders = nil
	r.write("pay.yaml", reloadedFlow+"#1")
	r.write("other.yaml", reloadedFlow+"#2")
	r.want([]string{"payment #1"}, `msg="flow is not stored" file=FOLDER/late.yaml why=`, "no such file")
	r.write("late.yaml", "just text")
	r.want(nil, "FOLDER/late.yaml:1:1: ")
	r.write("late.yaml", reloadedFlow+"#3")
	r.want([]string{"late #3"}, "flow stored")
	if _, err := (Command{settings: &settings{}}).newFlowFiles([]string{filepath.Join(r.folder, "none.yaml")}, nil); err == nil {
		t.Error("a missing file is no error")
	}
}

func TestFlowsThatCannotRunAreTold(t *testing.T) {
	t.Parallel()
	r := newReloading(t, nil)
	for i := range 6 {
		r.write(fmt.Sprintf("f%d.yaml", i), reloadedFlow+"#")
	}
	r.missing = func(*flow.Flow) []error { return []error{errors.New("no runner")} }
	r.want([]string{"f0 #", "f1 #", "f2 #", "f3 #", "f4 #", "f5 #"}, `msg="flow cannot run here" flow=f5`)
	if got := r.describe(); !strings.HasPrefix(got, "f0, f1, f2, f3, f4, ... (") {
		t.Errorf("described: %s", got)
	}
}

// Each tick is one look at the files. A file that is not there at the first look is stored after
// two.
func TestFilesAreLookedAtOnEachTick(t *testing.T) {
	t.Parallel()
	r := newReloading(t, nil)
	looks := make(chan string)
	r.put = func(_ context.Context, name string, _ []byte, _ string) (rest.Flow, error) {
		looks <- name
		return rest.Flow{}, nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	ticks, ended := make(chan time.Time), make(chan struct{})
	go func() {
		defer close(ended)
		r.watch(ctx, ticks)
	}()
	for i, name := range []string{"a", "b"} {
		r.write(name+".yaml", reloadedFlow)
		for range i + 1 {
			ticks <- time.Time{}
		}
		if got := <-looks; got != name {
			t.Errorf("stored %s, want %s", got, name)
		}
	}
	cancel()
	<-ended
}

// Changed settings are reported two ticks after the change, once, and also when the file is new or
// gone.
func TestChangedSettingsNeedARestart(t *testing.T) {
	t.Parallel()
	const changed, gone = "changed", ""
	for _, isThere := range []bool{false, true} {
		r := newReloading(t, nil)
		if isThere {
			r.write("waitless.yaml", "begun")
			r.seen[r.config] = stampOf(r.config)
		}
		r.want(nil)
		ctx, cancel := context.WithCancel(t.Context())
		ticks, ended := make(chan time.Time), make(chan struct{})
		go func() {
			defer close(ended)
			r.watch(ctx, ticks)
		}()
		for _, to := range []string{changed, gone} {
			if to == gone {
				if err := os.Remove(r.config); err != nil {
					t.Fatal(err)
				}
			} else {
				r.write("waitless.yaml", to)
			}
			for range 4 {
				ticks <- time.Time{}
			}
		}
		cancel()
		<-ended
		if n := strings.Count(r.logged.String(), `msg="settings changed; restart dev to apply them" file=`+r.config); n != 2 {
			t.Errorf("reported %d times, want 2:\n%s", n, r.logged.String())
		}
	}
}

func TestDevReloadsFlows(t *testing.T) {
	t.Parallel()
	folder, env := t.TempDir(), inStore(t)
	write := func(steps string) {
		if err := os.WriteFile(filepath.Join(folder, "greet.yaml"), []byte("version: v1\ntype: flow\nsteps: "+steps+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("[{type: pass, name: First}]")
	dev := startDev(t, program(t), env, folder)
	if len(dev.says.Flows) != 1 || dev.says.Flows[0] != "greet" {
		t.Errorf("dev serves flows %q", dev.says.Flows)
	}
	if code := doWith(t, "", env, "run", "--flow", "greet", "--name", "before"); code.exit != view.ExitSucceeded {
		t.Errorf("%+v", code)
	}
	write("[{type: pass, name: First}, {type: pass, name: Second}]")
	dev.until("Second", "flows", "show", "greet")
	if got := dev.do("history", "greet/before"); strings.Contains(got, "Second") {
		t.Errorf("an execution has a step of a later definition: %s", got)
	}
}

func BenchmarkLookAtFlowFiles(b *testing.B) {
	folder := b.TempDir()
	for i := range 100 {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("f%d.yaml", i)), []byte(reloadedFlow), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	f, err := Command{settings: &settings{}}.newFlowFiles([]string{folder}, nil)
	if err != nil {
		b.Fatal(err)
	}
	f.seen = f.stamps()
	for b.Loop() {
		f.check(b.Context())
	}
}
