package call

// The services of rows.
var (
	Batch = Service{
		ID: "Batch", Prefix: "batch", Protocol: RESTJSON,
		Hosts: map[string]string{"aws fips": "fips.batch.REGION", "aws-us-gov fips": "batch.REGION"},
	}
	DMS = Service{
		ID: "Database Migration Service", Prefix: "dms", Protocol: JSON11, Target: "AmazonDMSv20160101",
		Hosts: map[string]string{"aws-us-gov fips": "dms.REGION", "aws-iso fips": "dms.REGION", "aws-iso-b fips": "dms.REGION"},
	}
	SFN = Service{
		ID: "SFN", Prefix: "states", Protocol: JSON10, Target: "AWSStepFunctions",
		Hosts: map[string]string{"us-gov-west-1 fips": "states.us-gov-west-1", "aws-us-gov dual": "states-fips.REGION"},
	}
	Transcribe = Service{
		ID: "Transcribe", Prefix: "transcribe", Protocol: JSON11, Target: "Transcribe",
		Hosts: map[string]string{
			"aws fips": "fips.transcribe.REGION", "aws-us-gov fips": "fips.transcribe.REGION", "aws-cn": "cn.transcribe.REGION",
		},
	}
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
