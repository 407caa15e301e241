package jobs

import (
	"encoding/json"
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

// Statements are the least rights that starting and describing this kind takes,
// empty where no service stands behind it. "*" stands for every account or region.
func (k Kind) Statements(account, region string) []Statement {
	arns := strings.NewReplacer("REGION", region, "ACCOUNT", account)
	var statements []Statement
	for _, right := range k.row.rights {
		resources := []string{"*"}
		if right.resources != nil {
			resources = nil
		}
		for _, resource := range right.resources {
			resources = append(resources, "arn:"+partition(region)+":"+arns.Replace(resource))
		}
		statements = append(statements, Statement{Effect: "Allow", Action: []string{right.action}, Resource: resources})
	}
	return statements
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
