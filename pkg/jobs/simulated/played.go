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
	// name gives the job its id and its key.
	name func(j *job, unique string)
	// keyOf is the key of the job with that id.
	keyOf func(id string) string
	// reused: the key names a resource, which may run again once it has ended.
	reused bool
	// again is why a job of that name cannot be started again.
	again func(before *job, now time.Time) *Refusal
	// unknown is the error code for a job that there is not; "" where the answer is an empty one.
	unknown   string
	started   func(j *job) any
	described func(j *job, now state) any
}

// document is a JSON object.
type document = map[string]any

// services are those that are played, by the kind of their jobs.
var services = map[string]service{
	"batch-job": {
		name: func(j *job, unique string) {
			j.id = inventedID(unique)
			j.key = batchARN(j.id)
		},
		keyOf: batchARN,
		again: never,
		started: func(j *job) any {
			return document{"jobArn": j.key, "jobId": j.id, "jobName": j.params["jobname"]}
		},
		described: describeBatch,
	},
	"dms-task": {
		name:   func(j *job, _ string) { j.id = j.text("replicationtaskarn"); j.key = j.id },
		keyOf:  itself,
		reused: true,
		again: func(before *job, now time.Time) *Refusal {
			if !before.stateAt(now).running() {
				return nil
			}
			return &Refusal{"InvalidResourceStateFault", "the replication task is running"}
		},
		unknown: "ResourceNotFoundFault",
		started: func(j *job) any {
			return document{"ReplicationTask": document{
				"ReplicationTaskArn": j.id, "Status": "starting", "ReplicationTaskStartDate": instant(j.began),
			}}
		},
		described: describeDMS,
	},
	"sfn-execution": {
		name: func(j *job, unique string) {
			machine := j.text("statemachinearn")
			j.id = strings.Replace(machine, ":stateMachine:", ":execution:", 1) + ":" + cmp.Or(j.text("name"), inventedID(unique))
			j.key = j.id
		},
		keyOf: itself,
		again: func(before *job, now time.Time) *Refusal {
			if before.stateAt(now).running() {
				return nil // the same start again is answered as the first one was
			}
			return &Refusal{"ExecutionAlreadyExists", "there was an execution of that name"}
		},
		unknown: "ExecutionDoesNotExist",
		started: func(j *job) any {
			return document{"executionArn": j.id, "startDate": instant(j.began)}
		},
		described: describeExecution,
	},
	"transcribe-job": {
		name:  func(j *job, _ string) { j.id = j.text("transcriptionjobname"); j.key = j.id },
		keyOf: itself,
		again: func(*job, time.Time) *Refusal {
			return &Refusal{"ConflictException", "there is a job of that name"}
		},
		unknown:   "BadRequestException",
		started:   func(j *job) any { return describeTranscription(j, state{}) },
		described: describeTranscription,
	},
}

func itself(id string) string { return id }

func never(*job, time.Time) *Refusal { return nil }

// inventedID is an id as Batch invents them, made of a text.
func inventedID(unique string) string {
	hash := sha256.Sum256([]byte(unique))
	return fmt.Sprintf("%x-%x-%x-%x-%x", hash[:4], hash[4:6], hash[6:8], hash[8:10], hash[10:16])
}

func batchARN(id string) string { return "arn:aws:batch:" + Region + ":" + Account + ":job/" + id }

func describeBatch(j *job, now state) any {
	found := document{"jobArn": j.key, "jobId": j.id, "status": "RUNNING", "createdAt": j.began.UnixMilli(), "startedAt": j.began.UnixMilli()}
	for _, name := range []string{"jobName", "jobQueue", "jobDefinition"} {
		if value, ok := j.params[strings.ToLower(name)]; ok {
			found[name] = value
		}
	}
	switch {
	case now.event != nil:
		found = now.event.Detail // which has the form of a description
	case !now.running():
		found["status"], found["stoppedAt"] = "SUCCEEDED", now.ended.UnixMilli()
		found["container"] = document{"exitCode": 0}
	}
	return document{"jobs": []any{found}}
}

var stopReason = regexp.MustCompile(`Stop Reason ([A-Z][A-Z_]*)`)

func describeDMS(j *job, now state) any {
	found := document{"ReplicationTaskArn": j.id, "Status": "running", "ReplicationTaskStartDate": instant(j.began)}
	if !now.running() {
		found["ReplicationTaskStats"] = document{"StopDate": instant(now.ended)}
	}
	switch {
	case now.running():
	case now.event == nil:
		found["Status"], found["StopReason"] = "stopped", "FULL_LOAD_ONLY_FINISHED"
	case now.event.text("eventType") == "REPLICATION_TASK_FAILED":
		found["Status"], found["LastFailureMessage"] = "failed", now.event.text("detailMessage")
	default:
		found["Status"] = "stopped"
		if reason := stopReason.FindStringSubmatch(now.event.text("detailMessage")); reason != nil {
			found["StopReason"] = reason[1]
		}
	}
	return document{"ReplicationTasks": []any{found}}
}

func describeExecution(j *job, now state) any {
	found := document{"executionArn": j.id, "status": "RUNNING", "startDate": instant(j.began)}
	for member, param := range map[string]string{"stateMachineArn": "statemachinearn", "name": "name", "input": "input"} {
		if value, ok := j.params[param]; ok {
			found[member] = value
		}
	}
	if now.running() {
		return found
	}
	found["status"], found["stopDate"], found["output"] = "SUCCEEDED", instant(now.ended), "{}"
	if now.event != nil {
		delete(found, "output")
		for _, member := range []string{"status", "output", "error", "cause"} {
			if value, ok := now.event.Detail[member]; ok {
				found[member] = value
			}
		}
	}
	return found
}

func describeTranscription(j *job, now state) any {
	found := document{"TranscriptionJobName": j.id, "TranscriptionJobStatus": "IN_PROGRESS", "CreationTime": instant(j.began), "StartTime": instant(j.began)}
	if !now.running() {
		found["TranscriptionJobStatus"], found["CompletionTime"] = "COMPLETED", instant(now.ended)
	}
	if now.event != nil {
		found["TranscriptionJobStatus"] = now.event.text("TranscriptionJobStatus")
		found["FailureReason"] = now.event.text("FailureReason")
	}
	return document{"TranscriptionJob": found}
}

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// valuesOf are params by their names in lower case, since AWS's clients spell them in different ways.
func valuesOf(raw map[string]json.RawMessage) document {
	values := document{}
	for name, text := range raw {
		var value any
		_ = json.Unmarshal(text, &value) // a part of what was JSON
		values[strings.ToLower(name)] = value
	}
	return values
}

// text is a param that is a text, or "".
func (j *job) text(param string) string {
	text, _ := j.params[param].(string)
	return text
}
