package fdl

import (
	"fmt"
	"regexp"
)

// Resource names the function that a task calls.
type Resource struct {
	// Text is the resource as the flow writes it.
	Text string
	// Service is the Function Compute service; empty for a Lambda function.
	Service string
	// Qualifier is the version or alias; empty when not given.
	Qualifier string
	// Function is the name of the function.
	Function string
}

// resourceForms are the resources that can be called. Region and account are
// any text: a flow keeps those of the cloud that it came from.
var resourceForms = []*regexp.Regexp{
	regexp.MustCompile(`^acs:fc:[^:]*:[^:]*:services/(?P<service>[^/.:\s]+)(?:\.(?P<qualifier>[^/:\s]+))?/functions/(?P<function>[^/:.\s]+)$`),
	regexp.MustCompile(`^arn:[^:]+:lambda:[^:]*:[^:]*:function:(?P<function>[A-Za-z0-9_-]+)(?::(?P<qualifier>[^:\s]+))?$`),
}

const allowedResources = "acs:fc:{region}:{account}:services/{service}/functions/{function} or arn:aws:lambda:{region}:{account}:function:{name}"

// laterResources are forms that FDL has and this release does not run.
var laterResources = regexp.MustCompile(`^(acs:(?:fnf|mns):|arn:[^:]+:([^:]+):)`)

// ParseResource takes a resource apart.
func ParseResource(text string) (Resource, error) {
	for _, form := range resourceForms {
		if match := form.FindStringSubmatch(text); match != nil {
			return resourceFrom(text, form, match), nil
		}
	}
	if match := laterResources.FindStringSubmatch(text); match != nil && match[2] != "lambda" {
		return Resource{}, fmt.Errorf("resource %q is not supported yet; allowed: %s", shortened(text), allowedResources)
	}
	return Resource{}, fmt.Errorf("resource %q names no function; allowed: %s", shortened(text), allowedResources)
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
