package cli

import (
	"encoding/json"
	"io/fs"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// conforms checks that text is one JSON object as the embedded schema of the
// command describes it.
func conforms(t *testing.T, command, text string) {
	t.Helper()
	instance, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	if err := compiled(t, command).Validate(instance); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

func compiled(t *testing.T, command string) *jsonschema.Schema {
	t.Helper()
	file := "schema/" + command + ".json"
	text, err := fs.ReadFile(schemas, file)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource(file, schema); err != nil {
		t.Fatal(err)
	}
	return compiler.MustCompile(file)
}

// A schema that accepts anything would make the tests of the JSON worthless.
func TestSchemasRefuse(t *testing.T) {
	t.Parallel()
	for command, text := range map[string]string{
		"run":      `{"schema":"waitless.run/1"}`,
		"history":  `{"schema":"waitless.history/1","flow":"f","execution":"e","events":[{"EventId":1}]}`,
		"event":    `{"schema":"waitless.event/1","id":1,"type":"StepEntered","time":"2026-01-31T10:00:00.000Z","detail":"{}"}`,
		"validate": `{"schema":"waitless.validate/1","valid":false,"files":[{"file":"f","valid":false,"problems":[{"line":0}]}]}`,
		"advise":   `{"schema":"waitless.advise/1","file":"f","findings":[{"line":1,"column":1,"rule":"none"}]}`,
		"init":     `{"schema":"waitless.init/1","folder":".","sample":"polling","files":[],"next":[]}`,
		"samples":  `{"schema":"waitless.samples/1","samples":[{"name":"polling","shows":"a loop"}]}`,
		"docs":     `{"schema":"waitless.docs/1","topics":[]}`,
		"version":  `{"schema":"waitless.version/2","version":"devel","go":"go1.26","platform":"linux/amd64"}`,
	} {
		instance, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if compiled(t, command).Validate(instance) == nil {
			t.Errorf("schema of %s accepts %s", command, text)
		}
	}
}

// Members that a schema does not name are a mistake of ours, although readers
// have to bear them.
func TestSchemasNameEveryMember(t *testing.T) {
	t.Parallel()
	for command, args := range map[string][]string{
		"run":      {"run", pollingFlow, "--skip-time", "--json"},
		"validate": {"validate", pollingFlow, "--json"},
		"advise":   {"advise", pollingFlow, "--json"},
		"samples":  {"samples", "--json"},
		"docs":     {"docs", "--json"},
		"version":  {"version", "--json"},
	} {
		var printed map[string]any
		if err := json.Unmarshal([]byte(do(t, args...).stdout), &printed); err != nil {
			t.Fatal(err)
		}
		var schema struct {
			Properties map[string]any `json:"properties"`
		}
		text, _ := fs.ReadFile(schemas, "schema/"+command+".json")
		if err := json.Unmarshal(text, &schema); err != nil {
			t.Fatal(err)
		}
		for member := range printed {
			if _, named := schema.Properties[member]; !named {
				t.Errorf("schema of %s does not name %q", command, member)
			}
		}
	}
}
