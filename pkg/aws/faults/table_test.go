package faults_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	awsscheduler "github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/smithy-go"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/aws/environment"
	"github.com/waitless/waitless/pkg/aws/faults"
	"github.com/waitless/waitless/pkg/aws/s3"
	"github.com/waitless/waitless/pkg/aws/scheduler"
	"github.com/waitless/waitless/pkg/aws/secrets"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/compose"
)

func TestMain(m *testing.M) { os.Exit(emulator.Main(m)) }

// TestFaultTable has the adapters whose packages need no emulator for anything else.
func TestFaultTable(t *testing.T) {
	t.Parallel()
	for heading, entries := range map[string]map[string]func(t *testing.T, p *faults.Proxy) faults.Call{
		"Scheduler": {
			"scheduler.Group.At":        ofSchedules(setTimer),
			"scheduler.Repeater.Set":    ofSchedules(setRepeated),
			"scheduler.Repeater.Remove": ofSchedules(removeRepeated),
		},
		"Secrets Manager": {
			"secrets.Keys.Get": ofSecret(func(client secrets.Client, arn string) func(context.Context) error {
				keys := &secrets.Keys{Client: client, Secret: arn, Now: time.Now}
				return func(ctx context.Context) error {
					_, err := keys.Get(ctx)
					return err
				}
			}),
			"secrets.Keys.Newer": ofSecret(func(client secrets.Client, arn string) func(context.Context) error {
				keys := &secrets.Keys{Client: client, Secret: arn, Now: time.Now}
				return func(ctx context.Context) error {
					_, err := keys.Newer(ctx)
					return err
				}
			}),
			"secrets.Parsed.Get": ofSecret(func(client secrets.Client, arn string) func(context.Context) error {
				parsed := &secrets.Parsed[string]{Client: client, Secret: arn, Now: time.Now, Parse: func(text string) (string, error) { return text, nil }}
				return func(ctx context.Context) error {
					_, err := parsed.Get(ctx)
					return err
				}
			}),
			"secrets.TokenKeys": ofSecret(func(client secrets.Client, arn string) func(context.Context) error {
				return func(ctx context.Context) error {
					_, err := secrets.TokenKeys(ctx, client, arn)
					return err
				}
			}),
		},
		"S3": {
			"s3.Bucket.StoreValue": ofBucket(func(ctx context.Context, b s3.Bucket) error {
				return b.StoreValue(ctx, "name", []byte("value"), time.Now().Add(time.Hour))
			}),
			"s3.Bucket.LoadValue": ofBucket(func(ctx context.Context, b s3.Bucket) error {
				value, err := b.LoadValue(ctx, "before")
				if err == nil && string(value) != "value" {
					err = errors.New("another value")
				}
				return err
			}),
		},
		"The command": {
			"compose.account.Outputs": ofAccount(func(ctx context.Context, a target.AWS, stack string) error {
				outputs, err := a.Outputs(ctx, stack)
				if err == nil && outputs["Name"] == "" {
					err = errors.New("no stack of that name")
				}
				return err
			}),
			"compose.account.DeadLetters": ofAccount(func(ctx context.Context, a target.AWS, stack string) error {
				_, err := a.DeadLetters(ctx, stack)
				return err
			}),
			"compose.account.Jobs": ofAccount(func(ctx context.Context, a target.AWS, _ string) error {
				_, _, err := a.Jobs(ctx)
				return err
			}),
			"compose.health.Caller": ofAccount(func(ctx context.Context, a target.AWS, _ string) error {
				_, err := a.Health().Caller(ctx)
				return err
			}),
			"compose.health.Stack": ofAccount(func(ctx context.Context, a target.AWS, stack string) error {
				_, err := a.Health().Stack(ctx, stack)
				return err
			}),
			"compose.health.State": ofStates,
			"compose.health.Ages": ofAccount(func(ctx context.Context, a target.AWS, _ string) error {
				_, err := a.Health().Ages(ctx, []target.Resource{{Name: "Queue", ID: "https://sqs/queue"}})
				return err
			}),
			"compose.health.Concurrency": ofAccount(func(ctx context.Context, a target.AWS, _ string) error {
				_, err := a.Health().Concurrency(ctx)
				return err
			}),
			"compose.health.Alarms": ofAccount(func(ctx context.Context, a target.AWS, stack string) error {
				_, err := a.Health().Alarms(ctx, stack)
				return err
			}),
		},
	} {
		var list []faults.Entry
		for name, call := range entries {
			list = append(list, faults.Entry{Name: name, New: call})
		}
		t.Run(heading, func(t *testing.T) {
			t.Parallel()
			faults.Compare(t, *emulator.Config(t).BaseEndpoint, heading, list...)
		})
	}
}

// The calls of schedules.
var (
	setTimer = func(ctx context.Context, r scheduler.Repeater) error {
		return r.Group.At(ctx, "timer", time.Date(2096, 1, 31, 10, 0, 0, 0, time.UTC), "body")
	}
	setRepeated = func(ctx context.Context, r scheduler.Repeater) error {
		return r.Set(ctx, "repeated", scheduler.Repeated{Expression: "rate(7 days)", Zone: "UTC", Body: "body"})
	}
	removeRepeated = func(ctx context.Context, r scheduler.Repeater) error { return r.Remove(ctx, "repeated") }
)

// ofSchedules makes the call of a group with one repeated message.
func ofSchedules(call func(context.Context, scheduler.Repeater) error) func(t *testing.T, p *faults.Proxy) faults.Call {
	return func(t *testing.T, p *faults.Proxy) faults.Call {
		t.Helper()
		direct, name := awsscheduler.NewFromConfig(faults.Direct(emulator.Config(t))), "group-"+rand.Text()
		if _, err := direct.CreateScheduleGroup(t.Context(), &awsscheduler.CreateScheduleGroupInput{Name: &name}); err != nil && !exists(err) {
			t.Fatal(err)
		}
		through := awsscheduler.NewFromConfig(bounded(t, p))
		repeater := func(client *awsscheduler.Client) scheduler.Repeater {
			arn := "arn:aws:sqs:us-east-1:" + emulator.Account + ":none"
			return scheduler.Repeater{Client: client, Group: &scheduler.Group{
				Client: client, Name: name, QueueARN: arn, RoleARN: "arn:aws:iam::" + emulator.Account + ":role/none", DeadLettersARN: arn,
			}}
		}
		before := scheduler.Repeated{Expression: "rate(1 day)", Zone: "UTC", Body: "before"}
		if err := repeater(direct).Set(t.Context(), "repeated", before); err != nil {
			t.Fatal(err)
		}
		return faults.Call{
			Do:       func(ctx context.Context) error { return call(ctx, repeater(through)) },
			Overtake: func() error { return call(t.Context(), repeater(direct)) },
			State:    func() []string { return schedulesIn(t, direct, name) },
			Limited:  true,
		}
	}
}

// bounded returns the configuration that functions have.
func bounded(t *testing.T, p *faults.Proxy) aws.Config {
	t.Helper()
	return environment.Bounded(p.Config(emulator.Config(t)), p.ResponseLimit())
}

func schedulesIn(t *testing.T, client *awsscheduler.Client, group string) (texts []string) {
	t.Helper()
	listed, err := client.ListSchedules(t.Context(), &awsscheduler.ListSchedulesInput{GroupName: &group})
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range listed.Schedules {
		s, err := client.GetSchedule(t.Context(), &awsscheduler.GetScheduleInput{GroupName: &group, Name: each.Name})
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, *s.Name+" "+*s.ScheduleExpression+" "+*s.Target.Input)
	}
	return texts
}

// ofSecret makes the call of a secret with a token key.
func ofSecret(call func(client secrets.Client, arn string) func(context.Context) error) func(t *testing.T, p *faults.Proxy) faults.Call {
	return func(t *testing.T, p *faults.Proxy) faults.Call {
		t.Helper()
		created, err := secretsmanager.NewFromConfig(faults.Direct(emulator.Config(t))).CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{
			Name: aws.String("key-" + rand.Text()), SecretString: aws.String(`{"id":1,"secret":"` + strings.Repeat("0123456789", 7) + `"}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		return faults.Call{Do: call(secretsmanager.NewFromConfig(bounded(t, p)), *created.ARN), Limited: true}
	}
}

// ofBucket makes the call of a bucket with one value.
func ofBucket(call func(context.Context, s3.Bucket) error) func(t *testing.T, p *faults.Proxy) faults.Call {
	return func(t *testing.T, p *faults.Proxy) faults.Call {
		t.Helper()
		name := strings.ToLower("values-" + rand.Text())
		client := awss3.NewFromConfig(faults.Direct(emulator.Config(t)), func(o *awss3.Options) { o.UsePathStyle = true })
		if _, err := client.CreateBucket(t.Context(), &awss3.CreateBucketInput{Bucket: &name}); err != nil && !exists(err) {
			t.Fatal(err)
		}
		if err := s3.NewBucket(faults.Direct(emulator.Config(t)), name).StoreValue(t.Context(), "before", []byte("value"), time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		through := s3.NewBucket(p.Config(emulator.Config(t)), name)
		return faults.Call{
			Do: func(ctx context.Context) error { return call(ctx, through) },
			State: func() (names []string) {
				listed, err := client.ListObjectsV2(t.Context(), &awss3.ListObjectsV2Input{Bucket: &name})
				if err != nil {
					t.Fatal(err)
				}
				for _, each := range listed.Contents {
					names = append(names, *each.Key)
				}
				return names
			},
			Limited: true,
		}
	}
}

// stack has an output, and a resource of each type with a state.
const stack = `{"Resources":{
	"Secret": {"Type": "AWS::SecretsManager::Secret", "Properties": {"GenerateSecretString": {}}},
	"Rule": {"Type": "AWS::Events::Rule", "Properties": {"EventPattern": {"source": ["x"]}}},
	"Schedule": {"Type": "AWS::Scheduler::Schedule", "Properties": {"ScheduleExpression": "rate(1 day)", "State": "DISABLED",
		"FlexibleTimeWindow": {"Mode": "OFF"}, "Target": {"Arn": "arn:aws:sqs:us-east-1:123456789012:q", "RoleArn": "arn:aws:iam::123456789012:role/r"}}},
"Queue":{"Type":"AWS::SQS::Queue"},"Group":{"Type":"AWS::Scheduler::ScheduleGroup"},
"Table":{"Type":"AWS::DynamoDB::Table","Properties":{"BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"k","AttributeType":"S"}],
"KeySchema":[{"AttributeName":"k","KeyType":"HASH"}]}},"Role":{"Type":"AWS::IAM::Role","Properties":{"AssumeRolePolicyDocument":{"Version":"2012-10-17",
"Statement":[{"Effect":"Allow","Principal":{"Service":"lambda.amazonaws.com"},"Action":"sts:AssumeRole"}]}}},
"Function":{"Type":"AWS::Lambda::Function","Properties":{"Runtime":"nodejs22.x","Handler":"index.handler","Role":{"Fn::GetAtt":["Role","Arn"]},
"Code":{"ZipFile":"exports.handler = async () => 1"}}},"Source":{"Type":"AWS::Lambda::EventSourceMapping","Properties":{"Enabled":false,
"FunctionName":{"Ref":"Function"},"EventSourceArn":{"Fn::GetAtt":["Queue","Arn"]}}}},"Outputs":{"Name":{"Value":"value"}}}`

// exists reports whether a repeated request found what the request before it had created: the
// emulator may close a connection before it responds, and each name is random.
func exists(err error) bool {
	refused, ok := errors.AsType[smithy.APIError](err)
	return ok && slices.Contains([]string{"AlreadyExistsException", "ConflictException", "BucketAlreadyOwnedByYou"}, refused.ErrorCode())
}

// newAccount returns an account with a stack, as it is and through the proxy.
func newAccount(t *testing.T, p *faults.Proxy) (direct, through target.AWS, stackName string) {
	t.Helper()
	stackName = "stack-" + rand.Text()
	_, err := cloudformation.NewFromConfig(faults.Direct(emulator.Config(t))).CreateStack(t.Context(), &cloudformation.CreateStackInput{
		StackName: &stackName, TemplateBody: aws.String(stack), Capabilities: []types.Capability{types.CapabilityCapabilityIam},
	})
	if err != nil && !exists(err) {
		t.Fatal(err)
	}
	open := func(loaded aws.Config) target.AWS {
		load := func(context.Context, ...func(*config.LoadOptions) error) (aws.Config, error) { return loaded, nil }
		account, err := compose.Loader(load).Open(t.Context(), target.AWSOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return account
	}
	return open(emulator.Config(t)), open(p.Config(emulator.Config(t))), stackName
}

// ofAccount makes the call of an account with a stack.
func ofAccount(call func(ctx context.Context, a target.AWS, stack string) error) func(t *testing.T, p *faults.Proxy) faults.Call {
	return func(t *testing.T, p *faults.Proxy) faults.Call {
		t.Helper()
		_, account, name := newAccount(t, p)
		return faults.Call{Do: func(ctx context.Context) error { return call(ctx, account, name) }}
	}
}

// ofStates reads the state of each resource of a stack.
func ofStates(t *testing.T, p *faults.Proxy) faults.Call {
	t.Helper()
	direct, through, name := newAccount(t, p)
	stack, err := direct.Health().Stack(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	health := through.Health()
	return faults.Call{Do: func(ctx context.Context) error {
		for _, r := range stack.Resources {
			if _, err := health.State(ctx, r); err != nil {
				return err
			}
		}
		return nil
	}}
}
