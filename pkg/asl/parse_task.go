package asl

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/flow/document"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/value"
)

func (s *seriesParser) task(step *flow.Step, d *data, n *document.Node) *flow.Task {
	d.isTask = true
	d.result = func(f *flow.Frame) value.Value { return f.Local }
	task := &flow.Task{At: step.Position}
	if field := n.Get("Credentials"); field != nil {
		s.unserved(field.Pos, "%s: Credentials is not served; give the role of the stack the right to call the function", s.place())
	}
	if field := s.required(n, "Resource"); field != nil {
		task.At = field.Pos
		s.resource(task, d, field, n)
	}
	s.limits(task, d, n)
	return task
}

// lambdaARN returns the function of an ARN, or of a placeholder like "${Name.Arn}" that a
// deployment replaces with one, or with its name. Such a function has the name of its placeholder.
func lambdaARN(text string) (resource flow.Resource, ok bool) {
	if name, qualifier, _ := strings.Cut(text, "}:"); strings.HasPrefix(text, "${") {
		name, _, _ = strings.Cut(strings.Trim(name, "${}"), ".") // behind it is an attribute
		if !isFunctionName(name) {
			return flow.Resource{}, false
		}
		text = "arn:aws:lambda:::function:" + name
		if qualifier != "" {
			text += ":" + qualifier
		}
	}
	parts := strings.Split(text, ":")
	const least, most, function, qualifier = 7, 8, 6, 7
	if len(parts) < least || len(parts) > most || parts[0] != "arn" || parts[2] != "lambda" || parts[5] != "function" || !isFunctionName(parts[function]) {
		return flow.Resource{}, false
	}
	resource = flow.Resource{Text: text, Function: parts[function]}
	if len(parts) == most {
		resource.Qualifier = parts[qualifier]
	}
	return resource, true
}

func isFunctionName(name string) bool {
	return name != "" && strings.IndexFunc(name, func(c rune) bool { return !isNameRune(c) && c != '-' }) < 0
}

// resource reads the Resource of a Task.
func (p *parser) resource(task *flow.Task, d *data, field, n *document.Node) {
	text, ok := field.Text()
	if !ok {
		p.unfit(field, "Resource", allowedResources)
		return
	}
	if inner, isSubstituted := strings.CutPrefix(text, "${arn:"); isSubstituted { // of a substitution that has the whole ARN
		text = "arn:" + strings.TrimSuffix(inner, "}")
	}
	text = strings.NewReplacer("${AWS::Partition}", "aws", "${AWS::Region}", "", "${AWS::AccountId}", "").Replace(text)
	if task.Resource, ok = lambdaARN(text); ok {
		return
	}
	const operationAt = 5 // region and account may be any text
	parts := strings.SplitN(text, ":", operationAt+1)
	if len(parts) <= operationAt || parts[0] != "arn" || parts[2] != "states" {
		p.Problem(field.Pos, "%s: Resource %q names no function; allowed: %s", p.place(), document.Shortened(text), allowedResources)
		return
	}
	base, pattern, _ := strings.Cut(parts[operationAt], ".")
	service, _, _ := strings.Cut(base, ":")
	switch isToken := "."+pattern == tokenSuffix; {
	case service == "activity":
		name := strings.TrimPrefix(parts[operationAt], flow.ActivityPrefix)
		if !flow.ValidName(name) {
			p.Problem(field.Pos, "%s: Resource %q names no activity; allowed: arn:aws:states:REGION:ACCOUNT:activity:NAME", p.place(), document.Shortened(text))
		}
		task.Resource = flow.Resource{Text: text, Function: flow.ActivityPrefix + name, Activity: true}
		task.Pattern = flow.PatternWaitForCallback
	case base == startOperation && slices.Contains([]string{"", flow.SyncSuffix, syncAsJSON, tokenSuffix}, strings.TrimSuffix("."+pattern, ".")):
		p.execution(task, d, field, strings.TrimSuffix("."+pattern, "."), n)
		p.awaitToken(task, d, n, isToken)
	case "."+pattern == flow.SyncSuffix:
		p.job(task, field, text, base, n)
	case pattern != "" && !isToken:
		p.Problem(field.Pos, "%s: %s has no .%s; allowed: .sync, .waitForTaskToken", p.place(), document.Shortened(base), document.Shortened(pattern))
	case base == lambdaInvoke:
		p.invoke(task, d, n)
		p.awaitToken(task, d, n, isToken)
	case slices.Contains([]string{"apigateway", "http", "eks"}, service) || !flow.IsIntegration(base):
		p.unserved(field.Pos, "%s: operation %s is not served; call it in a function: arn:aws:states:::lambda:invoke", p.place(), document.Shortened(base))
	default:
		p.operation(task, text, base, n)
		p.awaitToken(task, d, n, isToken)
	}
}

// awaitToken makes a task wait for the caller that gets its token.
func (p *parser) awaitToken(task *flow.Task, d *data, n *document.Node, isToken bool) {
	if !isToken {
		return
	}
	task.Pattern = flow.PatternWaitForCallback
	task.Integration += tokenSuffix
	d.result = func(f *flow.Frame) value.Value { return f.Local }
	if !d.reads {
		p.warn(n.Get("Resource").Pos, "%s do not read the token from the context object, so only its deadline ends the state", p.argumentsField())
	}
}

const lambdaInvoke = "lambda:invoke"

// tokenSuffix ends the Resource of a task that waits for its token.
const tokenSuffix = ".waitForTaskToken"

// job reads a task that starts a job and waits for its end.
func (p *parser) job(task *flow.Task, field *document.Node, text, base string, n *document.Node) {
	kind, known, ok := jobs.ForIntegration(base)
	if !ok {
		p.unserved(field.Pos, "%s: %s starts no job that is served%s; see waitless jobs list, or call it in a function", p.place(), document.Shortened(base),
			similar.DidYouMean(base, jobs.Integrations()))
		return
	}
	if !known {
		p.warn(field.Pos, "AWS has no .sync for %s, so the machine runs on Waitless alone", base)
	}
	p.operation(task, text, base, n)
	task.Resource = flow.Resource{Text: text, Kind: kind.Name, Function: flow.StartJob}
	task.Integration, task.Pattern = base+flow.SyncSuffix, flow.PatternSync
	task.StopJob = kind.CanStop() && kind.Service != "emr" // as on AWS
}

// operation reads the call of an operation of a service of AWS.
func (p *parser) operation(task *flow.Task, resource, name string, n *document.Node) {
	task.Resource = flow.Resource{Text: resource, Operation: name, Function: flow.CallService}
	task.Integration = name
	task.ParamsField = p.argumentsField()
	params := n.Get(task.ParamsField)
	if params == nil {
		return // the input of the state has them
	}
	if text, _ := params.Text(); p.isQueryText(text) {
		return
	}
	if params.Kind != document.Mapping {
		p.unfit(params, task.ParamsField, "an object with the parameters of "+name)
		return
	}
	task.Written, task.ParamPlaces = p.written(params), params.Places()
}

// computed is the text in place of computed members.
const computed = "$"

// written returns the parameters of an operation with "$" in place of computed members, missing
// without parameters.
func (p *parser) written(n *document.Node) value.Value {
	text, _ := n.Text()
	switch {
	case n == nil:
		return value.Missing()
	case p.isQueryText(text):
		return value.String(computed)
	case n.Kind == document.Sequence:
		items := make([]value.Value, len(n.Items))
		for i, item := range n.Items {
			items[i] = p.written(item)
		}
		return value.Array(items...)
	case n.Kind != document.Mapping:
		return n.Value()
	}
	members := make([]value.Member, len(n.Entries))
	for i, e := range n.Entries {
		name, isComputed := strings.CutSuffix(e.Key, ".$")
		members[i] = value.Member{Key: name, Value: value.String(computed)}
		if !isComputed {
			members[i].Value = p.written(e.Value)
		}
	}
	return value.Object(members...)
}

const allowedResources = `the ARN of a Lambda function or an activity, or arn:aws:states::: and an operation, like lambda:invoke or dynamodb:putItem`

// The members that lambda:invoke has.
var invokeFields = []string{"FunctionName", "FunctionName.$", "Payload", "Payload.$", "InvocationType", "Qualifier", "LogType", "LogType.$", "ClientContext"}

// invoke reads the parameters of lambda:invoke. The function gets the Payload.
func (p *parser) invoke(task *flow.Task, d *data, n *document.Node) {
	params := p.required(n, p.argumentsField())
	if params == nil {
		return
	}
	task.Integration = lambdaInvoke
	if text, _ := params.Text(); !p.isQueryText(text) {
		p.invoked(task, params)
	}
	task.Called = invoked
	d.work = invokeWork
	d.result = func(f *flow.Frame) value.Value {
		resource, _ := invoked(f.Lookup.Complete(f.Input))
		return value.Object(
			value.Member{Key: "ExecutedVersion", Value: value.String(cmp.Or(resource.Qualifier, "$LATEST"))},
			value.Member{Key: "Payload", Value: f.Local}, value.Member{Key: "StatusCode", Value: value.Int(200)}, //nolint:mnd // of a call that succeeded
		)
	}
}

// invoked checks the parameters of lambda:invoke, as far as they are constants.
func (p *parser) invoked(task *flow.Task, params *document.Node) {
	p.fields(params, "the "+p.argumentsField()+" of lambda:invoke", invokeFields...)
	if context := params.Get("ClientContext"); context != nil {
		p.Problem(context.Pos, "%s: ClientContext is not served; put it into Payload", p.place())
	}
	if log := cmp.Or(params.Get("LogType"), params.Get("LogType.$")); log != nil {
		p.warn(log.Pos, "LogType has no effect, and the result has no LogResult")
	}
	if kind := params.Get("InvocationType"); kind != nil && kind.Scalar.Text() != "RequestResponse" {
		p.unfit(kind, "InvocationType", `"RequestResponse"`)
	}
	name := params.Get("FunctionName")
	if name == nil {
		if params.Get("FunctionName.$") == nil {
			p.required(params, "FunctionName")
		}
		return
	}
	text, _ := name.Text()
	if p.isQueryText(text) {
		return
	}
	var ok bool
	if task.Resource, ok = functionNamed(text, p.text(params, "Qualifier")); !ok {
		p.unfit(name, "FunctionName", "the name or the ARN of a function")
	}
}

// invokeWork checks the parameters of lambda:invoke.
func invokeWork(e *evaluation, v value.Value) (value.Value, error) {
	name := e.lookup.Complete(e.lookup.Open(v).Get("FunctionName"))
	if _, ok := functionNamed(name.Text(), ""); len(e.lookup.Load) == 0 && (!ok || name.Kind() != value.KindString) {
		return v, e.fault("FunctionName is %s; allowed: the name or the ARN of a function", value.Shown(name))
	}
	return v, nil
}

// invoked returns the function and its input for the parameters of lambda:invoke.
func invoked(params value.Value) (flow.Resource, value.Value) {
	resource, _ := functionNamed(params.Get("FunctionName").Text(), params.Get("Qualifier").Text()) // was checked
	return resource, cmp.Or(params.Get("Payload"), value.Object())
}

// functionNamed returns the function of a name, an ARN, or a part of one: "account:function:name".
// The parameter Qualifier may be "".
func functionNamed(text, qualifier string) (resource flow.Resource, ok bool) {
	if resource, ok = lambdaARN(text); !ok {
		if account, rest, found := strings.Cut(text, ":function:"); found && !strings.Contains(account, ":") {
			text = rest
		}
		resource, ok = lambdaARN("arn:aws:lambda:::function:" + text)
	}
	if ok && qualifier != "" && resource.Qualifier == "" {
		resource.Qualifier = qualifier
		resource.Text += ":" + qualifier
	}
	return resource, ok
}

// limits reads the limits of a Task.
func (p *parser) limits(task *flow.Task, d *data, n *document.Node) {
	computed := map[string]*source{}
	for name, to := range map[string]*time.Duration{"TimeoutSeconds": &task.Timeout, "HeartbeatSeconds": &task.Heartbeat} {
		if found := p.onlyOne(n, false, name, name+"Path"); found != nil {
			if computed[name] = p.sourceOf(found); computed[name] != nil {
				continue
			}
		}
		*to = p.seconds(n, name, 1)
	}
	if task.Timeout > 0 && task.Heartbeat >= task.Timeout {
		p.Problem(n.Get("HeartbeatSeconds").Pos, "%s: HeartbeatSeconds %d is not below TimeoutSeconds, which is %d", p.place(),
			task.Heartbeat/time.Second, task.Timeout/time.Second)
	}
	if task.Pattern != flow.PatternWaitForCallback {
		task.Heartbeat = 0 // only a task with a token has heartbeats
		delete(computed, "HeartbeatSeconds")
	}
	task.Limit, task.Beat = d.limitBy(computed["TimeoutSeconds"]), d.limitBy(computed["HeartbeatSeconds"])
}

// limitBy returns a function for a limit that an attempt computes, nil for none.
func (d *data) limitBy(from *source) func(f *flow.Frame) time.Duration {
	if from == nil {
		return nil
	}
	d.limits = append(d.limits, from)
	return func(f *flow.Frame) time.Duration {
		limit, _ := from.seconds(d.evaluation(f, "limit")) // Enter reports an error
		return limit
	}
}

// seconds returns the time limit that the state computes.
func (s *source) seconds(e *evaluation) (time.Duration, error) {
	v, err := s.eval(e)
	if err != nil {
		return 0, err
	}
	v = e.lookup.Complete(v)
	limit, ok := flow.ParseDuration(v, maxSeconds*time.Second)
	if (!ok || limit == 0) && len(e.lookup.Load) == 0 {
		return 0, e.fault("%s: %s is %s; allowed: a whole number of seconds from 1 to %d", s.name, s.text, value.Shown(v), maxSeconds)
	}
	return limit, nil
}

// errorEquals reads the names of errors of an entry of Retry or Catch.
func (p *parser) errorEquals(n *document.Node, last bool) []string {
	field := p.required(n, "ErrorEquals")
	if field == nil {
		return nil
	}
	var names []string
	items := p.list(field, "ErrorEquals", "names of errors")
	for _, item := range items {
		name, ok := item.Text()
		if !ok {
			p.unfit(item, "ErrorEquals", `texts like "States.Timeout"`)
			continue
		}
		names = append(names, name)
		if name == errorAll && (!last || len(items) > 1) {
			p.Problem(item.Pos, "%s: %s stands alone, and in the last entry; move it to an entry behind the others", p.place(), errorAll)
		}
		if strings.EqualFold(name, "ALL") || name == "*" {
			p.warn(item.Pos, "error %q matches no other name; write %q for every error", name, errorAll)
		}
	}
	return names
}

func (p *parser) retry(step *flow.Step, n *document.Node) (policies []flow.Retry) {
	field := n.Get("Retry")
	if field == nil {
		return nil
	}
	if field.Kind != document.Sequence {
		p.unfit(field, "Retry", "an array of objects with ErrorEquals")
	}
	var before []string
	for i, item := range field.Items {
		if item.Kind != document.Mapping {
			p.unfit(item, "an entry of Retry", "an object with ErrorEquals")
			continue
		}
		p.fields(item, "an entry of Retry", "ErrorEquals", "IntervalSeconds", "MaxAttempts", "BackoffRate", "MaxDelaySeconds", "JitterStrategy", "Comment")
		policy := flow.Retry{
			Errors:      p.errorEquals(item, i == len(field.Items)-1),
			Interval:    time.Duration(p.whole(item, "IntervalSeconds", 1, maxSeconds, 1)) * time.Second,
			MaxAttempts: int(p.whole(item, "MaxAttempts", 0, maxAttempts, 3)), //nolint:mnd // the default
			MaxInterval: maxPause, Multiplier: 2,
		}
		if delay := p.whole(item, "MaxDelaySeconds", 1, maxDelay, 0); delay > 0 {
			policy.MaxInterval = time.Duration(delay) * time.Second
			if policy.MaxInterval < policy.Interval {
				p.unfit(item.Get("MaxDelaySeconds"), "MaxDelaySeconds", "more than IntervalSeconds")
			}
		}
		if rate := item.Get("BackoffRate"); rate != nil {
			factor, err := strconv.ParseFloat(rate.Scalar.Text(), 64)
			if rate.Scalar.Kind() != value.KindNumber || err != nil || factor < 1 {
				p.unfit(rate, "BackoffRate", "a number from 1.0")
			}
			policy.Multiplier = factor
		}
		if jitter := item.Get("JitterStrategy"); jitter != nil {
			if policy.Jitter = jitter.Scalar.Text() == "FULL"; !policy.Jitter && jitter.Scalar.Text() != "NONE" {
				p.unfit(jitter, "JitterStrategy", `"FULL" or "NONE"`)
			}
		}
		p.checkErrors(step, item, before)
		before = append(before, policy.Errors...)
		policies = append(policies, policy)
	}
	return policies
}

func (s *seriesParser) catch(step *flow.Step, h *flow.Handlers, d *data, n *document.Node) {
	field := n.Get("Catch")
	if field == nil {
		return
	}
	if field.Kind != document.Sequence {
		s.unfit(field, "Catch", "an array of objects with ErrorEquals and Next")
	}
	h.Catch = make([]flow.Catch, len(field.Items))
	d.catches = make([]exitData, len(field.Items))
	s.inCatch = true
	defer func() { s.inCatch = false }()
	allowed := []string{"ErrorEquals", "Next", "ResultPath", "Assign", "Comment"}
	if s.isQuery {
		allowed[2] = "Output"
	}
	var before []string
	for i, item := range field.Items {
		if item.Kind != document.Mapping {
			s.unfit(item, "an entry of Catch", "an object with ErrorEquals and Next")
			continue
		}
		s.fields(item, "an entry of Catch", allowed...)
		h.Catch[i].Errors = s.errorEquals(item, i == len(field.Items)-1)
		s.checkErrors(step, item, before)
		before = append(before, h.Catch[i].Errors...)
		d.catches[i] = exitData{s.resultPath(item), s.produced(item), s.assign(item)}
		if next := s.required(item, "Next"); next != nil {
			s.jumps = append(s.jumps, jump{next, s.state, "Next", &h.Catch[i].Goto, i + 1})
		}
	}
}
