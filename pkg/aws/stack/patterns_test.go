package stack_test

import (
	"regexp"
	"testing"
)

const (
	aPolicy   = "arn:aws:iam::123456789012:policy/team/start-jobs"
	aRole     = "arn:aws:iam::123456789012:role/operator"
	aQueue    = "arn:aws:sqs:eu-west-1:123456789012:orders"
	aSecret   = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:team/keys-AbCdEf"
	aFunction = "arn:aws:lambda:eu-west-1:123456789012:function:greet"
	aMachine  = "arn:aws:states:eu-west-1:123456789012:stateMachine:orders"
	aKey      = "arn:aws:kms:eu-west-1:123456789012:key/12345678-90ab-cdef-1234-567890abcdef"
)

// examples are values that the pattern of a parameter accepts and rejects, by the name of the
// parameter. A value that a pattern rejects fails before the deployment changes anything; others
// fail in the middle of it, or at run time.
var examples = map[string]struct{ accepted, rejected []string }{
	"Options": {
		[]string{"", "jobs", "status-events,backups", "debug, format-2"},
		[]string{"alarms", "jobs,", "jobs backups", "on"},
	},
	"FunctionNames": {
		[]string{"", "Greet=greet", "orders/Greet=" + aFunction + ":live, Bill=bill"},
		[]string{"Greet", "Greet=", "Greet=greet,", "Greet=a=b", "Greet=greet;Bill=bill"},
	},
	"CallableFunctions": {
		[]string{"", aFunction, aFunction + ":live, " + aFunction, "arn:aws:lambda:*:123456789012:function:orders-*", "arn:aws-cn:lambda:cn-north-1:1:function:f?"},
		[]string{"greet", "*", aFunction + ",", aFunction + " " + aFunction, aQueue, "arn:aws:lambda:eu-west-1:123456789012:layer:greet"},
	},
	"JobPolicies":      policyExamples,
	"DescribePolicies": policyExamples,
	"ActionPolicies":   policyExamples,
	"JobEvents": {
		[]string{"", "aws.batch", "aws.batch,aws.dms", "aws.batch, aws.states"},
		[]string{"batch", "aws.batch,", "aws.batch aws.dms", "aws.nosuch", "aws.*"},
	},
	"JobAccounts": {[]string{"", "123456789012", "123456789012, 210987654321"}, []string{"1", "123456789012,", "123456789012 210987654321", "a"}},
	"StateMachines": {
		[]string{"", aMachine, aMachine + ", " + aMachine + "-*"},
		[]string{"orders", "*", aMachine + ",", "arn:aws:states:*:123456789012:stateMachine:orders", "arn:aws:states:eu-west-1:123456789012:execution:orders:1"},
	},
	"DurableFunctions": {
		[]string{"", aFunction, aFunction + ", " + aFunction + "-2"},
		[]string{"greet", "*", aFunction + ":1", aFunction + ",", aMachine},
	},
	// What stands behind the host would be missing from the routes.
	"CallbackUrl": {
		[]string{"", "https://callbacks.example.com", "https://localhost:8443"},
		[]string{"https://a b", "https://me@example.com", "https://example.com/", "https://example.com/flows", "http://example.com", "example.com", "https://"},
	},
	"Domain": {
		[]string{"", "callbacks.example.com", "a-b.c1.example"},
		[]string{
			"https://callbacks.example.com", "callbacks", "Callbacks.example.com", "*.example.com", "-a.example.com", "callbacks.example.com/",
			"a..example.com",
		},
	},
	"Certificate": {
		[]string{"", "arn:aws:acm:eu-west-1:123456789012:certificate/12345678-90ab-cdef-1234-567890abcdef"},
		[]string{"12345678", "arn:aws:iam::123456789012:server-certificate/example", "arn:aws:acm:eu-west-1:123456789012:certificate/*"},
	},
	"CallbackSecret": secretExamples,
	"FnfKeys":        secretExamples,
	"SfnKeys":        secretExamples,
	"NotifySecret":   secretExamples,
	"Notify": {
		[]string{"", aSecret, aQueue, "arn:aws-cn:events:cn-north-1:123456789012:event-bus/default"},
		[]string{"https://example.com/hooks", "orders", aQueue + "*", aQueue + "," + aQueue, aFunction},
	},
	// The role that sends notices may send to each of them: a pattern would also allow the queues
	// of the stack itself.
	"NotifyTargets": {
		[]string{
			"", aQueue, aQueue + "," + aQueue, aQueue + ".fifo", "arn:aws-us-gov:sns:us-gov-west-1:123456789012:a_b",
			"arn:aws-cn:events:cn-north-1:123456789012:event-bus/default",
		},
		[]string{
			"*", aQueue + ",*", aQueue + ",", aQueue + "*", aQueue + "?", "arn:aws:sqs:*:123456789012:a", "arn:aws:sqs:eu-west-1:*:a", aFunction,
			"arn:aws:sns:eu-west-1:123456789012:a:b", "arn:aws:sqs:evil.example/:123456789012:a", "https://example.com",
		},
	},
	"KmsKey": {
		[]string{"", aKey, "arn:aws-cn:kms:cn-north-1:123456789012:key/mrk-1234"},
		[]string{"alias/team", "arn:aws:kms:eu-west-1:123456789012:alias/team", aKey + "/*", "*"},
	},
	"AlarmTopic": {
		[]string{"", "arn:aws:sns:eu-west-1:123456789012:alarms"},
		[]string{"alarms", "arn:aws:sns:eu-west-1:123456789012:alarms.fifo", aQueue},
	},
}

type exampleValues = struct{ accepted, rejected []string }

var (
	policyExamples = exampleValues{
		[]string{"", aPolicy, aPolicy + ", arn:aws:iam::aws:policy/AWSBatchFullAccess", aPolicy + "," + aPolicy},
		[]string{"start-jobs", "*", aPolicy + ",", aPolicy + " " + aPolicy, aRole, "arn:aws:iam::123456789012:policy/*"},
	}
	secretExamples = exampleValues{[]string{"", aSecret}, []string{"keys", "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3", aSecret + "*", aSecret + "," + aSecret, aKey}}
)

// Each parameter that is not a choice has a pattern, or bounds, and says what it accepts.
func TestParametersHavePatterns(t *testing.T) {
	t.Parallel()
	for name, p := range readTemplate(t).Parameters {
		values, listed := examples[name]
		switch {
		case len(p.AllowedValues) > 0:
			if listed {
				t.Errorf("%s has allowed values and no pattern", name)
			}
			continue
		case p.Constraint == "":
			t.Errorf("%s has no ConstraintDescription", name)
		case p.Type == "Number":
			if p.MinValue == nil || p.MaxValue == nil || *p.MinValue >= *p.MaxValue {
				t.Errorf("%s has no bounds", name)
			}
			continue
		}
		if p.Pattern == "" || len(values.accepted) == 0 || len(values.rejected) == 0 {
			t.Errorf("%s: the pattern is %q, with %d accepted and %d rejected examples", name, p.Pattern, len(values.accepted), len(values.rejected))
			continue
		}
		pattern := regexp.MustCompile(p.Pattern)
		for _, value := range append(values.accepted, p.Default) {
			if !pattern.MatchString(value) {
				t.Errorf("%s rejects %q", name, value)
			}
		}
		for _, value := range values.rejected {
			if pattern.MatchString(value) {
				t.Errorf("%s accepts %q", name, value)
			}
		}
	}
}
