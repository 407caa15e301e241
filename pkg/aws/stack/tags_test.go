package stack_test

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	awsscheduler "github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/waitless/waitless/pkg/aws/emulator"
)

// stackTag is a tag of each stack, as `sam deploy --tags` sets it.
const stackTag = "team=flows"

// The tags of a stack reach its resources. The emulator does not pass them to buckets, rules,
// dashboards and event source mappings; TestTypesWithoutTags says that AWS does.
func TestStackTags(t *testing.T) {
	t.Parallel()
	s, config := hasty.get(t), emulator.Config(t)
	arn := func(service, resource string) *string {
		text := "arn:aws:" + service + ":" + emulator.Region + ":" + emulator.Account + ":" + resource
		return &text
	}
	for id, tags := range map[string]func(id string) (any, error){
		"WakeQueue": func(id string) (any, error) {
			return sqs.NewFromConfig(config).ListQueueTags(t.Context(), &sqs.ListQueueTagsInput{QueueUrl: &id})
		},
		"ApiFunction": func(id string) (any, error) {
			return lambda.NewFromConfig(config).ListTags(t.Context(), &lambda.ListTagsInput{Resource: arn("lambda", "function:"+id)})
		},
		"LogTable": func(id string) (any, error) {
			return dynamodb.NewFromConfig(config).ListTagsOfResource(t.Context(), &dynamodb.ListTagsOfResourceInput{ResourceArn: arn("dynamodb", "table/"+id)})
		},
		"ApiLogs": func(id string) (any, error) {
			client := cloudwatchlogs.NewFromConfig(config)
			return client.ListTagsForResource(t.Context(), &cloudwatchlogs.ListTagsForResourceInput{ResourceArn: arn("logs", "log-group:"+id)})
		},
		"ApiRole": func(id string) (any, error) {
			return iam.NewFromConfig(config).ListRoleTags(t.Context(), &iam.ListRoleTagsInput{RoleName: &id})
		},
		"Timers": func(id string) (any, error) {
			client := awsscheduler.NewFromConfig(config)
			return client.ListTagsForResource(t.Context(), &awsscheduler.ListTagsForResourceInput{ResourceArn: arn("scheduler", "schedule-group/"+id)})
		},
		"TokenKey": func(id string) (any, error) {
			return secretsmanager.NewFromConfig(config).DescribeSecret(t.Context(), &secretsmanager.DescribeSecretInput{SecretId: &id})
		},
	} {
		found, err := tags(s.resources[id])
		text, textErr := json.Marshal(found)
		if err := errors.Join(err, textErr); err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		key, value, _ := strings.Cut(stackTag, "=")
		// Some services have a map, the others a list.
		asMap, asList := `"`+key+`":"`+value+`"`, `{"Key":"`+key+`","Value":"`+value+`"}`
		if !strings.Contains(string(text), asMap) && !strings.Contains(string(text), asList) {
			t.Errorf("%s does not have the tag %s: %s", id, stackTag, text)
		}
	}
}

// Resources of all other types have the tags of the stack: the schemas of CloudFormation say which
// types can have some.
func TestTypesWithoutTags(t *testing.T) {
	t.Parallel()
	want := []string{ // as the page of parameters says
		"AWS::ApiGatewayV2::ApiMapping", "AWS::ApiGatewayV2::Integration", "AWS::ApiGatewayV2::Route", "AWS::Lambda::Permission",
		"AWS::Route53::RecordSet", "AWS::S3::BucketPolicy", "AWS::SNS::Subscription", "AWS::SQS::QueuePolicy", "AWS::Scheduler::Schedule",
	}
	schemas := filepath.Join(filepath.Dir(sam()), "..", "lib", "python3*", "site-packages", "cfnlint", "data", "schemas")
	var files map[string]string
	readSchema(t, filepath.Join(schemas, "providers", emulator.Region+".json"), &files)
	got := map[string]bool{}
	for _, r := range readTemplate(t).Resources {
		name := strings.Replace(r.Type, "AWS::Serverless::", "AWS::Lambda::", 1)
		var schema struct{ Tagging struct{ Taggable bool } }
		readSchema(t, filepath.Join(schemas, "resources", files[name]+".json"), &schema)
		if !schema.Tagging.Taggable {
			got[name] = true
		}
	}
	if got := slices.Sorted(maps.Keys(got)); !slices.Equal(got, want) {
		t.Errorf("%q cannot have tags, want %q", got, want)
	}
}

func readSchema(t *testing.T, pattern string, into any) {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		t.Fatalf("%d files are %s, error %v: `make test` installs them", len(found), pattern, err)
	}
	text, err := os.ReadFile(found[0])
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}
