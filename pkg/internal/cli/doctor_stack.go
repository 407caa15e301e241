package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/release"
)

// patient is an examination of a stack.
type patient struct {
	*examination
	target.Health
	command Command
	account target.AWS
	name    string // of the stack
	caller  string // its ARN
	stack   *target.Stack
}

// inAccount returns the examination of a stack if requests reach AWS, nil if they do not.
func (c Command) inAccount(ctx context.Context, e *examination, name string) *patient {
	e.ok("command", versionOf().text())
	account, err := c.openAWS(ctx, false)
	if err != nil {
		e.failure("credentials", err, tryLogin)
		return nil
	}
	p := &patient{examination: e, Health: account.Health(), command: c, account: account, name: name}
	if !p.region() || !p.credentials(ctx) {
		return nil
	}
	return p
}

// longestName is the limit of a stack's name: a function has at most 64 characters, and the longest
// name is that of GetJobStatus.
const longestName = 64 - len("-GetJobStatus")

// examineAccount checks an account and a name before the first deployment of a stack.
func (c Command) examineAccount(ctx context.Context, e *examination, name string) {
	p := c.inAccount(ctx, e, name)
	if p == nil {
		return
	}
	if len(name) > longestName {
		p.fail("name", fmt.Sprintf("%s has %d characters, and functions whose names begin so have too many", name, len(name)),
			fmt.Sprintf("a name of at most %d characters", longestName))
	} else {
		p.ok("name", fmt.Sprintf("%s has at most %d characters", name, longestName))
	}
	stack, err := p.Stack(ctx, name)
	switch {
	case err != nil:
		p.unless("stack", err, "cloudformation:DescribeStacks and cloudformation:ListStackResources")
	case stack == nil:
		p.ok("stack", "no stack has that name")
	case stack.Status == "ROLLBACK_COMPLETE" || stack.Status == "ROLLBACK_FAILED" || stack.Status == "DELETE_FAILED":
		p.fail("stack", stack.Status+": it cannot be deployed again", "aws cloudformation delete-stack --stack-name "+name+", then sam deploy")
	default:
		p.warn("stack", "there is one, "+stack.Status+", which sam deploy updates", "waitless doctor --stack "+name)
		p.movedParameters(stack.Parameters)
	}
	if stack == nil {
		p.concurrency(ctx, leastConcurrency)
	}
}

// leastConcurrency is how many functions the queues of a stack with the profile "default" may run
// at once, and as many that they call.
const leastConcurrency = 200

// concurrency checks whether the account runs as many functions at once as the stack may start.
func (p *patient) concurrency(ctx context.Context, most int) {
	switch has, err := p.Concurrency(ctx); {
	case err != nil:
		p.unless("concurrency", err, "lambda:GetAccountSettings")
	case has < most:
		p.warn("concurrency", fmt.Sprintf("the account runs %d functions at once, and the stack may start %d: calls wait for each other", has, most),
			"sam deploy with the parameter Profile=small, or ask for more Concurrent executions in Service Quotas")
	default:
		p.ok("concurrency", fmt.Sprintf("the account runs %d functions at once, and the stack may start %d", has, most))
	}
}

// examineStack checks a stack, and the conditions of requests to it. A check that others depend on
// ends the examination if it fails.
func (c Command) examineStack(ctx context.Context, e *examination, name string) {
	p := c.inAccount(ctx, e, name)
	if p == nil || !p.exists(ctx) {
		return
	}
	if base := p.api(ctx); base != nil {
		p.rights(ctx, base)
	}
	p.resources(ctx)
	p.queues(ctx)
	p.alarms(ctx)
}

const tryAgain = "waitless doctor again"

const tryLogin = "aws configure, aws sso login, or AWS_PROFILE=NAME"

// region checks the region, and warns of requests that do not reach AWS.
func (p *patient) region() bool {
	if endpoint := p.Endpoint(); endpoint != "" {
		p.warn("endpoint", "requests go to "+local.Hidden(endpoint)+" and not to AWS",
			"unset AWS_ENDPOINT_URL and endpoint_url of the profile, unless that is an emulator of yours")
	}
	for _, service := range []string{"CLOUDFORMATION", "CLOUDWATCH", "DYNAMODB", "EVENTBRIDGE", "IAM", "LAMBDA", "SCHEDULER", "SECRETS_MANAGER", "SQS", "STS"} {
		variable := "AWS_ENDPOINT_URL_" + service
		if endpoint := p.command.getenv(variable); endpoint != "" {
			p.warn("endpoint", variable+" is "+local.Hidden(endpoint), "unset "+variable+", unless that is an emulator of yours")
		}
	}
	if p.account.Region() == "" {
		p.fail("region", "none is configured", "AWS_REGION=eu-west-1 waitless doctor --stack "+p.name)
		return false
	}
	p.ok("region", p.account.Region())
	return true
}

func (p *patient) credentials(ctx context.Context) bool {
	if err := p.account.Credentials(ctx); err != nil {
		p.fail("credentials", "there are none: "+err.Error(), tryLogin)
		return false
	}
	var err error
	p.caller, err = p.Caller(ctx)
	p.clock()
	refused, isRefused := errors.AsType[*target.Refused](err)
	switch {
	case isRefused:
		p.fail("credentials", refused.Error(), tryLogin)
	case err != nil:
		p.fail("credentials", "AWS does not respond: "+err.Error(), "unset AWS_ENDPOINT_URL, or check the network and HTTPS_PROXY")
	default:
		p.ok("credentials", p.caller)
	}
	return err == nil
}

// Requests signed with a clock that differs by more are rejected by most services.
const (
	mostSkew = 5 * time.Minute
	warnSkew = time.Minute
)

func (p *patient) clock() {
	skew, known := p.Skew()
	if !known {
		return
	}
	const try = "set the clock of this machine: timedatectl set-ntp true"
	seen := "this machine is " + skew.Abs().Round(time.Minute).String() + " ahead of AWS"
	if skew < 0 {
		seen = strings.Replace(seen, "ahead of", "behind", 1)
	}
	switch {
	case skew.Abs() >= mostSkew:
		p.fail("clock", seen+", and signed requests are rejected from "+mostSkew.String()+" on", try)
	case skew.Abs() >= warnSkew:
		p.warn("clock", seen, try)
	default:
		p.ok("clock", "differs from that of AWS by less than "+warnSkew.String())
	}
}

func (p *patient) exists(ctx context.Context) bool {
	stack, err := p.Stack(ctx, p.name)
	p.stack = stack
	switch {
	case err != nil:
		p.unless("stack", err, "cloudformation:DescribeStacks and cloudformation:ListStackResources")
		return false
	case stack == nil:
		p.fail("stack", fmt.Sprintf("there is no stack %q in region %s", p.name, p.account.Region()),
			"AWS_REGION=REGION, AWS_PROFILE=NAME for another account, or --stack ANOTHER-NAME")
		return false
	case stack.Outputs[target.EndpointOutput] == "":
		p.fail("stack", "it has no output "+target.EndpointOutput+": it is not a stack of Waitless, or its deployment failed ("+stack.Status+")",
			"--stack ANOTHER-NAME, or sam deploy")
		return false
	}
	seen := strings.TrimSuffix(stack.Status+": "+stack.Reason, ": ")
	switch status := stack.Status; {
	case status == "CREATE_COMPLETE" || status == "UPDATE_COMPLETE" || status == "IMPORT_COMPLETE":
		p.ok("stack", seen)
	case strings.HasSuffix(status, "_FAILED") || strings.HasPrefix(status, "DELETE_"):
		p.fail("stack", seen, "aws cloudformation describe-stack-events --stack-name "+p.name+", then correct the cause and sam deploy")
	case strings.HasSuffix(status, "_IN_PROGRESS"):
		p.warn("stack", seen, "waitless doctor again after the deployment")
	default: // a rollback
		p.warn("stack", seen+"; the release before runs", "aws cloudformation describe-stack-events --stack-name "+p.name+", then sam deploy")
	}
	switch found := stack.Outputs[versionOutput]; found {
	case release.Version:
		p.ok("version", found+", that of the command")
	case "":
		p.warn("version", "the stack does not say which it has, and the command has "+release.Version, "sam deploy of the release "+release.Version)
	default:
		p.warn("version", "the stack has "+found+", the command "+release.Version,
			"go install github.com/waitless/waitless/pkg/cmd/waitless@v"+found+", or sam deploy of the release "+release.Version)
	}
	return true
}

// versionOutput is the output of a stack with its release.
const versionOutput = "Version"

// api checks the management API by a request that lists one execution. It returns a client unless
// nothing responds.
func (p *patient) api(ctx context.Context) *rest.Client {
	endpoint := p.stack.Outputs[target.EndpointOutput]
	client, err := target.Once(ctx, p.account, p.name, endpoint)
	if err != nil {
		p.failure("api", err, tryLogin)
		return nil
	}
	_, _, err = client.ExecutionsPage(ctx, rest.Filter{Limit: 1}, "")
	refused, isRefused := errors.AsType[*rest.Error](err)
	switch {
	case err == nil:
		p.ok("api", endpoint+" responds")
	case isRefused && isGateways(refused):
		p.ok("api", endpoint+" responds, and refuses to list executions")
	case isRefused:
		p.fail("api", endpoint+": "+refused.Message, "read the log of the function api: sam logs --stack-name "+p.name+" --name ApiFunction")
		return nil
	default:
		p.fail("api", endpoint+": "+err.Error(), "check the network and HTTPS_PROXY; without DNS the API may have been deleted: sam deploy")
		return nil
	}
	return client
}

// unknownParameter is a query parameter that no route has, so the API rejects the request before it
// does anything. API Gateway checks the right before that.
const unknownParameter = "?doctor=probe"

// parameter matches a part of a path that names something.
var parameter = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{[a-z]+\}`) })

// rights checks which requests of the API the caller may send.
func (p *patient) rights(ctx context.Context, client *rest.Client) {
	routes := rest.Routes()
	refusals := make([]error, len(routes))
	const atOnce = 8
	turns := make(chan struct{}, atOnce)
	var group sync.WaitGroup
	for i, route := range routes {
		group.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			method, path, _ := strings.Cut(route, " ")
			refusals[i] = client.Do(ctx, method, parameter().ReplaceAllString(path, "doctor")+unknownParameter, nil, nil)
		})
	}
	group.Wait()
	var reads, writes []string
	for i, route := range routes {
		refused, ok := errors.AsType[*rest.Error](refusals[i])
		switch {
		case ok && !isGateways(refused) && refused.Status < http.StatusInternalServerError && refused.Status != http.StatusTooManyRequests:
		case !ok || !isGateways(refused):
			p.warn("rights", fmt.Sprintf("not known, because %s failed: %v", route, refusals[i]), tryAgain)
			return
		case strings.HasPrefix(route, http.MethodGet+" "):
			reads = append(reads, route)
		default:
			writes = append(writes, route)
		}
	}
	missing := append(reads, writes...)
	seen := fmt.Sprintf("of %d requests of the API your credentials may not send %s", len(routes), strings.Join(missing, ", "))
	switch {
	case len(missing) == 0:
		p.ok("rights", fmt.Sprintf("your credentials may send all %d requests of the API", len(routes)))
	case len(reads) > 0:
		p.fail("rights", seen, p.allow(missing[0]))
	default:
		p.warn("rights", seen, p.allow(missing[0]))
	}
}

// allow returns how to allow a request, and others like it.
func (p *patient) allow(route string) string {
	method, path, _ := strings.Cut(route, " ")
	account := "ACCOUNT"
	if parts := strings.Split(p.caller, ":"); len(parts) > 4 { //nolint:mnd // arn, partition, service, region, account
		account = parts[4]
	}
	return fmt.Sprintf("allow execute-api:Invoke on arn:aws:execute-api:%s:%s:%s/*/%s%s and so on (waitless docs api)",
		p.account.Region(), account, p.stack.Outputs["ManagementApiId"], method, parameter().ReplaceAllString(path, "*"))
}

// recreate is the remedy for a deleted resource: a deployment of an unchanged template does not
// create it.
const recreate = `"A deleted queue or function" in waitless docs recovery`

// examined are the resources that are checked, in this order.
var examined = []struct {
	kind, name string
	right      string   // that the check needs
	healthy    []string // the states
	try        string   // with the words ID and STACK
}{
	{
		target.TypeTable, "tables", "dynamodb:DescribeTable and dynamodb:DescribeTimeToLive", []string{"ACTIVE", "UPDATING"},
		"aws dynamodb describe-table --table-name ID; if it was deleted: " + recreate,
	},
	{
		target.TypeFunction, "functions", "lambda:GetFunctionConfiguration and lambda:GetFunctionConcurrency", []string{"Active", "Pending", ""},
		"aws lambda get-function --function-name ID, then sam deploy; if it was deleted: " + recreate,
	},
	{
		target.TypeSource, "event sources", "lambda:GetEventSourceMapping", []string{"Enabled", "Enabling", "Creating", "Updating"},
		"aws lambda update-event-source-mapping --enabled --uuid ID",
	},
	{
		target.TypeTimers, "timers", "scheduler:GetScheduleGroup", []string{"ACTIVE"},
		"aws scheduler create-schedule-group --name ID, then waitless rearm --stack STACK",
	},
	{target.TypeSecret, "secrets", "secretsmanager:DescribeSecret", []string{""}, "aws secretsmanager restore-secret --secret-id ID"},
	{target.TypeRule, "rules", "events:DescribeRule", []string{"ENABLED"}, "aws events enable-rule --name ID"},
	{target.TypeSchedule, "schedules", "scheduler:GetSchedule", []string{"ENABLED"}, recreate},
	{target.TypeRole, "roles", "iam:ListRolePolicies", []string{""}, recreate},
}

// timeLimit returns the time limit of a function in the template, in seconds, or 0 if the profile
// sets it and no variable of the function holds it.
func timeLimit(r target.Resource, variables map[string]string) int {
	switch r.Name {
	case "InterpreterFunction":
		limit, _ := strconv.Atoi(variables["WAITLESS_TIME_LIMIT"]) // the template writes a number
		return limit
	case "TaskRunnerFunction":
		return 900
	case "JanitorFunction":
		return 120
	case "JobEventsFunction":
		return 30
	case "ApiFunction", "FnfFunction", "SfnFunction":
		return 25
	case "CallbackFunction", "StartJobFunction", "GetJobStatusFunction":
		return 10
	}
	return 0
}

// changed returns how the configuration of a function differs from the template, and the remedy. A
// variable such as WAITLESS_LOG_TABLE names the resource LogTable of the stack.
func (p *patient) changed(r target.Resource, state target.State) (seen, try string) {
	if limit := timeLimit(r, state.Variables); limit > 0 && state.TimeLimit > 0 && state.TimeLimit != limit {
		return fmt.Sprintf("its time limit is %ds, and the template has %ds", state.TimeLimit, limit),
			fmt.Sprintf("aws lambda update-function-configuration --function-name %s --timeout %d", r.ID, limit)
	}
	for _, name := range slices.Sorted(maps.Keys(state.Variables)) {
		var resource strings.Builder
		for word := range strings.SplitSeq(strings.TrimPrefix(name, "WAITLESS_"), "_") {
			resource.WriteString(word[:min(1, len(word))] + strings.ToLower(word[min(1, len(word)):]))
		}
		for _, other := range p.stack.Resources {
			// A variable with an ARN ends with the name of the resource.
			if value := state.Variables[name]; other.Name == resource.String() && value != other.ID && !strings.HasSuffix(value, "/"+other.ID) {
				return fmt.Sprintf("its variable %s is not %s, which the template has", name, other.ID),
					"aws lambda update-function-configuration --function-name " + r.ID + " --environment file://variables.json" + target.Restore
			}
		}
	}
	return "", ""
}

func (p *patient) resources(ctx context.Context) {
	atOnce := 0
	for _, kind := range examined {
		healthy := 0
		for _, r := range p.stack.Of(kind.kind) {
			state, err := p.State(ctx, r)
			if isDenied(err) {
				p.unchecked(kind.name, kind.right)
				break
			}
			atOnce += state.AtOnce
			try := strings.NewReplacer("ID", r.ID, "STACK", p.name).Replace(kind.try)
			if err == nil && state.Try != "" {
				try = state.Try
			}
			different, remedy := p.changed(r, state)
			switch {
			case r.Name == "JanitorSchedule" && state.Name == "DISABLED" && strings.Contains(p.stack.Parameters["Options"], "janitor-off"):
			case err != nil:
				p.fail(r.Name, err.Error(), try)
			case !slices.Contains(kind.healthy, state.Name):
				p.fail(r.Name, strings.TrimSuffix(state.Name+": "+state.Reason, ": "), try)
			case state.Throttled:
				p.fail(r.Name, "its reserved concurrency is 0, so it does not run", "aws lambda delete-function-concurrency --function-name "+r.ID)
			case different != "":
				p.fail(r.Name, different, remedy)
			default:
				healthy++
			}
		}
		if healthy > 0 {
			p.ok(kind.name, fmt.Sprintf("%d in order", healthy))
		}
	}
	if atOnce > 0 {
		p.concurrency(ctx, atOnce)
	}
}

// lateAge is the age of a message from which a queue is behind.
const lateAge = 15 * time.Minute

func (p *patient) queues(ctx context.Context) {
	queues := p.stack.Of(target.TypeQueue)
	ages, err := p.Ages(ctx, queues)
	if err != nil {
		p.unless("ages of messages", err, "cloudwatch:GetMetricData")
	}
	empty := 0
	for _, r := range queues {
		state, err := p.State(ctx, r)
		switch {
		case isDenied(err):
			p.unchecked("queues", "sqs:GetQueueAttributes")
			return
		case err != nil:
			p.fail(r.Name, err.Error(), "if it was deleted: "+recreate+", then waitless rearm --calls --stack "+p.name)
		case state.Name != "":
			p.fail(r.Name, state.Name, "aws sqs set-queue-attributes --queue-url "+r.ID+" --attributes file://attributes.json"+target.Restore)
		case !strings.HasSuffix(r.Name, "DeadLetters"):
			seen := fmt.Sprintf("%d messages, %d in flight, %d delayed", state.Messages, state.InFlight, state.Delayed)
			if ages[r.Name] > 0 {
				seen += ", the oldest is " + ages[r.Name].String() + " old"
			}
			if ages[r.Name] >= lateAge {
				p.warn(r.Name, seen, "read the log of its function; raise the parameter of its concurrency (waitless docs operations)")
			} else {
				p.ok(r.Name, seen)
			}
		case state.Messages+state.InFlight > 0:
			try := "waitless dead-letters list --stack " + p.name + " --queue " + r.Name + ", correct the cause, and replay them"
			p.fail(r.Name, flow.Count(state.Messages+state.InFlight, "dead letter"), try)
		default:
			empty++
		}
	}
	if empty > 0 {
		p.ok("dead letters", fmt.Sprintf("none in %d queues", empty))
	}
}

// isDenied reports whether an error says that a right is missing.
func isDenied(err error) bool {
	refused, ok := errors.AsType[*target.Refused](err)
	return ok && slices.Contains([]string{"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"}, refused.Code)
}

// unchecked adds the check for a missing right.
func (e *examination) unchecked(name, right string) {
	e.warn(name, "not checked: your credentials lack "+right, "allow "+right)
}

// unless adds the check for an error: that a right is missing is a warning.
func (e *examination) unless(name string, err error, right string) {
	if isDenied(err) {
		e.unchecked(name, right)
		return
	}
	e.fail(name, err.Error(), tryAgain)
}

func (p *patient) alarms(ctx context.Context) {
	switch topic, known := p.stack.Parameters["AlarmTopic"]; {
	case strings.Contains(p.stack.Parameters["Options"], "alarms-off"):
		p.warn("alarms", "the stack has none", "sam deploy with the parameter AlarmTopic=ARN, and Options without alarms-off")
	case known && topic == "":
		p.warn("alarms", "they notify no topic", "set AlarmTopic: sam deploy --parameter-overrides AlarmTopic=ARN (waitless docs metrics)")
	}
	found, err := p.Alarms(ctx, p.name)
	switch {
	case err != nil:
		p.unless("alarms", err, "cloudwatch:DescribeAlarms")
	case len(found) > 0:
		p.fail("alarms", strings.Join(found, ", "), "waitless docs metrics, which says what each alarm means")
	default:
		p.ok("alarms", "none is in the state ALARM")
	}
}
