package fdl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/flow/document"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/token"
)

// ErrorAll in the errors of a policy or an entry matches every error.
const ErrorAll = "FnF.ALL"

// matches implements [flow.Flow.Matches].
func matches(name string, failure token.Outcome) bool {
	return name == ErrorAll || failure.Matches(name)
}

// errorNames are the errors of Waitless and of calls; waitless docs errors explains them. Functions
// use names of their own, but none that begins with "FnF." or "Token.".
var errorNames = []string{
	ErrorAll, "FnF.TaskTimeout", "FnF.TaskInterrupted", "FnF.InvalidLocal", "FnF.InvalidArgument", "FnF.InvalidOutput", "FnF.ConditionNotMet",
	"FnF.Failed", "FnF.Stopped", "FnF.ExecutionTimeout", "FnF.DataLimitExceeded", "FnF.EventLimitExceeded", "FnF.DepthLimitExceeded",
	"FnF.SubflowLimitExceeded", "FnF.ToleranceExceeded", "FnF.FlowPaused", "FnF.InternalError", "Token.Revoked",
	"fnf.ExecutionAlreadyExists", "fnf.ExecutionNotExists", "fnf.FlowNotExists", "fnf.InvalidArgument",
	"FC.ResourceThrottled", "FC.ResourceExhausted", "FC.InternalServerError", "FC.Unknown", "FC.Unreachable", "FC.FunctionError",
	"FC.FunctionNotFound", "FC.AccessDenied", "FC.InvalidArgument",
}

// checkErrorName warns of a name that matches no error, or hardly any. The flow of a sub-flow may
// fail with any name.
func (p *parser) checkErrorName(n *document.Node, name string, resource flow.Resource) {
	if name != ErrorAll && (strings.EqualFold(name, ErrorAll) || slices.Contains([]string{"*", "ALL", "all"}, name)) {
		p.warn(n.Pos, "error name %q matches no other name; did you mean %q, which matches every error?", name, ErrorAll)
		return
	}
	prefix, rest, hasPrefix := strings.Cut(name, ".")
	if !hasPrefix || slices.Contains(errorNames, name) {
		return
	}
	alike := slices.DeleteFunc(slices.Clone(errorNames), func(known string) bool { return !strings.HasPrefix(known, prefix+".") })
	all := slices.Concat(alike, errorNames)
	if prefix == "FnF" || prefix == "Token" {
		meant := ""
		if len(p.Problems) < flow.MaxProblems { // comparing many names takes long
			meant = similar.DidYouMean(name, all)
			lacksPrefix := func(known string) bool { return rest != "" && strings.HasSuffix(known, rest) } // FnF.Timeout
			if i := slices.IndexFunc(all, lacksPrefix); meant == "" && i >= 0 {
				meant = fmt.Sprintf("; did you mean %q?", all[i])
			}
		}
		if meant != "" || !resource.Subflow {
			p.warn(n.Pos, "error name %q is unknown%s (errors of Waitless: %s)", document.Shortened(name), meant, strings.Join(alike, ", "))
		}
		return
	}
	const typos = 2
	if meant := similar.Within(typos, name, all); meant != "" {
		p.warn(n.Pos, "error name %q is unknown; did you mean %q?", name, meant)
	}
}
