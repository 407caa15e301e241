package lambda_test

import (
	"archive/zip"
	"bytes"
	"crypto/rand"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	awslambda "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/aws/lambda"
	"github.com/waitless/waitless/pkg/internal/suite/enginetest"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

func TestMain(m *testing.M) { os.Exit(emulator.Main(m)) }

// deployed is a function on the emulator, by its program.
type deployed struct {
	program string
	timeout int32 // in seconds
}

// deploy creates the functions, each named with the name of a new stack and its key, and returns a
// client and that name.
func deploy(t *testing.T, functions map[string]deployed) (*awslambda.Client, string) {
	t.Helper()
	client, stack := awslambda.NewFromConfig(emulator.Config(t)), "w"+strings.ToLower(rand.Text())
	architecture := types.ArchitectureX8664
	if runtime.GOARCH == "arm64" {
		architecture = types.ArchitectureArm64
	}
	role := roleOf(t, stack)
	zips := zipPrograms(t, "echo", "getjobstatus", "silent")
	for name, f := range functions {
		if _, err := client.CreateFunction(t.Context(), &awslambda.CreateFunctionInput{
			FunctionName: aws.String(stack + name), Role: &role,
			Runtime: types.RuntimeProvidedal2023, Handler: aws.String("bootstrap"), Architectures: []types.Architecture{architecture},
			Code: &types.FunctionCode{ZipFile: zips[f.program]}, Timeout: &f.timeout,
			Environment: &types.Environment{Variables: map[string]string{"WAITLESS_ACCOUNT": emulator.Account}}, // which GetJobStatus asks for
		}); err != nil {
			t.Fatal(err)
		}
	}
	return client, stack
}

// roleOf makes a role without any right, which is all that these functions
// need.
func roleOf(t *testing.T, name string) string {
	t.Helper()
	created, err := iam.NewFromConfig(emulator.Config(t)).CreateRole(t.Context(), &iam.CreateRoleInput{
		RoleName: &name,
		AssumeRolePolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[
			{"Effect":"Allow","Principal":{"Service":"lambda.amazonaws.com"},"Action":"sts:AssumeRole"}]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	return *created.Role.Arn
}

// zipPrograms builds programs and packs each as Lambda takes it.
func zipPrograms(t *testing.T, names ...string) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-tags", "lambda.norpc", "-ldflags", "-s -w",
		"-o", dir+string(filepath.Separator), "../../../functions/echo", "../../../functions/getjobstatus", "./testdata/silent")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	zips := map[string][]byte{}
	for _, name := range names {
		zips[name] = zipped(t, filepath.Join(dir, name))
	}
	return zips
}

func zipped(t *testing.T, program string) []byte {
	t.Helper()
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate}
	header.SetMode(0o755)
	w, err := z.CreateHeader(header)
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The suite runs on a stand-in that passes payloads on as bytes, as Lambda does.
// The emulator reads them as JSON, which rounds numbers, and makes JSON of an
// answer that is none.
func TestTasks(t *testing.T) {
	t.Parallel()
	enginetest.Tasks(t, func(t *testing.T) enginetest.Functions {
		t.Helper()
		e, f := serve(t, nil)
		e.answer = func(w http.ResponseWriter, r *http.Request) {
			switch name := strings.Split(r.URL.Path, "/")[3]; name {
			case "w-echo":
				_, _ = w.Write([]byte(e.body(r)))
			case "w-fail":
				fails(`{"errorType":"Broken","errorMessage":"it is broken"}`)(w, r)
			case "w-hang":
				hangs(w, r)
			case "w-wrong":
				answers("hello")(w, r)
			default:
				refuse(http.StatusNotFound, "ResourceNotFoundException")(w, r)
			}
		}
		return enginetest.Functions{Caller: f, Echo: "echo", Fail: "fail", Hang: "hang", Wrong: "wrong"}
	})
}

func TestFunctionsOnTheEmulator(t *testing.T) {
	t.Parallel()
	client, stack := deploy(t, map[string]deployed{
		"-echo": {program: "echo", timeout: 30}, "-GetJobStatus": {program: "getjobstatus", timeout: 30},
		"_hang": {program: "silent", timeout: 3},
	})
	f := lambda.New(lambda.Config{Client: client, Names: lambda.Names{Stack: stack}, Now: time.Now, Longest: time.Minute})
	for name, tt := range map[string]struct{ function, error, cause string }{
		"an answer":                      {"echo", "", ""},
		"an error of the function's":     {"GetJobStatus", "JobNotFound", `job_id is string "x"`},
		"the same by its other name":     {"CheckJob", "JobNotFound", `job_id is string "x"`},
		"a function that is not there":   {"nobody", token.ErrorFunctionNotFound, stack + "_nobody"},
		"a function that takes too long": {"hang", machine.ErrorTaskTimeout, "3.00 seconds"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := emulated(tt.function)
			outcome, err := f.Call(t.Context(), call)
			if err != nil || outcome.Error != tt.error || !strings.Contains(outcome.Cause, tt.cause) {
				t.Errorf("outcome %+v, error %v; want %q with %q", outcome, err, tt.error, tt.cause)
			}
			if tt.error == "" && !value.Equal(outcome.Output, call.Input) {
				t.Errorf("the answer is %s", outcome.Output)
			}
		})
	}
	t.Run("time limits", func(t *testing.T) {
		t.Parallel()
		const hang = "acs:fc:::services/s/functions/hang"
		limits, err := f.TimeLimits(t.Context(), flowOf(t, "version: v1\ntype: flow\nsteps:\n"+
			"  - {type: task, name: A, resourceArn: '"+hang+"'}\n"+
			"  - {type: task, name: B, resourceArn: 'acs:fc:::services/s/functions/nobody'}\n"))
		if err != nil || len(limits) != 1 || limits[hang] != 3*time.Second {
			t.Errorf("the limits are %v, error %v", limits, err)
		}
	})
}
