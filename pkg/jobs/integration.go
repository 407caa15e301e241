package jobs

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// integration is a job that Step Functions waits for, with ".sync".
type integration struct {
	kind string
	// result is the member of the result with the description, "" if the result is the description.
	result string
}

// integrations returns the jobs that Step Functions waits for and that are kinds, by their names in
// machines.
func integrations() map[string]integration {
	return map[string]integration{
		"athena:startQueryExecution":              {"athena-query", "QueryExecution"},
		"batch:submitJob":                         {"batch-job", ""},
		"bedrock:createModelCustomizationJob":     {"bedrock-customization", ""},
		"codebuild:startBuild":                    {"codebuild", "Build"},
		"databrew:startJobRun":                    {"databrew", ""},
		"ecs:runTask":                             {"ecs-task", ""},
		"emr-containers:startJobRun":              {"emr-containers", "JobRun"},
		"emr-serverless:startJobRun":              {"emr-serverless", "JobRun"},
		"glue:startJobRun":                        {"glue-job", ""},
		"mediaconvert:createJob":                  {"mediaconvert", "Job"},
		"sagemaker:createHyperParameterTuningJob": {"sm-tuning", ""},
		"sagemaker:createProcessingJob":           {"sm-processing", ""},
		"sagemaker:createTrainingJob":             {"sm-training", ""},
		"sagemaker:createTransformJob":            {"sm-transform", ""},
	}
}

// errorPrefixes returns how the names of errors in machines begin, by service. The prefix of any
// other service is its own name.
func errorPrefixes() map[string]string {
	return map[string]string{
		"codebuild": "CodeBuild", "databrew": "DataBrew", "ecs": "ECS", "emr-containers": "EMRContainers", "emr-serverless": "EMRServerless",
		"mediaconvert": "MediaConvert", "sagemaker": "SageMaker", "sfn": "Sfn", "ssm": "Ssm",
	}
}

// ForIntegration returns the kind of job that a machine starts and waits for with that name and
// ".sync": "glue:startJobRun", or "aws-sdk:databasemigration:startReplicationTask". Known reports
// whether Step Functions waits for it, too.
func ForIntegration(name string) (kind Kind, known, ok bool) {
	if i, known := integrations()[name]; known {
		kind, _ = Find(i.kind) // a test finds it
		return kind, true, true
	}
	service, operation, _ := strings.Cut(strings.TrimPrefix(name, "aws-sdk:"), ":")
	if short := map[string]string{"databasemigration": "dms"}[service]; short != "" { // the SDK's name
		service = short
	}
	kind, ok = first(func(k Kind) bool {
		return k.DescribeOp != "" && strings.ReplaceAll(k.Service, "-", "") == strings.ReplaceAll(service, "-", "") &&
			WithFirst(k.StartOp, strings.ToLower) == operation
	})
	return kind, false, ok
}

// Integrations returns the names of jobs that Step Functions waits for, sorted.
func Integrations() []string { return slices.Sorted(maps.Keys(integrations())) }

// IntegrationError returns the name in machines of an error of the kind's service, such as
// "batch.ClientException": "Batch.ClientException".
func IntegrationError(name string) string {
	service, code, _ := strings.Cut(name, ".")
	prefix := errorPrefixes()[service]
	if prefix == "" {
		for part := range strings.SplitSeq(service, "-") {
			prefix += WithFirst(part, strings.ToUpper)
		}
	}
	if code = strings.TrimSuffix(code, "Fault"); !strings.HasSuffix(code, "Exception") {
		code += "Exception"
	}
	return prefix + "." + code
}

// WithFirst changes the first letter of a name, which may be empty: AWS and its machines write
// names with a small or a capital letter in front.
func WithFirst(name string, change func(string) string) string {
	first := min(1, len(name))
	return change(name[:first]) + name[first:]
}

// Whole returns the whole description in the form of the results of Step Functions: names begin
// with capitals, and instants are milliseconds since 1970. With a limit in bytes the largest
// members are left out until the text is within it. Whole returns nil for a sighting from an event,
// and for a custom kind.
func (k Kind) Whole(seen Sighting, limit int) json.RawMessage {
	described, ok := seen.described.(map[string]any)
	if !ok || k.Custom() {
		return nil
	}
	job, _ := inMachine(described).(map[string]any)
	member := ""
	for _, i := range integrations() {
		if i.kind == k.Name {
			member = i.result
		}
	}
	result := func() []byte {
		if member != "" {
			return encode(map[string]any{member: job})
		}
		return encode(job)
	}
	text := result()
	for len(text) > limit && limit > 0 && len(job) > 0 {
		size := func(name string) int { return len(encode(job[name])) }
		delete(job, slices.MaxFunc(slices.Sorted(maps.Keys(job)), func(a, b string) int { return size(a) - size(b) }))
		text = result()
	}
	return text
}

// userNames are objects with names and texts of the user's, in lower case. An environment is one if
// it has texts alone.
var userNames = []string{
	"arguments", "hyperparameters", "options", "outputs", "parameters", "properties", "statichyperparameters", "tags", "usermetadata",
}

// instantName is the end of the names of instants.
var instantName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(At|On|Date|Time|Timestamp)$`) })

// inMachine returns a value of a description with names that begin with capitals, and with instants
// as numbers.
func inMachine(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = inMachine(item)
		}
		return list
	case map[string]any:
		members := make(map[string]any, len(v))
		for name, member := range v {
			object, isObject := member.(map[string]any)
			isNoText := func(v any) bool { return reflect.TypeOf(v) != reflect.TypeFor[string]() }
			isUsers := slices.Contains(userNames, strings.ToLower(name)) ||
				strings.EqualFold(name, "environment") && !slices.ContainsFunc(slices.Collect(maps.Values(object)), isNoText)
			text, _ := member.(string)
			at, err := time.Parse(time.RFC3339, text)
			switch {
			case isUsers && isObject:
			case err == nil && instantName().MatchString(name):
				member = at.UnixMilli()
			default:
				member = inMachine(member)
			}
			members[WithFirst(name, strings.ToUpper)] = member
		}
		return members
	}
	return v
}
