package lambda

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/flow"
)

// Names says which Lambda function a resource names. Of a Function Compute
// resource it reads service, qualifier and function, so flows keep the region
// and the account of the cloud that they come from.
type Names struct {
	// Stack begins the names of the functions that flows may call by default: function f is Lambda
	// <stack>_f. The name of a stack has no underscore, so the functions of no other stack begin
	// so.
	Stack string
	// OldNames makes function f Lambda <stack>-f, as release 0.1.0 did.
	OldNames bool
	// Functions are other Lambda functions, by name or ARN, with a qualifier
	// or without. The key is "function" or, which goes first,
	// "service/function".
	Functions map[string]string
	// Callable are the ARNs of more functions that flows may name by ARN. They have
	// wildcards as IAM has them: * for any characters, ? for one, each within one
	// part of the ARN. A wildcard never covers a service function of a stack.
	Callable []string
}

// synonyms are the names of the same two functions in the job poller sample of AWS Step Functions.
var synonyms = map[string]string{"SubmitJob": "StartJob", "CheckJob": "GetJobStatus"}

// target names a function as Lambda's API does.
type target struct {
	name      string // or ARN
	qualifier string // empty for none
}

// Services are the functions of a stack that no flow may call. Only flows of the same stack may
// call the starters. These and echo come with the stack, as <stack>-<name>.
var (
	Services = []string{"api", "callback", "fnf", "interpreter", "janitor", "jobevents", "sfn", "taskrunner"}
	starters = []string{"StartJob", "GetJobStatus", "CallService"}
)

// isReserved reports whether the function <stack>-<name> may be a service function of this stack,
// or a service function or a starter of another stack. The other stack's name then begins with this
// one's.
func isReserved(name string) bool {
	ends := func(end string) bool { return strings.HasSuffix(name, "-"+end) }
	return slices.Contains(Services, name) || slices.ContainsFunc(Services, ends) || slices.ContainsFunc(starters, ends)
}

// isStarter reports whether a function is a starter of this stack.
func (n Names) isStarter(function target) bool {
	name := function.name[strings.LastIndexByte(function.name, ':')+1:]
	short, isOwn := strings.CutPrefix(name, n.Stack+"-")
	return isOwn && n.Stack != "" && slices.Contains(starters, short)
}

// resolve returns the Lambda function of the resource, or an error if flows may not call it.
func (n Names) resolve(r flow.Resource) (target, error) {
	if r.Qualifier == "LATEST" { // is Function Compute's name for no version
		r.Qualifier = ""
	}
	mapped, ok := n.Functions[r.Service+"/"+r.Function]
	if !ok {
		mapped, ok = n.Functions[r.Function]
	}
	if ok {
		const ofARN = 6 // colons in arn:aws:lambda:region:account:function:name
		if colons := strings.Count(mapped, ":"); colons == 1 || colons > ofARN {
			r.Qualifier = "" // the name has its own
		}
		return target{mapped, r.Qualifier}, nil
	}
	if r.Kind == "" && strings.HasPrefix(r.Text, "arn:") { // of a job the ARN is not the function's
		return n.byARN(r)
	}
	if n.Stack == "" || isReserved(r.Function) {
		return target{}, n.refused(r)
	}
	name := cmp.Or(synonyms[r.Function], r.Function)
	full := n.Stack + n.separator(name) + name
	if len(full) > maxName {
		return target{}, fmt.Errorf("function %s is Lambda function %s, which has %d characters and the limit is %d; shorten it, or name another in FunctionNames",
			r.Function, full, len(full), maxName)
	}
	return target{full, r.Qualifier}, nil
}

// maxName is the most characters of the name of a Lambda function.
const maxName = 64

// separator returns the text between the stack and the name of a function.
func (n Names) separator(name string) string {
	if n.OldNames || name == "echo" || slices.Contains(starters, name) {
		return "-"
	}
	return "_"
}

// byARN takes the ARN as it is, unless it leaves open where the function is.
func (n Names) byARN(r flow.Resource) (target, error) {
	arn := r.Text
	if r.Qualifier != "" {
		arn = strings.TrimSuffix(arn, ":"+r.Qualifier)
	}
	short, isOld := strings.CutPrefix(r.Function, n.Stack+"-")
	isOld = isOld && !isReserved(short) && n.separator(short) == "-"
	own := n.Stack != "" && (isOld || strings.HasPrefix(r.Function, n.Stack+"_")) // flows may call these by default
	const parts = 7                                                               // arn:aws:lambda:region:account:function:name
	named := slices.ContainsFunc(n.Callable, func(callable string) bool {
		if !strings.ContainsAny(callable, "*?") {
			return callable == arn
		}
		return !isReserved(r.Function) && slices.EqualFunc(strings.SplitN(callable, ":", parts), strings.SplitN(arn, ":", parts), glob)
	})
	for _, name := range n.Functions {
		named = named || name == arn || name == r.Function
	}
	switch {
	case !own && !named:
		return target{}, n.refused(r)
	case strings.Contains(arn, "::"):
		return target{r.Function, r.Qualifier}, nil
	}
	return target{arn, r.Qualifier}, nil
}

// glob reports whether the pattern, with * and ?, matches all of the text.
func glob(pattern, text string) bool {
	quoted := regexp.QuoteMeta(pattern)
	quoted = strings.ReplaceAll(strings.ReplaceAll(quoted, `\*`, ".*"), `\?`, ".")
	matched, err := regexp.MatchString("^"+quoted+"$", text)
	return err == nil && matched
}

func (n Names) refused(r flow.Resource) error {
	allowed := slices.Concat(slices.Sorted(maps.Keys(n.Functions)), n.Callable)
	if n.Stack != "" {
		allowed = append(allowed, n.Stack+"_*")
	}
	if n.Stack != "" && n.OldNames {
		allowed = append(allowed, n.Stack+"-*")
	}
	why := ""
	if own, _ := strings.CutPrefix(r.Function, n.Stack+"-"); isReserved(own) {
		why = ", which has the name of a service function of a stack; if it is yours, name it in FunctionNames and CallableFunctions"
	}
	return fmt.Errorf("flows may not call function %s%s; allowed: %s", r.Function, why, strings.Join(allowed, ", "))
}
