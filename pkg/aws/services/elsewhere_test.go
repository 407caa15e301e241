package services_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/aws/services"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
)

const otherAccount, externalID = "210987654321", "arn:aws:cloudformation:us-east-1:123456789012:stack/s/1"

// rootOf is the configuration of clients of another account of the emulator.
func rootOf(t *testing.T, account string) aws.Config {
	t.Helper()
	config := emulator.Config(t).Copy()
	config.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: account, SecretAccessKey: "test"}, nil
	})
	return config
}

// jobRole makes a role of the other account, which the emulator's own account may assume with the external id, and returns its ARN as
// [services.Elsewhere] expects it.
func jobRole(t *testing.T) string {
	t.Helper()
	client, name := iam.NewFromConfig(rootOf(t, otherAccount)), "jobs-"+rand.Text()
	_, err := client.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: aws.String(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::` + account + `:root"},"Action":"sts:AssumeRole",
		"Condition":{"StringEquals":{"sts:ExternalId":"` + externalID + `"}}}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{RoleName: &name, PolicyName: &name, PolicyDocument: aws.String(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["transcribe:*","s3:GetObject"],"Resource":"*"}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	return "arn:aws:iam::ACCOUNT:role/" + name
}

// TestElsewhere: a job of another account is started and described there, and is unknown in the own account.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	there, ok := services.Elsewhere(emulator.Config(t), []string{otherAccount}, jobRole(t), externalID)(otherAccount)
	kind, _ := jobs.Find("transcribe-job")
	params, err := kind.StartParams([]byte(`{"LanguageCode":"en-US","Media":{"MediaFileUri":"s3://bucket/key.wav"}}`), rand.Text())
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	response, err := there.Start(t.Context(), kind, params)
	if err != nil {
		t.Fatal(err)
	}
	started, err := kind.ReadStart(otherAccount, emulator.Region, params, response)
	if err != nil {
		t.Fatal(err)
	}
	description, err := kind.DescribeParams(started.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := there.Describe(t.Context(), kind, description); err != nil {
		t.Errorf("in the other account: %v", err)
	}
	_, err = services.New(emulator.Config(t)).Describe(t.Context(), kind, description)
	refused, ok := errors.AsType[*resume.ServiceError](err)
	if !ok || !kind.Unknown(strings.TrimPrefix(refused.Name, "transcribe.")) {
		t.Errorf("in the own account: %v", err)
	}
}

// TestElsewhereRefused: the account's role demands the external id of the stack, and an account that is not listed has no services.
func TestElsewhereRefused(t *testing.T) {
	t.Parallel()
	role := jobRole(t)
	kind, _ := jobs.Find("transcribe-job")
	there, _ := services.Elsewhere(emulator.Config(t), []string{otherAccount}, role, "of another stack")(otherAccount)
	_, err := there.Describe(t.Context(), kind, []byte(`{"TranscriptionJobName":"n"}`))
	if refused, ok := errors.AsType[*resume.ServiceError](err); !ok || refused.Name != "transcribe.AccessDenied" || refused.Again {
		t.Errorf("with another external id: %v", err)
	}
	if _, ok := services.Elsewhere(emulator.Config(t), []string{otherAccount}, role, externalID)("111122223333"); ok {
		t.Error("an account that is not listed has services")
	}
}
