package emulator

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// durableRunner plays what keeps durable functions, and calls them on the
// emulator.
var durableRunner = program{
	name: "the emulator of durable functions", file: "durable/bin/dex-local-runner", ready: "/health",
	command: func(p *process) (args, variables []string) {
		return []string{
				"start-server", "--host", "127.0.0.1", "--port", p.port, "--local-runner-endpoint", p.endpoint, "--local-runner-region", Region,
				"--lambda-endpoint", cloud.process.Load().endpoint,
			},
			[]string{"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_DEFAULT_REGION=" + Region}
	},
}

// DurableFunctions is the configuration of clients of Lambda that ask for
// durable executions. The first call starts what keeps them. The functions on
// the emulator find it, too.
func DurableFunctions(tb testing.TB) aws.Config {
	tb.Helper()
	cloud.get(tb, ministack) // its functions are the ones that are called
	return ConfigOf(durables.get(tb, durableRunner).endpoint)
}

// StartDurable starts a durable execution of a function on the emulator and
// answers its ARN.
func StartDurable(tb testing.TB, function, execution, input string) string {
	tb.Helper()
	body, err := json.Marshal(map[string]any{
		"AccountId": Account, "FunctionName": function, "FunctionQualifier": "$LATEST", "ExecutionName": execution, "InvocationId": execution,
		"ExecutionTimeoutSeconds": 600, "ExecutionRetentionPeriodDays": 1, "Input": input,
	})
	if err != nil {
		tb.Fatal(err)
	}
	url := *DurableFunctions(tb).BaseEndpoint + "/start-durable-execution"
	answer, err := post(tb, url, body)
	if err != nil {
		tb.Fatalf("start the durable execution %s: %v", execution, err)
	}
	return answer
}

func post(tb testing.TB, url string, body []byte) (arn string, err error) {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close() //nolint:errcheck // it is read
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	var answer struct{ ExecutionArn string }
	if err := json.Unmarshal(text, &answer); err != nil || answer.ExecutionArn == "" {
		return "", fmt.Errorf("answer %d %s", response.StatusCode, text)
	}
	return answer.ExecutionArn, nil
}

// NodeCode is the package of a function for Node.js: a module that may import
// the SDK of durable functions, and AWS's client of Lambda. Its handler is
// "function.handler".
func NodeCode(tb testing.TB, module []byte) []byte {
	tb.Helper()
	sdk, err := installed("the SDK of durable functions", "durable-sdk/node_modules")
	if err != nil {
		tb.Fatal(err)
	}
	var code bytes.Buffer
	archive := zip.NewWriter(&code)
	err = pack(archive, filepath.Dir(sdk))
	if err == nil {
		err = write(archive, "function.mjs", module)
	}
	if err := errors.Join(err, archive.Close()); err != nil {
		tb.Fatal(err)
	}
	return code.Bytes()
}

// pack takes what runs: neither types nor maps of sources.
func pack(archive *zip.Writer, dir string) error {
	return fs.WalkDir(os.DirFS(dir), "node_modules", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(name, ".ts") || strings.HasSuffix(name, ".map") {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name)) //nolint:gosec // an installed file
		if err != nil {
			return err
		}
		return write(archive, name, text)
	})
}

func write(archive *zip.Writer, name string, text []byte) error {
	file, err := archive.Create(name)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return err
}
