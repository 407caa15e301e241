package fdl

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/flow/document"
	"github.com/waitless/waitless/pkg/jobs"
)

// operationForm is the form of operations. [flow.Flow.CheckActions] checks that they exist.
var operationForm = compiled(`^[a-z][a-z0-9-]*:[A-Z][A-Za-z0-9]*$`)

// operationMeant returns the operation that a text in another spelling means, "" for none:
// "dynamodb:PutItem" for "DynamoDB:putItem" and "dynamodb:put-item". It does not know which
// operations there are.
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

// anyText is a region or an account. A placeholder in it may have colons: ${ALIYUN::Region}.
const anyText = `(?:\$\{[^{}]*\}|[^:])*`

// resourceForms are the resources that can be called. Region and account may be any text, because a
// flow keeps the region and the account of its first cloud.
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

// ParseResource parses a resource or an action.
func ParseResource(text string) (flow.Resource, error) {
	kind, isJob := jobs.ForAction(text)
	if !isJob {
		kind, _, isJob = jobs.ForResource(text)
	}
	if isJob {
		return flow.Resource{Text: text, Kind: kind.Name, Function: flow.StartJob}, nil
	}
	if text == StartExecution {
		return flow.Resource{Text: text, Subflow: true}, nil
	}
	if operationForm().MatchString(text) {
		return flow.Resource{Text: text, Operation: text, Function: flow.CallService}, nil
	}
	for _, compiled := range resourceForms {
		form := compiled()
		match := form.FindStringSubmatchIndex(text)
		if match == nil {
			continue
		}
		part := func(name string) string { return string(form.ExpandString(nil, "${"+name+"}", text, match)) }
		name, function := part("flow"), part("function")
		if found := placeholder().FindString(function); found != "" {
			return flow.Resource{}, placeholderError(text, found)
		}
		return flow.Resource{
			Text: text, Service: part("service"), Qualifier: part("qualifier"), Function: function, Subflow: name != "", Flow: name,
		}, nil
	}
	if found := placeholder().FindString(resourceHead().ReplaceAllString(text, "")); found != "" {
		return flow.Resource{}, placeholderError(text, found)
	}
	return flow.Resource{}, fmt.Errorf("resource %q names no function, job or flow; allowed: %s", document.Shortened(text), allowedResources())
}

func placeholderError(resource, found string) error {
	return fmt.Errorf("resource %q has the placeholder %s, which nothing replaces; write what it stands for%s; allowed: %s",
		document.Shortened(resource), document.Shortened(found), orGiveValue(found), allowedResources())
}

// orGiveValue is the end of a message about a placeholder that may have a value.
func orGiveValue(placeholder string) string {
	if !strings.HasPrefix(placeholder, "$") {
		return ""
	}
	return " or give it a value (see: waitless docs templates)"
}
