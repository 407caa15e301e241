package fdl

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/flow/document"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/value"
)

// MaxTimeout is the longest time limit of a flow or a task: an execution takes
// no longer than a year.
const MaxTimeout = 366 * 24 * time.Hour

func (p *parser) task(step *flow.Step, f *fields) *flow.Task {
	task := &flow.Task{
		Resource:   p.resource(f),
		Timeout:    f.seconds("timeoutSeconds", 0),
		Heartbeat:  f.seconds("heartbeatSeconds", 0),
		AtMostOnce: f.boolean("atMostOnce"),
	}
	task.Signed = read(f, "signed", false, func(v value.Value) (bool, bool) {
		if v.Kind() == value.KindBool {
			return v.IsTrue(), true
		}
		task.Sender = v.Text()
		return true, v.Kind() == value.KindString && flow.ValidName(task.Sender) && !slices.Contains(notSenders, strings.ToLower(task.Sender))
	})
	p.question(task, f)
	task.Params = p.params(f, task.Resource)
	task.ParamPlaces = f.get("serviceParams").Places()
	for _, field := range []string{"action", "resourceArn"} {
		if n := f.get(field); n != nil {
			task.At = n.Pos
		}
	}
	task.Account = p.account(f, task.Resource)
	if name := f.get("serviceParams").Get(flow.ParamFlowName); task.Resource.Subflow && name != nil { // else the step's input names it
		if text, _ := name.Text(); flow.ValidName(text) {
			task.Resource.Flow = cmp.Or(task.Resource.Flow, text)
		}
	}
	p.pattern(task, f)
	task.StopJob = p.stopJob(task, f)
	if n := f.get("atMostOnce"); task.AtMostOnce && task.Resource.Subflow {
		p.Problem(n.Pos, "atMostOnce does not go with a sub-flow, whose start is never repeated; remove atMostOnce")
	}
	task.Poll = p.poll(task, f)
	p.failures(&task.Handlers, task.Resource, step, f)
	task.CallbackURL = slices.ContainsFunc(f.sources, func(s pathSource) bool { return s.path == callbackURL })
	if n := f.get("pattern"); task.Poll != nil && n != nil {
		p.strict(n.Pos, "pattern \"waitForCondition\" is an extension: FDL polls with a wait, a task and a choice")
	}
	if n := f.get("action"); n != nil && task.Resource.OfService() {
		p.strict(n.Pos, "action %s is an extension: FDL has no services of AWS", task.Resource.Text)
	}
	if n := f.get("resourceArn"); n != nil && strings.HasPrefix(task.Resource.Text, "arn:") {
		p.strict(n.Pos, "resource %s is an extension: FDL has no resources of AWS", document.Shortened(task.Resource.Text))
	}
	return task
}

// notSenders are words that YAML 1.1 reads as booleans. They are not allowed as names of senders.
var notSenders = []string{"true", "false", "yes", "no", "on", "off"}

func (p *parser) resource(f *fields) flow.Resource {
	resource, action := f.either("resourceArn", "action")
	if resource == nil {
		return p.action(action, f)
	}
	text := f.text("resourceArn")
	parsed, err := ParseResource(text)
	// The flow runs on one machine even with a placeholder, because only the function counts there.
	for _, part := range []struct{ what, text string }{{"service", parsed.Service}, {"qualifier", parsed.Qualifier}} {
		if found := placeholder().FindString(part.text); found != "" {
			p.warn(resource.Pos, "resource %q has the placeholder %s in place of a %s; write its name%s",
				document.Shortened(text), document.Shortened(found), part.what, orGiveValue(found))
		}
	}
	// Without the service, the name of two functions in different services means both.
	first, isCalled := p.functions[parsed.Function]
	if !isCalled && parsed.Service != "" {
		p.functions[parsed.Function] = calledFunction{parsed.Service, resource.Pos}
	} else if parsed.Service != "" && first.service != parsed.Service {
		p.warn(resource.Pos, "function %q of service %q has the name of one of service %q at %s: name each as a task, %s/%s and %s/%s, and map each on AWS",
			document.Shortened(parsed.Function), document.Shortened(parsed.Service), document.Shortened(first.service), first.at,
			document.Shortened(first.service), document.Shortened(parsed.Function), document.Shortened(parsed.Service), document.Shortened(parsed.Function))
	}
	switch {
	case text == "": // was reported
	case err != nil:
		p.Problem(resource.Pos, "%s", err)
	case parsed.IsAction():
		p.Problem(resource.Pos, "resource %q is an action; write \"action: %s\" instead", text, text)
	}
	return parsed
}

// calledFunction is where a function is called first.
type calledFunction struct {
	service string
	at      flow.Position
}

// action reads an action. It corrects a misspelt action of a job after reporting it. A text in the
// form of operations is such a misspelling only if the task has a pattern of jobs.
func (p *parser) action(n *document.Node, f *fields) flow.Resource {
	if n == nil {
		return flow.Resource{}
	}
	text, _ := n.Text()
	if strings.HasPrefix(text, jobs.CustomService+":") && !jobs.IsCustom(text) {
		p.Problem(n.Pos, `action %q is not the name of a custom kind; write "custom:" and small letters, digits and "-", such as custom:render-video`,
			document.Shortened(text))
		return flow.Resource{}
	}
	actions, pattern := f.names("action"), f.get("pattern")
	isJob := pattern != nil && pattern.Scalar.Text() != "requestResponse" && similar.Closest(text, actions) != ""
	if meant := operationMeant(text); similar.Closest(text, actions) == "" && meant != "" {
		p.Problem(n.Pos, "action %q is unknown; did you mean %q?", document.Shortened(text), document.Shortened(meant))
		return flow.Resource{}
	}
	if !jobs.IsCustom(text) && (isJob || !operationForm().MatchString(text)) {
		text = f.oneOf("action", "action")
	}
	resource, _ := ParseResource(text)
	return resource
}

// params returns the step's parameters together with the parameters that the resource names.
func (p *parser) params(f *fields, resource flow.Resource) expr.Template {
	n := f.get("serviceParams")
	switch {
	case n == nil && resource.IsAction():
		f.missing(`%s has an action and no field "serviceParams", the parameters of the request to the service`, f.title)
		return expr.Template{} // which no check reports again
	case n == nil && isMessage(resource):
		f.missing(`%s sends a message and has no field "serviceParams"; write it with MessageBody: a text, or $ for the step's input as JSON`, f.title)
	case n == nil:
	case resource.Function != "" && resource.IsFunction():
		p.Problem(n.Pos, "serviceParams needs an action or the resourceArn of a job, a message or a sub-flow; "+
			"a function gets the step's input, which inputMappings make")
	case n.Kind != document.Mapping:
		f.unfit("serviceParams")
		return expr.Template{}
	default:
		p.paramPaths(n)
		p.messageBody(n, resource)
	}
	params := value.Object()
	if resource.Subflow {
		params = p.subflowParams(n, resource)
	}
	if kind, named, ok := jobs.ForResource(resource.Text); ok {
		params, _ = value.ParseJSON(named) // is an object
		for i := 0; n != nil && i < len(n.Entries); i++ {
			e := n.Entries[i]
			// Services ignore the case of names, so it would be unclear which one counts.
			if slices.ContainsFunc(params.Members(), func(m value.Member) bool { return strings.EqualFold(m.Key, e.Key) }) {
				p.Problem(e.Pos, "serviceParams has %q, which resourceArn names; write it in one of them: without it here, or \"action: %s:%s\" instead of resourceArn",
					e.Key, kind.Service, kind.StartOp)
			}
		}
	}
	if n != nil {
		if params = value.Merge(params, n.Value()); params.TooDeep() {
			p.tooDeep(n, "serviceParams", params)
		}
	}
	template, _ := expr.ParseTemplate(params) // a mistake in it was reported
	return template
}

// account reads the account that a job runs in.
func (p *parser) account(f *fields, resource flow.Resource) expr.Template {
	n := f.get("account")
	if n == nil {
		return expr.Template{}
	}
	switch {
	case resource.Text == "":
	case resource.Operation != "":
		p.Problem(n.Pos, "account does not go with operation %s, which is called in the account of the stack; remove account", resource.Operation)
	case jobs.IsCustom(resource.Kind):
		p.Problem(n.Pos, "account does not go with %s, whose jobs are those of a function; remove account", resource.Kind)
	case resource.Kind == "" || isMessage(resource):
		p.Problem(n.Pos, "account needs an action or the resourceArn of a job; functions, messages and sub-flows have no account of their own")
	}
	return read(f, "account", expr.Template{}, func(v value.Value) (expr.Template, bool) {
		template, err := expr.ParseTemplate(v)
		_, isPath := template.Path()
		return template, err == nil && (isPath || v.Kind() == value.KindString && accountForm().MatchString(v.Text()))
	})
}

// stopJob reports whether the step stops its job. A job can be stopped only if the step waits for
// its end and the service has an operation for it.
func (p *parser) stopJob(task *flow.Task, f *fields) bool {
	stop := f.boolean("stopJob")
	if !stop || task.Resource.Text == "" {
		return stop
	}
	pos := f.get("stopJob").Pos
	switch kind, ok := jobs.Find(task.Resource.Kind); {
	case task.Resource.Operation != "":
		p.Problem(pos, "stopJob does not go with operation %s, which starts no job that Waitless knows; remove stopJob", task.Resource.Operation)
	case !ok || isMessage(task.Resource):
		p.Problem(pos, "stopJob needs an action or the resourceArn of a job; functions, messages and sub-flows have no job to stop")
	case !kind.CanStop():
		p.Problem(pos, "stopJob does not go with %s:%s, whose service has no operation that stops such a job; remove stopJob "+
			"(jobs that can be stopped: column \"stopped by\" of waitless docs jobs)", kind.Service, kind.StartOp)
	case task.Pattern != flow.PatternSync:
		p.Problem(pos, "stopJob needs \"pattern: sync\"; without it the step does not wait for the job")
	}
	return stop
}

var accountForm = compiled(`^[0-9]{12}$`)

// paramPaths reports the broken paths in service parameters.
func (p *parser) paramPaths(n *document.Node) {
	for _, inside := range n.Inside() {
		p.paramPaths(inside)
	}
	if _, err := expr.ParseTemplate(n.Scalar); err != nil {
		text := n.Scalar.Text()
		meant := selfMeant(text)
		if meant == "" && text[1:] != "" && !strings.ContainsRune(".[", rune(text[1])) {
			meant = "; map other texts that begin with \"$\" with inputMappings"
		}
		p.syntaxProblem(n, err, meant)
	}
}

// pattern reads the pattern of a task, and reports fields that need another one, as the schema
// says.
func (p *parser) pattern(task *flow.Task, f *fields) {
	pattern := f.oneOf("pattern", "pattern")
	what, allowed := "a function", []string{"requestResponse", "sync", "waitForCallback", "waitForCondition"}
	switch resource := task.Resource; {
	case resource.Subflow:
		what, allowed = "a sub-flow", allowed[:3]
	case isMessage(resource):
		what, allowed = "a message, which has no end", []string{"requestResponse", "waitForCallback"}
	case resource.Kind != "":
		what, allowed = "a job, which is not a function", allowed[:3]
	case resource.Operation != "":
		what, allowed = "an operation, whose response is its end", allowed[:1]
	}
	if pattern != "" && task.Resource.Text != "" && !slices.Contains(allowed, pattern) {
		p.Problem(f.get("pattern").Pos, "pattern %q does not go with %s (allowed with it: %s)", pattern, what, strings.Join(allowed, ", "))
	}
	task.Pattern = patterns[pattern]
	for _, field := range f.keys {
		needs := f.schemas[field].Get("x-pattern").Texts()
		n := f.get(field)
		if needs != nil && n != nil && task.Pattern != patterns[needs[0]] && (field != "signed" || task.Signed) {
			p.Problem(n.Pos, "%s needs \"pattern: %s\"%s", field, needs[0], needs[1])
		}
	}
}

// patterns by their names.
var patterns = map[string]flow.Pattern{
	"requestResponse": flow.PatternRequestResponse, "sync": flow.PatternSync, "waitForCallback": flow.PatternWaitForCallback,
	"waitForCondition": flow.PatternWaitForCondition,
}
