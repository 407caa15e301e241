package jobs

import (
	"regexp"
	"time"
)

// rows is the table, in the order of names.
var rows = []Kind{
	{
		Name: "batch-job", Service: "batch", Start: "SubmitJob", Describe: "DescribeJobs", Scope: ScopeRun,
		Source: "aws.batch", DetailType: "Batch Job State Change", Once: OnceNot,
		row: &row{
			// An event's detail is what DescribeJobs answers of one job.
			event:   places{key: "detail.jobArn", id: "detail.jobId", status: "detail.status", at: "time"},
			answer:  places{key: "JobArn", id: "JobId"},
			found:   places{key: "Jobs[0].JobArn", id: "Jobs[0].JobId", status: "Jobs[0].Status", at: "Jobs[0].StoppedAt"},
			success: []string{"SUCCEEDED"}, failure: []string{"FAILED"},
			causes: []field{
				{"", "detail.statusReason", "Jobs[0].StatusReason"},
				{"exit code", "detail.container.exitCode", "Jobs[0].Container.ExitCode"},
				{"", "detail.container.reason", "Jobs[0].Container.Reason"},
			},
			output: []field{
				{"job_name", "detail.jobName", "Jobs[0].JobName"},
				{"job_queue", "detail.jobQueue", "Jobs[0].JobQueue"},
				{"job_definition", "detail.jobDefinition", "Jobs[0].JobDefinition"},
				{"exit_code", "detail.container.exitCode", "Jobs[0].Container.ExitCode"},
				{"log_stream", "detail.container.logStreamName", "Jobs[0].Container.LogStreamName"},
			},
			idForm: formOf(`^[0-9A-Za-z][0-9A-Za-z:#-]*$`, 128), idMeans: "the jobId that SubmitJob answered",
			keyFromID:  "arn:PARTITION:batch:REGION:ACCOUNT:job/ID",
			describe:   `{"Jobs":[ID]}`,
			required:   []string{"JobDefinition", "JobName", "JobQueue"},
			starting:   []right{{"batch:SubmitJob", []string{"batch:REGION:ACCOUNT:job-definition/*", "batch:REGION:ACCOUNT:job-queue/*"}}},
			describing: []right{{"batch:DescribeJobs", nil}},
		},
	},
	{
		// Nothing is started and nothing is heard: somebody calls the URL.
		Name: KindCallback, Scope: ScopeRun, Once: OnceNot, row: &row{},
	},
	{
		Name: "dms-task", Service: "dms", Start: "StartReplicationTask", Describe: "DescribeReplicationTasks", Scope: ScopeResource,
		Source: "aws.dms", DetailType: "DMS Replication Task State Change", Once: OnceBusy,
		row: &row{
			event: places{
				key: "resources[0]", id: "resources[0]", status: "detail.eventType", at: "time", reason: "detail.detailMessage",
			},
			answer: places{
				key: "ReplicationTask.ReplicationTaskArn", id: "ReplicationTask.ReplicationTaskArn",
				began: []path{"ReplicationTask.ReplicationTaskStartDate", "ReplicationTask.ReplicationTaskStats.StartDate"},
			},
			found: places{
				key: "ReplicationTasks[0].ReplicationTaskArn", id: "ReplicationTasks[0].ReplicationTaskArn",
				status: "ReplicationTasks[0].Status", at: "ReplicationTasks[0].ReplicationTaskStats.StopDate",
				reason: "ReplicationTasks[0].StopReason",
				began:  []path{"ReplicationTasks[0].ReplicationTaskStartDate", "ReplicationTasks[0].ReplicationTaskStats.StartDate"},
			},
			// A task takes longer than that to start, so two of its runs do not begin within it.
			drift: 30 * time.Second,
			// eventId (DMS-EVENT-0079) is left out of newer events, so eventType decides.
			words:   map[string]string{"REPLICATION_TASK_STOPPED": "stopped", "REPLICATION_TASK_FAILED": "failed"},
			success: []string{"stopped"}, failure: []string{"failed"},
			stop: &stopReasons{
				inEvent: lazily(`Stop Reason ([A-Z][A-Z_]*)`),
				inFound: lazily(`^(?:Stop Reason )?([A-Z][A-Z_]*)$`),
				success: []string{
					"NORMAL", "FULL_LOAD_ONLY_FINISHED", "STOPPED_AFTER_FULL_LOAD", "STOPPED_AFTER_CACHED_EVENTS",
					"STOPPED_AFTER_DDL_APPLY", "STOPPED_AT_SERVER_TIME", "STOPPED_AT_COMMIT_TIME",
				},
				failure: []string{
					"RECOVERABLE_ERROR", "FATAL_ERROR", "EXPRESS_LICENSE_LIMITS_REACHED", "STOPPED_DUE_TO_LOW_MEMORY", "STOPPED_DUE_TO_LOW_DISK",
				},
				passing: []string{"RECONFIGURATION_RESTART", "RECYCLE_TASK"},
			},
			causes: []field{
				{"", "detail.detailMessage", "ReplicationTasks[0].StopReason"},
				{"", "", "ReplicationTasks[0].LastFailureMessage"},
			},
			idForm:  formOf(`^arn:[a-z-]+:dms:[a-z0-9-]+:[0-9]*:task:[0-9A-Za-z-]+$`, maxARN),
			idMeans: "the ARN of a replication task", resourceParam: "ReplicationTaskArn",
			describe: `{"Filters":[{"Name":"replication-task-arn","Values":[ID]}],"WithoutSettings":true}`,
			required: []string{"ReplicationTaskArn"},
			// The one type that a task's first run may have, and no other run: a later one must name another.
			defaults: map[string]string{"StartReplicationTaskType": "start-replication"},
			unknown:  []string{"ResourceNotFoundFault"}, taken: []string{"InvalidResourceStateFault"},
			starting:   []right{{"dms:StartReplicationTask", []string{"dms:REGION:ACCOUNT:task:*"}}},
			describing: []right{{"dms:DescribeReplicationTasks", nil}},
		},
	},
	{
		Name: "sfn-execution", Service: "sfn", Start: "StartExecution", Describe: "DescribeExecution", Scope: ScopeRun,
		Source: "aws.states", DetailType: "Step Functions Execution Status Change", Once: OnceByName,
		row: &row{
			event:   places{key: "detail.executionArn", id: "detail.executionArn", status: "detail.status", at: "time"},
			answer:  places{key: "ExecutionArn", id: "ExecutionArn"},
			found:   places{key: "ExecutionArn", id: "ExecutionArn", status: "Status", at: "StopDate", began: []path{"StartDate"}},
			success: []string{"SUCCEEDED"}, failure: []string{"FAILED", "TIMED_OUT"}, stopped: []string{"ABORTED"},
			causes: []field{{"", "detail.error", "Error"}, {"", "detail.cause", "Cause"}},
			output: []field{
				{"name", "detail.name", "Name"},
				{"state_machine_arn", "detail.stateMachineArn", "StateMachineArn"},
				{"output", "detail.output", "Output"},
			},
			jsonText: "output",
			idForm:   formOf(`^arn:[a-z-]+:states:[a-z0-9-]+:[0-9]*:execution:[!-9;-~]+:[!-~]+$`, maxARN),
			idMeans:  "the ARN of an execution", describe: `{"ExecutionArn":ID}`,
			untold:        formOf(`^arn:[a-z-]+:states:[a-z0-9-]+:[0-9]*:express:`, maxARN),
			untoldMeans:   "an Express execution, which runs by now but tells nobody of its end; use a Standard state machine",
			resource:      formOf(`^arn:[a-z-]+:states:[a-z0-9-]+:[0-9]*:stateMachine:[^\s]+$`, maxARN),
			resourceParam: "StateMachineArn",
			required:      []string{"StateMachineArn"}, textParam: "Input",
			nameParam: "Name", nameForm: formOf(`^[0-9A-Za-z_-]+$`, 80),
			unknown: []string{"ExecutionDoesNotExist"}, taken: []string{"ExecutionAlreadyExists"},
			starting:   []right{{"states:StartExecution", []string{"states:REGION:ACCOUNT:stateMachine:*"}}},
			describing: []right{{"states:DescribeExecution", []string{"states:REGION:ACCOUNT:execution:*"}}},
		},
	},
	{
		// The tutorial's job is its own job_id: no service, no event.
		Name: KindSimulated, Scope: ScopeRun, Once: OnceNot, row: &row{},
	},
	{
		// A message has no end: its start is all there is. The vendor's topics are
		// SNS's here, and its queues SQS's.
		Name: "sns-message", Service: "sns", Start: "Publish", Scope: ScopeRun, Once: OnceNot,
		row: &row{
			message:  &message{name: "TopicName", place: "TopicArn", body: "Message"},
			resource: formOf(`^acs:mns:`+anyText+`:`+anyText+`:/topics/(`+placeName+`)/messages$`, maxARN), resourceParam: "TopicName",
			starting: []right{{"sns:Publish", []string{"sns:REGION:ACCOUNT:*"}}},
		},
	},
	{
		Name: "sqs-message", Service: "sqs", Start: "SendMessage", Scope: ScopeRun, Once: OnceNot,
		row: &row{
			message:  &message{name: "QueueName", place: "QueueUrl", body: paramBody, delay: true, most: 10},
			resource: formOf(`^acs:mns:`+anyText+`:`+anyText+`:/queues/(`+placeName+`)/messages$`, maxARN), resourceParam: "QueueName",
			starting: []right{{"sqs:GetQueueUrl", []string{"sqs:REGION:ACCOUNT:*"}}, {"sqs:SendMessage", []string{"sqs:REGION:ACCOUNT:*"}}},
		},
	},
	{
		Name: "transcribe-job", Service: "transcribe", Start: "StartTranscriptionJob", Describe: "GetTranscriptionJob", Scope: ScopeResource,
		Source: "aws.transcribe", DetailType: "Transcribe Job State Change", Once: OnceByName,
		row: &row{
			event: places{
				key: "detail.TranscriptionJobName", id: "detail.TranscriptionJobName", status: "detail.TranscriptionJobStatus", at: "time",
			},
			answer: places{
				key: "TranscriptionJob.TranscriptionJobName", id: "TranscriptionJob.TranscriptionJobName",
				began: []path{"TranscriptionJob.CreationTime", "TranscriptionJob.StartTime"},
			},
			found: places{
				key: "TranscriptionJob.TranscriptionJobName", id: "TranscriptionJob.TranscriptionJobName",
				status: "TranscriptionJob.TranscriptionJobStatus", at: "TranscriptionJob.CompletionTime",
				began: []path{"TranscriptionJob.CreationTime", "TranscriptionJob.StartTime"},
			},
			success: []string{"COMPLETED"}, failure: []string{"FAILED"},
			causes: []field{{"", "detail.FailureReason", "TranscriptionJob.FailureReason"}},
			idForm: formOf(`^[0-9A-Za-z._-]+$`, 200), idMeans: "the name of a transcription job",
			describe:  `{"TranscriptionJobName":ID}`,
			required:  []string{"TranscriptionJobName", "Media"},
			nameParam: "TranscriptionJobName", nameForm: formOf(`^[0-9A-Za-z._-]+$`, 200),
			// A name that nobody has is a BadRequestException to GetTranscriptionJob.
			unknown: []string{"BadRequestException", "NotFoundException"}, taken: []string{"ConflictException"},
			starting: []right{
				{"transcribe:StartTranscriptionJob", nil},
				{"s3:GetObject", []string{"s3:::*/*"}}, // Transcribe reads the media with the rights of the caller that starts the job
			},
			describing: []right{{"transcribe:GetTranscriptionJob", []string{"transcribe:REGION:ACCOUNT:transcription-job/*"}}},
		},
	},
}

// row is what only this package needs of a kind: where things stand in events
// and answers, and what they mean.
type row struct {
	event  places // in an event
	answer places // in the answer to the start
	found  places // in the answer to the description

	// words are the statuses of events that a description calls otherwise.
	words                     map[string]string
	success, failure, stopped []string
	stop                      *stopReasons
	drift                     time.Duration // how far apart two instants may lie that the service tells of one begin
	causes                    []field       // what the cause of a failure consists of
	output                    []field       // what a success has beside job_id, job_key, kind and status
	jsonText                  string        // the field of the output that is JSON in a text

	idForm    *form
	idMeans   string
	keyFromID string // for answers without the key
	// untold is the form of jobs whose end neither events nor descriptions tell.
	untold      *form
	untoldMeans string
	describe    string // the params of the description, with ID

	required      []string          // params that a start cannot do without
	defaults      map[string]string // params that it gets where none are given
	textParam     string            // the param that is JSON in a text
	nameParam     string            // the param that makes the start happen once
	nameForm      *form
	resourceParam string // the param that [ForResource] fills
	resource      *form  // its form, idForm where nil; what it has in parentheses is the param

	message *message // nil for a job, which has an end

	unknown []string // error codes of a description: there is no such job
	taken   []string // error codes of a start: the name or the resource is in use

	starting, describing []right
}

// places are the paths of what is read from one document.
type places struct {
	key, id, status, at, reason path
	began                       []path // the first that is there
}

// field is a value that event and description both have.
type field struct {
	name         string
	event, found path
}

// stopReasons tell what it means that a run stopped.
type stopReasons struct {
	inEvent, inFound func() *regexp.Regexp
	success, failure []string
	passing          []string // the run goes on by itself
}

// right is an action of IAM with the resources that it is for, nil where the
// service knows no resources for it. Each is an ARN after its partition.
type right struct {
	action    string
	resources []string
}
