package emulator

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// moto plays the Database Migration Service, which the emulator lacks. Its tasks
// are of account 123456789012.
var moto = program{
	name: "the emulator of DMS", file: "dms/bin/moto_server", ready: "/moto-api/",
	command: func(p *process) (args, variables []string) {
		return []string{"--host", "127.0.0.1", "--port", p.port}, nil
	},
}

// DMS is the configuration of clients of the Database Migration Service. The
// first call starts it. The functions on the emulator find it, too.
func DMS(tb testing.TB) aws.Config {
	tb.Helper()
	migrations.get(tb, moto)
	return ConfigOf(besides.endpoint())
}

// Moto is the configuration of clients of the other services that the emulator lacks, such as
// SageMaker. The first call starts their emulator.
func Moto(tb testing.TB) aws.Config {
	tb.Helper()
	return ConfigOf(migrations.get(tb, moto).endpoint)
}

// StopReason has a replication task tell why it stopped, as soon as it did: a
// reason is the service's own, and no request has it.
func StopReason(taskARN, reason string) { stopReasons.Store(taskARN, reason) }

var stopReasons sync.Map

// run is a run of a replication task.
type run struct{ ended bool }

// runs are the last runs of the tasks that ran, by ARN.
var runs sync.Map

// refusedAsDMS refuses what moto would do and DMS does not: a task is started
// with start-replication once in its life. It notes what becomes of tasks.
func refusedAsDMS(w http.ResponseWriter, r *http.Request) bool {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var asked struct{ ReplicationTaskArn, StartReplicationTaskType string }
	if err != nil || json.Unmarshal(body, &asked) != nil {
		return false // it is moto's to say
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	switch operation {
	case "StartReplicationTask":
		if last, ran := runs.Load(asked.ReplicationTaskArn); ran && last == (run{ended: true}) && asked.StartReplicationTaskType == "start-replication" {
			w.Header().Set("Content-Type", "application/x-amz-json-1.1")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"__type":"InvalidParameterCombinationException",`+
				`"message":"Start Type : START_REPLICATION, valid only for tasks running for the first time"}`)
			return true
		}
		runs.Store(asked.ReplicationTaskArn, run{})
	case "StopReplicationTask":
		runs.Store(asked.ReplicationTaskArn, run{ended: true})
	case "DeleteReplicationTask":
		runs.Delete(asked.ReplicationTaskArn)
	}
	return false
}

// tellAsDMS amends what moto answers: DMS tells instants in seconds, and tells
// why a task stopped.
func tellAsDMS(response *http.Response) error {
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	var answer any
	if json.Unmarshal(text, &answer) == nil {
		amendTasks(answer)
		if text, err = json.Marshal(answer); err != nil {
			return err
		}
	}
	response.Body = io.NopCloser(bytes.NewReader(text))
	response.ContentLength = int64(len(text))
	response.Header.Set("Content-Length", strconv.Itoa(len(text)))
	return nil
}

func amendTasks(value any) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			amendTasks(element)
		}
	case map[string]any:
		for name, member := range value {
			amendTasks(member)
			if text, ok := member.(string); ok && strings.HasSuffix(name, "Date") {
				value[name] = seconds(text)
			}
		}
		if reason, ok := stopReasons.Load(value["ReplicationTaskArn"]); ok && value["Status"] == "stopped" {
			value["StopReason"] = "Stop Reason " + reason.(string)
		}
	}
}

func seconds(text string) any {
	instant, err := time.Parse("2006-01-02T15:04:05", text)
	if err != nil {
		return text
	}
	return float64(instant.UnixMilli()) / 1000
}
