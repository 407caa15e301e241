package jobs

import (
	"regexp"
	"slices"
	"strings"
)

// rights are the least rights that a kind needs.
type rights struct {
	start, describe, stop []right
	roleTo                string // the service that a start gives a role to, which the job runs with; empty if it gives none
}

// right is an action of IAM with the resources that it is for: ARNs without their partition. They
// are nil if the service knows no resources for the action.
type right struct {
	action    string
	resources []string
}

var passRole = right{"iam:PassRole", []string{"iam::ACCOUNT:role/*"}}

// Statement is a statement of an IAM policy.
type Statement struct {
	Effect    string
	Action    []string
	Resource  []string
	Condition map[string]map[string]string `json:",omitempty"`
}

// StartStatements returns the least rights for starting jobs of this kind. A resource replaces the
// wildcards that match it.
func (k Kind) StartStatements(account, region string, resources ...string) []Statement {
	statements := statementsOf(k.rights.start, account, region, resources)
	if k.rights.roleTo == "" {
		return statements
	}
	pass := statementsOf([]right{passRole}, account, region, resources)
	pass[0].Condition = map[string]map[string]string{"StringEquals": {"iam:PassedToService": k.rights.roleTo}}
	return append(statements, pass...)
}

// DescribeStatements returns the least rights for describing jobs of this kind, none if the kind
// has no end. They start nothing.
func (k Kind) DescribeStatements(account, region string, resources ...string) []Statement {
	return statementsOf(k.rights.describe, account, region, resources)
}

// StopStatements returns the least rights for stopping jobs of this kind, none if they cannot be
// stopped.
func (k Kind) StopStatements(account, region string, resources ...string) []Statement {
	return statementsOf(k.rights.stop, account, region, resources)
}

// Grants reports whether a right of this kind can be for the resource, an ARN.
func (k Kind) Grants(arn string) bool {
	all := slices.Concat(k.rights.start, k.rights.describe, k.rights.stop)
	if k.rights.roleTo != "" {
		all = append(all, passRole)
	}
	for _, right := range all {
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

// arns returns the resources of the right: for each pattern the given ARNs that match it, or the
// pattern itself.
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

// matches reports whether an ARN matches the pattern, in any partition, region and account.
func matches(pattern, arn string) bool {
	form := strings.NewReplacer(`REGION`, `[^:]+`, `ACCOUNT`, `[^:]+`, `\*`, `.+`).Replace(regexp.QuoteMeta(pattern))
	return regexp.MustCompile("^arn:[^:]+:" + form + "$").MatchString(arn)
}

// partition returns the part of AWS that a region is in.
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
