package stack_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/aws/emulator"
)

// stackKey is the KmsKey of stacks. The emulator accepts any key.
const stackKey = "arn:aws:kms:" + emulator.Region + ":" + emulator.Account + ":key/12345678-90ab-cdef-1234-567890abcdef"

// encrypted are the properties that have the key, by the types of resources.
var encrypted = map[string]string{
	"AWS::DynamoDB::Table": "SSESpecification", "AWS::SQS::Queue": "KmsMasterKeyId", "AWS::Logs::LogGroup": "KmsKeyId",
	"AWS::SecretsManager::Secret": "KmsKeyId",
	"AWS::S3::Bucket":             "BucketEncryption",
}

// Each resource that stores data is encrypted with KmsKey if it is set.
func TestTheKeyReachesEachResource(t *testing.T) {
	t.Parallel()
	found := map[string]int{}
	for id, r := range readTemplate(t).Resources {
		property, ok := encrypted[r.Type]
		if !ok {
			continue
		}
		found[r.Type]++
		if !chosen(at(&r.Properties, property)) {
			t.Errorf("%s: %s is not KmsKey", id, property)
		}
		// A queue has one kind of encryption.
		if managed := at(&r.Properties, "SqsManagedSseEnabled"); r.Type == "AWS::SQS::Queue" && (managed == nil || managed.Content[1].Value != "AWS::NoValue") {
			t.Errorf("%s: SqsManagedSseEnabled is set beside KmsKey", id)
		}
	}
	if found["AWS::DynamoDB::Table"] != 2 || found["AWS::SQS::Queue"] < 12 || found["AWS::Logs::LogGroup"] < 11 ||
		found["AWS::SecretsManager::Secret"] != 1 || found["AWS::S3::Bucket"] != 1 {
		t.Errorf("the template has %v", found)
	}
}

// chosen reports whether the node, or one below it, is KmsKey if there is one.
func chosen(node *yaml.Node) bool {
	if node == nil || node.Tag == "!If" {
		return node != nil && node.Content[0].Value == "HasKmsKey" && names(node.Content[1], "KmsKey")
	}
	return slices.ContainsFunc(node.Content, chosen)
}

// names reports whether a scalar below the node has the value.
func names(node *yaml.Node, value string) bool {
	return node.Value == value || slices.ContainsFunc(node.Content, func(n *yaml.Node) bool { return names(n, value) })
}

// A role may use the key through the services that it uses, and no other role may use it.
func TestRolesUseTheKey(t *testing.T) {
	t.Parallel()
	users := 0
	for id, r := range readTemplate(t).Resources {
		if r.Type != "AWS::IAM::Role" {
			continue
		}
		var want, got []string
		for _, s := range statementsOf(id, r) {
			switch {
			case s.sid == "UseKey":
				users++
				got = via(&r)
				if !slices.Equal(s.actions, []string{"kms:Decrypt", "kms:GenerateDataKey"}) || !slices.Equal(s.resources, []string{"KmsKey"}) {
					t.Errorf("%s: %v on %v", id, s.actions, s.resources)
				}
			case !s.denies:
				want = append(want, encryptedServices(s)...)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if want = slices.Compact(want); !slices.Equal(got, want) {
			t.Errorf("%s uses the key through %v, want %v", id, got, want)
		}
	}
	if users < 9 {
		t.Errorf("%d roles use the key", users)
	}
}

// encryptedServices are the services of a statement that store data under the key.
func encryptedServices(s statement) (services []string) {
	if slices.ContainsFunc(s.resources, func(r string) bool { return r == "NotifyTargets" }) {
		return nil // they are not of the stack, and their keys are of KeyPolicies
	}
	for _, action := range s.actions {
		service, _, _ := strings.Cut(action, ":")
		if slices.Contains([]string{"dynamodb", "sqs", "s3", "secretsmanager"}, service) {
			services = append(services, service+".*")
		}
	}
	return services
}

// via are the services through which a role may use the key.
func via(r *resource) []string {
	for _, policy := range at(&r.Properties, "Policies").Content {
		for _, node := range at(policy, "PolicyDocument", "Statement").Content {
			if condition := at(node, "Fn::If"); condition != nil && condition.Content[0].Value == "HasKmsKey" {
				return texts(at(condition.Content[1], "Condition", "StringLike", "kms:ViaService"))
			}
		}
	}
	return nil
}

// A stack with a key runs as others do, which the other tests of it show, and its resources have
// the key. The emulator does not keep the keys of tables and buckets.
func TestAStackWithAKey(t *testing.T) {
	t.Parallel()
	s, config := hasty.get(t), emulator.Config(t)
	keys := map[string]func(id string) (*string, error){
		"WakeQueue": func(id string) (*string, error) {
			queue, err := sqs.NewFromConfig(config).GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
				QueueUrl: &id, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameKmsMasterKeyId},
			})
			if err != nil {
				return nil, err
			}
			return aws.String(queue.Attributes["KmsMasterKeyId"]), nil
		},
		"ApiLogs": func(id string) (*string, error) {
			groups, err := cloudwatchlogs.NewFromConfig(config).DescribeLogGroups(t.Context(), &cloudwatchlogs.DescribeLogGroupsInput{LogGroupNamePrefix: &id})
			if err != nil || len(groups.LogGroups) != 1 {
				return nil, err
			}
			return groups.LogGroups[0].KmsKeyId, nil
		},
		"TokenKey": func(id string) (*string, error) {
			secret, err := secretsmanager.NewFromConfig(config).DescribeSecret(t.Context(), &secretsmanager.DescribeSecretInput{SecretId: &id})
			if err != nil {
				return nil, err
			}
			return secret.KmsKeyId, nil
		},
	}
	for id, keyOf := range keys {
		if got, err := keyOf(s.resources[id]); err != nil || aws.ToString(got) != stackKey {
			t.Errorf("%s has the key %q, error %v", id, aws.ToString(got), err)
		}
	}
}
