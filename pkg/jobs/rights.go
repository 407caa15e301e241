package jobs

import (
	"regexp"
	"slices"
	"strings"
)

// rights are the least rights that a kind needs.
type rights struct{ start, describe []right }

// right is an action of IAM with the resources that it is for: ARNs without their partition. They are
// nil if the service knows no resources for the action.
type right struct {
	action    string
	resources []string
}

// Statement is a statement of an IAM policy.
type Statement struct {
	Effect   string
	Action   []string
	Resource []string
}

// StartStatements returns the least rights for starting jobs of this kind. A resource replaces the
// wildcards that match it.
func (k Kind) StartStatements(account, region string, resources ...string) []Statement {
	return statementsOf(k.rights.start, account, region, resources)
}

// DescribeStatements returns the least rights for describing jobs of this kind, none if the kind has no
// end. They start nothing.
func (k Kind) DescribeStatements(account, region string, resources ...string) []Statement {
	return statementsOf(k.rights.describe, account, region, resources)
}

// Grants reports whether a right of this kind can be for the resource, an ARN.
func (k Kind) Grants(arn string) bool {
	for _, right := range slices.Concat(k.rights.start, k.rights.describe) {
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
