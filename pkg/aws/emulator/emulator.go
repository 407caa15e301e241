package emulator

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Region is the region that the emulator plays.
const Region = "us-east-1"

// The test binary's emulator.
var (
	once    sync.Once
	running *process
	refused error
)

// Main runs the tests of a package and ends the emulator after them. The
// answer is the exit code of the test binary:
//
//	func TestMain(m *testing.M) { os.Exit(emulator.Main(m)) }
func Main(m *testing.M) int {
	code := m.Run()
	if running == nil {
		return code
	}
	if err := running.stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// Config is the configuration of clients of the emulator, with all rights. The
// first call starts the emulator.
func Config(tb testing.TB) aws.Config {
	tb.Helper()
	once.Do(func() { running, refused = start() })
	if refused != nil {
		tb.Fatal(refused)
	}
	return aws.Config{
		Region:       Region,
		BaseEndpoint: aws.String(running.endpoint),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
		}),
	}
}
