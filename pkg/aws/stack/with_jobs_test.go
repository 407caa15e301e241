package stack_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/jobs"
)

const (
	// fnfKey and fnfSecret are a client's of the signed APIs.
	fnfKey, fnfSecret = "a-client", "the-secret-of-a-client-of-24"
	// readerKey is that of a client that may read and start, with the same secret.
	readerKey = "a-reader"
	fnfKeys   = `{"` + fnfKey + `":"` + fnfSecret + `","` + readerKey + `":{"secret":"` + fnfSecret + `","actions":["read","StartExecution"]}}`
	// The secrets that senders sign callbacks with.
	signingSecret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=" // of the default sender
	acmeSecret    = "whsec_YWNtZSBzaWducyBjYWxsYmFja3Mgd2l0aCB0aGlzLi4="
	globexSecret  = "whsec_Z2xvYmV4IHNpZ25zIGNhbGxiYWNrcyB3aXRoIGl0Lg=="

	callbackSecrets = `{"default":"` + signingSecret + `","acme":"` + acmeSecret + `","globex":"` + globexSecret + `"}`
)

// withJobs makes what a stack is told of by its parameters: the rights to start
// and describe jobs, the least that the table of kinds knows, and secrets.
func withJobs(ctx context.Context, config aws.Config, name string) (parameters []string, err error) {
	parameters = []string{
		`JobEvents="` + strings.Join(jobs.Sources(), ",") + `"`, "EventSource=jobs." + name, "EventBus=" + busOf(name),
		"JobAccounts=" + otherAccount, "JobRole=" + jobRoleOf(name),
		"NotifyTargets=" + toldQueue(name),
		`StateMachines="` + strings.Join(machinesOf(name), ", ") + `"`,
		`DurableFunctions="` + strings.Join(durableFunctionsOf(name), ", ") + `"`,
	}
	if err := newJobRole(ctx, config, name); err != nil {
		return nil, err
	}
	if _, err := eventbridge.NewFromConfig(config).CreateEventBus(ctx, &eventbridge.CreateEventBusInput{Name: aws.String(busOf(name))}); err != nil {
		return nil, err
	}
	custom, err := newCustomKind(ctx, config, name)
	if err != nil {
		return nil, err
	}
	parameters = append(parameters, custom...)
	topic, err := newJobTopic(ctx, config, name)
	if err != nil {
		return nil, err
	}
	parameters = append(parameters, "JobTopic="+topic)
	for parameter, statements := range map[string]func(jobs.Kind) []jobs.Statement{"JobPolicies": starting, "DescribePolicies": describingAndStopping(name)} {
		policy, err := newJobPolicy(ctx, config, name, parameter, statements)
		if err != nil {
			return nil, err
		}
		parameters = append(parameters, parameter+"="+policy)
	}
	policy, err := newActionPolicy(ctx, config, name)
	if err != nil {
		return nil, err
	}
	parameters = append(parameters, "ActionPolicies="+policy)
	for parameter, text := range map[string]string{"FnfKeys": fnfKeys, "SfnKeys": fnfKeys, "CallbackSecret": callbackSecrets, "NotifySecret": signingSecret} {
		made, err := secretsmanager.NewFromConfig(config).CreateSecret(ctx, &secretsmanager.CreateSecretInput{
			Name: aws.String(name + "-" + strings.ToLower(parameter)), SecretString: &text,
		})
		if err != nil {
			return nil, err
		}
		parameters = append(parameters, parameter+"="+*made.ARN)
	}
	return parameters, nil
}

// busOf is the event bus of the source of the user's own.
func busOf(name string) string { return name + "/jobs" }

// machinesOf are the state machines that the stack of that name answers.
func machinesOf(name string) []string {
	const arn = "arn:aws:states:" + emulator.Region + ":" + emulator.Account + ":stateMachine:"
	return []string{arn + name + "-copies", arn + name + "-others"}
}

// durableFunctionsOf are the durable functions that it answers.
func durableFunctionsOf(name string) []string {
	const arn = "arn:aws:lambda:" + emulator.Region + ":" + emulator.Account + ":function:"
	return []string{arn + name + "-durable", arn + name + "-second-durable"}
}

// A list of a parameter may have spaces behind its commas.
func TestListsOfParametersHaveSpaces(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	versions := durableFunctionsOf(s.name)
	for i := range versions {
		versions[i] += ":*"
	}
	want := map[string][]string{"AnswerTasks": machinesOf(s.name), "AnswerCallbacks": versions}
	for _, p := range policiesOf(t, s) {
		for _, statement := range p.statements {
			if resources, ok := want[statement.Sid]; ok && !slices.Equal(statement.Resource, resources) {
				t.Errorf("%s is for %q, want %q", statement.Sid, statement.Resource, resources)
			}
			delete(want, statement.Sid)
		}
	}
	for sid := range want {
		t.Errorf("no role has a statement %s", sid)
	}
}

func starting(kind jobs.Kind) []jobs.Statement {
	return kind.StartStatements(emulator.Account, emulator.Region)
}

func describing(kind jobs.Kind) []jobs.Statement {
	return kind.DescribeStatements(emulator.Account, emulator.Region)
}

// stoppable begins the names of the state machines whose executions the stack of that name may
// stop.
func stoppable(name string) string { return name + "-stoppable" }

// describingAndStopping are the statements of DescribePolicies, with what `jobs iam sfn-execution
// --resource ARN` prints for stop.
func describingAndStopping(name string) func(jobs.Kind) []jobs.Statement {
	executions := "arn:aws:states:" + emulator.Region + ":" + emulator.Account + ":execution:" + stoppable(name) + "*"
	return func(kind jobs.Kind) []jobs.Statement {
		if kind.Name != "sfn-execution" {
			return describing(kind)
		}
		return append(describing(kind), kind.StopStatements(emulator.Account, emulator.Region, executions)...)
	}
}

func newJobPolicy(ctx context.Context, config aws.Config, name, parameter string, of func(jobs.Kind) []jobs.Statement) (arn string, err error) {
	var statements []jobs.Statement
	for _, kind := range jobs.Kinds() {
		for _, statement := range of(kind) {
			if !slices.Contains([]string{"sfn", "sns", "sqs"}, kind.Service) {
				statement.Resource = []string{"*"} // the emulator knows no resources of the other services
			}
			if statement.Effect == "Allow" && slices.Equal(statement.Action, []string{"sqs:SendMessage"}) {
				// and no queue of the stack's own
				statement.Resource = []string{"arn:aws:sqs:" + emulator.Region + ":" + emulator.Account + ":" + name + "-orders*"}
			}
			statements = append(statements, statement)
		}
	}
	document, err := json.Marshal(map[string]any{"Version": "2012-10-17", "Statement": statements})
	if err != nil {
		return "", err
	}
	made, err := iam.NewFromConfig(config).CreatePolicy(ctx, &iam.CreatePolicyInput{
		PolicyName: aws.String(name + "-" + parameter), PolicyDocument: aws.String(string(document)),
	})
	if err != nil {
		return "", err
	}
	return *made.Policy.Arn, nil
}
