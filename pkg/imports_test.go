package pkg

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	module = "github.com/waitless/waitless"
	awsSDK = "github.com/aws"
	yaml   = "go.yaml.in/yaml"

	webhooks = "github.com/standard-webhooks/standard-webhooks/libraries"
	cron     = "github.com/netresearch/go-cron"
)

// A row lists what one package may import beyond the standard library. A * in a path matches one
// element.
type row struct {
	path    string
	ours    []string
	modules []string // third-party import paths; what is below one is included
	pure    bool     // values in, values out: see pureImports
	testing bool     // is test code although its files are not *_test.go
}

// Lists that several rows share.
var (
	core     = []string{"pkg/internal/similar", "pkg/language", "pkg/value", "pkg/fdl", "pkg/flow", "pkg/token", "pkg/machine", "pkg/jobs"}
	useCases = append([]string{"pkg/engine", "pkg/resume", "pkg/schedule"}, core...)
	composed = append([]string{"pkg/jobs/simulated", "pkg/httpapi/*", "pkg/schedule/cron"}, useCases...)
)

// house lists each package and what it may import. A package without a row fails the test, so every
// new package is a decision.
var house = []row{
	{path: "pkg"},

	{path: "pkg/value", pure: true},
	{path: "pkg/expr", pure: true, ours: []string{"pkg/value"}},
	{path: "pkg/jsonata", pure: true, ours: []string{"pkg/value"}},
	{path: "pkg/token", pure: true, ours: []string{"pkg/value"}},
	{path: "pkg/internal/similar", pure: true},
	{path: "pkg/internal/bounded"},
	{path: "pkg/internal/suite/lineartest", testing: true},
	{path: "pkg/jobs", pure: true, ours: []string{"pkg/internal/similar"}},
	{path: "pkg/flow", pure: true, ours: []string{"pkg/value", "pkg/token", "pkg/expr", "pkg/jobs", "pkg/internal/similar"}},
	{path: "pkg/flow/document", pure: true, ours: []string{"pkg/flow", "pkg/value"}, modules: []string{yaml}},
	{
		path: "pkg/fdl", pure: true, modules: []string{yaml},
		ours: []string{"pkg/token", "pkg/flow", "pkg/flow/document", "pkg/value", "pkg/expr", "pkg/jobs", "pkg/internal/similar"},
	},
	{
		path: "pkg/asl", pure: true,
		ours: []string{"pkg/token", "pkg/flow", "pkg/flow/document", "pkg/value", "pkg/expr", "pkg/jobs", "pkg/jsonata", "pkg/internal/similar"},
	},
	{path: "pkg/language", pure: true, ours: []string{"pkg/flow", "pkg/fdl", "pkg/asl", "pkg/flow/document"}},
	{path: "pkg/fdl/templates", pure: true, ours: []string{"pkg/internal/similar", "pkg/value", "pkg/fdl", "pkg/flow"}, modules: []string{yaml}},
	{path: "pkg/internal/advise", pure: true, ours: []string{"pkg/value", "pkg/expr", "pkg/fdl", "pkg/flow", "pkg/jobs", "pkg/machine", "pkg/token"}},
	{path: "pkg/internal/diagram", pure: true, ours: []string{"pkg/flow", "pkg/machine"}, modules: []string{"github.com/mattn/go-runewidth"}},
	{path: "pkg/machine", pure: true, ours: []string{"pkg/value", "pkg/expr", "pkg/flow", "pkg/token"}},

	{path: "pkg/internal/suite/machinetest", ours: []string{"pkg/value", "pkg/expr", "pkg/fdl", "pkg/flow", "pkg/token", "pkg/machine"}, modules: []string{yaml}},

	{path: "pkg/jobs/simulated", pure: true, ours: []string{"pkg/jobs", "pkg/value"}},
	{path: "pkg/objects", ours: []string{"pkg/value"}},
	{path: "pkg/docs"},
	{path: "pkg/release"},
	{path: "pkg/internal/suite/releasetest", testing: true},

	{path: "pkg/engine", ours: []string{"pkg/machine", "pkg/flow", "pkg/language", "pkg/value", "pkg/token"}},
	{
		path: "pkg/internal/suite/enginetest", testing: true,
		ours: []string{"pkg/engine", "pkg/machine", "pkg/fdl", "pkg/flow", "pkg/value", "pkg/token"},
	},
	{path: "pkg/telemetry", ours: []string{"pkg/engine", "pkg/machine"}},
	{path: "pkg/tracing", ours: []string{"pkg/engine", "pkg/machine", "pkg/flow"}},
	{path: "pkg/engine/failpoints", ours: []string{"pkg/engine", "pkg/machine", "pkg/token"}},
	{path: "pkg/resume", ours: []string{"pkg/value", "pkg/token", "pkg/jobs", "pkg/jobs/simulated"}},
	{path: "pkg/internal/suite/resumetest", testing: true, ours: []string{"pkg/resume", "pkg/value", "pkg/token", "pkg/jobs", "pkg/jobs/simulated"}},

	{path: "pkg/schedule", ours: []string{"pkg/engine", "pkg/token", "pkg/machine", "pkg/fdl", "pkg/flow", "pkg/value"}},
	{path: "pkg/schedule/cron", ours: []string{"pkg/schedule", "pkg/engine", "pkg/machine", "pkg/fdl", "pkg/flow", "pkg/value"}, modules: []string{cron}},
	{path: "pkg/internal/suite/scheduletest", testing: true, ours: []string{"pkg/schedule", "pkg/engine"}},

	{path: "pkg/local/store", ours: useCases, modules: []string{"github.com/RaduBerinde/btreemap"}},
	{path: "pkg/local/disk", ours: append([]string{"pkg/local/store"}, useCases...), modules: []string{"github.com/cockroachdb/pebble"}},
	{
		path: "pkg/local", ours: append([]string{"pkg/local/store", "pkg/jobs/simulated", "pkg/internal/bounded", "pkg/objects"}, useCases...),
		modules: []string{"github.com/RaduBerinde/btreemap", "github.com/mattn/go-shellwords", yaml},
	},
	{path: "pkg/flowtest", ours: append([]string{"pkg/local", "pkg/local/store", "pkg/expr", "pkg/internal/bounded", "pkg/objects"}, useCases...),
		modules: []string{yaml}},
	{path: "pkg/internal/sim", testing: true, ours: append([]string{"pkg/jobs/simulated"}, useCases...)},
	{path: "pkg/internal/sim/mutation", testing: true},

	{path: "pkg/httpapi/rest", ours: append([]string{"pkg/httpapi/audit", "pkg/schedule/cron"}, useCases...)},
	{path: "pkg/httpapi/audit", ours: []string{"pkg/token"}},
	{path: "pkg/httpapi/clientkeys", ours: []string{"pkg/internal/similar", "pkg/fdl", "pkg/flow", "pkg/value"}},
	{path: "pkg/httpapi/fnf", ours: append([]string{"pkg/httpapi/audit", "pkg/httpapi/clientkeys", "pkg/schedule/cron"}, useCases...)},
	{path: "pkg/httpapi/sfn", ours: append([]string{"pkg/httpapi/audit", "pkg/httpapi/clientkeys", "pkg/asl"}, useCases...)},
	{path: "pkg/httpapi/callbackurl", ours: useCases, modules: []string{webhooks}},

	{path: "pkg/internal/console", ours: append([]string{"pkg/httpapi/rest", "pkg/internal/diagram", "pkg/internal/advise"}, useCases...)},

	{path: "pkg/webhook", ours: []string{"pkg/engine"}, modules: []string{webhooks}},

	{path: "pkg/aws/emulator", testing: true, modules: []string{awsSDK}},
	{path: "pkg/aws/faults", testing: true, ours: []string{"pkg/aws/call"}, modules: []string{awsSDK, "golang.org/x/tools"}},
	{path: "pkg/aws/stack"},
	{path: "pkg/aws/samlocal"},
	{path: "pkg/aws/dynamo", ours: useCases, modules: []string{awsSDK}},
	{path: "pkg/aws/sqs", ours: append([]string{"pkg/telemetry"}, useCases...), modules: []string{awsSDK}},
	{path: "pkg/aws/s3", ours: []string{"pkg/engine"}, modules: []string{awsSDK}},
	{path: "pkg/aws/scheduler", modules: []string{awsSDK}},
	{path: "pkg/aws/lambda", ours: append([]string{"pkg/aws/call/redact"}, useCases...), modules: []string{awsSDK}},
	{path: "pkg/aws/xray", ours: []string{"pkg/telemetry", "pkg/tracing"}, modules: []string{awsSDK}},
	{path: "pkg/aws/call", ours: []string{"pkg/value", "pkg/objects"}, modules: []string{awsSDK}},
	{path: "pkg/internal/suite/botocore", testing: true},
	{path: "pkg/aws/call/redact"}, // of those that link no package call, too
	{path: "pkg/aws/call/catalogue", ours: []string{"pkg/internal/similar", "pkg/aws/call", "pkg/fdl", "pkg/flow", "pkg/jobs", "pkg/value"}},
	{path: "pkg/aws/services", ours: append([]string{"pkg/aws/call", "pkg/aws/call/catalogue", "pkg/aws/call/redact", "pkg/objects"}, useCases...),
		modules: []string{awsSDK}},
	// the same adapter, for functions that send messages
	{path: "pkg/aws/services/messages", ours: append([]string{"pkg/aws/call", "pkg/aws/services"}, useCases...), modules: []string{awsSDK}},
	{path: "pkg/aws/secrets", ours: core, modules: []string{awsSDK}},
	{path: "pkg/aws/function", modules: []string{awsSDK}, ours: []string{"pkg/jobs", "pkg/release", "pkg/resume", "pkg/token"}},
	{path: "pkg/aws/environment", modules: []string{awsSDK}},
	{
		path: "pkg/aws/parts", modules: []string{awsSDK},
		ours: append([]string{"pkg/aws/dynamo", "pkg/aws/environment", "pkg/aws/function", "pkg/aws/secrets", "pkg/aws/sqs", "pkg/telemetry"}, useCases...),
	},
	{
		path: "pkg/aws/schedules", modules: []string{awsSDK},
		ours: []string{"pkg/aws/parts", "pkg/aws/scheduler", "pkg/aws/sqs", "pkg/schedule", "pkg/schedule/cron"},
	},
	{
		path:    "pkg/internal/cli",
		modules: []string{"github.com/spf13/cobra", "github.com/spf13/pflag", yaml},
		ours: append([]string{
			"pkg/local", "pkg/local/store", "pkg/internal/cli/target", "pkg/internal/cli/view", "pkg/telemetry", "pkg/tracing", "pkg/docs", "pkg/release",
			"pkg/internal/advise", "pkg/internal/bounded", "pkg/internal/console", "pkg/internal/diagram",
			"pkg/flowtest",
			"pkg/webhook", "pkg/fdl/templates", "events",
		}, composed...),
	},
	{
		path: "pkg/internal/cli/view", modules: []string{"github.com/mattn/go-runewidth", "golang.org/x/term"},
		ours: append([]string{"pkg/local"}, useCases...),
	},
	{
		path: "pkg/internal/cli/target", modules: []string{"github.com/hashicorp/go-retryablehttp"},
		ours: append([]string{"pkg/internal/cli/view", "pkg/local", "pkg/httpapi/rest", "pkg/release", "pkg/schedule/cron"}, useCases...),
	},
	{
		path: "pkg/internal/compose", modules: []string{awsSDK},
		ours: append([]string{
			"pkg/internal/cli/target", "pkg/local", "pkg/local/disk", "pkg/aws/call", "pkg/aws/call/redact", "pkg/aws/lambda",
			"pkg/aws/services", "pkg/aws/services/messages", "pkg/aws/sqs",
		}, useCases...),
	},
	{path: "pkg/internal/collector"},
	{
		path: "pkg/cmd/waitless", modules: []string{awsSDK},
		ours: []string{"pkg/aws/call/catalogue", "pkg/internal/cli", "pkg/internal/collector", "pkg/internal/compose"},
	},
	{path: "pkg/cmd/try", ours: []string{"pkg/internal/cli", "pkg/internal/collector"}},
	{path: "events"}, // the samples as files of the command
	{
		path: "functions/*", modules: []string{awsSDK},
		ours: append([]string{
			"pkg/aws/call", "pkg/aws/call/catalogue", "pkg/aws/function", "pkg/aws/environment", "pkg/aws/dynamo", "pkg/aws/sqs", "pkg/aws/scheduler", "pkg/aws/s3",
			"pkg/aws/lambda", "pkg/aws/xray", "pkg/aws/services", "pkg/aws/services/messages", "pkg/aws/secrets", "pkg/aws/parts", "pkg/aws/schedules", "pkg/webhook",
			"pkg/telemetry",
		}, composed...),
	},
}

// functionModules has the third-party modules that the binary of each function links, direct or
// not.
var functionModules = map[string][]string{
	"functions/echo":         {runtime},
	"functions/getjobstatus": clients("sts"),
	"functions/callservice":  clients("sts"),
	"functions/startjob":     clients("dynamodb", "sqs", "secretsmanager", "sts"),
	"functions/jobevents":    clients("dynamodb", "sqs", "scheduler", "secretsmanager", "sts"),
	"functions/interpreter":  clients("dynamodb", "sqs", "scheduler", "lambda", "secretsmanager", "s3"),
	"functions/taskrunner":   append(clients("dynamodb", "sqs", "lambda", "eventbridge", "secretsmanager", "sfn", "s3"), webhooks),
	"functions/api":          append(clients("dynamodb", "sqs", "secretsmanager", "s3", "scheduler"), cron),
	"functions/janitor":      clients("dynamodb", "sqs", "secretsmanager", "s3"),
	"functions/fnf":          append(clients("dynamodb", "sqs", "secretsmanager", "s3", "scheduler"), cron),
	"functions/sfn":          append(clients("dynamodb", "sqs", "secretsmanager", "s3", "scheduler"), cron),
	"functions/callback":     append(clients("dynamodb", "sqs", "secretsmanager", "s3"), webhooks),
}

const runtime = "github.com/aws/aws-lambda-go"

// clients returns the modules that these clients of AWS link.
func clients(services ...string) []string {
	sdk := awsSDK + "/aws-sdk-go-v2"
	modules := []string{
		runtime, sdk, awsSDK + "/smithy-go", yaml + "/v4",
		sdk + "/internal/configsources", sdk + "/internal/endpoints/v2",
	}
	for _, service := range services {
		modules = append(modules, sdk+"/service/"+service)
		switch service {
		case "dynamodb":
			modules = append(modules, sdk+"/service/internal/accept-encoding", sdk+"/service/internal/endpoint-discovery")
		case "lambda":
			modules = append(modules, sdk+"/aws/protocol/eventstream")
		case "sts":
			internal := sdk + "/service/internal/"
			modules = append(modules, sdk+"/credentials", sdk+"/internal/v4a", internal+"accept-encoding", internal+"presigned-url")
		case "eventbridge":
			modules = append(modules, sdk+"/internal/v4a")
		case "s3":
			internal := sdk + "/service/internal/"
			modules = append(modules, sdk+"/internal/v4a", sdk+"/aws/protocol/eventstream", internal+"accept-encoding",
				internal+"checksum", internal+"presigned-url", internal+"s3shared")
		}
	}
	return modules
}

// pureImports are the standard packages that pure packages may import: they read no clock, file,
// network or randomness. purity_test.go checks the parts of fmt, time and sync that do.
var pureImports = []string{
	"bytes", "cmp", "crypto/aes", "crypto/cipher", "crypto/hkdf", "crypto/hmac", "crypto/md5", "crypto/sha1", "crypto/sha256", "crypto/sha512", "embed",
	"encoding/base64", "encoding/binary", "encoding/hex", "encoding/json", "errors", "fmt", "hash/crc32", "html", "io", "iter", "maps", "math", "math/big",
	"net/url",
	"path", "reflect", "regexp", "regexp/syntax", "slices", "strconv", "strings", "sync", "time", "unicode", "unicode/utf16", "unicode/utf8",
}

// A listed package is the output of go list about it.
type listed struct {
	ImportPath     string
	Dir            string
	GoFiles        []string
	TestGoFiles    []string
	XTestGoFiles   []string
	CgoFiles       []string
	IgnoredGoFiles []string
	Imports        []string
	Module         *struct{ Path string }
}

const listedFields = "ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles,CgoFiles,IgnoredGoFiles,Imports,Module"

func (p listed) rel() string { return relative(p.ImportPath) }

func relative(importPath string) string { return strings.TrimPrefix(importPath, module+"/") }

func isOurs(importPath string) bool {
	return importPath == module || strings.HasPrefix(importPath, module+"/")
}

// isStandard reports whether the path is of the standard library: the first element of others is a
// domain.
func isStandard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

func isBelow(importPath, root string) bool {
	return importPath == root || strings.HasPrefix(importPath, root+"/")
}

func isBelowAny(importPath string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return isBelow(importPath, root) })
}

func matchesAny(patterns []string, p string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, p)
		return err == nil && ok
	})
}

func findRow(rows []row, pkg string) (row, bool) {
	i := slices.IndexFunc(rows, func(r row) bool { return matchesAny([]string{r.path}, pkg) })
	if i < 0 {
		return row{}, false
	}
	return rows[i], true
}

// importViolations checks the imports of one package, named by its path in the module.
func importViolations(rows []row, pkg string, imports []string) []string {
	r, ok := findRow(rows, pkg)
	if !ok {
		return []string{pkg + ": has no row in the table of pkg/imports_test.go: say what it may import"}
	}
	var found []string
	for _, imp := range imports {
		if reason := refuse(r, imp); reason != "" {
			found = append(found, fmt.Sprintf("%s: imports %s: %s", pkg, imp, reason))
		}
	}
	return found
}

// refuse returns the reason why a package of this row may not import imp, or an empty string.
func refuse(r row, imp string) string {
	switch {
	case isOurs(imp):
		if !matchesAny(r.ours, relative(imp)) {
			return "not in its row"
		}
	case !isStandard(imp):
		if !isBelowAny(imp, r.modules) {
			return "third-party, not in its row"
		}
	case isBelow(imp, "testing") && !r.testing:
		return "test code in what is shipped"
	case r.pure && isStandard(imp) && !slices.Contains(pureImports, imp):
		return "not for a pure package"
	}
	return ""
}

// tableViolations checks the table itself: a row is easily widened by hand, these rules are not.
func tableViolations(rows []row) []string {
	var found []string
	for _, r := range rows {
		for _, forbidden := range forbiddenFor(r.path) {
			if matchesAny(r.ours, forbidden) {
				found = append(found, fmt.Sprintf("%s: its row allows %s", r.path, forbidden))
			}
		}
		if slices.Contains(r.modules, awsSDK) && !mayKnowAWS(r.path) {
			found = append(found, r.path+": its row allows the AWS SDK")
		}
		if r.pure && !strings.HasPrefix(r.path, "pkg/fdl") && r.path != "pkg/flow/document" && r.path != "pkg/internal/diagram" && len(r.modules) > 0 {
			found = append(found, r.path+": its row allows a third party in a pure package")
		}
	}
	return found
}

var adapters = []string{
	"pkg/local",
	"pkg/aws/dynamo", "pkg/aws/sqs", "pkg/aws/scheduler", "pkg/aws/s3", "pkg/aws/lambda", "pkg/aws/services", "pkg/aws/function",
	"pkg/httpapi/rest", "pkg/httpapi/fnf", "pkg/httpapi/sfn", "pkg/httpapi/callbackurl",
}

func forbiddenFor(pkg string) []string {
	switch {
	case isBelow(pkg, "pkg/engine"):
		return append([]string{"pkg/resume"}, adapters...)
	case isBelow(pkg, "pkg/resume"):
		return append([]string{"pkg/engine", "pkg/machine", "pkg/fdl"}, adapters...)
	case slices.Contains(adapters, pkg):
		return append([]string{"pkg/internal/cli"}, adapters...)
	}
	return nil
}

func mayKnowAWS(pkg string) bool {
	return isBelow(pkg, "pkg/aws") || isBelow(pkg, "functions") || pkg == "pkg/internal/compose" || pkg == "pkg/cmd/waitless"
}

// moduleViolations checks the modules that the binary of a function links.
func moduleViolations(allowed map[string][]string, function string, modules []string) []string {
	allow, ok := allowed[function]
	if !ok {
		return []string{function + ": has no row in functionModules: say which modules it may link"}
	}
	var found []string
	for _, m := range modules {
		if !slices.Contains(allow, m) {
			found = append(found, function+": links "+m+", which is not in its row")
		}
	}
	return found
}

func TestImportsFollowTheTable(t *testing.T) {
	t.Parallel()
	for _, p := range ourPackages(t) {
		report(t, importViolations(house, p.rel(), p.Imports))
	}
}

func TestTableFollowsTheDesign(t *testing.T) {
	t.Parallel()
	report(t, tableViolations(house))
}

// The command that a newcomer runs first builds quickly, because it links neither an AWS client nor
// the durable store.
func TestTryLinksNeitherAWSNorTheDurableStore(t *testing.T) {
	t.Parallel()
	for _, m := range linkedModules(t, module+"/pkg/cmd/try") {
		if isBelow(m, awsSDK) || isBelow(m, "github.com/cockroachdb") {
			t.Errorf("pkg/cmd/try links %s", m)
		}
	}
}

func TestFunctionsLinkOnlyTheirModules(t *testing.T) {
	t.Parallel()
	for _, p := range ourPackages(t) {
		if isBelow(p.rel(), "functions") {
			report(t, moduleViolations(functionModules, p.rel(), linkedModules(t, p.ImportPath)))
		}
	}
}

func TestImportRulesCanFail(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, pkg, imp string
		refused        bool
	}{
		{"no row", "pkg/newcomer", "fmt", true},
		{"expr imports ours", "pkg/expr", module + "/pkg/fdl", true},
		{"expr imports YAML", "pkg/expr", yaml + "/v4", true},
		{"fdl imports YAML", "pkg/fdl", yaml + "/v4", false},
		{"fdl imports what only looks like YAML", "pkg/fdl", yaml + "extra", true},
		{"fdl imports expr", "pkg/fdl", module + "/pkg/expr", false},
		{"value imports expr", "pkg/value", module + "/pkg/expr", true},
		{"engine imports expr", "pkg/engine", module + "/pkg/expr", true},
		{"fdl imports machine", "pkg/fdl", module + "/pkg/machine", true},
		{"pure imports time", "pkg/machine", "time", false},
		{"pure imports context", "pkg/machine", "context", true},
		{"pure imports math/rand/v2", "pkg/machine", "math/rand/v2", true},
		{"pure imports crypto/rand", "pkg/token", "crypto/rand", true},
		{"pure imports crypto/hmac", "pkg/token", "crypto/hmac", false},
		{"pure imports os/exec", "pkg/jobs", "os/exec", true},
		{"pure imports net/http", "pkg/jobs", "net/http", true},
		{"pure imports sync/atomic", "pkg/expr", "sync/atomic", true},
		{"pure imports log/slog", "pkg/expr", "log/slog", true},
		{"pure imports path/filepath", "pkg/expr", "path/filepath", true},
		{"pure imports io/ioutil", "pkg/expr", "io/ioutil", true},
		{"pure imports hash/maphash", "pkg/expr", "hash/maphash", true},
		{"pure imports unsafe", "pkg/expr", "unsafe", true},
		{"pure imports runtime", "pkg/expr", "runtime", true},
		{"machine imports engine", "pkg/machine", module + "/pkg/engine", true},
		{"engine imports resume", "pkg/engine", module + "/pkg/resume", true},
		{"engine imports context", "pkg/engine", "context", false},
		{"engine imports testing", "pkg/engine", "testing", true},
		{"enginetest imports testing", "pkg/internal/suite/enginetest", "testing", false},
		{"engine imports testing/quick", "pkg/engine", "testing/quick", true},
		{"engine imports AWS", "pkg/engine", awsSDK + "/aws-lambda-go/lambda", true},
		{"resume imports machine", "pkg/resume", module + "/pkg/machine", true},
		{"local imports an adapter", "pkg/local", module + "/pkg/aws/dynamo", true},
		{"adapter imports adapter", "pkg/aws/dynamo", module + "/pkg/aws/sqs", true},
		{"function imports a protocol", "functions/api", module + "/pkg/httpapi/fnf", false},
		{"function imports an adapter", "functions/echo", module + "/pkg/aws/function", false},
		{"function imports local", "functions/echo", module + "/pkg/local", true},
		{"cli imports AWS", "pkg/internal/cli", awsSDK + "/aws-sdk-go-v2/config", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := len(importViolations(house, c.pkg, []string{c.imp})) > 0; got != c.refused {
				t.Errorf("%s imports %s: refused %v, want %v", c.pkg, c.imp, got, c.refused)
			}
		})
	}
}

func TestTableRulesCanFail(t *testing.T) {
	t.Parallel()
	for _, r := range []row{
		{path: "pkg/engine", ours: []string{"pkg/resume"}},
		{path: "pkg/resume", ours: []string{"pkg/engine"}},
		{path: "pkg/local", ours: []string{"pkg/httpapi/*"}},
		{path: "pkg/aws/sqs", ours: []string{"pkg/aws/dynamo"}},
		{path: "pkg/engine", modules: []string{awsSDK}},
		{path: "pkg/machine", pure: true, modules: []string{yaml}},
	} {
		if len(tableViolations([]row{r})) == 0 {
			t.Errorf("row %+v passed", r)
		}
	}
}

func TestModuleRulesCanFail(t *testing.T) {
	t.Parallel()
	allowed := map[string][]string{"functions/a": {"example.com/one"}}
	if found := moduleViolations(allowed, "functions/a", []string{"example.com/one"}); len(found) > 0 {
		t.Errorf("an allowed module was refused: %q", found)
	}
	if len(moduleViolations(allowed, "functions/a", []string{"example.com/one", "example.com/two"})) != 1 {
		t.Error("a module outside of the row passed")
	}
	if len(moduleViolations(allowed, "functions/b", nil)) != 1 {
		t.Error("a function without a row passed")
	}
}

func report(t *testing.T, violations []string) {
	t.Helper()
	for _, v := range violations {
		t.Error(v)
	}
}

// ourPackages lists the packages in events, functions and pkg.
func ourPackages(t *testing.T) []listed {
	t.Helper()
	readTree(t)
	return goList(t, "./...")
}

func linkedModules(t *testing.T, function string) []string {
	t.Helper()
	var modules []string
	for _, p := range goList(t, "-deps", "-tags", "lambda.norpc", function) {
		if p.Module != nil && p.Module.Path != module && !slices.Contains(modules, p.Module.Path) {
			modules = append(modules, p.Module.Path)
		}
	}
	return modules
}

func goList(t *testing.T, args ...string) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-json=" + listedFields}, args...)...)
	cmd.Dir = ".."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var packages []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatalf("go list: decode: %v", err)
		}
		packages = append(packages, p)
	}
}

// readTree reads every folder and source file. The go tool caches a passed test together with the
// files that the test read, and does not notice files that only go list read.
func readTree(t *testing.T) {
	t.Helper()
	for _, root := range []string{".", "../functions", "../events"} {
		err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(name) != ".go" {
				return err
			}
			_, err = os.Stat(name)
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat("../go.mod"); err != nil {
		t.Fatal(err)
	}
}
