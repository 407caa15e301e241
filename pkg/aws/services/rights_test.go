package services_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/aws/call/catalogue"
	"github.com/waitless/waitless/pkg/jobs"
)

// TestRightsOfOperations: the rights of a kind have the actions of its operations.
func TestRightsOfOperations(t *testing.T) {
	t.Parallel()
	compared := 0
	for _, kind := range jobs.Kinds() {
		for operation, statements := range map[string][]jobs.Statement{
			kind.StartOp: kind.StartStatements("1", "eu-west-1"), kind.DescribeOp: kind.DescribeStatements("1", "eu-west-1"),
		} {
			action, ok := catalogue.Action(kind.Service, operation)
			if !ok {
				continue
			}
			compared++
			if !slices.ContainsFunc(statements, func(s jobs.Statement) bool { return slices.Contains(s.Action, action) }) {
				t.Errorf("%s: no right for %s in %v", kind.Name, action, statements)
			}
		}
	}
	if compared < 8 {
		t.Errorf("%d operations were compared", compared)
	}
}

// authorization is what the service authorization reference of AWS says, as the SAM CLI brings it
// for its linter: names in small letters, and the forms of ARNs as regular expressions with
// ${Partition}, ${Region} and ${Account}.
type authorization map[string]struct {
	Actions   map[string]struct{ Resources []string }
	Resources map[string]struct{ ARNFormats []string }
}

func authorizationReference(t *testing.T) authorization {
	t.Helper()
	files, err := filepath.Glob("../../../.tools/sam/lib/python3*/site-packages/cfnlint/data/AdditionalSpecs/Policies.json")
	if err != nil || len(files) != 1 {
		t.Skipf("the SAM CLI, whose linter has the reference, is not installed: `make test` installs it (%v, %v)", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var reference authorization
	if err := json.Unmarshal(text, &reference); err != nil {
		t.Fatal(err)
	}
	return reference
}

// forms returns the forms of the resources that an action is for, none if it is for all.
func (a authorization) forms(t *testing.T, service, action string) (forms []*regexp.Regexp, ok bool) {
	t.Helper()
	found, ok := a[service].Actions[action]
	for _, name := range found.Resources {
		for _, form := range a[service].Resources[strings.ToLower(name)].ARNFormats {
			form = strings.NewReplacer("${Partition}", "aws", "${Region}", "(eu-west-1)?", "${Account}", "(111122223333|aws)?",
				"${AccountId}", "111122223333").Replace(form)
			form = regexp.MustCompile(`:\*$`).ReplaceAllString(form, ":.*") // not each is an expression
			forms = append(forms, regexp.MustCompile("^"+form+"$"))
		}
	}
	return forms, ok
}

// otherRights are rights that differ from the reference, with the reason.
var otherRights = map[string]string{
	"backup-copy backup:StartCopyJob":                 "a recovery point has the ARN of the service whose backup it is",
	"backup-restore backup:StartRestoreJob":           "a recovery point has the ARN of the service whose backup it is",
	"translate-job translate:StartTextTranslationJob": "a job without terminologies and parallel data has no resource",
}

// TestRightsFollowTheReference: the actions of the printed rights exist, and their resources are of
// the types that the service authorization reference names for the action: any resource if it names
// none.
func TestRightsFollowTheReference(t *testing.T) {
	t.Parallel()
	reference, compared := authorizationReference(t), 0
	for _, kind := range jobs.Kinds() {
		for _, s := range slices.Concat(
			kind.StartStatements("111122223333", "eu-west-1"), kind.DescribeStatements("111122223333", "eu-west-1"),
			kind.StopStatements("111122223333", "eu-west-1"),
		) {
			if s.Effect != "Allow" {
				continue
			}
			for _, action := range s.Action {
				service, name, _ := strings.Cut(strings.ToLower(action), ":")
				forms, known := reference.forms(t, service, name)
				compared++
				if problem := differs(s.Resource, forms, known); (problem == "") != (otherRights[kind.Name+" "+action] == "") {
					t.Errorf("%s: %s on %q: %s; expected: %q", kind.Name, action, s.Resource, problem, otherRights[kind.Name+" "+action])
				}
			}
		}
	}
	if compared < 100 {
		t.Errorf("%d rights were compared", compared)
	}
}

// differs returns how resources differ from the forms of a reference, "" if they do not.
func differs(resources []string, forms []*regexp.Regexp, known bool) string {
	switch everything := slices.Equal(resources, []string{"*"}); {
	case !known:
		return "the reference has no such action"
	case everything && len(forms) > 0:
		return "it could be for resources"
	case everything != (len(forms) == 0):
		return "it is for all resources"
	case everything:
		return ""
	}
	for _, resource := range resources {
		if !slices.ContainsFunc(forms, func(form *regexp.Regexp) bool { return form.MatchString(resource) }) {
			return "no form of the reference has " + resource
		}
	}
	return ""
}
