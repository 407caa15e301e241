package call

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"

	"github.com/waitless/waitless/pkg/internal/suite/botocore"
)

// vendor runs cases by the vendor's library.
func vendor(t *testing.T, cases []map[string]any, results any) {
	t.Helper()
	if err := botocore.Run(t.Context(), cases, results); err != nil {
		t.Fatal(err)
	}
}

// more are operations without a row, for what the rows have not: paths with labels, queries,
// headers and payloads. Those of the query protocol have other names of items and members.
var more = map[string]string{
	"DescribeJobRun": "databrew", "StartBackupJob": "backup", "ListBackupJobs": "backup", "Invoke": "lambda",
	"DescribeDBInstances": "rds", "DescribeNodeConfigurationOptions": "redshift",
	"ModifyReplicationGroup": "elasticache", "SetTopicAttributes": "sns", "PublishBatch": "sns", "CreateAutoScalingGroup": "autoscaling",
}

var requests = []struct{ operation, params string }{
	{"SubmitJob", `{"jobName":"<n> & ü","jobQueue":"q","jobDefinition":"d","timeout":{"attemptDurationSeconds":60},"parameters":{"Key":"v"},"tags":{},
		"dependsOn":[{"jobId":"a"},{"type":"N_TO_N"}],"propagateTags":true,"arrayProperties":{"size":2}}`},
	{"DescribeJobs", `{"jobs":["a","b"]}`},
	{"StartReplicationTask", `{"ReplicationTaskArn":"arn","StartReplicationTaskType":"start-replication","CdcStartTime":"2026-01-01T00:00:00Z"}`},
	{"DescribeReplicationTasks", `{"Filters":[{"Name":"n","Values":["v"]}],"MaxRecords":20,"WithoutSettings":true}`},
	{"StartExecution", `{"stateMachineArn":"arn","input":"{\"a\":1}"}`},
	{"DescribeExecution", `{"executionArn":"arn"}`},
	{"StartTranscriptionJob", `{"TranscriptionJobName":"n","Media":{"MediaFileUri":"s3://b/k"},"LanguageIdSettings":{"en-US":{"VocabularyName":"v"}}}`},
	{"GetTranscriptionJob", `{"TranscriptionJobName":"n"}`},
	{"Publish", `{"Message":"a=b&c d\n+ü","TopicArn":"arn:t",
		"MessageAttributes":{"a":{"DataType":"Binary","BinaryValue":"AAEC"},"b":{"DataType":"String","StringValue":"s"}}}`},
	{"DescribeStacks", `{"StackName":"s"}`},
	{"ListStackResources", `{"StackName":"s","NextToken":"t/="}`},
	{"GetCallerIdentity", `{}`},
	{"DescribeDBInstances", `{"Filters":[{"Name":"n","Values":["a","b"]},{"Name":"m","Values":[]}],"MaxRecords":20}`},
	{"DescribeNodeConfigurationOptions", `{"ActionType":"restore-cluster","Filters":[{"Name":"NumberOfNodes","Operator":"gt","Values":["3"]}]}`},
	{"PublishBatch", `{"TopicArn":"t","PublishBatchRequestEntries":[{"Id":"1","Message":"m","MessageAttributes":{}}]}`},
	{"CreateAutoScalingGroup", `{"AutoScalingGroupName":"g","MinSize":0,"MaxSize":1,"AvailabilityZones":[],"NewInstancesProtectedFromScaleIn":false,
		"MixedInstancesPolicy":{"LaunchTemplate":{"Overrides":[{"InstanceRequirements":{"VCpuCount":{"Min":1},"MemoryMiB":{"Min":1},
		"BaselinePerformanceFactors":{"Cpu":{"References":[{"InstanceFamily":"m6i"}]}}}}]}}}`},
	{"DescribeJobRun", `{"Name":"a name/with?all#of=it%","RunId":"r"}`},
	{"StartBackupJob", `{"BackupVaultName":"v","ResourceArn":"arn","IamRoleArn":"arn","IdempotencyToken":"once","RecoveryPointTags":{"a":"b"}}`},
	{"ListBackupJobs", `{"ByState":"FAILED","MaxResults":7,"ByCreatedAfter":"2026-01-01T00:00:00Z","ByResourceArn":"arn:a/b?c&d"}`},
	{"Invoke", `{"FunctionName":"f:1","InvocationType":"Event","Qualifier":"v 1","Payload":"eyJhIjoxfQ=="}`},
}

// operationOf returns the row of an operation, or one that is made of its model.
func operationOf(t *testing.T, name string) (o Operation, folder string) {
	t.Helper()
	for _, row := range samples() {
		if row.Name == name {
			return row, folders[row.Service.ID]
		}
	}
	m := readModel(t, more[name])
	return rowIn(t, m, serviceOf(m, nil), name), more[name]
}

// TestRequests: each row, and operations with all that REST-JSON has, are written as the vendor's
// library writes them.
func TestRequests(t *testing.T) {
	t.Parallel()
	var cases []map[string]any
	for _, tt := range requests {
		_, folder := operationOf(t, tt.operation)
		cases = append(cases, map[string]any{"what": "request", "service": folder, "operation": tt.operation, "params": json.RawMessage(tt.params)})
	}
	var wants []struct {
		Method, Path string
		Query        any
		Headers      map[string]string
		Body         any
	}
	vendor(t, cases, &wants)
	for i, tt := range requests {
		o, _ := operationOf(t, tt.operation)
		got, err := messageOf(o, []byte(tt.params), "")
		if err != nil {
			t.Errorf("%s: %v", tt.operation, err)
			continue
		}
		want := wants[i]
		path, fixed, _ := strings.Cut(want.Path, "?")
		if got.method != want.Method || got.path != path {
			t.Errorf("%s: %s %s, want %s %s", tt.operation, got.method, got.path, want.Method, want.Path)
		}
		query := url.Values{}
		if members, ok := want.Query.(map[string]any); ok {
			for name, value := range members {
				query.Set(name, text(value))
			}
		}
		if found, err := url.ParseQuery(got.rawQuery); err != nil || fixed != "" || found.Encode() != query.Encode() {
			t.Errorf("%s: query %s, want %s", tt.operation, got.rawQuery, query.Encode())
		}
		for name, value := range want.Headers {
			if found, _, _ := strings.Cut(value, ";"); got.header.Get(name) != found {
				t.Errorf("%s: header %s: %s, want %s", tt.operation, name, got.header.Get(name), found)
			}
		}
		checkBody(t, tt.operation, o.Service.Protocol, string(got.body), want.Body)
	}
}

func checkBody(t *testing.T, name string, protocol Protocol, got string, want any) {
	t.Helper()
	if protocol == Query {
		values := url.Values{}
		for name, value := range want.(map[string]any) {
			values.Set(name, text(value))
		}
		if got != values.Encode() {
			t.Errorf("%s: sent %s, want %s", name, got, values.Encode())
		}
		return
	}
	if body, _ := want.(string); got != body && !sameJSON(got, body) {
		t.Errorf("%s: sent %s, want %s", name, got, body)
	}
}

func sameJSON(one, other string) bool {
	var a, b any
	err := errors.Join(json.Unmarshal([]byte(one), &a), json.Unmarshal([]byte(other), &b))
	return err == nil && reflect.DeepEqual(a, b)
}

var responses = []struct {
	operation string
	status    int
	headers   map[string]string
	body      string
}{
	{"SubmitJob", 200, nil, `{"jobArn":"arn:j","jobId":"j","jobName":"<n>"}`},
	{"DescribeJobs", 200, nil, `{"jobs":[{"jobId":"j","status":"FAILED","stoppedAt":1767225600123,"container":{"exitCode":1}}]}`},
	{"StartReplicationTask", 200, nil, `{"ReplicationTask":{"ReplicationTaskStartDate":1767225600.5,"ReplicationTaskStats":{"StopDate":1767225601}}}`},
	{"DescribeReplicationTasks", 200, nil, `{"ReplicationTasks":[{"Status":"stopped","ReplicationTaskStartDate":1767225600.25}],"Marker":"m"}`},
	{"DescribeExecution", 200, nil, `{"executionArn":"arn","stateMachineArn":"arn","status":"FAILED","startDate":1.7672256E9,
		"redriveCount":2,"inputDetails":{"included":true}}`},
	{"GetTranscriptionJob", 200, nil, `{"TranscriptionJob":{"CreationTime":1767225600,"LanguageIdSettings":{"en-US":{"VocabularyName":"v"}}}}`},
	{"Publish", 200, nil, `<PublishResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishResult><MessageId>m &amp; n</MessageId></PublishResult>` +
		`<ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></PublishResponse>`},
	{"DescribeStacks", 200, nil, `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>s</StackName>
		<CreationTime>2026-01-01T00:00:00.5Z</CreationTime><DisableRollback>false</DisableRollback><TimeoutInMinutes>5</TimeoutInMinutes>
		<Outputs><member><OutputKey>a</OutputKey><OutputValue>1</OutputValue></member><member><OutputKey>b</OutputKey></member></Outputs>
		<Capabilities/><StackStatus>CREATE_COMPLETE</StackStatus></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`},
	{"GetCallerIdentity", 200, nil, `<GetCallerIdentityResponse><GetCallerIdentityResult>
		<Arn>a</Arn><Account>0123</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`},
	{"DescribeDBInstances", 200, nil, `<DescribeDBInstancesResponse xmlns="http://rds.amazonaws.com/doc/2014-10-31/"><DescribeDBInstancesResult><DBInstances>
		<DBInstance><DBInstanceIdentifier>d</DBInstanceIdentifier><Endpoint><Port>5432</Port></Endpoint><MultiAZ>true</MultiAZ>
		<VpcSecurityGroups><VpcSecurityGroupMembership><Status>active</Status></VpcSecurityGroupMembership></VpcSecurityGroups><DBParameterGroups/>
		<InstanceCreateTime>2026-01-01T00:00:00.123Z</InstanceCreateTime></DBInstance></DBInstances></DescribeDBInstancesResult></DescribeDBInstancesResponse>`},
	{"ModifyReplicationGroup", 200, nil, `<ModifyReplicationGroupResponse><ModifyReplicationGroupResult><ReplicationGroup><PendingModifiedValues>
		<PendingLogDeliveryConfiguration><member><LogType>slow-log</LogType></member></PendingLogDeliveryConfiguration>
		</PendingModifiedValues></ReplicationGroup></ModifyReplicationGroupResult></ModifyReplicationGroupResponse>`},
	{"SetTopicAttributes", 200, nil, `<SetTopicAttributesResponse><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></SetTopicAttributesResponse>`},
	{"SubmitJob", 400, map[string]string{"X-Amzn-Errortype": "ClientException:http://internal.amazon.com/"}, `{"message":"no"}`},
	{"StartReplicationTask", 400, nil, `{"__type":"com.amazonaws#InvalidResourceStateFault","message":"no"}`},
	{"StartExecution", 400, nil, `{"__type":"ExecutionAlreadyExists","Message":"no"}`},
	{"StartExecution", 400, map[string]string{"x-amzn-query-error": "Old.Code;Sender"}, `{"__type":"ExecutionAlreadyExists","message":"no"}`},
	{"DescribeDBInstances", 404, nil, `<ErrorResponse xmlns="http://rds.amazonaws.com/doc/2014-10-31/"><Error><Type>Sender</Type>` +
		`<Code>DBInstanceNotFound</Code><Message>DBInstance d not found.</Message></Error><RequestId>r</RequestId></ErrorResponse>`},
	{"Publish", 404, nil, `<ErrorResponse><Error><Type>Sender</Type><Code>NotFound</Code><Message>no</Message></Error><RequestId>r</RequestId></ErrorResponse>`},
}

// TestResponses: results have the members of the vendor's library, and errors have its codes.
func TestResponses(t *testing.T) {
	t.Parallel()
	var cases []map[string]any
	for _, tt := range responses {
		_, folder := operationOf(t, tt.operation)
		headers := map[string]string{}
		for name, value := range tt.headers {
			headers[name] = value
		}
		cases = append(cases, map[string]any{
			"what": "response", "service": folder, "operation": tt.operation, "status": tt.status, "headers": headers, "body": tt.body,
		})
	}
	var wants []map[string]any
	vendor(t, cases, &wants)
	for i, tt := range responses {
		o, _ := operationOf(t, tt.operation)
		if tt.status != http.StatusOK {
			header := http.Header{}
			for name, value := range tt.headers {
				header.Set(name, value)
			}
			refused, ok := errors.AsType[smithy.APIError](refusal(o.Service.Protocol, tt.status, header, []byte(tt.body)))
			want, _ := wants[i]["Error"].(map[string]any)
			if query := tt.headers["x-amzn-query-error"]; query != "" { // the library looks at it for some services only
				want["Code"], _, _ = strings.Cut(query, ";")
			}
			if !ok || refused.ErrorCode() != want["Code"] || refused.ErrorMessage() != want["Message"] {
				t.Errorf("%s: error %v, want %v", tt.operation, refused, want)
			}
			continue
		}
		body, err := result(o, tt.status, http.Header{}, []byte(tt.body))
		var got map[string]any
		if err := errors.Join(err, json.Unmarshal(body, &got)); err != nil {
			t.Errorf("%s: %v in %s", tt.operation, err, body)
			continue
		}
		if !reflect.DeepEqual(instants(got), instants(wants[i])) {
			t.Errorf("%s: %s, want %s", tt.operation, marshal(got), marshal(wants[i]))
		}
	}
}

// instants makes all instants of texts the same.
func instants(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name := range value {
			value[name] = instants(value[name])
		}
	case []any:
		for i := range value {
			value[i] = instants(value[i])
		}
	case string:
		if at, err := time.Parse(time.RFC3339, value); err == nil {
			return at.UTC().Format(time.RFC3339Nano)
		}
	}
	return value
}

// TestEndpoints: each service has the hosts that the vendor's rules give it, in each region of each
// partition.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	seen := map[string]Service{}
	var ids []string
	var cases []map[string]any
	for _, row := range samples() {
		if _, again := seen[row.Service.ID]; !again {
			seen[row.Service.ID] = row.Service
			ids = append(ids, row.Service.ID)
			cases = append(cases, map[string]any{"what": "endpoints", "service": folders[row.Service.ID]})
		}
	}
	var wants []map[string]string
	vendor(t, cases, &wants)
	for i, id := range ids {
		if len(wants[i]) < 100 {
			t.Errorf("%s: %d endpoints", id, len(wants[i]))
		}
		for key, want := range wants[i] {
			region, _, _ := strings.Cut(key, " ")
			if got, _ := seen[id].URL(region, strings.Contains(key, " fips"), strings.HasSuffix(key, " dual")); got != want {
				t.Errorf("%s: %s: %s, want %s", id, key, got, want)
			}
		}
	}
}

// FuzzResults: what a service responds makes no parser panic, and a result is an object.
func FuzzResults(f *testing.F) {
	for i, tt := range responses {
		f.Add(uint(i), []byte(tt.body), tt.headers["X-Amzn-Errortype"])
	}
	rows := samples()
	f.Fuzz(func(t *testing.T, i uint, body []byte, errorType string) {
		o := rows[i%uint(len(rows))]
		if err := refusal(o.Service.Protocol, http.StatusBadRequest, http.Header{"X-Amzn-Errortype": {errorType}}, body); err == nil {
			t.Error("no error")
		}
		text, err := result(o, http.StatusOK, http.Header{}, body)
		var members map[string]any
		if err == nil && (json.Unmarshal(text, &members) != nil || members == nil || !bytes.HasPrefix(text, []byte("{"))) {
			t.Errorf("%s is no object", text)
		}
	})
}
