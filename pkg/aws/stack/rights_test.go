package stack_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/waitless/waitless/pkg/aws/emulator"
)

var takeRights = flag.Bool("rights", false, "TestRights: take each right away and see what fails")

// A right is a statement of a role. Its row says either what fails without it
// or why that cannot be tried.
type right struct {
	// try does something that needs the right. Without the right it fails, and
	// with it, tried again, it succeeds.
	try func(x trial) error
	// teller is the function whose log tells that the action was refused, and
	// at what: an action, or "dynamodb:" for any of a service. Without a teller it is the failure that
	// says so.
	teller, action string
	says           string

	// notEnforced is why nothing fails on the emulator. The statement allows
	// just these actions on this resource.
	notEnforced string
	actions     []string
	on          string
}

// TestRights takes each statement out of the deployed roles, sees what it is for
// fail, puts it back, and sees the same succeed. One after the other: each
// needs the rights of the others.
//
//nolint:paralleltest,tparallel // see above
func TestRights(t *testing.T) {
	t.Parallel()
	if !*takeRights {
		t.Skip("without -rights no right is removed; `make test-rights` does it")
	}
	s, calls := deployForRights(t)
	policies, rows := policiesOf(t, s), rightsOf(calls)
	maps.Copy(rows, rightsOfJobs())
	if unmatched := unmatched(rows, policies); len(unmatched) > 0 {
		t.Fatal(strings.Join(unmatched, "\n"))
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		t.Run(name, func(t *testing.T) { rows[name].check(t, s, name, policies) })
	}
}

// unmatched are statements without a row, and rows without a statement.
func unmatched(rows map[string]right, policies []policy) []string {
	var problems []string
	statements := map[string]bool{}
	for _, p := range policies {
		for _, each := range p.statements {
			name := p.role + "/" + each.Sid
			if each.Effect == "Deny" { // it is no right; denied_test.go tests it
				continue
			}
			if _, ok := rows[name]; !ok {
				problems = append(problems, name+" is a statement without a row: nothing shows that it is needed")
			}
			statements[name] = true
		}
	}
	for name := range rows {
		if !statements[name] {
			problems = append(problems, name+" is a row without a statement")
		}
	}
	return problems
}

// TestEachRightHasItsRow holds the two lists against each other.
func TestEachRightHasItsRow(t *testing.T) {
	t.Parallel()
	policies := []policy{{role: "A", statements: []granted{{Sid: "X"}, {Sid: "Y"}}}}
	for name, tt := range map[string]struct {
		rows map[string]right
		want string
	}{
		"both":               {map[string]right{"A/X": {}, "A/Y": {}}, ""},
		"no row":             {map[string]right{"A/X": {}}, "A/Y is a statement"},
		"no statement":       {map[string]right{"A/X": {}, "A/Y": {}, "A/Z": {}}, "A/Z is a row"},
		"one of no function": {map[string]right{"A/X": {}, "A/Y": {}, "/X": {}}, "/X is a row"},
		"one of another's":   {map[string]right{"A/X": {}, "A/Y": {}, "B/X": {}}, "B/X is a row"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := strings.Join(unmatched(tt.rows, policies), "\n")
			if !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") || strings.Contains(got, "\n") {
				t.Errorf("%q; want %q", got, tt.want)
			}
		})
	}
}

func (r right) check(t *testing.T, s stack, name string, policies []policy) {
	t.Helper()
	role, sid, _ := strings.Cut(name, "/")
	x := trial{
		T: t, stack: s, logs: cloudwatchlogs.NewFromConfig(emulator.Config(t)), right: r,
		name: strings.ToLower(strings.ReplaceAll(name, "/", "-")), began: time.Now(),
	}
	if r.notEnforced != "" {
		r.checkText(x, role, sid, policies)
		return
	}
	err := x.without(role, sid, policies)
	if err == nil {
		t.Fatal("nothing fails without it")
	}
	for _, part := range x.refusal() {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("without it: %v\nwant it to say %q", err, part)
		}
	}
	x.again, x.began = true, time.Now()
	if err := r.try(x); err != nil {
		t.Errorf("with it: %v", err)
	}
}

// without tries what the right is for while no policy of the role has it.
func (x trial) without(role, sid string, policies []policy) error {
	x.Helper()
	for _, p := range policies {
		if p.role != role || !p.has(sid) {
			continue
		}
		x.take(p, sid)
		defer x.put(p, p.text)
	}
	return x.right.try(x)
}

func (x trial) take(p policy, sid string) {
	x.Helper()
	if len(p.statements) > 1 {
		x.put(p, p.without(x.T, sid))
		return
	}
	_, err := iam.NewFromConfig(emulator.Config(x)).DeleteRolePolicy(x.Context(), &iam.DeleteRolePolicyInput{RoleName: &p.roleName, PolicyName: &p.name})
	if err != nil {
		x.Fatal(err)
	}
}

func (x trial) put(p policy, text string) {
	x.Helper()
	_, err := iam.NewFromConfig(emulator.Config(x)).PutRolePolicy(x.Context(), &iam.PutRolePolicyInput{
		RoleName: &p.roleName, PolicyName: &p.name, PolicyDocument: &text,
	})
	if err != nil {
		x.Fatal(err)
	}
}

// onEmulator is the policy with what .ci/allow_on_emulator.py allows.
const onEmulator = "emulator"

// checkText compares the statement with what the row says of it.
func (r right) checkText(x trial, role, sid string, policies []policy) {
	for _, p := range policies {
		for _, each := range p.statements {
			if p.role != role || p.name == onEmulator || each.Sid != sid {
				continue
			}
			elsewhere := func(resource string) bool { return !strings.Contains(resource, x.resource(r.on)) }
			if !slices.Equal(each.Action, r.actions) || len(each.Resource) == 0 || slices.ContainsFunc(each.Resource, elsewhere) {
				x.Errorf("it allows %v on %v; want %v on %s", each.Action, each.Resource, r.actions, r.on)
			}
		}
	}
}

// A policy is one of a deployed role.
type policy struct {
	role           string // what its logical id begins with
	roleName, name string
	text           string
	statements     []granted
}

type granted struct {
	Sid, Effect      string
	Action, Resource list
}

// list is a text or several.
type list []string

func (l *list) UnmarshalJSON(text []byte) error {
	if strings.HasPrefix(string(text), "[") {
		return json.Unmarshal(text, (*[]string)(l))
	}
	*l = make(list, 1)
	return json.Unmarshal(text, &(*l)[0])
}

func (p policy) has(sid string) bool {
	return slices.ContainsFunc(p.statements, func(s granted) bool { return s.Sid == sid })
}

// without is the policy's text without a statement.
func (p policy) without(t *testing.T, sid string) string {
	t.Helper()
	var document struct {
		Version   string
		Statement []map[string]any
	}
	if err := json.Unmarshal([]byte(p.text), &document); err != nil {
		t.Fatal(err)
	}
	document.Statement = slices.DeleteFunc(document.Statement, func(s map[string]any) bool { return s["Sid"] == sid })
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// policiesOf are those of all roles of the stack, as deployed.
func policiesOf(t *testing.T, s stack) []policy {
	t.Helper()
	client := iam.NewFromConfig(emulator.Config(t))
	var policies []policy
	for id, physical := range s.resources {
		role, ok := strings.CutSuffix(id, "Role")
		if !ok {
			continue
		}
		names, err := client.ListRolePolicies(t.Context(), &iam.ListRolePoliciesInput{RoleName: &physical})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names.PolicyNames {
			found, err := client.GetRolePolicy(t.Context(), &iam.GetRolePolicyInput{RoleName: &physical, PolicyName: &name})
			if err != nil {
				t.Fatal(err)
			}
			policies = append(policies, parsePolicy(t, policy{role: role, roleName: physical, name: name}, *found.PolicyDocument))
		}
	}
	return policies
}

// parsePolicy reads the document, which IAM answers escaped as in a URL.
func parsePolicy(t *testing.T, p policy, escaped string) policy {
	t.Helper()
	var err error
	if p.text, err = url.PathUnescape(escaped); err != nil {
		t.Fatal(err)
	}
	var document struct{ Statement []granted }
	if err := json.Unmarshal([]byte(p.text), &document); err != nil {
		t.Fatalf("policy %s of %s: %v", p.name, p.role, err)
	}
	p.statements = document.Statement
	return p
}

// A trial is one try of what a right is for.
type trial struct {
	*testing.T

	stack stack
	logs  *cloudwatchlogs.Client
	right right
	name  string // of the flow
	began time.Time
	again bool // with the right
}

// refusal are texts that stand in the line, or in the failure, of what is
// refused for want of the right.
func (x trial) refusal() []string {
	if x.right.teller == "" {
		return []string{x.right.says}
	}
	action := x.right.action
	if !strings.HasSuffix(action, ":") {
		action += " "
	}
	return []string{x.right.says, "is not authorized to perform: " + action}
}

// resource is the name of a resource of the stack, as its ARN has it; else the
// text itself.
func (x trial) resource(text string) string {
	if id := x.stack.resources[text]; id != "" {
		return path.Base(id)
	}
	return text
}

const (
	look     = 50 * time.Millisecond
	patience = 90 * time.Second // a machine may be busy
	// tellPatience is how long after a failure the log may tell of it.
	tellPatience = 10 * time.Second
)

// await waits for the end of what was begun or, without the right, for the log
// to tell of the refusal: then nothing may end at all.
func (x trial) await(ended <-chan error) error {
	limit := time.After(patience)
	for again := time.NewTicker(look); ; {
		select {
		case err := <-ended:
			if err == nil || x.again || x.right.teller == "" {
				return err
			}
			ended, limit = nil, time.After(tellPatience)
		case <-again.C:
			if x.again || x.right.teller == "" {
				continue
			}
			if line := x.line(x.right.teller, x.refusal()...); line != "" {
				return errors.New(line)
			}
		case <-limit:
			return fmt.Errorf("nothing comes of it, and no log tells why; the log of %s:\n%s", x.right.teller, strings.Join(x.lines(x.right.teller), ""))
		}
	}
}

// line is a line of the function's log, since the trial began, with all the
// parts; empty without one.
func (x trial) line(function string, parts ...string) string {
	for _, line := range x.lines(function) {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			return line
		}
	}
	return ""
}

func (x trial) lines(function string) []string {
	group, ok := x.stack.resources[function+"Logs"]
	if !ok {
		return nil
	}
	found, err := x.logs.FilterLogEvents(x.Context(), &cloudwatchlogs.FilterLogEventsInput{
		LogGroupName: &group, StartTime: aws.Int64(x.began.UnixMilli()),
	})
	if err != nil {
		return []string{err.Error()}
	}
	var lines []string
	for _, event := range found.Events {
		lines = append(lines, aws.ToString(event.Message)+"\n")
	}
	return lines
}

// awaitLine is answered when the log has the line.
func (x trial) awaitLine(function string, parts ...string) <-chan error {
	return x.until(func() bool { return x.line(function, parts...) != "" })
}

// until is answered when it is so.
func (x trial) until(so func() bool) <-chan error {
	found := make(chan error, 1)
	go func() {
		again := time.NewTicker(look)
		defer again.Stop()
		for !so() {
			select {
			case <-x.Context().Done():
				return
			case <-again.C:
			}
		}
		found <- nil
	}()
	return found
}

// begin begins a command of which this exit is expected.
func (x trial) begin(exit int, args ...string) <-chan error {
	cmd := x.stack.command(x.T, args...)
	ended := make(chan error, 1)
	go func() {
		out, err := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != exit {
			ended <- fmt.Errorf("waitless %s: exit %d, want %d (%w):\n%s", strings.Join(args, " "), got, exit, err, out)
			return
		}
		ended <- nil
	}()
	return ended
}

// request is one of the API that the function is of, as the gateway writes it; to
// the others it is an event without messages.
func (x trial) request(function, path string) string {
	public, err := url.Parse(x.stack.outputs["CallbackEndpoint"])
	if err != nil {
		x.Fatal(err)
	}
	id, _, _ := strings.Cut(public.Host, ".")
	if function == "Api" {
		id = x.stack.outputs["ManagementApiId"]
	}
	return fmt.Sprintf(`{"rawPath":%q,"requestContext":{"apiId":%q,"authorizer":{"iam":{"userArn":"arn:aws:iam::1:user/u"}}}}`, path, id)
}

// beginsAnew has the function begin as it does after a while without work, and
// calls it with nothing to do.
func beginsAnew(function string) func(trial) error {
	return func(x trial) error {
		client, name := lambda.NewFromConfig(emulator.Config(x)), x.stack.resources[function+"Function"]
		_, err := client.UpdateFunctionConfiguration(x.Context(), &lambda.UpdateFunctionConfigurationInput{
			FunctionName: &name, MemorySize: aws.Int32(512), // whatever it is, the emulator ends the processes of the function
		})
		if err != nil {
			return err
		}
		payload := x.request(function, "/none")
		answer, err := client.Invoke(x.Context(), &lambda.InvokeInput{FunctionName: &name, Payload: []byte(payload)})
		if err != nil || answer.FunctionError == nil {
			return err
		}
		return fmt.Errorf("%s: %s", *answer.FunctionError, answer.Payload)
	}
}
