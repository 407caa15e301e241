package fdl

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/waitless/waitless/pkg/jobs"
)

// Resource names the function that a task calls, or the flow that it starts.
type Resource struct {
	// Text is the resource, or the action, as the flow writes it.
	Text string
	// Kind is the kind of the job that the function [StartJob] starts, "" for other functions. Whether a custom kind is
	// declared is not known here; see [Flow.CheckKinds].
	Kind string
	// Operation is the operation of a service of AWS that the function [CallService] calls, "" for other functions:
	// "dynamodb:PutItem".
	Operation string
	// Service is the Function Compute service. It is "" for Lambda and for Function Compute 3.0.
	Service string
	// Qualifier is the version or alias, "" for none.
	Qualifier string
	// Function is the name of the function, "" for a sub-flow.
	Function string
	// Flow is the name of the flow of which a sub-flow is an execution. It is "" for other resources, and
	// for the action [StartExecution] if its parameters name the flow by a path.
	Flow string
}

// StartJob is the function that starts jobs.
const StartJob = "StartJob"

// CallService is the function that calls operations of services.
const CallService = "CallService"

// operationForm is the form of operations. [Flow.CheckActions] checks that they exist.
var operationForm = compiled(`^[a-z][a-z0-9-]*:[A-Z][A-Za-z0-9]*$`)

// operationMeant returns the operation that a text in another spelling means, "" for none: "dynamodb:PutItem" for "DynamoDB:putItem"
// and "dynamodb:put-item". It does not know which operations there are.
func operationMeant(text string) string {
	service, name, _ := strings.Cut(text, ":")
	words := strings.FieldsFunc(name, func(c rune) bool { return c == '-' || c == '_' })
	if service == jobs.CustomService || len(words) == 1 && strings.ToLower(name) == name { // where its words begin is not known
		return ""
	}
	for i, word := range words {
		words[i] = strings.ToUpper(word[:1]) + word[1:]
	}
	meant := strings.ToLower(service) + ":" + strings.Join(words, "")
	if meant == text || !operationForm().MatchString(meant) {
		return ""
	}
	return meant
}

// IsAction reports whether r is an action and not a resource that exists.
func (r Resource) IsAction() bool {
	return (r.Kind != "" || r.Operation != "" || r.Text == StartExecution) && !strings.HasPrefix(r.Text, "arn:") && !strings.HasPrefix(r.Text, "acs:")
}

// IsFunction reports whether r is a function that is called with the step's input.
func (r Resource) IsFunction() bool { return r.Kind == "" && r.Operation == "" && !r.IsSubflow() }

// OfService reports whether the errors of r are those of a service of AWS: of one that runs jobs, or that has the operation.
func (r Resource) OfService() bool { return r.Kind != "" || r.Operation != "" }

// anyText is a region or an account. A placeholder in it may have colons: ${ALIYUN::Region}.
const anyText = `(?:\$\{[^{}]*\}|[^:])*`

// resourceForms are the resources that can be called. Region and account may be any text: a flow
// keeps those of its first cloud.
var resourceForms = []func() *regexp.Regexp{
	compiled(`^acs:fc:` + anyText + `:` + anyText + `:services/(?P<service>[^/.:\s]+)(?:\.(?P<qualifier>[^/:\s]+))?/functions/(?P<function>[^/:.\s]+)$`),
	compiled(`^acs:fc:` + anyText + `:` + anyText + `:functions/(?P<function>[^/:.\s]+)(?:/(?P<qualifier>[^/:\s]+))?$`),
	compiled(`^acs:fnf:` + anyText + `:` + anyText + `:flow/(?P<flow>[A-Za-z_][A-Za-z0-9_-]{0,127})$`),
	compiled(`^arn:[^:]+:lambda:[^:]*:[^:]*:function:(?P<function>[A-Za-z0-9_-]+)(?::(?P<qualifier>[^:\s]+))?$`),
}

// allowedResources are the forms in words.
func allowedResources() string { return findElement("task").allowed("resourceArn") }

// placeholder matches placeholders of templates and manuals: {name}, ${name} or <name>.
var placeholder = compiled(`\$?\{[^{}]*\}|<[^<>]*>`)

// resourceHead is the part of a vendor's resource that is not used: region and account.
var resourceHead = compiled(`^acs:[a-z]+:` + anyText + `:` + anyText + `:`)

// unfilled returns a placeholder in the part of a resource that is used, "" for none.
func unfilled(resource string) string {
	return placeholder().FindString(resourceHead().ReplaceAllString(resource, ""))
}

// ParseResource parses a resource or an action.
func ParseResource(text string) (Resource, error) {
	kind, isJob := jobs.ForAction(text)
	if !isJob {
		kind, _, isJob = jobs.ForResource(text)
	}
	if isJob {
		return Resource{Text: text, Kind: kind.Name, Function: StartJob}, nil
	}
	if text == StartExecution {
		return Resource{Text: text}, nil
	}
	if operationForm().MatchString(text) {
		return Resource{Text: text, Operation: text, Function: CallService}, nil
	}
	for _, compiled := range resourceForms {
		form := compiled()
		match := form.FindStringSubmatch(text)
		if match == nil {
			continue
		}
		resource := resourceFrom(text, form, match)
		if found := placeholder().FindString(resource.Function); found != "" {
			return Resource{}, placeholderError(text, found)
		}
		return resource, nil
	}
	return Resource{}, resourceError(text)
}

func placeholderError(resource, found string) error {
	return fmt.Errorf("resource %q has the placeholder %s, which nothing replaces; write what it stands for%s; allowed: %s",
		shortened(resource), shortened(found), orGiveValue(found), allowedResources())
}

// orGiveValue is the end of a message about a placeholder that may have a value.
func orGiveValue(placeholder string) string {
	if !strings.HasPrefix(placeholder, "$") {
		return ""
	}
	return " or give it a value (see: waitless docs templates)"
}

// resourceError returns the error for a resource that has no known form.
func resourceError(text string) error {
	if found := unfilled(text); found != "" {
		return placeholderError(text, found)
	}
	return fmt.Errorf("resource %q names no function, job or flow; allowed: %s", shortened(text), allowedResources())
}

func resourceFrom(text string, form *regexp.Regexp, match []string) Resource {
	part := func(name string) string {
		if i := form.SubexpIndex(name); i >= 0 {
			return match[i]
		}
		return ""
	}
	return Resource{Text: text, Service: part("service"), Qualifier: part("qualifier"), Function: part("function"), Flow: part("flow")}
}
