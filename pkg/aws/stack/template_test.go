package stack_test

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/engine"
)

// template is template.yaml. Functions like !Ref stay what they are applied
// to.
type template struct {
	Parameters map[string]struct {
		Type          string   `yaml:"Type"`
		Default       string   `yaml:"Default"`
		Description   string   `yaml:"Description"`
		AllowedValues []string `yaml:"AllowedValues"`
		Pattern       string   `yaml:"AllowedPattern"`
		MinValue      *int     `yaml:"MinValue"`
		MaxValue      *int     `yaml:"MaxValue"`
		Constraint    string   `yaml:"ConstraintDescription"`
	} `yaml:"Parameters"`
	Mappings struct {
		Profiles map[string]map[string]int    `yaml:"Profiles"`
		Settings map[string]map[string]string `yaml:"Settings"`
	} `yaml:"Mappings"`
	Resources map[string]resource `yaml:"Resources"`
	Outputs   map[string]struct {
		Value yaml.Node `yaml:"Value"`
	} `yaml:"Outputs"`
}

type resource struct {
	Type                string    `yaml:"Type"`
	Condition           string    `yaml:"Condition"`
	DeletionPolicy      string    `yaml:"DeletionPolicy"`
	UpdateReplacePolicy string    `yaml:"UpdateReplacePolicy"`
	DependsOn           yaml.Node `yaml:"DependsOn"`
	Properties          yaml.Node `yaml:"Properties"`
}

func readTemplate(t *testing.T) template {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var read template
	if err := yaml.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// The linter of CloudFormation knows what AWS refuses and an emulator takes.
func TestTheTemplateIsValid(t *testing.T) {
	t.Parallel()
	readTemplate(t)
	if err := installed(); err != nil {
		t.Fatal(err)
	}
	if err := inRoot(sam(), []string{"AWS_DEFAULT_REGION=" + emulator.Region}, "validate", "--lint"); err != nil {
		t.Error(err)
	}
}

// at is what a path of keys leads to below a node, nil for nothing.
func at(node *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		if node = child(node, key); node == nil {
			return nil
		}
	}
	return node
}

func child(node *yaml.Node, key string) *yaml.Node {
	if node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

// keys are those of a mapping, in order.
func keys(node *yaml.Node) []string {
	var all []string
	for i := 0; node != nil && i < len(node.Content); i += 2 {
		all = append(all, node.Content[i].Value)
	}
	slices.Sort(all)
	return all
}

// A source names variables, and calls parts that do: methods of package parts, which end at the
// margin.
var (
	variableName = regexp.MustCompile(`"(WAITLESS_[A-Z_]+)"`)
	partCall     = regexp.MustCompile(`\bp\.([A-Z]\w+)\(`)
	partMethod   = regexp.MustCompile(`(?ms)^func \(p \*Parts\) (\w+)(.*?)^}`)
)

// variablesOf returns the names of the variables that a function reads.
func variablesOf(t *testing.T, function string) []string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(root, "functions", function, "compose.go"))
	parts, otherErr := os.ReadFile(filepath.Join(root, "pkg/aws/parts/parts.go"))
	if err := errors.Join(err, otherErr); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(source, []byte("schedules.NewManager(p")) {
		schedules, err := os.ReadFile(filepath.Join(root, "pkg/aws/schedules/schedules.go"))
		if err != nil {
			t.Fatal(err)
		}
		source = append(source, schedules...)
	}
	methods := map[string][]byte{}
	for _, match := range partMethod.FindAllSubmatch(parts, -1) {
		methods[string(match[1])] = match[2]
	}
	return variablesIn(source, methods)
}

func variablesIn(source []byte, methods map[string][]byte) (names []string) {
	for _, match := range variableName.FindAllSubmatch(source, -1) {
		names = append(names, string(match[1]))
	}
	for _, match := range partCall.FindAllSubmatch(source, -1) {
		names = append(names, variablesIn(methods[string(match[1])], methods)...)
	}
	return names
}

// A function reads the variables that the template sets, and beside them only those that Lambda
// sets.
func TestEnvironmentNames(t *testing.T) {
	t.Parallel()
	functions := 0
	for id, r := range readTemplate(t).Resources {
		if r.Type != "AWS::Serverless::Function" {
			continue
		}
		functions++
		read := variablesOf(t, strings.ToLower(strings.TrimSuffix(id, "Function")))
		slices.Sort(read)
		read = slices.Compact(read)
		if set := keys(at(&r.Properties, "Environment", "Variables")); !slices.Equal(set, read) {
			t.Errorf("%s: the template sets %q, the function reads %q", id, set, read)
		}
	}
	if functions < 8 {
		t.Errorf("%d functions", functions)
	}
}

// kept are the logical ids that never change: what is replaced under a new one
// is lost to the executions that wait, and so is what a deleted stack takes
// along.
var kept = map[string]string{
	"LogTable":        "AWS::DynamoDB::Table",
	"WaitsTable":      "AWS::DynamoDB::Table",
	"ValuesBucket":    "AWS::S3::Bucket",
	"TokenKey":        "AWS::SecretsManager::Secret",
	"WakeQueue":       "AWS::SQS::Queue",
	"TaskQueue":       "AWS::SQS::Queue",
	"DescendantQueue": "AWS::SQS::Queue",
	"JobQueue":        "AWS::SQS::Queue",
	"PollQueue":       "AWS::SQS::Queue",
	"DeliveryQueue":   "AWS::SQS::Queue",
	"NoticeQueue":     "AWS::SQS::Queue",
	"Timers":          "AWS::Scheduler::ScheduleGroup",
	"TimerRole":       "AWS::IAM::Role",
	// The queues send there.
	"WakeDeadLetters":     "AWS::SQS::Queue",
	"TaskDeadLetters":     "AWS::SQS::Queue",
	"JobDeadLetters":      "AWS::SQS::Queue",
	"PollDeadLetters":     "AWS::SQS::Queue",
	"DeliveryDeadLetters": "AWS::SQS::Queue",
	"NoticeDeadLetters":   "AWS::SQS::Queue",
	// Without it EventBridge may not.
	"JobQueuePolicy": "AWS::SQS::QueuePolicy",
	// Without it others may.
	"WakeQueuePolicy":        "AWS::SQS::QueuePolicy",
	"TaskQueuePolicy":        "AWS::SQS::QueuePolicy",
	"DeliveryQueuePolicy":    "AWS::SQS::QueuePolicy",
	"NoticeQueuePolicy":      "AWS::SQS::QueuePolicy",
	"PollQueuePolicy":        "AWS::SQS::QueuePolicy",
	"TimerDeadLettersPolicy": "AWS::SQS::QueuePolicy",
	"DeadLettersPolicy":      "AWS::SQS::QueuePolicy",
	// Without it requests need no TLS.
	"ValuesPolicy": "AWS::S3::BucketPolicy",
	// They have the audit.
	"ApiLogs":        "AWS::Logs::LogGroup",
	"FnfLogs":        "AWS::Logs::LogGroup",
	"SfnLogs":        "AWS::Logs::LogGroup",
	"AccessLogGroup": "AWS::Logs::LogGroup",
}

func TestWhatExecutionsWaitForIsKept(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	for id, r := range readTemplate(t).Resources {
		switch r.DeletionPolicy + " " + r.UpdateReplacePolicy {
		case " ":
		case "RetainExceptOnCreate Retain": // a creation that fails leaves nothing
			got[id] = r.Type
		default:
			t.Errorf("%s: DeletionPolicy %q, UpdateReplacePolicy %q", id, r.DeletionPolicy, r.UpdateReplacePolicy)
		}
		// A name of its own would prevent a deployment beside what was kept.
		for _, name := range []string{"TableName", "QueueName", "RoleName", "BucketName", "Name"} {
			if _, never := kept[id]; never && at(&r.Properties, name) != nil {
				t.Errorf("%s has a %s", id, name)
			}
		}
	}
	if !maps.Equal(got, kept) {
		t.Errorf("kept are %v, want %v", got, kept)
	}
}

// The bucket deletes objects by the tags that package s3 gives them, and no others.
func TestLargeValuesExpire(t *testing.T) {
	t.Parallel()
	bucket := readTemplate(t).Resources["ValuesBucket"]
	days := 8
	for _, rule := range at(&bucket.Properties, "LifecycleConfiguration", "Rules").Content {
		tags, want := at(rule, "TagFilters").Content, strconv.Itoa(days)
		if len(tags) != 1 || at(tags[0], "Key").Value != "days" || at(tags[0], "Value").Value != want ||
			at(rule, "ExpirationInDays").Value != want || at(rule, "Status").Value != "Enabled" {
			t.Errorf("the rule for %s days is for other tags or other days", want)
		}
		days *= 2
	}
	if days != 1024 {
		t.Errorf("the rules end before %d days", days)
	}
}

// profiles returns the numbers of each profile.
func profiles(t *testing.T) map[string]map[string]int {
	t.Helper()
	all := readTemplate(t).Mappings.Profiles
	if len(all) != 3 {
		t.Fatalf("there are %d profiles", len(all))
	}
	return all
}

// What Lambda and SQS would refuse in the middle of a deployment: a queue whose messages are visible
// again before its function ends, a number out of range, and reserved concurrency that is less than
// the queues of a function may use.
func TestProfiles(t *testing.T) {
	t.Parallel()
	within := func(n, least, most int) bool { return least <= n && n <= most }
	for name, is := range profiles(t) {
		for number, bounds := range map[string][2]int{
			"InterpreterTimeLimit": {3, 30}, "WakeVisibility": {is["InterpreterTimeLimit"], 43200}, "LongestDelay": {2, 900}, "ActionTimeLimit": {1, 900},
			"Memory": {128, 10240}, "InterpreterMemory": {128, 10240}, "DataLimit": {32768, 6291456}, "IndexShards": {8, 64}, "ExecutionDays": {1, 366},
			"RetentionDays": {15, 365}, "TraceRatio": {0, 1}, "WakeBatch": {1, 10}, "WakeBatchWindow": {0, 5},
		} {
			if !within(is[number], bounds[0], bounds[1]) {
				t.Errorf("%s: %s is %d, want %d to %d", name, number, is[number], bounds[0], bounds[1])
			}
		}
		for number, value := range is {
			switch {
			case strings.HasSuffix(number, "Concurrency") && !within(value, 2, 1000), // as a mapping accepts
				strings.HasSuffix(number, "Rate") && (value < 1 || is[strings.TrimSuffix(number, "Rate")+"Burst"] < value),
				strings.HasSuffix(number, "Reserved") && (value > 0) != (name == "large"):
				t.Errorf("%s: %s is %d", name, number, value)
			}
		}
		const descendants = 2
		if is["InterpreterReserved"] > 0 && (is["InterpreterReserved"] < is["WakeConcurrency"]+descendants ||
			is["TaskRunnerReserved"] < is["TaskConcurrency"]+is["DeliveryConcurrency"]+is["NoticeConcurrency"] ||
			is["JobEventsReserved"] < is["JobEventConcurrency"]+is["PollConcurrency"]) {
			t.Errorf("%s: less is reserved than queues may use", name)
		}
	}
}

// A first deployment asks few questions.
func TestParametersAreFew(t *testing.T) {
	t.Parallel()
	const most = 25
	read := readTemplate(t)
	delete(read.Parameters, "OldFunctionNames") // for one release
	if len(read.Parameters) > most {
		t.Errorf("the template has %d parameters, want %d at most", len(read.Parameters), most)
	}
}

// Each option has a condition, and is no part of another one: a condition looks for its text.
func TestOptionsHaveConditions(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, match := range regexp.MustCompile(`!Split \[([a-z0-9-]+), !Join \[",", !Ref Options\]\]`).FindAllStringSubmatch(string(text), -1) {
		got = append(got, match[1])
	}
	allowed := regexp.MustCompile(`\(\(([^)]+)\)`).FindStringSubmatch(readTemplate(t).Parameters["Options"].Pattern)
	want := strings.Split(allowed[1], "|")
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) || len(want) < 10 {
		t.Errorf("conditions are of %q, options are %q", got, want)
	}
	for _, one := range want {
		for _, other := range want {
			if one != other && strings.Contains(one, other) {
				t.Errorf("%s contains %s", one, other)
			}
		}
	}
}

// rules: NO-4
//
// The queue of notices gives one up after as many tries as a day has.
func TestNoticesAreTriedForADay(t *testing.T) {
	t.Parallel()
	tries := 1
	for pauses := time.Duration(0); pauses+engine.NoticePause(tries) <= engine.NoticePatience; tries++ {
		pauses += engine.NoticePause(tries)
	}
	queue := readTemplate(t).Resources["NoticeQueue"]
	if got := at(&queue.Properties, "RedrivePolicy", "maxReceiveCount").Value; got != strconv.Itoa(tries) {
		t.Errorf("a notice is received %s times, want %d", got, tries)
	}
}

// A statement of a role.
type statement struct {
	role, sid string
	denies    bool
	resources []string
	actions   []string
}

func statementsOf(id string, r resource) []statement {
	var all []statement
	policies := at(&r.Properties, "Policies")
	if policies == nil {
		return nil
	}
	for _, policy := range policies.Content {
		for _, node := range at(policy, "PolicyDocument", "Statement").Content {
			if condition := at(node, "Fn::If"); condition != nil {
				node = condition.Content[1]
			}
			s := statement{role: id, actions: texts(at(node, "Action")), resources: texts(at(node, "Resource"))}
			if sid := at(node, "Sid"); sid != nil {
				s.sid = sid.Value
			}
			s.denies = at(node, "Effect").Value == "Deny"
			all = append(all, s)
		}
	}
	return all
}

// Names of timers begin with a hexadecimal digit or "poll-", those of a flow's schedules with
// "schedule-".
func TestAPIsChangeNoTimers(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"ApiRole", "FnfRole"} {
		found := 0
		for _, s := range statementsOf(role, readTemplate(t).Resources[role]) {
			for _, action := range s.actions {
				if strings.HasPrefix(action, "scheduler:") {
					found++
					if len(s.resources) != 1 || !strings.HasSuffix(s.resources[0], ":schedule/${Timers}/schedule-*") {
						t.Errorf("%s is allowed on %q", action, s.resources)
					}
				}
			}
		}
		if found != 3 {
			t.Errorf("%s has %d actions on schedules, want 3", role, found)
		}
	}
}

// texts returns a text, or a list of them. Of an !If it returns the text under the condition.
func texts(node *yaml.Node) []string {
	switch {
	case node == nil:
		return nil
	case node.Tag == "!Split" && node.Content[1].Tag == "!Sub": // of what a text makes of a parameter
		return []string{node.Content[1].Content[0].Value}
	case node.Tag == "!Split":
		return []string{leaf(node)}
	case node.Tag == "!Sub" && node.Kind == yaml.SequenceNode:
		return []string{node.Content[0].Value}
	case node.Tag == "!If":
		return texts(node.Content[1])
	case node.Kind == yaml.ScalarNode:
		return []string{node.Value}
	}
	var all []string
	for _, n := range node.Content {
		all = append(all, texts(n)...)
	}
	return all
}

// bounded are the resources that may end with a wildcard: functions and the janitor's schedule of
// the stack, schedules of its group, objects of its bucket, what its tables and APIs have, and the
// versions of named functions.
var bounded = regexp.MustCompile(`(:function:\$\{AWS::StackName\}([-_]|-\w+:)|:schedule/\$\{Timers\}/((schedule|poll)-)?|` +
	`^\$\{ValuesBucket\.Arn\}/|^\$\{Arns\}:` +
	`|:schedule/default/\$\{AWS::StackName\}-|::/apis/\$\{(Management|Callback)Api\}/|^\$\{(Log|Waits)Table\.Arn\}/)\*$` +
	`|^arn:\$\{AWS::Partition\}:iam::\*:role/\$\{Role\}$`) // in the accounts of JobAccounts, which a condition names

// attachedTo are the parameters with the user's policies, by the roles that get
// them: for the kinds of jobs that he uses, and for the keys that encrypt what is his.
var attachedTo = map[string]string{
	"StartJobRole": "JobPolicies,DescribePolicies", "GetJobStatusRole": "DescribePolicies", "CallServiceRole": "ActionPolicies",
	"JobEventsRole": "DescribePolicies",
	"CallbackRole":  "KeyPolicies", "FnfRole": "KeyPolicies", "SfnRole": "KeyPolicies", "TaskRunnerRole": "KeyPolicies",
	"DeploymentRole": "AWSCodeDeployRoleForLambda", // shifts the aliases and reads the alarms
}

// attachedParameter is the parameter whose policies a role gets if there are any, or the name of
// its one policy of AWS.
func attachedParameter(node *yaml.Node) string {
	if node == nil {
		return ""
	}
	if both := at(node, "Fn::If"); both != nil {
		return attachedParameters(both.Content)
	}
	if _, name, ok := strings.Cut(node.Content[0].Value, ":iam::aws:policy/service-role/"); ok && len(node.Content) == 1 {
		return name
	}
	if len(node.Content) < 3 {
		return "others, or without a condition"
	}
	name := leaf(node.Content[1])
	if node.Tag != "!If" || node.Content[0].Value != "Has"+name || node.Content[2].Value != "AWS::NoValue" {
		return "others, or without a condition"
	}
	return name
}

// attachedParameters are the two parameters whose policies a role gets, each if there are any.
func attachedParameters(either []*yaml.Node) string {
	both := at(either[1], "Fn::If").Content
	first, second := leaf(both[2]), leaf(both[1])
	other := attachedParameter(either[2])
	joined := "${" + first + "},${" + other + "}"
	if either[0].Value != "Has"+first || both[0].Value != "Has"+other || second != joined {
		return "others, or without a condition"
	}
	return first + "," + other
}

// leaf is the last value within nested functions: the parameter that a list is of.
func leaf(node *yaml.Node) string {
	for len(node.Content) > 0 {
		node = node.Content[len(node.Content)-1]
	}
	return node.Value
}

func TestRolesGrantWhatTheyName(t *testing.T) {
	t.Parallel()
	var seen []string
	for id, r := range readTemplate(t).Resources {
		if r.Type != "AWS::IAM::Role" {
			continue
		}
		if got := attachedParameter(at(&r.Properties, "ManagedPolicyArns")); got != attachedTo[id] {
			t.Errorf("%s has policies of %q, want %q", id, got, attachedTo[id])
		}
		for _, s := range statementsOf(id, r) {
			name := s.role + "/" + s.sid
			if s.sid == "" || slices.Contains(seen, name) {
				t.Errorf("%s: a statement has no Sid of its own: %v", id, s)
			}
			seen = append(seen, name)
			checkBounds(t, s)
		}
	}
	if len(seen) < 25 {
		t.Errorf("%d statements", len(seen))
	}
}

func checkBounds(t *testing.T, s statement) {
	t.Helper()
	if s.denies {
		return
	}
	if len(s.resources) == 0 || len(s.actions) == 0 {
		t.Errorf("%s/%s: resources %q, actions %q", s.role, s.sid, s.resources, s.actions)
	}
	isXRay := slices.Equal(s.actions, []string{"xray:PutTraceSegments"}) // which knows no resources
	for _, r := range s.resources {
		if r == "" || (strings.Contains(r, "*") && !bounded.MatchString(r) && !isXRay) {
			t.Errorf("%s/%s: resource %q", s.role, s.sid, r)
		}
	}
	for _, action := range s.actions {
		if strings.Contains(action, "*") {
			t.Errorf("%s/%s: action %q", s.role, s.sid, action)
		}
	}
}

// The Makefile passes parameters on to the template.
func TestMakeStackPassesParameters(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "make", "--no-print-directory", "-n", "deployed-stack", "PARAMS=Options=status-events,debug")
	cmd.Dir, cmd.Env = root, withoutMake(os.Environ())
	out, err := cmd.Output()
	if err != nil || !regexp.MustCompile(`deploy (?s:.*)\s--parameter-overrides Arch=\w+ Samples=on Options=status-events,debug\n`).Match(out) {
		t.Errorf("it runs %s, error %v", out, err)
	}
}

var parameterRow = regexp.MustCompile("(?m)^\\| `(\\w+)` \\|(.*?)\\| .+ \\|$")

// The table of the reference has each parameter with its default.
func TestParametersAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "pkg/docs/reference/parameters.md"))
	if err != nil {
		t.Fatal(err)
	}
	want, got := map[string]string{}, map[string]string{}
	read := readTemplate(t)
	for name, number := range read.Mappings.Profiles["default"] {
		want[name] = strconv.Itoa(number)
	}
	maps.Copy(want, read.Mappings.Settings["All"])
	for name, p := range read.Parameters {
		want[name] = p.Default
		if p.Description == "" {
			t.Errorf("%s has no description", name)
		}
	}
	for _, row := range parameterRow.FindAllStringSubmatch(string(text), -1) {
		got[row[1]] = strings.Trim(row[2], " `")
	}
	if !maps.Equal(got, want) {
		t.Errorf("the reference has %v, the template %v", got, want)
	}
}

// A parameter of a template never has NoEcho: `sam deploy --guided` cannot leave such a parameter
// empty. Secrets are given by their ARNs.
func TestNoParameterHasNoEcho(t *testing.T) {
	t.Parallel()
	samples, err := filepath.Glob(filepath.Join(root, "events", "*", "template.yaml"))
	if err != nil || len(samples) == 0 {
		t.Fatalf("templates of samples: %q, %v", samples, err)
	}
	for _, file := range append(samples, filepath.Join(root, "template.yaml")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "NoEcho:") {
			t.Errorf("%s has NoEcho; let the parameter name a secret of AWS Secrets Manager by its ARN", file)
		}
	}
}

// Requests of the management API are signed; the holder of a token needs no more than
// that, at a limited rate.
func TestRoutes(t *testing.T) {
	t.Parallel()
	resources := readTemplate(t).Resources
	routes := 0
	for id, r := range resources {
		if r.Type != "AWS::ApiGatewayV2::Route" {
			continue
		}
		routes++
		public := at(&r.Properties, "ApiId").Value == "CallbackApi"
		authorization := at(&r.Properties, "AuthorizationType")
		key := at(&r.Properties, "RouteKey").Value
		switch {
		case public && (key == "GET /callbacks/{proxy+}" || key == "HEAD /callbacks/{proxy+}"): // which changes nothing
		case public && r.Condition == "ServesFnf" && strings.HasSuffix(key, " /"): // whose requests are signed, too
		case public && r.Condition == "ServesSfn" && strings.HasPrefix(key, "POST /sfn"): // likewise
		case public && !strings.HasPrefix(key, "POST /callbacks"):
			t.Errorf("%s is public: %s", id, key)
		case !public && (authorization == nil || authorization.Value != "AWS_IAM"):
			t.Errorf("%s needs no signature: %s", id, key)
		}
	}
	if routes < 2 {
		t.Errorf("there are %d routes", routes)
	}
	stage := resources["CallbackStage"]
	for _, name := range []string{"ThrottlingRateLimit", "ThrottlingBurstLimit"} {
		if at(&stage.Properties, "DefaultRouteSettings", name) == nil {
			t.Errorf("callbacks have no %s", name)
		}
	}
}
