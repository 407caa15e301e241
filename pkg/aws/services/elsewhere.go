package services

import (
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/waitless/waitless/pkg/resume"
)

// roleSession is the name of the sessions of the role, which CloudTrail has.
const roleSession = "waitless"

// Elsewhere returns [resume.JobDescriber.Elsewhere] for other accounts. Their services are called with a role in each of them,
// which the credentials of config assume: role is its ARN, with ACCOUNT in place of the account. The trust policy of the role may
// demand the external id, so that only one stack assumes it.
//
// Credentials are requested before the first call in an account, and kept until they expire.
func Elsewhere(config aws.Config, accounts []string, role, externalID string) func(account string) (resume.Services, bool) {
	clients := map[string]func() *Services{}
	for _, account := range accounts {
		clients[account] = sync.OnceValue(func() *Services {
			return New(assuming(config, strings.Replace(role, "ACCOUNT", account, 1), externalID))
		})
	}
	return func(account string) (resume.Services, bool) {
		made, ok := clients[account]
		if !ok {
			return nil, false
		}
		return made(), true
	}
}

func assuming(config aws.Config, role, externalID string) aws.Config {
	assumed := config.Copy()
	assumed.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(config), role, func(o *stscreds.AssumeRoleOptions) {
		o.RoleSessionName, o.ExternalID = roleSession, &externalID
	}))
	return assumed
}
