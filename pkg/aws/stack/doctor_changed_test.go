package stack_test

import (
	"context"
	"maps"
	"net/url"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	schedulertypes "github.com/aws/aws-sdk-go-v2/service/scheduler/types"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/waitless/waitless/pkg/aws/emulator"
)

// changed changes nine resources outside of CloudFormation, each in another way, until the test
// ends.
func changed(t *testing.T, s stack) map[string]string {
	t.Helper()
	for _, change := range []func(ctx context.Context, config aws.Config, s stack) (repair func(context.Context) error, err error){
		withoutExpiry, withoutAttribute("TaskQueue", "RedrivePolicy"), withoutAttribute("PollQueue", "Policy"), withoutSecret, withoutRule,
		withoutSchedule, withoutPolicy, withTimeLimit, withVariable,
	} {
		repair, err := change(t.Context(), emulator.Config(t), s)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := repair(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
	return nil
}

// expire sets whether the items of a table expire.
func expire(ctx context.Context, config aws.Config, table string, on bool) error {
	_, err := dynamodb.NewFromConfig(config).UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: &table, TimeToLiveSpecification: &dynamodbtypes.TimeToLiveSpecification{AttributeName: aws.String("expires"), Enabled: &on},
	})
	return err
}

// expireTables lets the items of the tables expire: the emulator does not read it in the template.
func (s stack) expireTables(t *testing.T) {
	t.Helper()
	for _, table := range []string{"LogTable", "WaitsTable"} {
		if err := expire(t.Context(), emulator.Config(t), s.resources[table], true); err != nil {
			t.Fatal(err)
		}
	}
}

func withoutExpiry(ctx context.Context, config aws.Config, s stack) (func(context.Context) error, error) {
	table := s.resources["WaitsTable"]
	return func(ctx context.Context) error { return expire(ctx, config, table, true) }, expire(ctx, config, table, false)
}

func withoutAttribute(queue, attribute string) func(context.Context, aws.Config, stack) (func(context.Context) error, error) {
	return func(ctx context.Context, config aws.Config, s stack) (func(context.Context) error, error) {
		client, id := sqs.NewFromConfig(config), aws.String(s.resources[queue])
		found, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: id, AttributeNames: []types.QueueAttributeName{"All"}})
		if err != nil {
			return nil, err
		}
		set := func(ctx context.Context, value string) error {
			_, err := client.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: id, Attributes: map[string]string{attribute: value}})
			return err
		}
		return func(ctx context.Context) error { return set(ctx, found.Attributes[attribute]) }, set(ctx, "")
	}
}

func withoutSecret(ctx context.Context, config aws.Config, s stack) (func(context.Context) error, error) {
	client, id := secretsmanager.NewFromConfig(config), aws.String(s.resources["TokenKey"])
	_, err := client.DeleteSecret(ctx, &secretsmanager.DeleteSecretInput{SecretId: id, RecoveryWindowInDays: aws.Int64(7)})
	return func(ctx context.Context) error {
		_, err := client.RestoreSecret(ctx, &secretsmanager.RestoreSecretInput{SecretId: id})
		return err
	}, err
}

func withoutRule(ctx context.Context, config aws.Config, s stack) (func(context.Context) error, error) {
	client, name := eventbridge.NewFromConfig(config), aws.String(s.resources["JobEventsRule1"])
	_, err := client.DisableRule(ctx, &eventbridge.DisableRuleInput{Name: name})
	return func(ctx context.Context) error {
		_, err := client.EnableRule(ctx, &eventbridge.EnableRuleInput{Name: name})
		return err
	}, err
}

func withoutSchedule(ctx context.Context, config aws.Config, s stack) (func(context.Context) error, error) {
	client, name := scheduler.NewFromConfig(config), aws.String(s.resources["JanitorSchedule"])
	found, err := client.GetSchedule(ctx, &scheduler.GetScheduleInput{Name: name})
	if err != nil {
		return nil, err
	}
	set := func(ctx context.Context, state schedulertypes.ScheduleState) error {
		_, err := client.UpdateSchedule(ctx, &scheduler.UpdateScheduleInput{
			Name: name, State: state, ScheduleExpression: found.ScheduleExpression, FlexibleTimeWindow: found.FlexibleTimeWindow, Target: found.Target,
		})
		return err
	}
	return func(ctx context.Context) error { return set(ctx, schedulertypes.ScheduleStateEnabled) }, set(ctx, schedulertypes.ScheduleStateDisabled)
}

func withoutPolicy(ctx context.Context, config aws.Config, s stack) (func(context.Context) error, error) {
	client, role := iam.NewFromConfig(config), aws.String(s.resources["InterpreterRole"])
	policy := aws.String("interpreter")
	found, err := client.GetRolePolicy(ctx, &iam.GetRolePolicyInput{RoleName: role, PolicyName: policy})
	if err != nil {
		return nil, err
	}
	_, err = client.DeleteRolePolicy(ctx, &iam.DeleteRolePolicyInput{RoleName: role, PolicyName: policy})
	return func(ctx context.Context) error {
		document, err := url.QueryUnescape(*found.PolicyDocument)
		if err == nil {
			_, err = client.PutRolePolicy(ctx, &iam.PutRolePolicyInput{RoleName: role, PolicyName: policy, PolicyDocument: &document})
		}
		return err
	}, err
}

func withTimeLimit(ctx context.Context, config aws.Config, s stack) (func(context.Context) error, error) {
	set := func(ctx context.Context, seconds int32) error {
		_, err := lambda.NewFromConfig(config).UpdateFunctionConfiguration(ctx, &lambda.UpdateFunctionConfigurationInput{
			FunctionName: aws.String(s.resources["TaskRunnerFunction"]), Timeout: &seconds,
		})
		return err
	}
	const limit = 900
	return func(ctx context.Context) error { return set(ctx, limit) }, set(ctx, 3)
}

func withVariable(ctx context.Context, config aws.Config, s stack) (func(context.Context) error, error) {
	client, name := lambda.NewFromConfig(config), aws.String(s.resources["JanitorFunction"])
	found, err := client.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: name})
	if err != nil {
		return nil, err
	}
	set := func(ctx context.Context, table string) error {
		variables := maps.Clone(found.Environment.Variables)
		variables["WAITLESS_WAITS_TABLE"] = table
		_, err := client.UpdateFunctionConfiguration(ctx, &lambda.UpdateFunctionConfigurationInput{
			FunctionName: name, Environment: &lambdatypes.Environment{Variables: variables},
		})
		return err
	}
	return func(ctx context.Context) error { return set(ctx, s.resources["WaitsTable"]) }, set(ctx, "no-such-table")
}
