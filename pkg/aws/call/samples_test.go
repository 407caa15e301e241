package call

// Services and operations that the product takes from the catalogue, as samples of the protocols.
var (
	batch = Service{
		ID: "Batch", Prefix: "batch", Protocol: RESTJSON,
		Hosts: map[string]string{"aws fips": "fips.batch.REGION", "aws-us-gov fips": "batch.REGION"},
	}
	dms = Service{
		ID: "Database Migration Service", Prefix: "dms", Protocol: JSON11, Target: "AmazonDMSv20160101",
		Hosts: map[string]string{"aws-us-gov fips": "dms.REGION", "aws-iso fips": "dms.REGION", "aws-iso-b fips": "dms.REGION"},
	}
	sfn = Service{
		ID: "SFN", Prefix: "states", Protocol: JSON10, Target: "AWSStepFunctions",
		Hosts: map[string]string{"us-gov-west-1 fips": "states.us-gov-west-1", "aws-us-gov dual": "states-fips.REGION"},
	}
	transcribe = Service{
		ID: "Transcribe", Prefix: "transcribe", Protocol: JSON11, Target: "Transcribe",
		Hosts: map[string]string{
			"aws fips": "fips.transcribe.REGION", "aws-us-gov fips": "fips.transcribe.REGION", "aws-cn": "cn.transcribe.REGION",
		},
	}
	submitJob = Operation{
		Service: batch, Name: "SubmitJob", Method: "POST", Path: "/v1/submitjob",
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
	describeJobs = Operation{
		Service: batch, Name: "DescribeJobs", Method: "POST", Path: "/v1/describejobs",
		Input: `{jobs!:[s]}`,
	}
	startReplicationTask = Operation{
		Service: dms, Name: "StartReplicationTask",
		Input: `{CdcStartPosition:s CdcStartTime:t CdcStopPosition:s ReplicationTaskArn!:s StartReplicationTaskType!:s}`,
		Output: `
			{ReplicationTask:{ReplicationTaskCreationDate:t ReplicationTaskStartDate:t ReplicationTaskStats:{FreshStartDate:t FullLoadFinishDate:t
			FullLoadStartDate:t StartDate:t StopDate:t}}}`,
	}
	describeReplicationTasks = Operation{
		Service: dms, Name: "DescribeReplicationTasks",
		Input: `{Filters:[{Name!:s Values!:[s]}] Marker:s MaxRecords:i WithoutSettings:b}`,
		Output: `
			{ReplicationTasks:[{ReplicationTaskCreationDate:t ReplicationTaskStartDate:t ReplicationTaskStats:{FreshStartDate:t FullLoadFinishDate:t
			FullLoadStartDate:t StartDate:t StopDate:t}}]}`,
	}
	startExecution = Operation{
		Service: sfn, Name: "StartExecution",
		Input:  `{input:s name:s stateMachineArn!:s traceHeader:s}`,
		Output: `{startDate:t}`,
	}
	describeExecution = Operation{
		Service: sfn, Name: "DescribeExecution",
		Input:  `{executionArn!:s includedData:s}`,
		Output: `{redriveDate:t startDate:t stopDate:t}`,
	}
	startTranscriptionJob = Operation{
		Service: transcribe, Name: "StartTranscriptionJob",
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
	getTranscriptionJob = Operation{
		Service: transcribe, Name: "GetTranscriptionJob",
		Input:  `{TranscriptionJobName!:s}`,
		Output: `{TranscriptionJob:{CompletionTime:t CreationTime:t StartTime:t}}`,
	}
)

// samples returns the rows, and the samples.
func samples() []Operation {
	return append(Rows(), submitJob, describeJobs, startReplicationTask, describeReplicationTasks, startExecution, describeExecution,
		startTranscriptionJob, getTranscriptionJob)
}
