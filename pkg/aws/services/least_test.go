package services_test

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/aws/services"
	"github.com/waitless/waitless/pkg/jobs"
)

// limitedAccount is an account of the emulator with jobs of these tests alone: others have the same
// names.
const limitedAccount = "310987654321"

// resourceless are the actions for which MiniStack knows no resource, or another one than AWS.
// Their statements are for everything there; TestRightsFollowTheReference compares their resources.
var resourceless = []string{
	"athena:GetQueryExecution", "athena:StartQueryExecution", "athena:StopQueryExecution", "batch:SubmitJob", "batch:TerminateJob",
	"bedrock:CreateModelCustomizationJob", "bedrock:CreateModelInvocationJob", "bedrock:GetModelCustomizationJob",
	"bedrock:GetModelInvocationJob", "bedrock:StopModelCustomizationJob", "bedrock:StopModelInvocationJob", "codebuild:BatchGetBuilds",
	"codebuild:StopBuild", "ecs:DescribeTasks", "ecs:StopTask", "elasticmapreduce:TerminateJobFlows", "glue:GetCrawler",
	"glue:StartCrawler", "glue:StopCrawler", "transcribe:GetTranscriptionJob",
}

// unenforced are rights that no call on MiniStack needs, with the reason.
var unenforced = map[string]string{
	"iam:PassRole": "the emulator lets every principal pass roles", "glue:GetDatabase": actsItself, "glue:GetTable": actsItself,
	"glue:GetPartitions": actsItself, "s3:GetBucketLocation": actsItself, "s3:GetObject": actsItself, "s3:ListBucket": actsItself,
	"s3:PutObject": actsItself,
}

const actsItself = "the emulator's service uses others without the rights of its caller"

// TestLeastRights: the start, the description and the stop of a job succeed with exactly the rights
// that `jobs iam` prints, and fail without each of them. Only MiniStack enforces rights: the log
// names the kinds that it does not have, and why.
func TestLeastRights(t *testing.T) {
	t.Parallel()
	eachTrip(t, func(t *testing.T, r trip, kind jobs.Kind) {
		t.Helper()
		switch {
		case r.None != "":
			t.Logf("not checked: %s", r.None)
		case r.Emulator != "ministack":
			t.Logf("not checked: its emulator %s enforces no rights", r.Emulator)
		default:
			r.checkRights(t, kind)
		}
	})
}

// checkRights starts a job, describes it and stops it.
func (r trip) checkRights(t *testing.T, kind jobs.Kind) {
	t.Helper()
	r.account = limitedAccount
	s, u := newLimited(t, r.config(t))
	r.Params = []byte(r.withResources(t, string(r.Params)))
	params, id := r.prepared(t, r.config(t)), ""
	u.check(kind.StartStatements(limitedAccount, emulator.Region), func() string {
		started, code := tryStart(t, s, kind, params)
		id = cmp.Or(id, started)
		return code
	})
	if id == "" {
		t.Fatal("no job was started")
	}
	u.check(kind.DescribeStatements(limitedAccount, emulator.Region), func() string {
		_, err := tryDescribe(t, s, kind, id)
		return codeOrText(kind, err)
	})
	if kind.CanStop() {
		u.check(kind.StopStatements(limitedAccount, emulator.Region), func() string {
			code := tryStop(t, s, kind, id)
			if !r.Stop && !strings.HasPrefix(code, denial) { // it may have ended, or the emulator cannot stop it
				return ""
			}
			return code
		})
	}
}

// tryStart starts a job, and returns its id or the service's error code.
func tryStart(t *testing.T, s *services.Services, kind jobs.Kind, given []byte) (id, code string) {
	t.Helper()
	params, err := kind.StartParams(given, rand.Text())
	if err != nil {
		t.Fatal(err)
	}
	response, err := s.Start(t.Context(), kind, params)
	if err != nil {
		return "", codeOrText(kind, err)
	}
	started, err := kind.ReadStart(limitedAccount, emulator.Region, params, response)
	if err != nil {
		t.Fatal(err)
	}
	return started.ID, ""
}

// tryStop stops a job, and returns the service's error code. A job that has ended is stopped.
func tryStop(t *testing.T, s *services.Services, kind jobs.Kind, id string) (code string) {
	t.Helper()
	params, err := kind.StopParams(id)
	if err != nil {
		t.Fatal(err)
	}
	if code = codeOrText(kind, s.Stop(t.Context(), kind, params)); kind.Over(code) {
		return ""
	}
	return code
}

// codeOrText returns the service's error code, or the text of another error; "" for none.
func codeOrText(kind jobs.Kind, err error) string {
	if err == nil {
		return ""
	}
	return cmp.Or(codeOf(kind, err), err.Error())
}

// denial begins the error codes for a missing right.
const denial = "AccessDenied"

// limited is a role whose rights change.
type limited struct {
	*testing.T

	client *iam.Client
	role   string
}

// newLimited returns services with the credentials of a role that has no rights.
func newLimited(t *testing.T, config aws.Config) (*services.Services, limited) {
	t.Helper()
	u := limited{t, iam.NewFromConfig(config), "limited-" + rand.Text()}
	made, err := u.client.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &u.role, AssumeRolePolicyDocument: aws.String(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::` + limitedAccount + `:root"},"Action":"sts:AssumeRole"}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	session := config.Copy()
	session.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(config), *made.Role.Arn))
	return services.New(session), u
}

// may gives the role these rights and no others.
func (u limited) may(statements []jobs.Statement) {
	u.Helper()
	none := jobs.Statement{Effect: "Allow", Action: []string{"none:None"}, Resource: []string{"*"}} // a policy has a statement
	document, err := json.Marshal(map[string]any{"Version": "2012-10-17", "Statement": append([]jobs.Statement{none}, statements...)})
	if err == nil {
		_, err = u.client.PutRolePolicy(u.Context(), &iam.PutRolePolicyInput{
			RoleName: &u.role, PolicyName: aws.String("rights"), PolicyDocument: aws.String(string(document)),
		})
	}
	if err != nil {
		u.Fatal(err)
	}
}

// check makes a call, which returns an error code, with exactly these rights and without each of
// them.
func (u limited) check(statements []jobs.Statement, call func() string) {
	u.Helper()
	denied := func() bool { return strings.HasPrefix(call(), denial) }
	exact := slices.Clone(statements)
	for i, s := range statements {
		if slices.Contains(resourceless, s.Action[0]) {
			if u.may(exact); !denied() {
				u.Errorf("the emulator knows the resources of %s", s.Action[0])
			}
			exact[i].Resource = []string{"*"}
		}
	}
	u.may(exact)
	if code := call(); code != "" {
		u.Errorf("with exactly %v: %s", exact, code)
		return
	}
	for i, s := range exact {
		u.may(slices.Delete(slices.Clone(exact), i, i+1))
		if reason := unenforced[s.Action[0]]; denied() != (reason == "") {
			u.Errorf("without %s it fails: %t; why it need not: %q", s.Action[0], reason != "", reason)
		}
	}
}
