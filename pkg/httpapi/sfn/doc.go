// Package sfn is the API of AWS Step Functions (AWS JSON 1.0) over flows: the AWS CLI and the SDKs
// work with another endpoint and another key.
//
//	SendTaskSuccess        taskToken, output
//	SendTaskFailure        taskToken, error, cause
//	SendTaskHeartbeat      taskToken
//	StartExecution         stateMachineArn, name, input                          -> executionArn, startDate
//	StopExecution          executionArn, error, cause                            -> stopDate
//	DescribeExecution      executionArn, includedData                            -> execution
//	ListExecutions         stateMachineArn or mapRunArn, statusFilter, maxResults, nextToken
//	                                                                             -> executions, nextToken
//	ListMapRuns            executionArn                                          -> mapRuns
//	DescribeMapRun         mapRunArn                                             -> Map run
//	GetExecutionHistory    executionArn, maxResults, nextToken, reverseOrder, includeExecutionData
//	                                                                             -> events, nextToken
//	RedriveExecution       executionArn                                          -> redriveDate
//	StartSyncExecution     stateMachineArn, name, input                          -> execution
//	TestState              definition, stateName, input, variables, context, inspectionLevel, mock, stateConfiguration
//	                                                                             -> status, output, inspectionData
//	CreateStateMachine     name, definition, type, roleArn, publish, versionDescription, tags, ...Configuration
//	                                                                             -> stateMachineArn, creationDate
//	UpdateStateMachine     stateMachineArn, definition, roleArn, publish, versionDescription, ...Configuration
//	                                                                             -> revisionId, updateDate
//	DeleteStateMachine     stateMachineArn
//	DescribeStateMachine   stateMachineArn, includedData                         -> state machine
//	DescribeStateMachineForExecution  executionArn, includedData                 -> state machine
//	ListStateMachines      maxResults, nextToken                                 -> stateMachines, nextToken
//	ValidateStateMachineDefinition  definition, severity, maxResults             -> result, diagnostics
//	PublishStateMachineVersion      stateMachineArn, revisionId, description     -> stateMachineVersionArn
//	ListStateMachineVersions, DeleteStateMachineVersion
//	CreateStateMachineAlias, UpdateStateMachineAlias, DescribeStateMachineAlias, ListStateMachineAliases,
//	DeleteStateMachineAlias
//	CreateActivity, DeleteActivity, DescribeActivity, ListActivities
//	GetActivityTask        activityArn, workerName                               -> taskToken, input
//	TagResource, UntagResource, ListTagsForResource
//
// A state machine is a flow. Its definition is the latest text of the flow, in the Amazon States
// Language or in FDL. A version is a number for a definition, and an alias is a name for a version.
// They are stored beside the definitions, as the OfName of [engine.Definition].
//
// Every request is signed with Signature Version 4 and a shared key, is at most 15 minutes old, and
// has a body with the signed hash. The signature is of the headers Host, X-Amz-Date and
// X-Amz-Target at least, for the service "states" in any region. Repeating a request changes
// nothing more: a token is single use, and a named start is idempotent.
//
//   - InvalidToken: the text is not a task token, or the page token did not come with a previous
//     page.
//   - TaskDoesNotExist: the task token is forged, or expired with its execution. The store is not
//     read.
//   - TaskTimedOut: every report after the first, also with the same outcome; the task has an end.
//   - ExecutionAlreadyExists: an execution with the name has ended, or has another input. If it has
//     not ended and has the same input, it is returned.
//   - ExecutionNotRedrivable: the execution, or the last of its redrives, runs or succeeded.
//   - UnknownOperationException: the other actions of Step Functions.
//
// Tokens in inputs, outputs and histories are masked: the right to read does not include the right
// to report. A task with signed: true accepts reports, because they are signed; a task with signed:
// NAME does not, because a client's key is not that sender's secret.
//
// This package is not an API and may change between releases; the protocol is the vendor's.
package sfn
