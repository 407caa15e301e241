package samlocal_test

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/waitless/waitless/pkg/aws/emulator"
)

// stackName is what names of the stack's functions begin with.
const stackName = "samlocal"

// clientKey and clientSecret sign events/callback/fnf.json and sfn.json, and the requests of the
// test.
const clientKey, clientSecret = "a-client", "a secret of 24 bytes or more"

// functions are the logical ids in template.yaml of what is below functions/.
var functions = map[string]string{
	"startjob":     "StartJobFunction",
	"getjobstatus": "GetJobStatusFunction",
	"callservice":  "CallServiceFunction",
	"echo":         "EchoFunction",
	"interpreter":  "InterpreterFunction",
	"taskrunner":   "TaskRunnerFunction",
	"jobevents":    "JobEventsFunction",
	"api":          "ApiFunction",
	"callback":     "CallbackFunction",
	"janitor":      "JanitorFunction",
	"fnf":          "FnfFunction",
	"sfn":          "SfnFunction",
}

// bench is what functions need to run in containers.
type bench struct {
	root     string // of the repository
	dir      string // what the tests write
	template string // as it was built
	aws      aws.Config
	image    string
	// parameters are those of the stack, and of its functions in containers.
	parameters string
	// variables are the environment variables of the deployed functions, as
	// `make local-env` prints them.
	variables map[string]string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{root: root, dir: t.TempDir(), image: fmt.Sprintf("waitless-samlocal-%d", os.Getpid())}
	b.template = filepath.Join(b.dir, "build", "template.yaml")
	bridge := b.bridge(t)
	b.aws = emulator.Config(t)
	keys := b.makeClientKeys(t)
	b.parameters = "Arch=" + architecture() + " FnfKeys=" + keys + " SfnKeys=" + keys
	b.sam(t, nil, "build", "--build-dir", filepath.Dir(b.template), "--parameter-overrides", b.parameters)
	b.deploy(t)
	b.makeImage(t, b.forward(t, bridge))
	return b
}

// architecture is the name in template.yaml of the processor of this machine.
func architecture() string {
	if runtime.GOARCH == "amd64" {
		return "x86_64"
	}
	return runtime.GOARCH
}

// makeClientKeys stores the key of a client, and returns the ARN of the secret.
func (b *bench) makeClientKeys(t *testing.T) string {
	t.Helper()
	keys, err := secretsmanager.NewFromConfig(b.aws).CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{
		Name: aws.String(stackName + "-fnfkeys"), SecretString: aws.String(fmt.Sprintf("{%q:%q}", clientKey, clientSecret)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return *keys.ARN
}

// command is a program that knows no AWS but the emulator, and nothing of a
// make that runs the tests.
func (b *bench) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = b.root
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "AWS_") && !strings.HasPrefix(variable, "MAKE") && !strings.HasPrefix(variable, "MFLAGS") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(cmd.Env,
		"AWS_REGION="+emulator.Region, "AWS_DEFAULT_REGION="+emulator.Region, "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test",
		"AWS_ENDPOINT_URL="+aws.ToString(b.aws.BaseEndpoint), "SAM_CLI_TELEMETRY=0", "__SAM_CLI_APP_DIR="+b.dir,
		"AWS_CONFIG_FILE="+filepath.Join(b.dir, "none"), "AWS_SHARED_CREDENTIALS_FILE="+filepath.Join(b.dir, "none"),
		"LAMBDA_ARCH="+runtime.GOARCH)
	return cmd
}

// run answers what a command printed, and what it said beside.
func run(t *testing.T, cmd *exec.Cmd, input io.Reader) (printed, said string) {
	t.Helper()
	var out, beside bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input, &out, &beside
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, &out, &beside)
	}
	return out.String(), beside.String()
}

// docker answers the words that a command of Docker printed.
func (b *bench) docker(t *testing.T, input io.Reader, args ...string) []string {
	t.Helper()
	// Cleaning up needs it when the test is over.
	printed, _ := run(t, b.command(context.WithoutCancel(t.Context()), "docker", args...), input)
	return strings.Fields(printed)
}

func (b *bench) sam(t *testing.T, input io.Reader, args ...string) (printed, said string) {
	t.Helper()
	return run(t, b.command(t.Context(), b.samProgram(), args...), input)
}

func (b *bench) samProgram() string { return filepath.Join(b.root, ".tools", "sam", "bin", "sam") }

// deploy makes tables, queues and the token key on the emulator. The functions
// there are told of no messages: those are for the containers.
func (b *bench) deploy(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(b.template)
	if err != nil {
		t.Fatal(err)
	}
	// As whom containers, and the tests, send.
	text = regexp.MustCompile(`(?m)^(\s+Operators:) .*$`).ReplaceAll(text, []byte("$1 arn:aws:iam::"+emulator.Account+":root"))
	template := filepath.Join(filepath.Dir(b.template), "operators.yaml")
	if err := os.WriteFile(template, text, 0o600); err != nil {
		t.Fatal(err)
	}
	b.sam(t, nil, "deploy", "--template-file", template, "--stack-name", stackName, "--resolve-s3", "--capabilities", "CAPABILITY_IAM",
		"--no-confirm-changeset", "--no-progressbar", "--region", emulator.Region, "--parameter-overrides",
		b.parameters+" Samples=on")
	client := lambda.NewFromConfig(b.aws)
	sources, err := client.ListEventSourceMappings(t.Context(), &lambda.ListEventSourceMappingsInput{})
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources.EventSourceMappings {
		if _, err := client.DeleteEventSourceMapping(t.Context(), &lambda.DeleteEventSourceMappingInput{UUID: source.UUID}); err != nil {
			t.Fatal(err)
		}
	}
	b.variables = map[string]string{}
	// Not by make, which would install SAM anew under everybody else when its lock file looks
	// newer.
	python := filepath.Join(b.root, ".tools", "sam", "bin", "python")
	printed, _ := run(t, b.command(t.Context(), python, filepath.Join(b.root, ".ci", "local_env.py"), stackName), nil)
	for line := range strings.Lines(printed) {
		name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if !ok {
			t.Fatalf("local_env.py printed %q", line)
		}
		b.variables[name] = strings.Trim(value, "'")
	}
}

// bridge is the address of this machine in Docker's network.
func (b *bench) bridge(t *testing.T) string {
	t.Helper()
	name := b.docker(t, nil, "network", "inspect", "bridge", "--format", `{{index .Options "com.docker.network.bridge.name"}}`)
	device, err := net.InterfaceByName(strings.Join(name, ""))
	if err != nil {
		t.Fatalf("Docker's network %q is not one of this machine; the engine has to run here, and not in a virtual machine: %v", name, err)
	}
	addresses, err := device.Addrs()
	if err != nil || len(addresses) == 0 {
		t.Fatalf("Docker's network %q has no address; error %v", name, err)
	}
	return addresses[0].(*net.IPNet).IP.String()
}

// forward answers an address at which containers reach the emulator, which
// listens for this machine alone.
func (b *bench) forward(t *testing.T, bridge string) string {
	t.Helper()
	target, err := url.Parse(*b.aws.BaseEndpoint)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(bridge, "0"))
	if err != nil {
		t.Fatalf("listen where containers reach this machine: %v", err)
	}
	server := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // it is signed
	}})
	_ = server.Listener.Close() // one of its own
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

// makeImage makes the image that `sam local` puts its Runtime API into, and
// removes it with all that ran in it. The endpoint stands in the image, since
// `sam local` hands out no variable that the template does not have.
func (b *bench) makeImage(t *testing.T, endpoint string) {
	t.Helper()
	t.Cleanup(func() {
		for _, tag := range b.docker(t, nil, "image", "ls", "--format", "{{.Repository}}:{{.Tag}}", b.image) {
			for _, container := range b.docker(t, nil, "ps", "--all", "--quiet", "--filter", "ancestor="+tag) {
				b.docker(t, nil, "rm", "--force", container)
			}
			b.docker(t, nil, "image", "rm", tag)
		}
	})
	b.docker(t, rootFiles(t), "import", "--change", "WORKDIR /var/task", "--change", "ENV PATH=/bin AWS_ENDPOINT_URL="+endpoint,
		"-", b.baseImage())
}

func (b *bench) baseImage() string { return b.image + ":base" }

// rootFiles are the files of the image, as a tar: what the commands that
// `sam local` adds to it need.
func rootFiles(t *testing.T) io.Reader {
	t.Helper()
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	busybox := busybox(t)
	headers := []tar.Header{
		{Name: "bin/busybox", Mode: 0o755, Size: int64(len(busybox)), Typeflag: tar.TypeReg},
		{Name: "bin/sh", Linkname: "busybox", Typeflag: tar.TypeSymlink},
		{Name: "bin/mv", Linkname: "busybox", Typeflag: tar.TypeSymlink},
		{Name: "bin/chmod", Linkname: "busybox", Typeflag: tar.TypeSymlink},
		{Name: "tmp/", Mode: 0o1777, Typeflag: tar.TypeDir},
	}
	for _, header := range headers {
		if err := w.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if header.Size == 0 {
			continue
		}
		if _, err := w.Write(busybox); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &files
}

func busybox(t *testing.T) []byte {
	t.Helper()
	name, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatalf("the image needs a static busybox (Debian: busybox-static): %v", err)
	}
	file, err := elf.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it is read
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP {
			t.Fatalf("%s needs libraries, and the image has none; install a static one (Debian: busybox-static)", name)
		}
	}
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// local are the arguments that all commands of `sam local` share.
func (b *bench) local(args ...string) []string {
	return append(append([]string{"local"}, args...),
		"--template", b.template, "--invoke-image", b.baseImage(), "--skip-pull-image",
		"--parameter-overrides", b.parameters)
}

// evaluated is a command in a shell that has what `make local-env` printed.
func (b *bench) evaluated(cmd *exec.Cmd) *exec.Cmd {
	for name, value := range b.variables {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

// invoke calls a function in a container of its own and answers its answer.
func (b *bench) invoke(t *testing.T, function string, event []byte) string {
	t.Helper()
	cmd := b.evaluated(b.command(t.Context(), b.samProgram(), b.local("invoke", functions[function], "--event", "-")...))
	answer, said := run(t, cmd, bytes.NewReader(event))
	if answer == "" {
		t.Fatalf("no answer:\n%s", said)
	}
	return answer
}
