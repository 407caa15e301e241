package fdl_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/jobs"
)

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(fdl.Schema())))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("fdl.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("fdl.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// instance is the definition as an editor sees it. Not ok: it is no YAML that JSON can hold.
func instance(t *testing.T, text []byte) (value any, ok bool) {
	t.Helper()
	var document any
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, false
	}
	asJSON, err := json.Marshal(document)
	if err != nil {
		return nil, false
	}
	if value, err = jsonschema.UnmarshalJSON(strings.NewReader(string(asJSON))); err != nil {
		t.Fatal(err)
	}
	return value, true
}

// TestSchemaAgreesWithTheCode compares what the schema repeats of constants and of other packages.
func TestSchemaAgreesWithTheCode(t *testing.T) {
	t.Parallel()
	type field struct {
		Enum                       []string
		Minimum, Maximum, MaxItems int64
		MaxLength                  int64
		Pattern                    string
		AnyOf                      []field
	}
	var schema struct {
		Definitions map[string]struct {
			Properties map[string]field
			field
		}
	}
	if err := json.Unmarshal(fdl.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	actions := []string{fdl.StartExecution}
	for _, kind := range jobs.Kinds() {
		if kind.Service != "" {
			actions = append(actions, kind.Service+":"+kind.StartOp)
		}
	}
	slices.Sort(actions)
	if got := schema.Definitions["task"].Properties["action"].AnyOf[0].Enum; !slices.Equal(got, actions) {
		if *update {
			writeActions(t, actions)
			return
		}
		t.Errorf("the schema has the actions %q, want %q; run the test with -update", got, actions)
	}
	of := func(element, name string) field { return schema.Definitions[element].Properties[name] }
	year, day := int64(fdl.MaxTimeout/time.Second), int64(flow.MaxInterval/time.Second)
	for _, limit := range [][2]int64{
		{schema.Definitions["timeLimit"].Maximum, year},
		{of("wait", "duration").AnyOf[0].Maximum, int64(fdl.MaxWait / time.Second)},
		{of("task", "intervalSeconds").Maximum, day},
		{of("policy", "intervalSeconds").Maximum, day},
		{of("policy", "maxIntervalSeconds").Maximum, day},
		{of("parallel", "branches").MaxItems, flow.MaxBranches},
		{of("task", "choices").MaxItems, fdl.MaxChoices},
		{of("task", "prompt").MaxLength, fdl.MaxPrompt},
		{of("callbackChoice", "label").MaxLength, fdl.MaxLabel},
		{of("foreach", "maxConcurrency").Maximum, flow.MaxConcurrency},
	} {
		if limit[0] != limit[1] {
			t.Errorf("the schema has the limit %d, want %d", limit[0], limit[1])
		}
	}
	if got, want := schema.Definitions["name"].Pattern, fmt.Sprintf("^[A-Za-z_][A-Za-z0-9_-]{0,%d}$", flow.MaxName-1); got != want {
		t.Errorf("the schema has the name %s, want %s", got, want)
	}
}

// writeActions writes the actions into the schema, in place of those on the line of that member.
func writeActions(t *testing.T, actions []string) {
	t.Helper()
	text, err := json.Marshal(actions)
	if err != nil {
		t.Fatal(err)
	}
	enum := regexp.MustCompile(`("action": \{"anyOf": \[\{"enum": )\[[^]]*\]`)
	if !enum.Match(fdl.Schema()) {
		t.Fatal("schema.json has no line of actions")
	}
	list := strings.ReplaceAll(string(text), `","`, `", "`)
	if err := os.WriteFile("schema.json", enum.ReplaceAll(fdl.Schema(), []byte("${1}"+list)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSchemaAcceptsFlows holds the flows of the samples and of the scenarios that the parser
// accepts against the schema.
func TestSchemaAcceptsFlows(t *testing.T) {
	t.Parallel()
	schema := compiledSchema(t)
	flows := map[string][]byte{}
	for _, pattern := range []string{"../../events/*/flow.yaml", "../internal/cli/testdata/flows/*.yaml", "../internal/cli/testdata/advise/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no flows (%v)", pattern, err)
		}
		for _, file := range files {
			flows[file] = readFile(t, file)
		}
	}
	addScenarioFlows(t, flows)
	checked := 0
	for name, text := range flows {
		flow, _ := fdl.Parse(text)
		value, ok := instance(t, text)
		if flow == nil || !ok {
			continue
		}
		checked++
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	if checked < 250 {
		t.Errorf("%d flows were checked of %d, want at least 250", checked, len(flows))
	}
}

// addScenarioFlows adds each definition of the scenarios of the machine.
func addScenarioFlows(t *testing.T, flows map[string][]byte) {
	t.Helper()
	files, err := filepath.Glob("../machine/testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios (%v)", err)
	}
	for _, file := range files {
		for i, part := range strings.Split("\n"+string(readFile(t, file)), "\nflow")[1:] {
			_, body, _ := strings.Cut(part, "\n")
			text, _, _ := strings.Cut(body, "\n----")
			flows[file+"#"+string(rune('a'+i%26))] = []byte(text)
		}
	}
}

// notInSchema are mistakes that no schema can express: of the text of a value, of YAML itself, of
// names in two places, or of what belongs to a resource.
var notInSchema = []string{
	"condition-and", "condition-chained", "condition-or", "condition-parenthesis", "condition-single-equals", "condition-single-quotes",
	"condition-unknown-root", "condition-null", "documents-two",
	"function-placeholder", "mapping-root-misspelt", "wait-timestamp-is-a-date",
	"condition-without-quotes", "condition-without-root", "condition-in-quotes", "json-condition",
	"goto-", "catch-goto-nowhere", "name-repeated", "mapping-path-broken", "mapping-path-index", "mapping-target-repeated",
	"message-", "action-misspelt", "params-", "pattern-sync", "poll-of-a", "retry-without-errors", "signed-with-sync",
	"steps-nothing", "stop-job-", "wait-path-of-a-mapping", "wait-timestamp-impossible", "action-without-params",
	"key-repeated", "json-key-repeated", "merge-key", "number-", "tag", "condition-is-a-tag", "ref-of-",
}

func TestSchemaRejectsMistakes(t *testing.T) {
	t.Parallel()
	schema := compiledSchema(t)
	refused := 0
	for file, c := range mistakeCases(t) {
		name := filepath.Base(file)
		value, ok := instance(t, []byte(c.flow))
		exempt := slices.ContainsFunc(notInSchema, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		switch {
		case !ok:
		case schema.Validate(value) != nil:
			refused++
		case !exempt:
			t.Errorf("the schema accepts %s: %s", name, c.want)
		}
	}
	if refused < 60 {
		t.Errorf("%d mistakes were refused, want at least 60", refused)
	}
}
