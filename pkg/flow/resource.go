package flow

import (
	"regexp"
	"strings"
	"sync"

	"github.com/waitless/waitless/pkg/jobs"
)

// Resource names the function that a task calls, or the flow that it starts.
type Resource struct {
	// Text is the resource, or the action, as the flow writes it.
	Text string
	// Kind is the kind of the job that the function [StartJob] starts, "" for other functions.
	// Whether a custom kind is declared is not known here; see [Flow.CheckKinds].
	Kind string
	// Operation is the operation of a service of AWS that the function [CallService] calls, "" for
	// other functions: "dynamodb:PutItem". A machine writes it as [IsIntegration] describes.
	Operation string
	// Service is the Function Compute service. It is "" for Lambda and for Function Compute 3.0.
	Service string
	// Qualifier is the version or alias, "" for none.
	Qualifier string
	// Function is the name of the function, "" for a sub-flow.
	Function string
	// Activity says that workers ask for the task. Function is then "activity:" and its name.
	Activity bool
	// Subflow says that the task starts an execution of a flow.
	Subflow bool
	// Flow is the name of the flow that a sub-flow executes. It is "" for other resources, and if
	// the parameters name the flow by a path.
	Flow string
}

// StartJob is the function that starts jobs.
const StartJob = "StartJob"

// CallService is the function that calls operations of services.
const CallService = "CallService"

// The parameters of a sub-flow's start.
const (
	ParamFlowName      = "FlowName"
	ParamExecutionName = "ExecutionName"
	ParamInput         = "Input"
)

// ActivityPrefix begins the Function of an activity; its name follows.
const ActivityPrefix = "activity:"

// Objects is the operation, and the name of its runner, that reads the items of a [MapRun] from
// objects of S3 and writes its results to such objects.
const Objects = "s3"

// SDKPrefix begins an operation that a machine calls as the vendor's SDK does.
const SDKPrefix = "aws-sdk:"

// SyncSuffix ends the resource of a machine's job.
const SyncSuffix = ".sync"

// Sync returns the name of a job in a machine, such as "batch:submitJob.sync". It returns "" for
// other resources.
func (r Resource) Sync() string {
	if r.Kind == "" || !strings.HasSuffix(r.Text, SyncSuffix) {
		return ""
	}
	const operationAt = 5
	return strings.SplitN(r.Text, ":", operationAt+1)[operationAt] // was parsed
}

var integrationForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(aws-sdk:)?[a-z][a-z0-9-]*:[a-z][A-Za-z0-9]*$`)
})

// IsIntegration reports whether a text has the form of an operation in a machine:
// "dynamodb:putItem", or "aws-sdk:dynamodb:putItem".
func IsIntegration(text string) bool {
	return integrationForm().MatchString(text) && !jobs.IsCustom(text)
}

// IsAction reports whether r is an action and not a resource that exists.
func (r Resource) IsAction() bool {
	return (r.Kind != "" || r.Operation != "" || r.Subflow) && !strings.HasPrefix(r.Text, "arn:") && !strings.HasPrefix(r.Text, "acs:")
}

// IsFunction reports whether r is a function that is called with the step's input.
func (r Resource) IsFunction() bool { return r.Kind == "" && r.Operation == "" && !r.Subflow }

// OfService reports whether the errors of r are errors of a service of AWS, which runs the job or
// has the operation.
func (r Resource) OfService() bool { return r.Kind != "" || r.Operation != "" }
