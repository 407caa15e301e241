package catalogue

import (
	"cmp"
	"encoding/base64"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/waitless/waitless/pkg/aws/call"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/value"
)

// Integration is an operation as a machine calls it, with the names of Step Functions.
type Integration struct {
	call.Operation

	service string // its name in the catalogue
	sdk     bool   // its spelling begins with "aws-sdk:"
	// prefix begins the names of errors, and base is the name of an error that the service does not
	// document.
	prefix, base string
	exceptions   map[string]string // names by codes
}

// optimized are the services with integrations of Step Functions' own: the service, the operations,
// the prefix and the base of errors.
var optimized = map[string][]string{
	"athena":    {"athena", "StartQueryExecution StopQueryExecution GetQueryExecution GetQueryResults", "Athena", "AmazonAthenaException"},
	"batch":     {"batch", "SubmitJob", "Batch", "AWSBatchException"},
	"bedrock":   {"bedrock-runtime", "InvokeModel", "Bedrock", "BedrockRuntimeException"},
	"codebuild": {"codebuild", "StartBuild StopBuild", "CodeBuild", "AWSCodeBuildException"},
	"dynamodb":  {"dynamodb", "GetItem PutItem UpdateItem DeleteItem", "DynamoDB", "AmazonDynamoDBException"},
	"ecs":       {"ecs", "RunTask", "ECS", "AmazonECSException"},
	"events":    {"events", "PutEvents", "EventBridge", "AmazonEventBridgeException"},
	"glue":      {"glue", "StartJobRun", "Glue", "AWSGlueException"},
	"sns":       {"sns", "Publish", "SNS", "AmazonSNSException"},
	"sqs":       {"sqs", "SendMessage", "SQS", "AmazonSQSException"},
}

// LookupIntegration returns the operation of an integration: "dynamodb:putItem", or
// "aws-sdk:dynamodb:putItem". The error is an [*UnknownError] or a [*RefusedError].
func LookupIntegration(name string) (Integration, error) {
	spelled, sdk := strings.CutPrefix(name, flow.SDKPrefix)
	service, operation, _ := strings.Cut(spelled, ":")
	operation = jobs.WithFirst(operation, strings.ToUpper)
	i := Integration{sdk: sdk}
	if row := optimized[service]; !sdk && row != nil && slices.Contains(strings.Fields(row[1]), operation) {
		service, i.prefix, i.base = row[0], row[2], row[3]
	} else if !sdk {
		return i, &RefusedError{service, operation, "it is no integration; write arn:aws:states:::aws-sdk:" + spelled + ", or call it in a function"}
	}
	if _, known := find(service); !known && sdk {
		service += "service" // which the vendor's SDK leaves out: databasemigration
	}
	var err error
	if i.Operation, err = Lookup(service, operation); err != nil {
		return i, err
	}
	if i.Names == UnknownNames {
		return i, &RefusedError{service, operation, "its names cannot be told from its data; call it in a function"}
	}
	e, _ := find(service)
	i.service, i.exceptions = service, e.read().exceptions
	if sdk {
		i.prefix = className(i.Service.ID)
		i.base = i.prefix + "Exception"
	}
	return i, nil
}

// Params returns the params with the names of the service, and a text for an object where the
// service wants a text.
func (i Integration) Params(params value.Value) value.Value {
	if strings.HasPrefix(i.Names, LowerParams) {
		members := slices.Clone(params.Members())
		for n := range members {
			members[n].Value = renamed(members[n].Value, strings.ToLower)
		}
		params = value.Object(members...)
	}
	if entries := params.Get("Entries"); i.Name == "PutEvents" { // their text is below what the row has
		list := slices.Clone(entries.Members())
		for n, each := range list {
			if detail := each.Value.Get("Detail"); detail.Kind() == value.KindObject {
				list[n].Value = value.Merge(each.Value, value.Object(value.Member{Key: "Detail", Value: value.String(detail.JSON())}))
			}
		}
		params = value.Merge(params, value.Object(value.Member{Key: "Entries", Value: value.ArrayFrom(list)}))
	}
	if body := params.Get("Body"); i.Service.Protocol == call.RESTXML && body.Kind() == value.KindString { // is written as JSON, as all others are
		text := base64.StdEncoding.EncodeToString([]byte(body.JSON()))
		params = value.Merge(params, value.Object(value.Member{Key: "Body", Value: value.String(text)}))
	}
	return i.Coerce(params)
}

// renamed changes the first letter of each name in v.
func renamed(v value.Value, change func(string) string) value.Value {
	members := slices.Clone(v.Members())
	for n, m := range members {
		members[n] = value.Member{Key: jobs.WithFirst(m.Key, change), Value: renamed(m.Value, change)}
	}
	if v.Kind() == value.KindArray {
		return value.ArrayFrom(members)
	}
	if v.Kind() == value.KindObject {
		return value.Object(members...)
	}
	return v
}

// Result returns a response with the names of Step Functions. A failed entry of events:putEvents
// is a failure: the name of the error is not empty then.
func (i Integration) Result(response call.Response) (result, failure string) {
	v, err := value.ParseJSON(response.Body)
	if err != nil {
		return string(response.Body), "" // a value with too many levels
	}
	switch strings.TrimPrefix(i.Names, LowerParams) {
	case ShapedResult:
		v = i.WithNames(v, func(name string) string { return jobs.WithFirst(name, strings.ToUpper) })
	case LowerResult:
		members := slices.Clone(v.Members())
		for n, m := range members {
			if m.Key != i.Payload() {
				m.Value = renamed(m.Value, strings.ToUpper)
			}
			members[n] = value.Member{Key: jobs.WithFirst(m.Key, strings.ToUpper), Value: m.Value}
		}
		v = value.Object(members...)
	}
	if failed, _ := v.Get("FailedEntryCount").Int64(); !i.sdk && failed > 0 {
		failure = i.prefix + ".FailedEntry"
	}
	if !i.sdk {
		v = value.Merge(v, value.Object(
			value.Member{Key: "SdkHttpMetadata", Value: value.Object(value.Member{Key: "HttpStatusCode", Value: value.Int(200)})}, //nolint:mnd // of a success
			value.Member{Key: "SdkResponseMetadata", Value: value.Object(value.Member{Key: "RequestId", Value: value.String(response.RequestID)})},
		))
	}
	return v.JSON(), failure
}

// Error returns the name of an error of the service, after the exception in the vendor's SDK.
func (i Integration) Error(code string) string {
	code = strings.TrimPrefix(code, "AWS.SimpleQueueService.") // of the protocol that SQS had before
	if code == "NonExistentQueue" {
		code = "QueueDoesNotExist"
	}
	name, known := i.exceptions[code]
	if !known {
		known = slices.Contains(slices.Collect(maps.Values(i.exceptions)), code)
		name = code
	}
	if !known {
		return i.prefix + "." + i.base
	}
	if name = strings.TrimSuffix(name, "Fault"); i.sdk {
		name = className(name)
	}
	if !strings.HasSuffix(name, "Exception") {
		name += "Exception"
	}
	return i.prefix + "." + name
}

// wordEnds are the places between words of a name: behind a small letter, and before the last
// capital of several.
var wordEnds = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`([a-z])([A-Z][a-zA-Z0-9])|([A-Z]+)([A-Z][a-z])|([0-9])([a-zA-Z])`)
})

// className returns a name as the vendor's SDK for Java writes it: DynamoDb for DynamoDB.
func className(name string) string {
	spaced := strings.NewReplacer("-", " ", "_", " ").Replace(name)
	for again := ""; again != spaced; {
		again, spaced = spaced, wordEnds().ReplaceAllString(spaced, "$1$3$5 $2$4$6")
	}
	var text strings.Builder
	for word := range strings.FieldsSeq(spaced) {
		text.WriteString(strings.ToUpper(word[:1]) + strings.ToLower(word[1:]))
	}
	return cmp.Or(text.String(), name)
}
