package fdl

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
)

// schemaObject is an object of a JSON Schema.
type schemaObject = map[string]any

// Schema is the JSON Schema (draft-07) of a definition, for editors. It has the
// fields of [Fields] and what a schema can express of their values; the text of
// conditions, paths and gotos only [Parse] checks.
func Schema() []byte {
	definitions := schemaObject{
		"steps":    schemaObject{"type": "array", "minItems": 1, "items": reference("step")},
		"mappings": schemaObject{"type": "array", "items": reference("mapping")},
		"errors":   schemaObject{"type": "array", "minItems": 1, "items": schemaObject{"type": "string"}},
		"step":     stepSchema(),
	}
	for _, element := range Elements() {
		if element != "flow" {
			definitions[element] = elementSchema(element)
		}
	}
	root := elementSchema("flow")
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["title"] = "FDL v1"
	root["description"] = "A flow in FDL v1, as Waitless runs it"
	root["definitions"] = definitions
	text, _ := json.MarshalIndent(root, "", "  ") // maps, lists and texts
	return append(text, '\n')
}

func reference(definition string) schemaObject {
	return schemaObject{"$ref": "#/definitions/" + definition}
}

// stepSchema chooses the definition of a step by its type.
func stepSchema() schemaObject {
	var choices []any
	for _, stepType := range stepTypes {
		choices = append(choices, schemaObject{"if": has("type", stepType), "then": reference(stepType)})
	}
	return schemaObject{
		"type": "object", "required": []string{"type", "name"}, "allOf": choices,
		"properties": schemaObject{"type": schemaObject{"enum": stepTypes}},
	}
}

// has is the schema of an object whose field has that value.
func has(field, value string) schemaObject {
	return schemaObject{"required": []string{field}, "properties": schemaObject{field: schemaObject{"const": value}}}
}

// requiredFields are those that an element must have.
var requiredFields = map[string][]string{
	"flow": {"version", "type", "steps"}, "mapping": {"target", "source"}, "branch": {"condition"}, "policy": {"errors"}, "entry": {"errors"},
	"choice": {"type", "name", "choices"}, "default": {}, "parallel": {"type", "name", "branches"}, "parallelBranch": {"steps"},
	"foreach": {"type", "name", "iterationMapping", "steps"}, "iterationMapping": {"collection", "item"},
}

// elementSchema has the fields of an element and rejects all others.
func elementSchema(element string) schemaObject {
	properties := schemaObject{}
	for _, field := range Fields(element) {
		properties[field] = fieldSchema(element, field)
	}
	required, ok := requiredFields[element]
	if !ok {
		required = []string{"type", "name"}
	}
	schema := schemaObject{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	switch element {
	case "task":
		schema["allOf"] = taskRules()
	case "wait":
		schema["oneOf"] = oneRequired("duration", "timestamp")
	case "entry":
		schema["anyOf"] = oneRequired("goto", "steps")
	}
	return schema
}

func oneRequired(fields ...string) []any {
	alternatives := make([]any, len(fields))
	for i, field := range fields {
		alternatives[i] = schemaObject{"required": []string{field}}
	}
	return alternatives
}

// taskRules are what the fields of a task demand of one another.
func taskRules() []any {
	poll, noPoll := schemaObject{"required": []string{"condition", "intervalSeconds"}}, schemaObject{}
	for _, field := range pollFields {
		noPoll[field] = false
	}
	callback := schemaObject{"heartbeatSeconds": false, "signed": schemaObject{"const": false}}
	return []any{
		schemaObject{"oneOf": oneRequired("resourceArn", "action")},
		schemaObject{"if": schemaObject{"required": []string{"action"}}, "then": schemaObject{"required": []string{"serviceParams"}}},
		schemaObject{"if": has("pattern", "waitForCondition"), "then": poll, "else": schemaObject{"properties": noPoll}},
		schemaObject{"if": has("pattern", "waitForCallback"), "else": schemaObject{"properties": callback}},
	}
}

// fieldSchema returns the schema of a field's value. A test finds fields without one.
func fieldSchema(element, field string) any {
	if schema, ok := ownFieldSchemas(element)[field]; ok {
		return schema
	}
	switch field {
	case "inputMappings", "outputMappings", "errorMappings":
		return reference("mappings")
	case "steps":
		return reference("steps")
	case "name":
		return nameSchema()
	case "signed":
		sender := nameSchema()
		sender["not"] = schemaObject{"enum": notSenders}
		return schemaObject{"anyOf": []any{schemaObject{"type": "boolean"}, sender}}
	case "end", "atMostOnce":
		return schemaObject{"type": "boolean"}
	case "timeoutSeconds", "heartbeatSeconds":
		return wholeSeconds(1, MaxTimeout)
	case "goto", "condition":
		return schemaObject{"type": "string", "minLength": 1}
	case "errors":
		return reference("errors")
	case "target", "error", "cause":
		return schemaObject{"type": "string"}
	case "item", "index":
		return schemaObject{"type": "string", "minLength": 1}
	case "source":
		return true
	}
	return nil
}

// ownFieldSchemas are the fields of an element that others have with another value, or not.
func ownFieldSchemas(element string) map[string]any {
	switch element {
	case "flow":
		return map[string]any{"version": schemaObject{"enum": versions}, "type": schemaObject{"const": "flow"}}
	case "task":
		return taskFieldSchemas()
	case "wait":
		return map[string]any{
			"type":      schemaObject{"const": element},
			"duration":  schemaObject{"anyOf": []any{wholeSeconds(0, MaxWait), pathSchema()}},
			"timestamp": schemaObject{"anyOf": []any{named(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`), pathSchema()}},
		}
	case "choice":
		return map[string]any{
			"type":    schemaObject{"const": element},
			"choices": schemaObject{"type": "array", "minItems": 1, "items": reference("branch")}, "default": reference("default"),
		}
	case "parallel":
		return map[string]any{
			"type":     schemaObject{"const": element},
			"branches": schemaObject{"type": "array", "minItems": 1, "maxItems": MaxBranches, "items": reference("parallelBranch")},
		}
	case "foreach":
		return map[string]any{
			"type": schemaObject{"const": element}, "iterationMapping": reference("iterationMapping"),
			"maxConcurrency": schemaObject{"type": "integer", "minimum": 1, "maximum": MaxConcurrency},
		}
	case "iterationMapping":
		return map[string]any{"collection": pathSchema()}
	case "policy":
		return map[string]any{
			"intervalSeconds": wholeSeconds(0, MaxInterval), "maxIntervalSeconds": wholeSeconds(0, MaxInterval),
			"maxAttempts": wholeNumber(0), "multiplier": schemaObject{"type": "number", "minimum": 1},
		}
	}
	return map[string]any{"type": schemaObject{"const": element}}
}

func taskFieldSchemas() map[string]any {
	return map[string]any{
		"type":            schemaObject{"const": "task"},
		"resourceArn":     schemaObject{"type": "string", "anyOf": resourceSchemas()},
		"action":          schemaObject{"enum": actionNames()},
		"pattern":         schemaObject{"enum": patternNames},
		"serviceParams":   schemaObject{"type": "object"},
		"retry":           schemaObject{"type": "array", "items": reference("policy")},
		"catch":           schemaObject{"type": "array", "items": reference("entry")},
		"intervalSeconds": wholeSeconds(1, MaxInterval),
		"backoffRate":     schemaObject{"type": "number", "minimum": 1},
		"maxAttempts":     wholeNumber(1),
	}
}

func actionNames() []string {
	var actions []string
	for _, kind := range jobs.Kinds() {
		if kind.Service != "" {
			actions = append(actions, kind.Service+":"+kind.StartOp)
		}
	}
	return actions
}

// resourceSchemas are the forms of functions, and those of jobs and messages without their details.
func resourceSchemas() []any {
	forms := []string{`^arn:[^:]+:(dms:.*:task:|states:.*:stateMachine:).+$`, `^acs:mns:.*:/(queues|topics)/[^/{}<>]+/messages$`}
	for _, form := range resourceForms {
		text := form.String()
		for _, group := range form.SubexpNames()[1:] {
			text = strings.Replace(text, "?P<"+group+">", "", 1)
		}
		forms = append(forms, text)
	}
	slices.Sort(forms)
	schemas := make([]any, len(forms))
	for i, form := range forms {
		schemas[i] = schemaObject{"pattern": form}
	}
	return schemas
}

func named(pattern string) schemaObject { return schemaObject{"type": "string", "pattern": pattern} }

func nameSchema() schemaObject {
	return named(fmt.Sprintf("^[A-Za-z_][A-Za-z0-9_-]{0,%d}$", MaxName-1))
}

func pathSchema() schemaObject { return named(`^\$[.\[]`) }

func wholeSeconds(least int, most time.Duration) schemaObject {
	return schemaObject{"type": "integer", "minimum": least, "maximum": int64(most / time.Second)}
}

func wholeNumber(least int) schemaObject {
	return schemaObject{"type": "integer", "minimum": least, "maximum": math.MaxInt32}
}
