package call

// The rows. Their inputs and outputs come from the vendor's models.
var (
	Publish = Operation{
		Service: SNS, Name: "Publish",
		Input: `
			{Message!:s MessageAttributes:<Name Value {BinaryValue:B DataType!:s StringValue:s}> MessageDeduplicationId:s MessageGroupId:s
			MessageStructure:s PhoneNumber:s Subject:s TargetArn:s TopicArn:s}`,
		Output: `{MessageId:s SequenceNumber:s}`,
	}
	DescribeStacks = Operation{
		Service: CloudFormation, Name: "DescribeStacks",
		Input: `{NextToken:s StackName:s}`,
		Output: `
			{NextToken:s Stacks:[{Capabilities:[s] ChangeSetId:s CreationTime!:t DeletionMode:s DeletionTime:t DeploymentConfig:{DisableRollback:b
			Mode:s} Description:s DetailedStatus:s DisableRollback:b DriftInformation:{LastCheckTimestamp:t StackDriftStatus!:s}
			EnableTerminationProtection:b LastOperations:[{OperationId:s OperationType:s}] LastUpdatedTime:t NotificationARNs:[s]
			Outputs:[{Description:s ExportName:s OutputKey:s OutputValue:s}] Parameters:[{ParameterKey:s ParameterValue:s ResolvedValue:s
			UsePreviousValue:b}] ParentId:s RetainExceptOnCreate:b RoleARN:s RollbackConfiguration:{MonitoringTimeInMinutes:i RollbackTriggers:[{Arn!:s
			Type!:s}]} RootId:s StackId:s StackName!:s StackStatus!:s StackStatusReason:s Tags:[{Key!:s Value!:s}] TimeoutInMinutes:i}]}`,
	}
	ListStackResources = Operation{
		Service: CloudFormation, Name: "ListStackResources",
		Input: `{NextToken:s StackName!:s}`,
		Output: `
			{NextToken:s StackResourceSummaries:[{DriftInformation:{LastCheckTimestamp:t StackResourceDriftStatus!:s} LastUpdatedTimestamp!:t
			LogicalResourceId!:s ModuleInfo:{LogicalIdHierarchy:s TypeHierarchy:s} PhysicalResourceId:s ResourceStatus!:s ResourceStatusReason:s
			ResourceType!:s}]}`,
	}
	GetCallerIdentity = Operation{
		Service: STS, Name: "GetCallerIdentity",
		Input:  `{}`,
		Output: `{Account:s Arn:s UserId:s}`,
	}
)

// Rows returns all rows.
func Rows() []Operation {
	return []Operation{Publish, DescribeStacks, ListStackResources, GetCallerIdentity}
}
