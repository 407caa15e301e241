package jobs

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// Patterns are the patterns of the rules that catch the ends of jobs, one a
// source of events: final statuses only, so that no rule starts work for each
// step of each job of the account.
func Patterns() map[string]json.RawMessage {
	patterns := map[string]json.RawMessage{}
	for _, kind := range rows {
		if kind.Source != "" {
			patterns[kind.Source] = kind.pattern()
		}
	}
	return patterns
}

func (k Kind) pattern() json.RawMessage {
	member := strings.TrimPrefix(string(k.row.event.status), "detail.")
	return object(
		"detail", map[string]any{member: k.row.finalStatuses()},
		"detail-type", []string{k.DetailType},
		"source", []string{k.Source},
	)
}

// finalStatuses are those of events.
func (r *row) finalStatuses() []string {
	final := slices.Concat(r.success, r.failure, r.stopped)
	if r.words != nil {
		final = nil
		for status := range r.words {
			final = append(final, status)
		}
	}
	slices.Sort(final)
	return final
}

// Statement is one of an IAM policy.
type Statement struct {
	Effect   string
	Action   []string
	Resource []string
}

// StartStatements returns the least rights that starting this kind takes, none
// without a service. A resource replaces the wildcards that match it.
func (k Kind) StartStatements(account, region string, resources ...string) []Statement {
	return statementsOf(k.row.starting, account, region, resources)
}

// DescribeStatements returns the least rights that describing this kind takes,
// none for a kind that has no end. They start nothing.
func (k Kind) DescribeStatements(account, region string, resources ...string) []Statement {
	return statementsOf(k.row.describing, account, region, resources)
}

// Grants reports whether a right of this kind can be for the resource, an ARN.
func (k Kind) Grants(arn string) bool {
	for _, right := range slices.Concat(k.row.starting, k.row.describing) {
		for _, pattern := range right.resources {
			if matches(pattern, arn) {
				return true
			}
		}
	}
	return false
}

func statementsOf(rights []right, account, region string, given []string) []Statement {
	var statements []Statement
	for _, right := range rights {
		statements = append(statements, Statement{
			Effect: "Allow", Action: []string{right.action}, Resource: right.arns(account, region, given),
		})
	}
	return statements
}

// arns returns what the right is for: of each pattern the given ARNs that it
// matches, or the pattern itself.
func (r right) arns(account, region string, given []string) []string {
	if r.resources == nil {
		return []string{"*"}
	}
	places := strings.NewReplacer("REGION", region, "ACCOUNT", account)
	var arns []string
	for _, pattern := range r.resources {
		named := slices.DeleteFunc(slices.Clone(given), func(arn string) bool { return !matches(pattern, arn) })
		if len(named) == 0 {
			named = []string{"arn:" + partition(region) + ":" + places.Replace(pattern)}
		}
		arns = append(arns, named...)
	}
	return arns
}

// matches reports whether an ARN is one of the pattern, in any partition, region
// and account.
func matches(pattern, arn string) bool {
	form := strings.NewReplacer(`REGION`, `[^:]+`, `ACCOUNT`, `[^:]+`, `\*`, `.+`).Replace(regexp.QuoteMeta(pattern))
	return regexp.MustCompile("^arn:[^:]+:" + form + "$").MatchString(arn)
}

// partition is the part of AWS that a region is in.
func partition(region string) string {
	switch {
	case strings.HasPrefix(region, "cn-"):
		return "aws-cn"
	case strings.HasPrefix(region, "us-gov-"):
		return "aws-us-gov"
	default:
		return "aws"
	}
}
