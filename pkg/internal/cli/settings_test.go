package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/waitless/waitless/pkg/docs"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
)

// probe is what a command that reads a setting sees of the command line.
type probe struct {
	Command
	t     *testing.T
	flags *pflag.FlagSet
	place placeFlags
	base  string
	tasks []string
}

// located is the place where executions are.
func (p probe) located() target.Place {
	p.t.Helper()
	where, err := p.locate(p.place.Place)
	if err != nil {
		p.t.Fatal(err)
	}
	return where
}

// loaded are the options that the SDK's configuration is read with.
func (p probe) loaded() (options config.LoadOptions) {
	p.t.Helper()
	p.AWS = loader(func(_ context.Context, set ...func(*config.LoadOptions) error) (aws.Config, error) {
		for _, option := range set {
			if err := option(&options); err != nil {
				p.t.Fatal(err)
			}
		}
		return aws.Config{}, nil
	})
	if _, err := p.openAWS(p.t.Context(), false); err != nil {
		p.t.Fatal(err)
	}
	return options
}

func (p probe) callbackBase() string {
	p.t.Helper()
	base, err := p.localBase()
	if err != nil {
		p.t.Fatal(err)
	}
	return cmp.Or(p.base, base)
}

// limited are the limits of executions.
func (p probe) limited() machine.Limits {
	p.t.Helper()
	limits, err := p.limits()
	if err != nil {
		p.t.Fatal(err)
	}
	return limits
}

// atOnce returns what may run at once.
func (p probe) atOnce() local.Config {
	p.t.Helper()
	var config local.Config
	if err := p.limitConcurrency(p.flags, &config); err != nil {
		p.t.Fatal(err)
	}
	return config
}

// answer is what the function Work answers.
func (p probe) answer() string {
	p.t.Helper()
	flow, _ := fdl.Parse([]byte("version: v1\ntype: flow\nsteps: [{type: task, name: A, resourceArn: 'acs:fc:::services/s/functions/echo'}]"))
	tasks, err := p.resolveTasks(flowFile{path: "flow.yaml", flow: flow}, subflows{}, &local.Clock{}, p.tasks)
	if err != nil {
		p.t.Fatal(err)
	}
	call := testCallOf("echo")
	outcome, err := tasks.Call(p.t.Context(), call)
	if err != nil {
		p.t.Fatal(err)
	}
	return outcome.Output.JSON()
}

// see runs a command that looks at the settings.
func see(t *testing.T, env map[string]string, file string, args []string, look func(probe) string) (got string) {
	t.Helper()
	p := probe{t: t}
	getenv := func(name string) string { return env[name] }
	p.Command = Command{Getenv: getenv, settings: &settings{getenv: getenv}}
	cmd := &cobra.Command{Use: "probe", SilenceErrors: true, SilenceUsage: true}
	cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return p.readSettings(cmd) }
	cmd.RunE = func(*cobra.Command, []string) error {
		got = look(p)
		return nil
	}
	p.flags = cmd.Flags()
	p.place.register(p.flags)
	registerConcurrency(p.flags)
	cmd.Flags().StringVar(&p.base, "base", "", "")
	cmd.Flags().StringArrayVar(&p.tasks, "task", nil, "")
	cmd.SetArgs(append(args, "--config", file))
	cmd.SetOut(io.Discard)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return got
}

// A flag goes before the environment, that before the file, and that before
// the default: for each setting and each two of them.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		look      func(probe) string
		flag      []string // nothing for none
		byFlag    string
		env       map[string]string
		byEnv     string
		file      string
		byFile    string
		byDefault string
	}{
		{
			name: "store", look: func(p probe) string { return p.located().Store },
			flag: []string{"--store", "/flag"}, byFlag: "/flag", env: map[string]string{"WAITLESS_STORE": "/env"}, byEnv: "/env",
			file: "store: /file", byFile: "/file", byDefault: ".waitless",
		},
		{
			name: "endpoint", look: func(p probe) string { return p.located().Endpoint },
			flag: []string{"--endpoint", "http://flag"}, byFlag: "http://flag", env: map[string]string{"WAITLESS_ENDPOINT": "http://env"}, byEnv: "http://env",
			file: "endpoint: http://file", byFile: "http://file", byDefault: "",
		},
		{
			name: "stack", look: func(p probe) string { return p.located().Stack },
			flag: []string{"--stack", "flag"}, byFlag: "flag", env: map[string]string{"WAITLESS_STACK": "env"}, byEnv: "env",
			file: "stack: file", byFile: "file", byDefault: "",
		},
		{
			name: "a store by flag, a stack elsewhere", look: func(p probe) string { return p.located().Store + p.located().Stack },
			flag: []string{"--store", "/flag"}, byFlag: "/flag", env: map[string]string{"WAITLESS_STACK": "env"}, byEnv: "env",
			file: "endpoint: http://file", byFile: "", byDefault: ".waitless",
		},
		{
			name: "the store of dev", look: func(p probe) string { return p.storeDir(p.place.Store) },
			flag: []string{"--store", "/flag"}, byFlag: "/flag", env: map[string]string{"WAITLESS_STORE": "/env"}, byEnv: "/env",
			file: "store: /file", byFile: "/file", byDefault: ".waitless",
		},
		{
			name: "callback-url", look: func(p probe) string { return p.callbackBase() },
			flag: []string{"--base", "http://flag"}, byFlag: "http://flag", env: map[string]string{"WAITLESS_CALLBACK_URL": "http://env"}, byEnv: "http://env",
			file: "callback-url: http://file", byFile: "http://file", byDefault: "http://127.0.0.1:8787",
		},
		{ // the SDK reads its variables itself
			name: "region", look: func(p probe) string { return cmp.Or(p.loaded().Region, p.Getenv("AWS_REGION")) },
			env: map[string]string{"AWS_REGION": "env-1"}, byEnv: "env-1", file: "region: file-1", byFile: "file-1", byDefault: "",
		},
		{
			name: "the default region", look: func(p probe) string { return cmp.Or(p.loaded().Region, p.Getenv("AWS_DEFAULT_REGION")) },
			env: map[string]string{"AWS_DEFAULT_REGION": "env-1"}, byEnv: "env-1", file: "region: file-1", byFile: "file-1", byDefault: "",
		},
		{
			name: "profile", look: func(p probe) string { return cmp.Or(p.loaded().SharedConfigProfile, p.Getenv("AWS_PROFILE")) },
			env: map[string]string{"AWS_PROFILE": "env"}, byEnv: "env", file: "profile: file", byFile: "file", byDefault: "",
		},
		{
			name: "credentials", look: func(p probe) string { return cmp.Or(p.loaded().SharedConfigProfile, p.Getenv("AWS_ACCESS_KEY_ID")) },
			env: map[string]string{"AWS_ACCESS_KEY_ID": "env"}, byEnv: "env", file: "profile: file", byFile: "file", byDefault: "",
		},
		{
			name: "color", look: func(p probe) string { return p.setting("NO_COLOR") },
			env: map[string]string{"NO_COLOR": "1"}, byEnv: "1", file: "color: false", byFile: "false", byDefault: "",
		},
		{
			name: "data-limit", look: func(p probe) string { return strconv.Itoa(p.limited().Data) },
			env: map[string]string{"WAITLESS_DATA_LIMIT": "40000"}, byEnv: "40000", file: "data-limit: 50000", byFile: "50000", byDefault: "0",
		},
		{
			name: "execution-days", look: func(p probe) string { return p.limited().Duration.String() },
			env: map[string]string{"WAITLESS_EXECUTION_DAYS": "1"}, byEnv: "24h0m0s", file: "execution-days: 2", byFile: "48h0m0s", byDefault: "0s",
		},
		{
			name: "workers", look: func(p probe) string { return strconv.Itoa(p.atOnce().Workers) },
			flag: []string{"--workers", "3"}, byFlag: "3", env: map[string]string{"WAITLESS_WORKERS": "4"}, byEnv: "4",
			file: "workers: 5", byFile: "5", byDefault: "0",
		},
		{
			name: "max-commands", look: func(p probe) string { return strconv.Itoa(p.atOnce().Commands) },
			flag: []string{"--max-commands", "3"}, byFlag: "3", env: map[string]string{"WAITLESS_MAX_COMMANDS": "4"}, byEnv: "4",
			file: "max-commands: 5", byFile: "5", byDefault: "0",
		},
		{
			name: "max-calls", look: func(p probe) string { return strconv.Itoa(p.atOnce().Calls) },
			flag: []string{"--max-calls", "3"}, byFlag: "3", env: map[string]string{"WAITLESS_MAX_CALLS": "4"}, byEnv: "4",
			file: "max-calls: 5", byFile: "5", byDefault: "0",
		},
		{
			name: "retention-days", look: func(p probe) string { return strconv.Itoa(p.atOnce().RetentionDays) },
			flag: []string{"--retention-days", "3"}, byFlag: "3", env: map[string]string{"WAITLESS_RETENTION_DAYS": "4"}, byEnv: "4",
			file: "retention-days: 5", byFile: "5", byDefault: "0",
		},
		{
			name: "tasks", look: func(p probe) string { return p.answer() },
			flag: []string{"--task", `echo=exec:echo '"flag"'`}, byFlag: `"flag"`,
			file: `tasks: {echo: "exec:echo '\"file\"'"}`, byFile: `"file"`, byDefault: `{"a":1}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			check := func(sources, want string) {
				t.Helper()
				var args []string
				var env map[string]string
				file := ""
				if strings.Contains(sources, "flag") {
					args = slices.Clone(tt.flag)
				}
				if strings.Contains(sources, "env") {
					env = tt.env
				}
				if strings.Contains(sources, "file") {
					file = tt.file
				}
				if got := see(t, env, writeFile(t, "settings.yaml", file), args, tt.look); got != want {
					t.Errorf("%s: %q, want %q", sources, got, want)
				}
			}
			check("default", tt.byDefault)
			check("file", tt.byFile)
			if tt.env != nil {
				check("env", tt.byEnv)
				check("env, file", tt.byEnv)
			}
			if tt.flag != nil {
				check("flag", tt.byFlag)
				check("flag, file", tt.byFlag)
			}
			if tt.flag != nil && tt.env != nil {
				check("flag, env", tt.byFlag)
				check("flag, env, file", tt.byFlag)
			}
		})
	}
}

func TestMistakesInSettings(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"a key": {"stroe: x\n", []string{
			`:1:8: setting "stroe" is not known; did you mean "store"?` + "\n",
		}},
		"a secret": {"client-keys: x\n", []string{
			`:1:14: setting "client-keys" is not known ` +
				`(known: callback-url, color, data-limit, endpoint, execution-days, max-calls, max-commands, profile, region, ` +
				`retention-days, stack, store, workers, tasks, vars, flows, kinds)`,
		}},
		"two": {"tasks:\n  a: [x]\n  b:\nstack: {}\n", []string{
			`:2:6: a has no text; write one, or leave the key out`, `:3:5: b has no text`, `:4:8: stack has no text`,
		}},
		"twice":        {"store: a\nstack: b\nstore: c\n", []string{`:3:1: the settings cannot be read: mapping key "store" already defined at line 1`}},
		"a task twice": {"tasks:\n  a: exec:x\n  a: exec:y\n", []string{`:3:3: the settings cannot be read: mapping key "a" already defined at line 2`}},
		"a list":       {"- store\n", []string{`:1:1: the settings are not a mapping; allowed: keys with their values, like "store: .waitless"`}},
		"tasks":        {"tasks: exec:x\n", []string{`:1:8: tasks are not a mapping; allowed: keys with their values, like "NAME: exec:COMMAND"`}},
		"all at once": {"data-limit: -1\nexecution-days: 900\nstore: 5\ncallback-url: nonsense\ncolor: red\n", []string{
			`:1:13: data-limit is "-1"; allowed: a number of bytes from 32768 to 6291456`,
			`:2:17: execution-days is "900"; allowed: whole days from 1 to 366`,
			`:3:8: store is 5, which is no text; write it in quotes if you mean it: store: "5"`,
			`:4:15: callback-url is "nonsense"; allowed: an http or https URL without a user, a query or a fragment`,
			`:5:8: color is "red"; allowed: true, false`,
			`has 5 problems`,
		}},
		"a color":       {"color: red\n", []string{`:1:8: color is "red"; allowed: true, false`}},
		"no YAML":       {"store: \"a\n", []string{`the settings cannot be read: found unexpected end of stream`}},
		"two colons":    {"stack: a\nstore: b: c\n", []string{`:2:9: the settings cannot be read: mapping values are not allowed in this context`}},
		"two mistaken":  {"tasks:\n  work: exec:waitless-no-such-program\n  StartJob: ftp://x\n", nil},
		"several files": {"store: a\n---\nstack: b\n", []string{"the settings cannot be read: "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := writeFile(t, "settings.yaml", tt.text)
			got := do(t, "list", "--config", file)
			if tt.want == nil { // tasks are for the commands that call them
				if strings.Contains(got.stderr, file) {
					t.Errorf("exit %d: %s", got.exit, got.stderr)
				}
				return
			}
			for _, want := range tt.want {
				if got.exit != view.ExitUsage || !strings.Contains(got.stderr, want) || !strings.HasPrefix(got.stderr, file+":") {
					t.Errorf("exit %d: %s; want %s", got.exit, got.stderr, want)
				}
			}
		})
	}
	if got := do(t, "list", "--config", "no-such-file.yaml"); got.exit != view.ExitUsage ||
		!strings.Contains(got.stderr, "no-such-file.yaml: no such file or directory") {
		t.Errorf("exit %d: %s", got.exit, got.stderr)
	}
}

// A file whose settings are all commented out says nothing, and is no mistake.
func TestEmptySettings(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n \n", "# store: x\n", "---\n# store: x\n", "  # store: x\r\n\n#", "tasks:\n#  work: exec:x\n", "{}", "tasks: {}"} {
		s := &settings{path: "waitless.yaml"}
		problems := s.parse([]byte(text))
		if len(problems) > 0 || len(s.values) > 0 || len(s.tasks) > 0 {
			t.Errorf("%q: %v, %v, %v", text, problems, s.values, s.tasks)
		}
	}
}

// Of the file's tasks a run takes those that its flow calls, dev takes all.
func TestTasksOfTheFile(t *testing.T) {
	t.Parallel()
	flow := writeFile(t, "flow.yaml", callsCheck)
	file := writeFile(t, "settings.yaml", "tasks:\n  check: exec:./check.sh\n  other: exec:waitless-no-such-program\n  batch:SubmitJob: simulated\n")
	if got := do(t, "run", flow, "--skip-time", "--config", file); got.exit != view.ExitUsage ||
		!strings.Contains(got.stderr, file+`:2:10: task check: command "./check.sh" is not there`) || strings.Contains(got.stderr, "no-such-program") {
		t.Errorf("exit %d: %s", got.exit, got.stderr)
	}
	script := "#!/bin/sh\nread -r text < number\nprintf '{\"n\":%s}' \"$text\"\n"
	for name, text := range map[string]string{"check.sh": script, "number": "7\n"} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(file), name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if got := do(t, "run", flow, "--skip-time", "--config", file); got.exit != view.ExitSucceeded || got.stdout != `{"n":7}`+"\n" {
		t.Errorf("exit %d: %s%s", got.exit, got.stdout, got.stderr)
	}
	const other = "check=exec:echo '{\"n\":8}'"
	if got := do(t, "run", flow, "--skip-time", "--config", file, "--task", other); got.exit != view.ExitSucceeded || got.stdout != `{"n":8}`+"\n" {
		t.Errorf("exit %d: %s%s", got.exit, got.stdout, got.stderr)
	}
	ofService := writeFile(t, "settings.yaml", "tasks:\n  s/check: exec:echo '{\"n\":9}'\n  check: exec:false\n")
	if got := do(t, "run", flow, "--skip-time", "--config", ofService); got.exit != view.ExitSucceeded || got.stdout != `{"n":9}`+"\n" {
		t.Errorf("exit %d: %s%s", got.exit, got.stdout, got.stderr)
	}
	if got := do(t, "run", flow, "--skip-time", "--config", ofService, "--task", other); got.exit != view.ExitSucceeded || got.stdout != `{"n":8}`+"\n" {
		t.Errorf("exit %d: %s%s", got.exit, got.stdout, got.stderr)
	}
	if got := do(t, "dev", "--listen", "127.0.0.1:0", "--config", file); got.exit != view.ExitUsage ||
		!strings.Contains(got.stderr, file+`:3:10: task other: command "waitless-no-such-program" is not there`) {
		t.Errorf("exit %d: %s", got.exit, got.stderr)
	}
}

// Without --config the file of the working directory counts, and its store is
// in the folder of the file. The working directory is everybody's, so this test
// runs alone.
func TestTheFileOfTheWorkingDirectory(t *testing.T) {
	flow, err := filepath.Abs(writeFile(t, "flow.yaml", callsCheck))
	if err != nil {
		t.Fatal(err)
	}
	file := writeFile(t, "waitless.yaml", "store: kept\ntasks: {check: \"exec:echo '{\\\"n\\\":1}'\"}\n")
	env := map[string]string{"WAITLESS_STORE": ""}
	t.Chdir(filepath.Dir(file))
	if got := doWith(t, "", env, "run", flow, "--name", "one"); got.exit != view.ExitSucceeded {
		t.Fatalf("exit %d: %s", got.exit, got.stderr)
	}
	t.Chdir("/")
	if got := doWith(t, "", env, "list", "--config", file); got.exit != view.ExitSucceeded || !strings.Contains(got.stdout, "one") {
		t.Errorf("exit %d: %s%s", got.exit, got.stdout, got.stderr)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(file), "kept", "socket")); err == nil {
		t.Error("the store was not closed")
	}
}

// Who is told how to go on is not told what is secret in a URL.
func TestHowToGoOnHidesSecrets(t *testing.T) {
	t.Parallel()
	e := execution{
		command: Command{settings: &settings{path: "settings.yaml", named: true}},
		file:    flowFile{path: "flow.yaml"}, name: "one",
		options: runOptions{tasks: []string{"a=https://me:secret@host/p?key=secret", "b=exec:true"}},
	}
	const want = "waitless run flow.yaml --name one --config settings.yaml --task 'a=https://...@host/p?...' --task 'b=exec:true'"
	if got := e.again(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestPlacesOfTheEnvironment(t *testing.T) {
	t.Parallel()
	env := map[string]string{"WAITLESS_STORE": "s", "WAITLESS_STACK": "t"}
	got := doWith(t, "", env, "list")
	if got.exit != view.ExitUsage || got.stderr != "waitless: list: WAITLESS_STORE and WAITLESS_STACK exclude each other\n"+
		"try: WAITLESS_STACK alone\n" {
		t.Errorf("%+v", got)
	}
	file := writeFile(t, "settings.yaml", "store: a\nstack: b\n")
	got = doWith(t, "", map[string]string{"WAITLESS_STORE": ""}, "list", "--config", file)
	if got.exit != view.ExitUsage || !strings.Contains(got.stderr, "the setting store and the setting stack exclude each other") {
		t.Errorf("%+v", got)
	}
	if got := doWith(t, "", env, "list", "--store", t.TempDir()+"/none"); !strings.Contains(got.stderr, "there is no store in ") {
		t.Errorf("a flag does not go before them: %+v", got)
	}
}

func TestVirtualTimeHasNoStore(t *testing.T) {
	t.Parallel()
	got := do(t, "run", pollingFlow, "--skip-time", "--store", "s")
	if got.exit != view.ExitUsage || !strings.Contains(got.stderr, "--skip-time keeps the execution in memory, so --store has no effect") {
		t.Errorf("%+v", got)
	}
}

func TestCallbackURLOfTheEnvironment(t *testing.T) {
	t.Parallel()
	for value, shown := range map[string]string{"nonsense": "nonsense", "https://user:secret@host": "https://...@host"} {
		for _, args := range [][]string{{"run", pollingFlow}, {"start", pollingFlow}, {"dev", "--listen", "127.0.0.1:0"}} {
			got := doWith(t, "", map[string]string{callbackVariable: value}, args...)
			want := fmt.Sprintf("WAITLESS_CALLBACK_URL is %q; allowed: an http or https URL without a user, a query or a fragment\n"+
				"try: unset WAITLESS_CALLBACK_URL\n", shown)
			if got.exit != view.ExitUsage || !strings.Contains(got.stderr, want) {
				t.Errorf("%v: %+v, want %s", args, got, want)
			}
		}
	}
}

func TestSettingsTopicNamesEverySetting(t *testing.T) {
	t.Parallel()
	topic, _ := docs.Find("settings")
	for key, variable := range settingKeys {
		if !strings.Contains(topic.Text, "| `"+key+"` | `"+variable+"` |") {
			t.Errorf("the topic has no row of %s and %s", key, variable)
		}
	}
}

func TestStoreOfTheFileBelowTheHomeDirectory(t *testing.T) {
	t.Parallel()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skip(err)
	}
	s := &settings{path: "project/waitless.yaml"}
	problems := s.parse([]byte("store: ~/flows/store\n"))
	if got, want := s.values["WAITLESS_STORE"], filepath.Join(home, "flows/store"); got != want || len(problems) > 0 {
		t.Errorf("got %q and %v, want %q", got, problems, want)
	}
}
