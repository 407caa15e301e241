package docs_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/docs"
	"github.com/waitless/waitless/pkg/fdl"
)

// TestExtensionsAreListed: the page has each field of the schema that FDL does not have.
func TestExtensionsAreListed(t *testing.T) {
	t.Parallel()
	var schema struct {
		Definitions map[string]struct {
			Properties map[string]struct {
				Extension string `json:"x-extension"`
			} `json:"properties"`
		} `json:"definitions"`
	}
	if err := json.Unmarshal(fdl.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	var page string
	for _, topic := range docs.Topics() {
		if topic.Name == "extensions" {
			page = topic.Text
		}
	}
	listed := 0
	for _, definition := range schema.Definitions {
		for name, field := range definition.Properties {
			if field.Extension == "" {
				continue
			}
			listed++
			if !strings.Contains(page, "`"+name+"`") {
				t.Errorf("the page does not list %s", name)
			}
		}
	}
	if listed < 9 {
		t.Errorf("the schema has %d extensions", listed)
	}
}
