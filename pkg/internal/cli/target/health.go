package target

import (
	"context"
	"slices"
	"time"
)

// Health reads the state of a stack from an account. It changes nothing. Its methods need different
// rights, so each may fail alone; an error of AWS is a [*Refused].
type Health interface {
	Requests
	// Stack returns a stack, or nil if it does not exist.
	Stack(ctx context.Context, name string) (*Stack, error)
	// State returns the state of a resource, zero for types without a constant below.
	State(ctx context.Context, r Resource) (State, error)
	// Ages returns the known ages of the oldest messages, by the names of queues.
	Ages(ctx context.Context, queues []Resource) (map[string]time.Duration, error)
	// Alarms returns the stack's alarms that are in the state ALARM: their names, each with its
	// description.
	Alarms(ctx context.Context, stack string) ([]string, error)
}

// Requests says how requests reach AWS, and how many of their functions run at once.
type Requests interface {
	// Endpoint returns the URL that replaces the URLs of AWS, or "".
	Endpoint() string
	// Caller returns the ARN of the principal that has the credentials.
	Caller(ctx context.Context) (string, error)
	// Skew returns by how much the clock of this machine is ahead of AWS's, as of the latest
	// response. It reports false if there was none.
	Skew() (time.Duration, bool)
	// Concurrency returns how many functions the account may run at once, without reserved
	// concurrency.
	Concurrency(ctx context.Context) (int, error)
}

// Stack is a deployed stack.
type Stack struct {
	Status  string // as CloudFormation names it
	Reason  string // of the status; may be empty
	Outputs map[string]string
	// Parameters are the parameters of the deployment, with defaults.
	Parameters map[string]string
	Resources  []Resource // by name
}

// Resource is a part of a stack.
type Resource struct{ Name, Type, ID string }

// Of returns the resources of a type.
func (s *Stack) Of(kind string) []Resource {
	return slices.DeleteFunc(slices.Clone(s.Resources), func(r Resource) bool { return r.Type != kind })
}

// Types of resources, as CloudFormation names them.
const (
	TypeQueue    = "AWS::SQS::Queue"
	TypeFunction = "AWS::Lambda::Function"
	TypeSource   = "AWS::Lambda::EventSourceMapping"
	TypeTimers   = "AWS::Scheduler::ScheduleGroup"
	TypeTable    = "AWS::DynamoDB::Table"
	TypeSecret   = "AWS::SecretsManager::Secret" //nolint:gosec // a type
	TypeRule     = "AWS::Events::Rule"
	TypeSchedule = "AWS::Scheduler::Schedule"
	TypeRole     = "AWS::IAM::Role"
)

// Restore ends a remedy for a changed resource: it names the page that has the content of the file.
const Restore = ` ("A changed resource" in waitless docs recovery)`

// State is the state of a resource.
type State struct {
	Name   string // as its service names it: "Active", "Enabled"; empty for a queue in order
	Reason string // may be empty
	Try    string // the command that repairs the resource; may be empty
	// The messages of a queue: Messages can be received, InFlight were received, Delayed have a
	// delay.
	Messages, InFlight, Delayed int
	// AtOnce is how many functions an event source may run at once.
	AtOnce int
	// The time limit of a function in seconds, and its variables.
	TimeLimit int
	Variables map[string]string
	// Throttled reports that a function may not run: no concurrency is reserved for it.
	Throttled bool
}

// Refused is an error that AWS responded with.
type Refused struct{ Code, Message string }

// Error implements error.
func (r *Refused) Error() string { return r.Code + ": " + r.Message }
