package call

// The rows. Their inputs and outputs come from the vendor's models.
var (
	SubmitJob = Operation{
		Service: Batch, Name: "SubmitJob", Method: "POST", Path: "/v1/submitjob",
		Input: `
			{arrayProperties:{size:i} consumableResourcePropertiesOverride:{consumableResourceList:[{consumableResource:s quantity:l}]}
			containerOverrides:{command:[s] environment:[{name:s value:s}] instanceType:s memory:i resourceRequirements:[{type!:s value!:s}] vcpus:i}
			dependsOn:[{jobId:s type:s}] ecsPropertiesOverride:{taskProperties:[{containers:[{command:[s] environment:[{name:s value:s}] name:s
			resourceRequirements:[{type!:s value!:s}]}]}]} eksPropertiesOverride:{podProperties:{containers:[{args:[s] command:[s] env:[{name!:s
			value:s}] image:s name:s resources:{limits:<s> requests:<s>}}] initContainers:[{args:[s] command:[s] env:[{name!:s value:s}] image:s name:s
			resources:{limits:<s> requests:<s>}}] metadata:{annotations:<s> labels:<s> namespace:s}}} jobDefinition!:s jobName!:s jobQueue!:s
			nodeOverrides:{nodePropertyOverrides:[{consumableResourcePropertiesOverride:{consumableResourceList:[{consumableResource:s quantity:l}]}
			containerOverrides:{command:[s] environment:[{name:s value:s}] instanceType:s memory:i resourceRequirements:[{type!:s value!:s}] vcpus:i}
			ecsPropertiesOverride:{taskProperties:[{containers:[{command:[s] environment:[{name:s value:s}] name:s resourceRequirements:[{type!:s
			value!:s}]}]}]} eksPropertiesOverride:{podProperties:{containers:[{args:[s] command:[s] env:[{name!:s value:s}] image:s name:s
			resources:{limits:<s> requests:<s>}}] initContainers:[{args:[s] command:[s] env:[{name!:s value:s}] image:s name:s resources:{limits:<s>
			requests:<s>}}] metadata:{annotations:<s> labels:<s> namespace:s}}} instanceTypes:[s] targetNodes!:s}] numNodes:i} parameters:<s>
			propagateTags:b retryStrategy:{attempts:i evaluateOnExit:[{action!:s onExitCode:s onReason:s onStatusReason:s}]}
			schedulingPriorityOverride:i shareIdentifier:s tags:<s> timeout:{attemptDurationSeconds:i}}`,
	}
	DescribeJobs = Operation{
		Service: Batch, Name: "DescribeJobs", Method: "POST", Path: "/v1/describejobs",
		Input: `{jobs!:[s]}`,
	}
	StartReplicationTask = Operation{
		Service: DMS, Name: "StartReplicationTask",
		Input: `{CdcStartPosition:s CdcStartTime:t CdcStopPosition:s ReplicationTaskArn!:s StartReplicationTaskType!:s}`,
		Output: `
			{ReplicationTask:{ReplicationTaskCreationDate:t ReplicationTaskStartDate:t ReplicationTaskStats:{FreshStartDate:t FullLoadFinishDate:t
			FullLoadStartDate:t StartDate:t StopDate:t}}}`,
	}
	DescribeReplicationTasks = Operation{
		Service: DMS, Name: "DescribeReplicationTasks",
		Input: `{Filters:[{Name!:s Values!:[s]}] Marker:s MaxRecords:i WithoutSettings:b}`,
		Output: `
			{ReplicationTasks:[{ReplicationTaskCreationDate:t ReplicationTaskStartDate:t ReplicationTaskStats:{FreshStartDate:t FullLoadFinishDate:t
			FullLoadStartDate:t StartDate:t StopDate:t}}]}`,
	}
	StartExecution = Operation{
		Service: SFN, Name: "StartExecution",
		Input:  `{input:s name:s stateMachineArn!:s traceHeader:s}`,
		Output: `{startDate:t}`,
	}
	DescribeExecution = Operation{
		Service: SFN, Name: "DescribeExecution",
		Input:  `{executionArn!:s includedData:s}`,
		Output: `{redriveDate:t startDate:t stopDate:t}`,
	}
	StartTranscriptionJob = Operation{
		Service: Transcribe, Name: "StartTranscriptionJob",
		Input: `
			{ContentRedaction:{PiiEntityTypes:[s] RedactionOutput!:s RedactionType!:s} IdentifyLanguage:b IdentifyMultipleLanguages:b
			JobExecutionSettings:{AllowDeferredExecution:b DataAccessRoleArn:s} KMSEncryptionContext:<s> LanguageCode:s
			LanguageIdSettings:<{LanguageModelName:s VocabularyFilterName:s VocabularyName:s}> LanguageOptions:[s] Media!:{MediaFileUri:s
			RedactedMediaFileUri:s} MediaFormat:s MediaSampleRateHertz:i ModelSettings:{LanguageModelName:s} OutputBucketName:s
			OutputEncryptionKMSKeyId:s OutputKey:s Settings:{ChannelIdentification:b MaxAlternatives:i MaxSpeakerLabels:i ShowAlternatives:b
			ShowSpeakerLabels:b VocabularyFilterMethod:s VocabularyFilterName:s VocabularyName:s} Subtitles:{Formats:[s] OutputStartIndex:i}
			Tags:[{Key!:s Value!:s}] ToxicityDetection:[{ToxicityCategories!:[s]}] TranscriptionJobName!:s}`,
		Output: `{TranscriptionJob:{CompletionTime:t CreationTime:t StartTime:t}}`,
	}
	GetTranscriptionJob = Operation{
		Service: Transcribe, Name: "GetTranscriptionJob",
		Input:  `{TranscriptionJobName!:s}`,
		Output: `{TranscriptionJob:{CompletionTime:t CreationTime:t StartTime:t}}`,
	}
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
	return []Operation{
		SubmitJob, DescribeJobs, StartReplicationTask, DescribeReplicationTasks, StartExecution, DescribeExecution, StartTranscriptionJob,
		GetTranscriptionJob, Publish, DescribeStacks, ListStackResources, GetCallerIdentity,
	}
}
