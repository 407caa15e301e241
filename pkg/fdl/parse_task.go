package fdl

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/value"
)

func (p *parser) task(step *Step, f fields) *Task {
	task := &Task{
		Resource:    p.resource(f),
		Timeout:     p.seconds(f.optional("timeoutSeconds"), "timeoutSeconds"),
		Heartbeat:   p.seconds(f.optional("heartbeatSeconds"), "heartbeatSeconds"),
		AtMostOnce:  p.boolean(f.optional("atMostOnce"), "atMostOnce"),
		CallbackURL: reads(step.Input, callbackURL) || reads(step.Output, callbackURL),
	}
	task.Signed, task.Sender = p.signed(f.optional("signed"))
	task.Params = p.params(f, task.Resource)
	if n := f.optional("pattern"); n != nil {
		task.Pattern = p.pattern(n, task.Resource)
	}
	p.callbackFields(task, f)
	task.Poll = p.poll(task, f)
	p.failures(task, step, f)
	p.extensionsOf(task, f)
	return task
}

// notSenders are words that YAML 1.1 reads as booleans. They are not allowed as names of senders.
var notSenders = []string{
	"true", "True", "TRUE", "false", "False", "FALSE", "yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF",
}

// signed reports whether a callback must be signed, and the name of the sender, if
// the field names one.
func (p *parser) signed(n *node) (signed bool, sender string) {
	if n == nil {
		return false, ""
	}
	if n.scalar.Kind() == value.KindBool {
		return n.scalar.IsTrue(), ""
	}
	name, ok := n.text()
	if !ok || !ValidName(name) || slices.Contains(notSenders, name) {
		p.unfit(n, "signed", "true, false, the name of a sender ("+nameRule+")")
		return false, ""
	}
	return true, name
}

// callbackFields reports fields that need a task that waits for a callback.
func (p *parser) callbackFields(task *Task, f fields) {
	if task.Pattern == PatternWaitForCallback {
		return
	}
	if n := f.optional("heartbeatSeconds"); n != nil {
		p.problem(n.pos, "heartbeatSeconds needs \"pattern: waitForCallback\"; other tasks receive no heartbeats")
	}
	if n := f.optional("signed"); task.Signed {
		p.problem(n.pos, "signed needs \"pattern: waitForCallback\"; only a callback has a body to sign")
	}
}

// callbackURL is the path to the URL where the outcome of a task is reported.
const callbackURL = "$context.task.callbackUrl"

func reads(mappings expr.Mappings, path string) bool {
	return slices.ContainsFunc(mappings, func(m expr.Mapping) bool {
		source, ok := m.Source.Path()
		return ok && source.String() == path
	})
}

func (p *parser) resource(f fields) Resource {
	switch resource, action := f.either("resourceArn", "action"); {
	case resource != nil:
		return p.resourceArn(resource)
	case action != nil:
		return p.action(action)
	}
	return Resource{}
}

func (p *parser) resourceArn(n *node) Resource {
	text, ok := p.text(n, "resourceArn", allowedResources)
	if !ok {
		return Resource{}
	}
	resource, err := ParseResource(text)
	p.placeholders(n, resource)
	p.oneName(n, resource)
	switch {
	case err != nil:
		p.problem(n.pos, "%s", err)
	case resource.IsAction():
		p.problem(n.pos, "resource %q is an action; write \"action: %s\" instead", text, text)
	}
	return resource
}

// oneName warns of two functions with the same name in different services: without the service, the
// name means both.
func (p *parser) oneName(n *node, resource Resource) {
	if resource.Service == "" {
		return
	}
	first, ok := p.functions[resource.Function]
	if !ok {
		p.functions[resource.Function] = calledFunction{resource.Service, n.pos}
	} else if first.service != resource.Service {
		p.warn(n.pos, fmt.Sprintf("function %q of service %q has the name of one of service %q at %s: name each as a task, %s/%s and %s/%s, and map each on AWS",
			shortened(resource.Function), shortened(resource.Service), shortened(first.service), first.at,
			shortened(first.service), shortened(resource.Function), shortened(resource.Service), shortened(resource.Function)))
	}
}

// calledFunction is where a function is called first.
type calledFunction struct {
	service string
	at      Position
}

// placeholders warns of a service or a qualifier that was not filled in. The flow still runs on one
// machine, where only the function counts.
func (p *parser) placeholders(n *node, resource Resource) {
	for _, part := range []struct{ what, text string }{{"service", resource.Service}, {"qualifier", resource.Qualifier}} {
		if found := placeholder.FindString(part.text); found != "" {
			p.warn(n.pos, fmt.Sprintf("resource %q has the placeholder %s in place of a %s; write its name",
				shortened(resource.Text), shortened(found), part.what))
		}
	}
}

// action reads the action of a job. A misspelt action is used as the one that it means.
func (p *parser) action(n *node) Resource {
	text, _ := n.text()
	if text == "fnf:StartExecution" {
		p.problem(n.pos, "action %q starts a sub-flow, which comes with a later release; this one does not run it", text)
		return Resource{}
	}
	actions := actionNames()
	if product, ok := otherProduct(text, actions); ok {
		p.problem(n.pos, "action %q is an API of another product, %q, which this release does not call; call a function that does (allowed: %s)",
			shortened(text), product, strings.Join(actions, ", "))
		return Resource{}
	}
	resource, _ := ParseResource(p.oneOf(n, "action", actions...))
	return resource
}

// productAction is the form of an action of the vendor's products.
var productAction = regexp.MustCompile(`^([a-z][a-z0-9-]*):[A-Z][A-Za-z0-9]*$`)

// otherProduct returns the product of an action whose service has no actions, unless the action is
// misspelt.
func otherProduct(action string, actions []string) (product string, ok bool) {
	match := productAction.FindStringSubmatch(action)
	if match == nil || closest(action, actions) != "" {
		return "", false
	}
	known := slices.ContainsFunc(actions, func(a string) bool { return strings.HasPrefix(a, match[1]+":") })
	return match[1], !known
}

// params are those that the resource names, and the step's.
func (p *parser) params(f fields, resource Resource) expr.Template {
	n := f.optional("serviceParams")
	switch {
	case n == nil && resource.IsAction():
		f.missing(`%s has an action and no field "serviceParams", which is what the service is asked with`, f.where)
	case n == nil && resource.isMessage():
		f.missing(`%s sends a message and has no field "serviceParams"; write it with MessageBody: a text, or $ for the step's input as JSON`, f.where)
	case n == nil:
	case resource.Function != "" && resource.Kind == "":
		p.problem(n.pos, "serviceParams needs an action or the resourceArn of a job; a function gets the step's input, which inputMappings make")
	case n.kind != nodeMapping:
		p.unfit(n, "serviceParams", "a mapping of what the service takes, with constants and paths like $.key")
	default:
		p.paramPaths(n)
		p.messageBody(n, resource)
	}
	params := value.Object()
	if kind, named, ok := jobs.ForResource(resource.Text); ok {
		params, _ = value.ParseJSON(named) // is an object
		p.paramsOnce(n, params, kind)
	}
	if n != nil {
		params = value.Merge(params, n.value())
	}
	if params.TooDeep() {
		p.problem(n.pos, "serviceParams has %d levels of arrays and objects and the limit is %d; write what is inside as a text", params.Levels(), value.MaxLevels)
	}
	template, _ := expr.ParseTemplate(params) // a mistake in it was reported
	return template
}

// paramsOnce reports parameters that both the resource and the service parameters name. Services
// ignore the case of names, so it would be unclear which one counts.
func (p *parser) paramsOnce(n *node, named value.Value, kind jobs.Kind) {
	if n == nil {
		return
	}
	for _, e := range n.entries {
		if slices.ContainsFunc(named.Members(), func(m value.Member) bool { return strings.EqualFold(m.Key, e.key) }) {
			p.problem(e.pos, "serviceParams has %q, which resourceArn names; write it in one of them: without it here, or \"action: %s:%s\" instead of resourceArn",
				e.key, kind.Service, kind.StartOp)
		}
	}
}

// paramPaths reports the broken paths in service parameters.
func (p *parser) paramPaths(n *node) {
	switch n.kind {
	case nodeMapping:
		for _, e := range n.entries {
			p.paramPaths(e.value)
		}
	case nodeSequence:
		for _, item := range n.items {
			p.paramPaths(item)
		}
	case nodeScalar:
		if _, err := expr.ParseTemplate(n.scalar); err != nil {
			p.syntaxProblem(n, err, paramMeant(n.scalar.Text()))
		}
	case nodeUnreadable: // was reported
	}
}

// paramMeant suggests how to write a service parameter that begins with "$" and is not a path from
// the step's input.
func paramMeant(text string) string {
	meant := selfMeant(text)
	if meant == "" && text[1:] != "" && !strings.ContainsRune(".[", rune(text[1])) {
		meant = "; map other texts that begin with \"$\" with inputMappings"
	}
	return meant
}

// MaxTimeout is the longest time limit of a flow or a task: an execution takes
// no longer than a year.
const MaxTimeout = 366 * 24 * time.Hour

// seconds returns a time limit in whole seconds, 0 for none.
func (p *parser) seconds(n *node, what string) time.Duration {
	if n == nil {
		return 0
	}
	return p.secondsUpTo(n, what, 1, MaxTimeout, "a year")
}

// secondsUpTo is a time in whole seconds.
func (p *parser) secondsUpTo(n *node, what string, least int64, most time.Duration, inWords string) time.Duration {
	seconds, ok := n.value().Int64()
	if !ok || seconds < least || seconds > int64(most/time.Second) {
		p.unfit(n, what, fmt.Sprintf("whole seconds from %d to %d (%s)", least, int64(most/time.Second), inWords))
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// patterns by their names; the order is that of messages.
var (
	patternNames = []string{"requestResponse", "sync", "waitForCallback", "waitForCondition"}
	patterns     = map[string]Pattern{
		"requestResponse": PatternRequestResponse, "sync": PatternSync, "waitForCallback": PatternWaitForCallback,
		"waitForCondition": PatternWaitForCondition,
	}
	// functionPatterns are those of a function.
	functionPatterns = []string{"requestResponse", "waitForCallback", "waitForCondition"}
	// messagePatterns are those of a message.
	messagePatterns = []string{"requestResponse", "waitForCallback"}
)

func (p *parser) pattern(n *node, resource Resource) Pattern {
	pattern := patterns[p.oneOf(n, "pattern", patternNames...)]
	isFunction := resource.Function != "" && resource.Kind == ""
	switch {
	case pattern == PatternSync && resource.isMessage():
		p.problem(n.pos, "pattern \"sync\" waits for the end of a job, and a message has no end (allowed with a message: %s)", strings.Join(messagePatterns, ", "))
	case pattern == PatternWaitForCondition && resource.isMessage():
		p.problem(n.pos, "pattern \"waitForCondition\" polls a function, and a message is not a function (allowed with a message: %s)",
			strings.Join(messagePatterns, ", "))
	case pattern == PatternWaitForCondition && resource.Kind != "":
		p.problem(n.pos, "pattern \"waitForCondition\" polls a function, and %s is not a function; "+
			"write \"pattern: sync\", which waits for the end of the job, or ask a function", shortened(resource.Text))
	case pattern == PatternSync && isFunction:
		p.problem(n.pos, "pattern \"sync\" waits for the end of a job and needs an action or the resourceArn of one; "+
			"functions and sub-flows do not have it yet (allowed with a function: %s)", strings.Join(functionPatterns, ", "))
	}
	return pattern
}
