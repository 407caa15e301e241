package simulated

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// service is how one service names, starts and describes its jobs.
type service struct {
	// idOf returns the id of the job that the params start. Unique makes up an id.
	idOf func(params document, unique string) string
	// keyOf returns the key of the job with that id, nil if they are the same.
	keyOf func(id string) string
	// reused: the key names a resource, which may run again once it has ended.
	reused bool
	// busy and ended are the error codes of a start of a job that runs, or has ended; "" for none.
	busy, ended string
	// unknown is the error code for an unknown job; "" for an empty response.
	unknown string
	// job is the service's description of a job. It is a member of the response to the start, and a
	// member, or an element of a list, of the response to the description: "" for the response itself.
	job                 func(j *job, now state) document
	startedIn, listedIn string
	describedIn         string
}

// document is a JSON object.
type document map[string]any

// text returns a member that is a text, or "".
func (d document) text(name string) string {
	text, _ := d[name].(string)
	return text
}

// copyTo copies the members that are there to other names.
func (d document) copyTo(to document, names map[string]string) {
	for from, name := range names {
		if value, ok := d[from]; ok {
			to[name] = value
		}
	}
}

// services are those that are played, by the kind of their jobs.
var services = map[string]service{
	"batch-job": {
		idOf:  func(_ document, unique string) string { return inventedID(unique) },
		keyOf: func(id string) string { return "arn:aws:batch:" + Region + ":" + Account + ":job/" + id },
		job:   describeBatch, listedIn: "jobs",
	},
	"dms-task": {
		idOf:   func(params document, _ string) string { return params.text("replicationtaskarn") },
		reused: true, busy: "InvalidResourceStateFault", unknown: "ResourceNotFoundFault",
		job: describeDMS, startedIn: "ReplicationTask", listedIn: "ReplicationTasks",
	},
	"sfn-execution": {
		idOf: func(params document, unique string) string {
			machine := params.text("statemachinearn")
			return strings.Replace(machine, ":stateMachine:", ":execution:", 1) + ":" + cmp.Or(params.text("name"), inventedID(unique))
		},
		ended: "ExecutionAlreadyExists", unknown: "ExecutionDoesNotExist", // the same start of a running one returns it
		job: describeExecution,
	},
	"transcribe-job": {
		idOf: func(params document, _ string) string { return params.text("transcriptionjobname") },
		busy: "ConflictException", ended: "ConflictException", unknown: "BadRequestException",
		job: describeTranscription, startedIn: "TranscriptionJob", describedIn: "TranscriptionJob",
	},
}

func (s service) key(id string) string {
	if s.keyOf == nil {
		return id
	}
	return s.keyOf(id)
}

// started is the response to the start of a job.
func (s service) started(j *job) document {
	found := s.job(j, state{})
	if s.startedIn != "" {
		return document{s.startedIn: found}
	}
	return found
}

// described is the response to the description of a job.
func (s service) described(j *job, now state) document {
	found := s.job(j, now)
	switch {
	case s.listedIn != "":
		return document{s.listedIn: []any{found}}
	case s.describedIn != "":
		return document{s.describedIn: found}
	}
	return found
}

// inventedID is an id in the form of Batch's, made of a text.
func inventedID(unique string) string {
	hash := sha256.Sum256([]byte(unique))
	return fmt.Sprintf("%x-%x-%x-%x-%x", hash[:4], hash[4:6], hash[6:8], hash[8:10], hash[10:16])
}

func describeBatch(j *job, now state) document {
	if now.event != nil {
		return now.event // it has the form of a description
	}
	found := document{"jobArn": j.key, "jobId": j.id, "status": "RUNNING", "createdAt": j.began.UnixMilli(), "startedAt": j.began.UnixMilli()}
	j.params.copyTo(found, map[string]string{"jobname": "jobName", "jobqueue": "jobQueue", "jobdefinition": "jobDefinition"})
	if !now.running() {
		found["status"], found["stoppedAt"], found["container"] = "SUCCEEDED", now.ended.UnixMilli(), document{"exitCode": 0}
	}
	return found
}

var stopReason = regexp.MustCompile(`Stop Reason ([A-Z][A-Z_]*)`)

func describeDMS(j *job, now state) document {
	found := document{"ReplicationTaskArn": j.id, "Status": "running", "ReplicationTaskStartDate": instant(j.began)}
	if now.running() {
		return found
	}
	found["Status"], found["ReplicationTaskStats"] = "stopped", document{"StopDate": instant(now.ended)}
	switch reason := stopReason.FindStringSubmatch(now.event.text("detailMessage")); {
	case now.event == nil:
		found["StopReason"] = "FULL_LOAD_ONLY_FINISHED"
	case now.event.text("eventType") == "REPLICATION_TASK_FAILED":
		found["Status"], found["LastFailureMessage"] = "failed", now.event.text("detailMessage")
	case reason != nil:
		found["StopReason"] = reason[1]
	}
	return found
}

func describeExecution(j *job, now state) document {
	found := document{"executionArn": j.id, "status": "RUNNING", "startDate": instant(j.began)}
	j.params.copyTo(found, map[string]string{"statemachinearn": "stateMachineArn", "name": "name", "input": "input"})
	switch {
	case now.running():
		return found
	case now.event == nil:
		found["status"], found["output"] = "SUCCEEDED", "{}"
	default:
		now.event.copyTo(found, map[string]string{"status": "status", "output": "output", "error": "error", "cause": "cause"})
	}
	found["stopDate"] = instant(now.ended)
	return found
}

func describeTranscription(j *job, now state) document {
	found := document{"TranscriptionJobName": j.id, "TranscriptionJobStatus": "IN_PROGRESS", "CreationTime": instant(j.began), "StartTime": instant(j.began)}
	if !now.running() {
		found["TranscriptionJobStatus"], found["CompletionTime"] = "COMPLETED", instant(now.ended)
	}
	now.event.copyTo(found, map[string]string{"TranscriptionJobStatus": "TranscriptionJobStatus", "FailureReason": "FailureReason"})
	return found
}

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// paramsOf returns params by their names in lower case, because AWS's clients spell them differently.
func paramsOf(raw map[string]json.RawMessage) document {
	params := document{}
	for name, text := range raw {
		var value any
		_ = json.Unmarshal(text, &value) // a part of valid JSON
		params[strings.ToLower(name)] = value
	}
	return params
}
