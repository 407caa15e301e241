// Package fnf is the vendor's API of version 2019-03-15: the vendor's own clients work with another
// endpoint and another key.
//
//	CreateFlow            Name, Definition, Description, Type, RoleArn, ExternalStorageLocation,
//	                      ExecutionMode, Environment, ResourceGroupId        -> flow
//	UpdateFlow            the same; omitted parameters do not change         -> flow
//	DescribeFlow          Name                                               -> flow
//	DeleteFlow            Name
//	ListFlows             Limit, NextToken, ResourceGroupId                  -> Flows, NextToken
//	StartExecution        FlowName, ExecutionName, Input                     -> execution
//	StopExecution         FlowName, ExecutionName, Error, Cause              -> execution
//	DescribeExecution     FlowName, ExecutionName, WaitTimeSeconds           -> execution
//	ListExecutions        FlowName, Limit, NextToken, Status, StartedTimeBegin, StartedTimeEnd,
//	                      ExecutionNamePrefix, MetadataOnly                  -> Executions, NextToken
//	GetExecutionHistory   FlowName, ExecutionName, Limit, NextToken          -> Events, NextToken
//	ReportTaskSucceeded   TaskToken, Output                                  -> EventId
//	ReportTaskFailed      TaskToken, Error, Cause                            -> EventId
//	DescribeRegions                                                          -> Regions
//	CreateSchedule        FlowName, ScheduleName, CronExpression, Payload, Description, Enable -> schedule
//	UpdateSchedule        the same; omitted parameters do not change         -> schedule
//	DescribeSchedule      FlowName, ScheduleName                             -> schedule
//	DeleteSchedule        FlowName, ScheduleName
//	ListSchedules         FlowName, Limit, NextToken                         -> Schedules, NextToken
//
// The protocol is the vendor's RPC: the path /, GET or POST, each parameter in the query or in the
// form that is the body, JSON responses. Every request is signed with HMAC-SHA1 and a shared key,
// and is at most 15 minutes old. A nonce is required and not stored: a token is single use and a
// named start is idempotent, so a repeated request changes nothing that is new.
//
//   - TaskNotExists: the token is forged, damaged or expired. The store is not read.
//   - TaskAlreadyCompleted: every report but the first, also with the same outcome.
//   - ExecutionAlreadyExists: an execution with the name has ended. If it has not ended, it is
//     returned.
//   - FlowAlreadyExists: a definition with the name is listed, whichever API put it.
//   - ConcurrentUpdateError: another request changed the flow meanwhile; try again.
//   - ActionNotSupported: StartSyncExecution, and all that the vendor added later.
//   - EntityTooLarge: the request or the report is too large, as in the vendor's API.
//
// The output for a Waitless step is a JSON object within its limit. The output for an external
// recipient is any JSON of at most [resume.ExternalLimit] bytes.
//
// Choices where the vendor is silent: EventId of a report is 0, because the handler does not know
// the execution's history. The lengths of Error and Cause are in bytes. The name of an execution
// without one is run- and 16 random characters. A stop of an execution that has ended changes
// nothing. Tokens in inputs, outputs and histories are masked: the right to read does not include
// the right to report. A task with signed: true accepts these reports, because they are signed; a
// task with signed: NAME does not, because a client's key is not that sender's secret.
//
// A flow is the latest definition of its name. RoleArn and the other texts of a flow have no
// effect; DescribeFlow returns them as they were given. DeleteFlow deletes the schedules and stops
// the executions that have not ended, with the error FlowDeleted. Executions and histories of a
// deleted flow stay, and keep their names.
//
// While lanes of a fork run, the history may get events with smaller ids than others that are
// there. Their ids do not change.
//
// This package is not an API and may change between releases; the protocol is the vendor's.
package fnf
