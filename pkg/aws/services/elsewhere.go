package services

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
)

// roleSession is the name of the sessions of the role, which CloudTrail has.
const roleSession = "waitless"

// Rights are the statements of a use of jobs of a kind.
type Rights func(jobs.Kind) []jobs.Statement

// Describing are the rights to describe jobs.
func Describing(kind jobs.Kind) []jobs.Statement { return kind.DescribeStatements("*", "*") }

// DescribingAndStopping are the rights to describe and to stop jobs.
func DescribingAndStopping(kind jobs.Kind) []jobs.Statement {
	return append(Describing(kind), kind.StopStatements("*", "*")...)
}

// A Role is an IAM role with which jobs of other accounts are started and described.
type Role struct {
	// Accounts are the accounts that have the role.
	Accounts []string
	// ARN is the ARN of the role, with ACCOUNT in place of the account.
	ARN string
	// ExternalID is the external id that the role's trust policy may demand, so that only one stack
	// assumes the role.
	ExternalID string
	// Only limits the rights of a session, whatever the role has: a function that describes jobs
	// cannot start jobs. If nil, a session has all rights of the role.
	Only Rights
}

// Elsewhere returns [resume.JobDescriber.Elsewhere] for other accounts. Their services are called
// with the role in each of them, which the credentials of config assume.
//
// Credentials are requested before the first call in an account, with [Role.Only] before the first
// call for each kind, and kept until they expire.
func Elsewhere(config aws.Config, role Role) func(account string) (resume.Services, bool) {
	accounts := map[string]resume.Services{}
	for _, account := range role.Accounts {
		arn := strings.Replace(role.ARN, "ACCOUNT", account, 1)
		open := func(policy string) *Services {
			assumed := config.Copy()
			assumed.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(config), arn, func(o *stscreds.AssumeRoleOptions) {
				o.RoleSessionName, o.ExternalID = roleSession, &role.ExternalID
				if policy != "" {
					o.Policy = &policy
				}
			}))
			return New(assumed)
		}
		accounts[account] = &sessions{open: open, only: role.Only, made: map[string]*Services{}}
	}
	return func(account string) (resume.Services, bool) {
		services, ok := accounts[account]
		return services, ok
	}
}

// sessions are the services of an account, with a session for each kind if its rights are limited.
type sessions struct {
	open func(policy string) *Services
	only Rights

	mu   sync.Mutex
	made map[string]*Services // by the policy, "" for none
}

// of returns the services for jobs of a kind.
func (s *sessions) of(kind jobs.Kind) *Services {
	var policy string
	if s.only != nil {
		policy = sessionPolicy(s.only(kind))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made[policy] == nil {
		s.made[policy] = s.open(policy)
	}
	return s.made[policy]
}

// sessionPolicy returns the policy of a session. It is for all resources, because the role's own
// policies name them and a session policy has at most 2,048 characters.
func sessionPolicy(statements []jobs.Statement) string {
	var actions []string
	for _, statement := range statements {
		actions = append(actions, statement.Action...)
	}
	text, _ := json.Marshal(map[string]any{ // it has only texts
		"Version": "2012-10-17", "Statement": []jobs.Statement{{Effect: "Allow", Action: actions, Resource: []string{"*"}}},
	})
	return string(text)
}

// Start implements [resume.Services].
func (s *sessions) Start(ctx context.Context, kind jobs.Kind, params []byte) ([]byte, error) {
	return s.of(kind).Start(ctx, kind, params)
}

// Describe implements [resume.Services].
func (s *sessions) Describe(ctx context.Context, kind jobs.Kind, params []byte) ([]byte, error) {
	return s.of(kind).Describe(ctx, kind, params)
}

// Stop implements [resume.Services].
func (s *sessions) Stop(ctx context.Context, kind jobs.Kind, params []byte) error {
	return s.of(kind).Stop(ctx, kind, params)
}
