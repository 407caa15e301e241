package emulator

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Region and Account are the emulator's region and account. A stack accepts only events of its own
// account, so Account is also the account of the resources in events/.
const (
	Region  = "us-east-1"
	Account = "123456789012"
)

//go:embed run_ministack.py
var runMinistack string

// ministack emulates AWS. Its functions inherit its variables, which lead requests for missing
// services to the detour.
var ministack = program{
	name: "the AWS emulator", file: "emulator/bin/python", ready: "/_ministack/health",
	command: func(p *process) (args, variables []string) {
		aside := besides.endpoint()
		return []string{"-P", "-c", runMinistack}, []string{
			"S3_DATA_DIR=" + filepath.Join(p.dir, "s3"), "BIND_HOST=127.0.0.1", "GATEWAY_PORT=" + p.port, "AWS_ENDPOINT_URL=" + p.endpoint,
			"MINISTACK_ACCOUNT_ID=" + Account,
			"AWS_ENDPOINT_URL_DATABASE_MIGRATION_SERVICE=" + aside, "AWS_ENDPOINT_URL_LAMBDA=" + aside,
			"AWS_LAMBDA_LOG_LEVEL=DEBUG",      // as Lambda tells a function its log level
			"AUTH=true", "IOT_MTLS_ENABLED=0", // the latter is a port that two emulators would fight for
		}
	},
}

// shared is the test binary's process of a program.
type shared struct {
	once    sync.Once
	process atomic.Pointer[process] // nil for a program that no test needed
	err     error
}

// The processes of the test binary.
var cloud, migrations, durables shared

// get starts the program the first time.
func (s *shared) get(tb testing.TB, g program) *process {
	tb.Helper()
	s.once.Do(func() {
		var p *process
		p, s.err = g.start()
		s.process.Store(p)
	})
	if s.err != nil {
		tb.Fatal(s.err)
	}
	return s.process.Load()
}

// Main runs the tests of a package, as a [testing.M] does, and ends the emulator
// after them. The answer is the exit code of the test binary:
//
//	func TestMain(m *testing.M) { os.Exit(emulator.Main(m)) }
func Main(m interface{ Run() int }) int {
	code := m.Run()
	for _, s := range []*shared{&durables, &cloud, &migrations} {
		p := s.process.Load()
		if p == nil {
			continue
		}
		if err := p.stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	return code
}

// Config is the configuration of clients of the emulator, with all rights. The
// first call starts the emulator.
func Config(tb testing.TB) aws.Config {
	tb.Helper()
	return ConfigOf(cloud.get(tb, ministack).endpoint)
}

// ConfigOf is the configuration of clients of a server that plays AWS.
func ConfigOf(endpoint string) aws.Config {
	return aws.Config{
		Region:       Region,
		BaseEndpoint: &endpoint,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
		}),
	}
}
