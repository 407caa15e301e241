package fdl

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/similar"
)

// YAMLError is a problem of a text that [LoadYAML] reads.
type YAMLError struct {
	At  flow.Position
	Why string
}

// Error implements error.
func (e *YAMLError) Error() string { return e.At.String() + ": " + e.Why }

// LoadYAML is [yaml.Load] in linear time. The library compares each key of a mapping with each
// other, and has an error for each pair; LoadYAML reports the first repeated key. The error has a
// line for each problem, and is a [YAMLError] or joins several.
func LoadYAML(text []byte, into any, options ...yaml.Option) error {
	var document yaml.Node
	err := yaml.Load(text, &document)
	if repeated := repeatedKey(&document); err == nil && repeated != nil {
		return repeated
	}
	if err == nil {
		err = document.Load(into, append(options, yaml.WithUniqueKeys(false))...)
	}
	found := []*yaml.LoadError{}
	if all, ok := errors.AsType[*yaml.LoadErrors](err); ok {
		found = all.Errors
	} else if one, ok := errors.AsType[*yaml.LoadError](err); ok {
		found = append(found, one)
	}
	if len(found) == 0 {
		return err
	}
	// The patterns are made here, so that the start of a program does not wait for them.
	e := explainer{
		reflect.TypeOf(into),
		regexp.MustCompile(`^field (\S+) not found in type (.+)$`), regexp.MustCompile(`(?s)^cannot construct !!(\w+).* into (.+)$`),
	}
	problems := make([]error, len(found))
	for i, f := range found {
		problems[i] = &YAMLError{flow.Position{Line: max(f.Mark.Line, 1), Column: max(f.Mark.Column, 1)}, e.explain(f.Message)}
	}
	return errors.Join(problems...)
}

// explainer has the patterns of messages that name types of Go, and the type that was read.
type explainer struct {
	of                      reflect.Type
	unknownField, wrongKind *regexp.Regexp
}

// explain returns a message of the library in the words of the file.
func (e explainer) explain(message string) string {
	if match := e.unknownField.FindStringSubmatch(message); match != nil {
		allowed := fieldsOf(typeIn(e.of, match[2]))
		return fmt.Sprintf("field %q is unknown%s (allowed: %s)", match[1], similar.DidYouMean(match[1], allowed), strings.Join(allowed, ", "))
	}
	match := e.wrongKind.FindStringSubmatch(message)
	if match == nil {
		return strings.ReplaceAll(message, "\n", " ")
	}
	found := map[string]string{
		"map": "a mapping", "seq": "a list", "str": "a text", "int": "a number", "float": "a number", "bool": "true or false", "null": "nothing",
	}
	allowed := "a mapping"
	if of := typeIn(e.of, match[2]); of != nil {
		allowed = cmp.Or(map[reflect.Kind]string{
			reflect.Slice: "a list", reflect.String: "a text", reflect.Float64: "a number", reflect.Int: "a whole number", reflect.Bool: "true or false",
			reflect.Struct: "a mapping with " + strings.Join(fieldsOf(of), ", "),
		}[of.Kind()], allowed)
	}
	return fmt.Sprintf("found %s; allowed: %s", cmp.Or(found[match[1]], match[1]), allowed)
}

// typeIn returns the type with a name that is, or is inside of, another type; nil for none.
func typeIn(of reflect.Type, name string) (found reflect.Type) {
	switch {
	case of.String() == name:
		return of
	case of.Kind() == reflect.Pointer, of.Kind() == reflect.Slice, of.Kind() == reflect.Map:
		return typeIn(of.Elem(), name)
	case of.Kind() == reflect.Struct:
		for i := 0; i < of.NumField() && found == nil; i++ {
			if field := of.Field(i); field.Tag != "" { // others are not read, and may be recursive
				found = typeIn(field.Type, name)
			}
		}
	}
	return found
}

// fieldsOf returns the names of a struct's fields in YAML, nil for another type.
func fieldsOf(of reflect.Type) (names []string) {
	for i := 0; of != nil && of.Kind() == reflect.Struct && i < of.NumField(); i++ {
		name, option, _ := strings.Cut(of.Field(i).Tag.Get("yaml"), ",")
		if option == "inline" {
			names = append(names, fieldsOf(of.Field(i).Type)...)
		} else if name != "" {
			names = append(names, name)
		}
	}
	return names
}

// repeatedKey returns an error for the first key that a mapping has twice, nil for none.
func repeatedKey(node *yaml.Node) error {
	lines := map[string]int{}
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 && child.Kind == yaml.ScalarNode {
			if line, ok := lines[child.Value]; ok {
				return &YAMLError{flow.Position{Line: child.Line, Column: child.Column}, fmt.Sprintf("mapping key %q already defined at line %d", child.Value, line)}
			}
			lines[child.Value] = child.Line
		}
		if repeated := repeatedKey(child); repeated != nil {
			return repeated
		}
	}
	return nil
}
