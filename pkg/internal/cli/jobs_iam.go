package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/jobs"
)

// policyReport is the JSON of jobs iam; schema/policy.json describes it.
type policyReport struct {
	Kind     string  `json:"kind"`
	Start    *policy `json:"start"`
	Describe *policy `json:"describe,omitempty"` // nil for a kind that has no end
	Stop     *policy `json:"stop,omitempty"`     // nil for a kind that cannot be stopped
}

// policy is one of IAM.
type policy struct {
	Version   string
	Statement []jobs.Statement
}

// jobsPlace has the account, the region and the resources of the policies.
type jobsPlace struct {
	account, region string
	resources       []string
}

func jobsIAMCommand(c Command) *cobra.Command {
	var place jobsPlace
	cmd := helpOf("jobs iam", arguments(1, 1))
	flags := cmd.Flags()
	flags.StringVar(&place.account, "account", "", "the account of the jobs, 12 digits")
	flags.StringVar(&place.region, "region", "", "the region of the jobs")
	flags.StringArrayVar(&place.resources, "resource", nil, "an ARN that the rights are for (repeat for several)")
	return c.plain(cmd, func(ctx context.Context, args []string) (view.Result, error) {
		name := args[0]
		if kind, isAction := jobs.ForAction(name); isAction {
			name = kind.Name
		}
		if _, isKind := jobs.Find(name); !isKind && strings.Contains(name, ":") {
			return c.operationPolicy(name, place.resources)
		}
		kind, err := findKind(name)
		if err != nil {
			return view.Result{}, err
		}
		if place, err = c.completePlace(ctx, kind, place); err != nil {
			return view.Result{}, err
		}
		report := policyReport{Kind: kind.Name, Start: policyOf(kind.StartStatements(place.account, place.region, place.resources...))}
		report.Describe = policyOf(kind.DescribeStatements(place.account, place.region, place.resources...))
		report.Stop = policyOf(kind.StopStatements(place.account, place.region, place.resources...))
		text := "start (JobPolicies):\n" + report.Start.text()
		switch {
		case report.Describe == nil:
			text += "describe (DescribePolicies): none, a message has no end\n"
		case report.Stop == nil:
			text += "describe (DescribePolicies):\n" + report.Describe.text() + "stop (DescribePolicies): none, the service cannot stop such a job\n"
		default:
			text += "describe (DescribePolicies):\n" + report.Describe.text() + "stop, for stopJob (DescribePolicies):\n" + report.Stop.text()
		}
		return view.Result{Form: "policy", JSON: report, Text: text}, nil
	})
}

// operationPolicy shows the right to call an operation, "dynamodb:PutItem", for some resources or
// for all.
func (c Command) operationPolicy(operation string, resources []string) (view.Result, error) {
	if c.Right == nil {
		return view.Result{}, view.Usage("this program was built without AWS", tryComplete)
	}
	action, err := c.Right(operation)
	if err != nil {
		return view.Result{}, view.Usage(err.Error(), "waitless docs actions")
	}
	notes := ""
	service, _, _ := strings.Cut(action, ":")
	for _, resource := range resources {
		parts := strings.SplitN(resource, ":", 6)
		switch {
		case resource == "*":
		case len(parts) < 6 || parts[0] != "arn":
			return view.Result{}, view.Usage(fmt.Sprintf("--resource %q is no ARN", resource),
				"--resource arn:PARTITION:SERVICE:REGION:ACCOUNT:RESOURCE, or leave it out")
		case parts[2] != service: // some actions have such resources: a right of ssm is for instances of ec2
			notes += view.Line("note: %s is of %s, and %s a right of %s: does the action have such resources?", resource, parts[2], action, service)
		}
	}
	if len(resources) == 0 {
		resources = []string{"*"}
	}
	report := policyReport{Kind: operation, Start: policyOf([]jobs.Statement{{Effect: "Allow", Action: []string{action}, Resource: resources}})}
	return view.Result{Form: "policy", JSON: report, Text: "call (ActionPolicies):\n" + report.Start.text() + notes}, nil
}

// policyOf returns nil for no statement.
func policyOf(statements []jobs.Statement) *policy {
	if statements == nil {
		return nil
	}
	return &policy{"2012-10-17", statements}
}

func (p *policy) text() string {
	text, _ := json.MarshalIndent(p, "", "  ") // it has only texts
	return string(text) + "\n"
}

var (
	accountForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]{12}$`) })
	regionForm  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9]+$`) })
)

// completePlace checks the user's values and adds the values that the resources or the AWS
// configuration name. An unknown account or region is an error: a policy with * in its place would
// be for other accounts and regions, too.
func (c Command) completePlace(ctx context.Context, kind jobs.Kind, p jobsPlace) (jobsPlace, error) {
	for _, arn := range p.resources {
		if !kind.Grants(arn) {
			why := fmt.Sprintf("--resource %q is no ARN that a right of this kind can be for", arn)
			return p, view.Usage(why, "waitless jobs iam "+kind.Name+", without --resource, which shows the forms")
		}
		parts := strings.Split(arn, ":") // arn, partition, service, region, account, resource
		p.region, p.account = cmp.Or(p.region, parts[3]), cmp.Or(p.account, parts[4])
	}
	if p.account == "" || p.region == "" {
		account, err := c.openAWS(ctx, true)
		if err != nil {
			return p, err
		}
		p.region, p.account = cmp.Or(p.region, account.Region()), cmp.Or(p.account, c.Getenv("AWS_ACCOUNT_ID"))
		if p.account == "" && c.Getenv("AWS_ACCESS_KEY_ID") == "" { // credentials of the environment go before a profile
			p.account = account.Account()
		}
	}
	switch {
	case p.account == "":
		return p, view.Usage("no account is configured", "--account 123456789012")
	case p.region == "":
		return p, view.Usage("no region is configured", "--region eu-west-1")
	case !accountForm().MatchString(p.account):
		return p, view.Usage(fmt.Sprintf("account %q is not 12 digits", p.account), "--account 123456789012")
	case !regionForm().MatchString(p.region):
		return p, view.Usage(fmt.Sprintf("%q is not a region of AWS", p.region), "--region eu-west-1")
	}
	return p, nil
}
