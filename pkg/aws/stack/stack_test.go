// Package stack_test holds the tests of the deployed stack: template.yaml is built
// and deployed to an emulator of AWS that enforces rights, and the samples run
// there through the command, each function under its own role. A second stack
// has workers that are killed (TestFaults, with the flag -faults). It has no
// other code.
package stack_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/waitless/waitless/pkg/aws/emulator"
)

// root is the repository.
const root = "../../.."

// folder is for what the tests build.
var folder string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if folder, err = os.MkdirTemp("", "waitless-stack-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder) //nolint:errcheck // a folder left in /tmp fails no test
	flag.Parse()
	if err := flag.Set("test.parallel", "32"); err != nil { // they wait, and compute nothing
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return emulator.Main(inTurn{m})
}

// A deployment is a stack that the first test that needs it deploys.
type deployment struct {
	name       string
	parameters []string
	// prepare makes what is needed before, and returns the parameters that name
	// it; nil for nothing.
	prepare func(ctx context.Context, config aws.Config, name string) (parameters []string, err error)
	// withoutTLS lets the stack keep large values: the emulator has no TLS, which the policy of the
	// bucket requires.
	withoutTLS bool
	// build makes what is deployed and answers its template.
	build func() (template string, err error)

	once  sync.Once
	stack stack
	err   error
}

// A stack is deployed on the emulator.
type stack struct {
	name      string
	resources map[string]string // physical ids by logical ids
	outputs   map[string]string
}

// standard is the stack as it is shipped, but for where the delays of messages
// end, since a test has no fifteen minutes, and with everything that waits for
// jobs, and resumes others.
var standard = deployment{name: freshName(), parameters: []string{"LongestDelay=30"}, prepare: withJobs, build: shipped}

// hasty is a stack whose interpreter awaits a second: the calls of the samples'
// functions, which may take ten, are the task runner's. What is switched off
// otherwise is on here.
var hasty = deployment{name: freshName(), parameters: []string{
	"InterpreterTimeLimit=3", "WakeVisibility=6", "Options=status-events", "DataLimit=6291456", "Memory=1024", "InterpreterMemory=1024",
	"KmsKey=" + stackKey,
	"Domain=" + callbackHost, "Certificate=arn:aws:acm:" + emulator.Region + ":" + emulator.Account + ":certificate/12345678",
	`CallableFunctions="` + strings.Join(append(guarded(), theirs), ", ") + `"`, "FunctionNames=Greet=" + theirs,
}, build: shipped, withoutTLS: true}

// guarded are service functions of another stack, which the parameters let the hasty stack call.
func guarded() (arns []string) {
	for _, name := range []string{
		"api", "callback", "fnf", "sfn", "interpreter", "taskrunner", "janitor", "jobevents", "StartJob", "GetJobStatus", "CallService",
	} {
		arns = append(arns, "arn:aws:lambda:"+emulator.Region+":"+emulator.Account+":function:"+standard.name+"-"+name)
	}
	return arns
}

// theirs is a function that is not one of the hasty stack's.
var theirs = "arn:aws:lambda:" + emulator.Region + ":" + emulator.Account + ":function:" + standard.name + "-echo"

func freshName() string { return "w" + strings.ToLower(rand.Text()[:8]) }

func (d *deployment) get(t *testing.T) stack {
	t.Helper()
	readSources(t)
	config := emulator.Config(t) // skips the test without an emulator
	if d != &standard && !*faults {
		standard.get(t) // it goes first: the longest tests wait for it
	}
	d.once.Do(func() { d.stack, d.err = d.deploy(t.Context(), config) })
	if d.err != nil {
		t.Fatal(d.err)
	}
	return d.stack
}

// readSources looks at all that is built. The go tool remembers a passed test
// together with the files that it looked at, and would not know of those that
// only the build has read.
func readSources(t *testing.T) {
	t.Helper()
	for _, name := range []string{"template.yaml", "samconfig.toml", "Makefile", ".ci", "go.mod", "functions", "pkg"} {
		err := filepath.WalkDir(filepath.Join(root, name), func(file string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			_, err = os.Stat(file)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// deploying: of two deployments at once both would make the bucket for what
// they upload.
var deploying sync.Mutex

func (d *deployment) deploy(ctx context.Context, config aws.Config) (stack, error) {
	deploying.Lock()
	defer deploying.Unlock()
	template, err := d.build()
	if err != nil {
		return stack{}, err
	}
	s := stack{name: d.name}
	// The tests put messages into the queues of a stack themselves.
	parameters := append(d.parameters, "Arch="+architecture(), "Samples=on", "Operators=arn:aws:iam::"+emulator.Account+":root")
	if d.prepare != nil {
		prepared, err := d.prepare(ctx, config, s.name)
		if err != nil {
			return stack{}, err
		}
		parameters = append(parameters, prepared...)
	}
	if template, parameters, err = adapted(template, parameters, s.name); err != nil {
		return stack{}, err
	}
	err = inRoot(sam(), variables(config),
		"deploy", "--template-file", template, "--stack-name", s.name,
		"--resolve-s3", "--capabilities", "CAPABILITY_IAM", "--no-confirm-changeset", "--no-progressbar", "--region", config.Region,
		"--tags", stackTag,
		"--parameter-overrides", strings.Join(parameters, " "))
	if err != nil {
		return stack{}, err
	}
	if err := s.look(ctx, config); err != nil {
		return stack{}, err
	}
	if err := d.allowOnEmulator(config); err != nil {
		return stack{}, err
	}
	deployed.Lock()
	defer deployed.Unlock()
	deployed.stacks = append(deployed.stacks, s)
	return s, nil
}

// adapted returns the template with the values that its mappings have, and the others, which are of
// its parameters. Users change mappings in the same way.
func adapted(template string, values []string, name string) (changed string, parameters []string, err error) {
	read, err := os.ReadFile(template)
	if err != nil {
		return "", nil, err
	}
	text := string(read)
	mappings := mappingsForm.FindString(text)
	for _, pair := range values {
		key, value, _ := strings.Cut(pair, "=")
		setting := regexp.MustCompile(`(?m)^(\s+` + key + `:) .*$`)
		if !setting.MatchString(mappings) {
			parameters = append(parameters, pair)
			continue
		}
		if unquoted, err := strconv.Unquote(value); err == nil {
			value = unquoted
		}
		if _, err := strconv.Atoi(value); err != nil {
			value = strconv.Quote(value)
		}
		mappings = setting.ReplaceAllLiteralString(mappings, "      "+key+": "+value)
	}
	changed = filepath.Join(filepath.Dir(template), name+".yaml")
	return changed, parameters, os.WriteFile(changed, []byte(mappingsForm.ReplaceAllLiteralString(text, mappings)), 0o600)
}

// mappingsForm matches the mappings of a template that `sam build` wrote.
var mappingsForm = regexp.MustCompile(`(?m)^Mappings:\n(?: .*\n)+`)

// allowOnEmulator runs the scripts that `make stack` runs after it deployed.
func (d *deployment) allowOnEmulator(config aws.Config) error {
	scripts := []string{"allow_on_emulator.py"}
	if d.withoutTLS {
		scripts = append(scripts, "allow_without_tls.py")
	}
	python, environment := filepath.Join(filepath.Dir(sam()), "python"), append(variables(config), "AWS_DEFAULT_REGION="+config.Region)
	for _, script := range scripts {
		if err := inRoot(python, environment, filepath.Join(".ci", script), d.name, *config.BaseEndpoint); err != nil {
			return err
		}
	}
	return nil
}

// bucketsOf is a client of S3 on the emulator.
func bucketsOf(config aws.Config) *s3.Client {
	return s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true })
}

// build makes the functions and the command, once.
var build = sync.OnceValue(func() error {
	if err := installed(); err != nil {
		return err
	}
	return errors.Join(
		inRoot(sam(), []string{"LAMBDA_ARCH=" + runtime.GOARCH},
			"build", "--build-dir", filepath.Join(folder, "build"), "--parameter-overrides", "Arch="+architecture()),
		inRoot("go", nil, "build", "-o", program(), "./pkg/cmd/waitless"),
	)
})

func installed() error {
	if _, err := os.Stat(sam()); err != nil {
		return errors.New("the SAM CLI is not installed: `make test` installs it, `make unit` runs the tests that need none")
	}
	return nil
}

// shipped is the stack as it is shipped.
func shipped() (template string, err error) {
	return filepath.Join(folder, "build", "template.yaml"), build()
}

func sam() string { return filepath.Join(root, ".tools", "sam", "bin", "sam") }

func program() string { return filepath.Join(folder, "waitless") }

func architecture() string {
	if runtime.GOARCH == "arm64" {
		return "arm64"
	}
	return "x86_64"
}

// variables are those by which AWS's tools, and ours, find the emulator.
func variables(config aws.Config) []string {
	return []string{
		"AWS_ENDPOINT_URL=" + *config.BaseEndpoint, "AWS_REGION=" + config.Region, "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test",
		"AWS_CONFIG_FILE=" + filepath.Join(folder, "none"), "AWS_SHARED_CREDENTIALS_FILE=" + filepath.Join(folder, "none"),
	}
}

// inRoot runs a program in the repository's folder.
func inRoot(program string, variables []string, args ...string) error {
	if strings.Contains(program, "/") {
		var err error
		if program, err = filepath.Abs(program); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = root
	cmd.Env = append(withoutMake(os.Environ()), append(variables, "SAM_CLI_TELEMETRY=0", "__SAM_CLI_APP_DIR="+folder)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", filepath.Base(program), strings.Join(args, " "), err, out)
	}
	return nil
}

// withoutMake: a make that runs the tests would tell those that they run about
// itself.
func withoutMake(environment []string) []string {
	var kept []string
	for _, pair := range environment {
		if !strings.HasPrefix(pair, "MAKE") && !strings.HasPrefix(pair, "MFLAGS") {
			kept = append(kept, pair)
		}
	}
	return kept
}

// look finds out what was deployed.
func (s *stack) look(ctx context.Context, config aws.Config) error {
	client := cloudformation.NewFromConfig(config)
	resources, err := client.DescribeStackResources(ctx, &cloudformation.DescribeStackResourcesInput{StackName: &s.name})
	if err != nil {
		return err
	}
	s.resources = map[string]string{}
	for _, r := range resources.StackResources {
		s.resources[*r.LogicalResourceId] = aws.ToString(r.PhysicalResourceId)
	}
	stacks, err := client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &s.name})
	if err != nil {
		return err
	}
	s.outputs = map[string]string{}
	for _, o := range stacks.Stacks[0].Outputs {
		s.outputs[*o.OutputKey] = *o.OutputValue
	}
	return nil
}

// result is what a run of the command left.
type result struct {
	exit           int
	stdout, stderr string
}

// do runs the command on the stack.
func (s stack) do(t *testing.T, args ...string) result {
	t.Helper()
	cmd := s.command(t, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// command is the command on the stack. It is killed should it not end; one that waits beside all
// attacks takes five minutes on a busy machine.
func (s stack) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, program(), args...)
	cmd.Dir = root
	cmd.Env = append([]string{"WAITLESS_STACK=" + s.name, "TZ=UTC", "HOME=" + folder}, variables(emulator.Config(t))...)
	return cmd
}
