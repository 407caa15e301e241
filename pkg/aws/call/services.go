package call

// The services of rows.
var (
	SNS = Service{
		ID: "SNS", Prefix: "sns", Protocol: Query, Target: "2010-03-31",
		Hosts: map[string]string{"aws-us-gov fips": "sns.REGION"},
	}
	CloudFormation = Service{
		ID: "CloudFormation", Prefix: "cloudformation", Protocol: Query, Target: "2010-05-15",
		Hosts: map[string]string{"aws-us-gov fips": "cloudformation.REGION"},
	}
	STS = Service{
		ID: "STS", Prefix: "sts", Protocol: Query, Target: "2011-06-15",
		Hosts: map[string]string{"aws-us-gov fips": "sts.REGION"},
	}
)
