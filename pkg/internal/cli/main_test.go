package cli

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/mattn/go-runewidth"

	"github.com/waitless/waitless/pkg/aws/call/catalogue"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/compose"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

const (
	pollingFlow = "../../../events/polling/flow.yaml"
	start       = "2026-01-31T10:00:00Z"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if *update && os.Getenv("CI") != "" {
		fmt.Fprintln(os.Stderr, "-update in CI would agree with anything")
		os.Exit(1)
	}
	// What the program shows depends on where it runs; the tests run at one place.
	time.Local = time.FixedZone("two hours east", 2*60*60) //nolint:reassign // before anything runs
	runewidth.DefaultCondition.EastAsianWidth = false
	code := m.Run()
	built.remove()
	watched.remove()
	os.Exit(code)
}

func TestUpdateIsRefusedInCI(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^$", "-update")
	cmd.Env = append(os.Environ(), "CI=true")
	if out, err := cmd.CombinedOutput(); exitCode(err) == 0 || !strings.Contains(string(out), "would agree with anything") {
		t.Errorf("%v: %s", err, out)
	}
}

// golden compares got with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", filepath.FromSlash(name))
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; go test -update writes it", err)
	}
	if got != string(want) {
		t.Errorf("%s, got:\n%s\nwant:\n%s", file, got, want)
	}
}

var (
	uuid    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	runName = regexp.MustCompile(`run-[a-z2-7]{16}\b`)
)

// maskedToken is what is left of a token of keys that are gone.
var maskedToken = regexp.MustCompile(`\.\.\.[A-Za-z0-9_-]{6}`)

// withoutIDs puts zeros in the place of random ids, as many as these have digits.
func withoutIDs(text string) string {
	text = uuid.ReplaceAllString(text, "00000000-0000-0000-0000-000000000000")
	return runName.ReplaceAllString(text, "run-0000000000000000")
}

// result is what a run of the program left.
type result struct {
	exit           int
	stdout, stderr string
}

// transcript is the run as a golden file shows it.
func (r result) transcript(args ...string) string {
	text := fmt.Sprintf("$ waitless %s\nexit %d\n", strings.Join(quoted(args), " "), r.exit)
	if r.stdout != "" {
		text += "-- stdout --\n" + r.stdout
	}
	if r.stderr != "" {
		text += "-- stderr --\n" + r.stderr
	}
	return withoutIDs(text)
}

func quoted(args []string) []string {
	plain := regexp.MustCompile(`^[\w./@=:-]+$`)
	all := make([]string, len(args))
	for i, arg := range args {
		all[i] = arg
		if !plain.MatchString(arg) {
			all[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return all
}

// environment looks names up in a map. A store is in a folder of the test's own
// unless the map names a place.
func environment(t *testing.T, env map[string]string) func(string) string {
	t.Helper()
	store := ""
	return func(name string) string {
		if value, ok := env[name]; ok || name != "WAITLESS_STORE" || env["WAITLESS_ENDPOINT"]+env["WAITLESS_STACK"] != "" {
			return value
		}
		if store == "" {
			store = t.TempDir() + "/store"
		}
		return store
	}
}

var fixedTime = map[string]string{"WAITLESS_NOW": start}

// do runs the program in this process, in virtual time beginning at start if
// the arguments say so.
func do(t *testing.T, args ...string) result {
	t.Helper()
	return doWith(t, "", fixedTime, args...)
}

func doWith(t *testing.T, stdin string, env map[string]string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := Command{
		Args: args, Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr, Getenv: environment(t, env),
		Stores: compose.Stores{}, AWS: loader(config.LoadDefaultConfig), Check: catalogue.Check, CheckStart: catalogue.CheckStart,
		CheckOperation: catalogue.CheckOperation, Right: catalogue.Right,
	}
	exit := c.Run(t.Context())
	return result{exit, stdout.String(), stderr.String()}
}

// loader opens AWS with a configuration that load returns.
func loader(load compose.Loader) func(context.Context, target.AWSOptions) (target.AWS, error) {
	return load.Open
}

// built is the program as it is shipped, watched the one that reports its
// gaps; each is built by the first test that needs it.
var (
	built   build
	watched = build{source: "testdata/failpoints"}
)

type build struct {
	source string // the program is ../cmd/waitless without it

	once   sync.Once
	folder string
	err    error
}

// program is the path of the built program.
func (b *build) program(tb testing.TB) string {
	tb.Helper()
	b.once.Do(func() {
		if b.folder, b.err = os.MkdirTemp("", "waitless-test"); b.err != nil {
			return
		}
		source := "./" + cmp.Or(b.source, "../../cmd/waitless")
		out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", filepath.Join(b.folder, "waitless"), source).CombinedOutput()
		if err != nil {
			b.err = fmt.Errorf("go build: %w\n%s", err, out)
		}
	})
	if b.err != nil {
		tb.Fatal(b.err)
	}
	return filepath.Join(b.folder, "waitless")
}

func (b *build) remove() {
	if b.folder != "" {
		_ = os.RemoveAll(b.folder) // a folder left in /tmp fails no test
	}
}

// program is the path of the program as it is shipped.
func program(tb testing.TB) string {
	tb.Helper()
	lookAt(tb, "../../cmd/waitless/main.go")
	return built.program(tb)
}

// lookAt makes the go tool run the test again when a file changed that only
// programs started by the test have read.
func lookAt(tb testing.TB, file string) {
	tb.Helper()
	if _, err := os.Stat(file); err != nil {
		tb.Fatal(err)
	}
}

// command is the built program with these arguments. It is killed should it
// not end.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, program(t), args...)
	cmd.Env = append(os.Environ(), "TZ=UTC", "LANG=C.UTF-8", "LC_ALL=", "NO_COLOR=", "TERM=xterm-256color", "WAITLESS_NOW="+start,
		"WAITLESS_STORE="+filepath.Join(t.TempDir(), "store"))
	return cmd
}

// writerFunc is a writer made of a function.
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

var _ io.Writer = writerFunc(nil)
