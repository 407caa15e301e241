package fdl

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/jobs"
)

// Resource names the function that a task calls.
type Resource struct {
	// Text is the resource, or the action, as the flow writes it.
	Text string
	// Kind is the kind of the job that the function, [StartJob], starts; empty
	// for any other function.
	Kind string
	// Service is the Function Compute service; empty for a Lambda function.
	Service string
	// Qualifier is the version or alias; empty when not given.
	Qualifier string
	// Function is the name of the function.
	Function string
}

// StartJob is the function that starts jobs.
const StartJob = "StartJob"

// IsAction reports whether r is an action, and not what exists before.
func (r Resource) IsAction() bool {
	return r.Kind != "" && !strings.HasPrefix(r.Text, "arn:") && !strings.HasPrefix(r.Text, "acs:")
}

// resourceForms are the resources that can be called. Region and account are
// any text: a flow keeps those of the cloud that it came from.
var resourceForms = []*regexp.Regexp{
	regexp.MustCompile(`^acs:fc:[^:]*:[^:]*:services/(?P<service>[^/.:\s]+)(?:\.(?P<qualifier>[^/:\s]+))?/functions/(?P<function>[^/:.\s]+)$`),
	regexp.MustCompile(`^arn:[^:]+:lambda:[^:]*:[^:]*:function:(?P<function>[A-Za-z0-9_-]+)(?::(?P<qualifier>[^:\s]+))?$`),
}

const allowedResources = "acs:fc:{region}:{account}:services/{service}/functions/{function}, arn:aws:lambda:{region}:{account}:function:{name}, " +
	"arn:aws:dms:{region}:{account}:task:{id}, arn:aws:states:{region}:{account}:stateMachine:{name}, " +
	"acs:mns:{region}:{account}:/queues/{queue}/messages or acs:mns:{region}:{account}:/topics/{topic}/messages"

// laterResources are forms that FDL has and this release does not run.
var laterResources = regexp.MustCompile(`^(acs:fnf:|arn:[^:]+:([^:]+):)`)

// usedServices have resources that can be used; any other of theirs is a mistake.
var usedServices = []string{"lambda", "dms", "states"}

// ParseResource takes a resource, or an action, apart.
func ParseResource(text string) (Resource, error) {
	if kind, ok := jobs.ForAction(text); ok {
		return Resource{Text: text, Kind: kind.Name, Function: StartJob}, nil
	}
	if kind, _, ok := jobs.ForResource(text); ok {
		return Resource{Text: text, Kind: kind.Name, Function: StartJob}, nil
	}
	for _, form := range resourceForms {
		if match := form.FindStringSubmatch(text); match != nil {
			return resourceFrom(text, form, match), nil
		}
	}
	if match := laterResources.FindStringSubmatch(text); match != nil && !slices.Contains(usedServices, match[2]) {
		return Resource{}, fmt.Errorf("resource %q is not supported yet; allowed: %s", shortened(text), allowedResources)
	}
	return Resource{}, fmt.Errorf("resource %q names no function and no job; allowed: %s", shortened(text), allowedResources)
}

func resourceFrom(text string, form *regexp.Regexp, match []string) Resource {
	part := func(name string) string {
		if i := form.SubexpIndex(name); i >= 0 {
			return match[i]
		}
		return ""
	}
	return Resource{Text: text, Service: part("service"), Qualifier: part("qualifier"), Function: part("function")}
}
