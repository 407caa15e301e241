package stack_test

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/jobs"
)

const (
	// fnfKey and fnfSecret are a client's of the vendor's API.
	fnfKey, fnfSecret = "a-client", "the-secret-of-a-client"
	// signingSecret is what callbacks are signed with.
	signingSecret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
)

// withJobs makes what a stack is told of by its parameters: the rights to start
// and describe jobs, the least that the table of kinds knows, and secrets.
func withJobs(ctx context.Context, config aws.Config, name string) (parameters []string, err error) {
	const here = emulator.Region + ":" + emulator.Account
	parameters = []string{
		"BatchEvents=on", "DmsEvents=on", "StepFunctionsEvents=on", "TranscribeEvents=on", "EventSource=jobs." + name,
		"StateMachines=arn:aws:states:" + here + ":stateMachine:" + name + "-copies",
		"DurableFunctions=arn:aws:lambda:" + here + ":function:" + name + "-durable",
	}
	policy, err := newJobPolicy(ctx, config, name)
	if err != nil {
		return nil, err
	}
	parameters = append(parameters, "JobPolicies="+policy)
	for parameter, text := range map[string]string{"FnfKeys": `{"` + fnfKey + `":"` + fnfSecret + `"}`, "CallbackSecret": signingSecret} {
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

func newJobPolicy(ctx context.Context, config aws.Config, name string) (arn string, err error) {
	var statements []jobs.Statement
	for _, kind := range jobs.Kinds() {
		for _, statement := range kind.Statements(emulator.Account, emulator.Region) {
			if kind.Service != "sfn" {
				statement.Resource = []string{"*"} // the emulator knows no resources of the other services
			}
			statements = append(statements, statement)
		}
	}
	document, err := json.Marshal(map[string]any{"Version": "2012-10-17", "Statement": statements})
	if err != nil {
		return "", err
	}
	made, err := iam.NewFromConfig(config).CreatePolicy(ctx, &iam.CreatePolicyInput{
		PolicyName: aws.String(name + "-jobs"), PolicyDocument: aws.String(string(document)),
	})
	if err != nil {
		return "", err
	}
	return *made.Policy.Arn, nil
}
