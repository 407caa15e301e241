package compose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/schemas"
	cloudwatchtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	awslambda "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"

	"github.com/waitless/waitless/pkg/aws/call"
	"github.com/waitless/waitless/pkg/aws/call/redact"
	"github.com/waitless/waitless/pkg/internal/cli/target"
)

// Health implements [target.AWS].
func (a account) Health() target.Health {
	const tries = 2
	h := &health{Config: a.Copy()}
	h.clock.next = a.HTTPClient
	if h.clock.next == nil {
		h.clock.next = awshttp.NewBuildableClient()
	}
	h.HTTPClient, h.RetryMaxAttempts = &h.clock, tries
	return h
}

// health implements [target.Health].
type health struct {
	aws.Config

	clock clock
}

// clock is an HTTP client that notes the time of AWS.
type clock struct {
	next aws.HTTPClient
	skew atomic.Pointer[time.Duration] // nil before a response
}

// Do implements [aws.HTTPClient].
func (c *clock) Do(r *http.Request) (*http.Response, error) {
	response, err := c.next.Do(r)
	if err != nil {
		return response, err
	}
	if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		c.skew.Store(new(time.Since(date)))
	}
	return response, nil
}

// Endpoint implements [target.Health].
func (h *health) Endpoint() string { return aws.ToString(h.BaseEndpoint) }

// Skew implements [target.Health].
func (h *health) Skew() (time.Duration, bool) {
	if skew := h.clock.skew.Load(); skew != nil {
		return *skew, true
	}
	return 0, false
}

// brief returns an error of AWS without the parts that only its support can read.
func brief(err error) error {
	var refused smithy.APIError
	var unsent *url.Error
	switch {
	case errors.As(err, &refused):
		return &target.Refused{Code: refused.ErrorCode(), Message: redact.Message(refused.ErrorMessage())}
	case errors.As(err, &unsent):
		return unsent.Err
	}
	return err
}

// Caller implements [target.Health].
func (h *health) Caller(ctx context.Context) (string, error) {
	caller, err := identify(ctx, h.Config)
	if err != nil {
		return "", brief(err)
	}
	return caller.Arn, nil
}

// Stack implements [target.Health].
func (h *health) Stack(ctx context.Context, name string) (*target.Stack, error) {
	client := call.New(h.Config)
	s, err := describeStack(ctx, client, name)
	if s == nil || err != nil {
		return nil, brief(err)
	}
	if s.Resources, err = stackResources(ctx, client, name); err != nil {
		return s, brief(err)
	}
	slices.SortFunc(s.Resources, func(a, b target.Resource) int { return cmp.Compare(a.Name, b.Name) })
	return s, nil
}

// Concurrency implements [target.Health].
func (h *health) Concurrency(ctx context.Context) (int, error) {
	found, err := awslambda.NewFromConfig(h.Config).GetAccountSettings(ctx, &awslambda.GetAccountSettingsInput{})
	if err != nil || found.AccountLimit == nil {
		return 0, brief(err)
	}
	return int(aws.ToInt32(found.AccountLimit.UnreservedConcurrentExecutions)), nil
}

// State implements [target.Health].
func (h *health) State(ctx context.Context, r target.Resource) (state target.State, err error) {
	switch r.Type {
	case target.TypeQueue:
		state, err = h.queue(ctx, r)
	case target.TypeFunction:
		state, err = h.function(ctx, r.ID)
	case target.TypeSource:
		found, failed := awslambda.NewFromConfig(h.Config).GetEventSourceMapping(ctx, &awslambda.GetEventSourceMappingInput{UUID: &r.ID})
		if err = failed; err == nil {
			state = target.State{Name: aws.ToString(found.State), Reason: aws.ToString(found.StateTransitionReason)}
			if found.ScalingConfig != nil {
				state.AtOnce = int(aws.ToInt32(found.ScalingConfig.MaximumConcurrency))
			}
		}
	case target.TypeTimers:
		found, failed := scheduler.NewFromConfig(h.Config).GetScheduleGroup(ctx, &scheduler.GetScheduleGroupInput{Name: &r.ID})
		if err = failed; err == nil {
			state.Name = string(found.State)
		}
	case target.TypeTable:
		state, err = h.table(ctx, r.ID)
	case target.TypeSecret:
		found, failed := secretsmanager.NewFromConfig(h.Config).DescribeSecret(ctx, &secretsmanager.DescribeSecretInput{SecretId: &r.ID})
		if err = failed; err == nil && found.DeletedDate != nil {
			state.Name = "its deletion is scheduled, and callbacks fail until it is restored"
		}
	case target.TypeRule:
		_, name, found := strings.Cut(r.ID, "|") // BUS|RULE, or a rule of the default bus
		if !found {
			name = r.ID
		}
		rule, failed := eventbridge.NewFromConfig(h.Config).DescribeRule(ctx, &eventbridge.DescribeRuleInput{Name: &name})
		if err = failed; err == nil {
			state.Name = string(rule.State)
		}
	case target.TypeSchedule:
		found, failed := scheduler.NewFromConfig(h.Config).GetSchedule(ctx, &scheduler.GetScheduleInput{Name: &r.ID})
		if err = failed; err == nil {
			state.Name = string(found.State)
			state.Try = fmt.Sprintf("aws scheduler update-schedule --name %s --state ENABLED --flexible-time-window Mode=OFF --schedule-expression '%s' "+
				`--target '{"Arn":"%s","RoleArn":"%s","Input":"{}"}'`, r.ID, aws.ToString(found.ScheduleExpression),
				aws.ToString(found.Target.Arn), aws.ToString(found.Target.RoleArn))
		}
	case target.TypeRole:
		found, failed := iam.NewFromConfig(h.Config).ListRolePolicies(ctx, &iam.ListRolePoliciesInput{RoleName: &r.ID})
		if err = failed; err == nil {
			state = role(r, found.PolicyNames)
		}
	}
	return state, brief(err)
}

// role returns the state of a role that has these inline policies. The template gives it one.
func role(r target.Resource, policies []string) (state target.State) {
	policy := strings.ToLower(strings.TrimSuffix(r.Name, "Role"))
	switch r.Name {
	case "DeploymentRole": // it has a policy of AWS
		return state
	case "TimerRole":
		policy = "timers"
	case "JanitorScheduleRole":
		policy = "janitor"
	}
	if !slices.Contains(policies, policy) {
		state.Name = "its policy " + policy + " was deleted"
		state.Try = "aws iam put-role-policy --role-name " + r.ID + " --policy-name " + policy +
			" --policy-document file://policy.json" + target.Restore
	}
	return state
}

// table returns the state of a table, and reports a table without expiry of its items.
func (h *health) table(ctx context.Context, name string) (state target.State, err error) {
	client := dynamodb.NewFromConfig(h.Config)
	found, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		return state, err
	}
	state.Name = string(found.Table.TableStatus)
	expiry, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &name})
	if err != nil {
		return state, err
	}
	switch expiry.TimeToLiveDescription.TimeToLiveStatus {
	case dynamodbtypes.TimeToLiveStatusEnabled, dynamodbtypes.TimeToLiveStatusEnabling:
	case dynamodbtypes.TimeToLiveStatusDisabled, dynamodbtypes.TimeToLiveStatusDisabling:
		state.Name = "its items do not expire"
		state.Try = "aws dynamodb update-time-to-live --table-name " + name + " --time-to-live-specification Enabled=true,AttributeName=expires"
	}
	return state, nil
}

func (h *health) function(ctx context.Context, name string) (state target.State, err error) {
	client := awslambda.NewFromConfig(h.Config)
	found, err := client.GetFunctionConfiguration(ctx, &awslambda.GetFunctionConfigurationInput{FunctionName: &name})
	if err != nil {
		return state, err
	}
	state.Name, state.Reason, state.TimeLimit = string(found.State), aws.ToString(found.StateReason), int(aws.ToInt32(found.Timeout))
	if found.Environment != nil {
		state.Variables = found.Environment.Variables
	}
	if found.LastUpdateStatus == "Failed" {
		state.Name, state.Reason = "its last update failed", aws.ToString(found.LastUpdateStatusReason)
	}
	reserved, err := client.GetFunctionConcurrency(ctx, &awslambda.GetFunctionConcurrencyInput{FunctionName: &name})
	if err == nil {
		state.Throttled = reserved.ReservedConcurrentExecutions != nil && *reserved.ReservedConcurrentExecutions == 0
	}
	return state, err
}

// queue returns the messages of a queue. A queue without its policy, or without a queue for dead
// letters, has the difference as its name.
func (h *health) queue(ctx context.Context, r target.Resource) (state target.State, err error) {
	found, err := awssqs.NewFromConfig(h.Config).GetQueueAttributes(ctx, &awssqs.GetQueueAttributesInput{
		QueueUrl: &r.ID, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		return state, err
	}
	for name, to := range map[types.QueueAttributeName]*int{
		types.QueueAttributeNameApproximateNumberOfMessages: &state.Messages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible: &state.InFlight,
		types.QueueAttributeNameApproximateNumberOfMessagesDelayed: &state.Delayed,
	} {
		*to, _ = strconv.Atoi(found.Attributes[string(name)]) // SQS writes numbers
	}
	switch {
	case found.Attributes["Policy"] == "":
		state.Name = "its policy was deleted"
	case found.Attributes["RedrivePolicy"] == "" && !strings.HasSuffix(r.Name, "DeadLetters"):
		state.Name = "it has no redrive policy, so a message that cannot be handled returns for ever"
	}
	return state, nil
}

// metrics returns a client of CloudWatch. It uses JSON, the only protocol that emulators also have.
func (h *health) metrics() *cloudwatch.Client {
	return cloudwatch.NewFromConfig(h.Config, func(o *cloudwatch.Options) {
		o.Protocol = awsjson.New10(schemas.GraniteServiceVersion20100801)
	})
}

// Ages implements [target.Health]. Only CloudWatch knows them, some minutes late.
func (h *health) Ages(ctx context.Context, queues []target.Resource) (map[string]time.Duration, error) {
	const recent, minute = 10 * time.Minute, 60
	now := time.Now()
	request := &cloudwatch.GetMetricDataInput{StartTime: aws.Time(now.Add(-recent)), EndTime: &now}
	for i, queue := range queues {
		name := queue.ID[strings.LastIndexByte(queue.ID, '/')+1:]
		request.MetricDataQueries = append(request.MetricDataQueries, cloudwatchtypes.MetricDataQuery{
			Id: aws.String("q" + strconv.Itoa(i)), Label: aws.String(queue.Name),
			MetricStat: &cloudwatchtypes.MetricStat{Period: aws.Int32(minute), Stat: aws.String("Maximum"), Metric: &cloudwatchtypes.Metric{
				Namespace: aws.String("AWS/SQS"), MetricName: aws.String("ApproximateAgeOfOldestMessage"),
				Dimensions: []cloudwatchtypes.Dimension{{Name: aws.String("QueueName"), Value: &name}},
			}},
		})
	}
	found, err := h.metrics().GetMetricData(ctx, request) // the latest value first
	if err != nil {
		return nil, brief(err)
	}
	ages := map[string]time.Duration{}
	for _, result := range found.MetricDataResults {
		if len(result.Values) > 0 {
			ages[aws.ToString(result.Label)] = time.Duration(result.Values[0]) * time.Second
		}
	}
	return ages, nil
}

// isAlarmOf reports whether CloudFormation gave an alarm of the stack that name:
// STACK-LOGICALID-RANDOM, as in "orders-StopsAlarm-1N5K". An alarm of the stack orders-test has one
// hyphen more.
func isAlarmOf(stack, name string) bool {
	rest, ok := strings.CutPrefix(name, stack+"-")
	return ok && strings.Count(rest, "-") == 1
}

// Alarms implements [target.Health].
func (h *health) Alarms(ctx context.Context, stack string) (found []string, err error) {
	pages := cloudwatch.NewDescribeAlarmsPaginator(h.metrics(), &cloudwatch.DescribeAlarmsInput{
		AlarmNamePrefix: aws.String(stack + "-"), StateValue: cloudwatchtypes.StateValueAlarm,
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, brief(err)
		}
		for _, alarm := range page.MetricAlarms {
			if !isAlarmOf(stack, aws.ToString(alarm.AlarmName)) {
				continue
			}
			found = append(found, aws.ToString(alarm.AlarmName)+" ("+aws.ToString(alarm.AlarmDescription)+")")
		}
	}
	slices.Sort(found)
	return found, nil
}
