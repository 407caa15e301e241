package stack_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/telemetry"
)

// awsMetrics are the metrics of AWS that alarms and the dashboard use, with the dimension of each.
var awsMetrics = map[string]string{
	// docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html
	"AWS/SQS ApproximateNumberOfMessagesVisible": "QueueName",
	"AWS/SQS ApproximateAgeOfOldestMessage":      "QueueName",
	// docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html
	"AWS/Lambda Errors":    "FunctionName",
	"AWS/Lambda Throttles": "FunctionName",
	// docs.aws.amazon.com/apigateway/latest/developerguide/http-api-metrics.html
	"AWS/ApiGateway Count": "ApiId",
	"AWS/ApiGateway 4xx":   "ApiId",
	"AWS/ApiGateway 5xx":   "ApiId",
}

// dimensionOf returns the dimension of a metric that AWS or the code writes, empty if neither does.
func dimensionOf(namespace, name string) string {
	if i := slices.IndexFunc(telemetry.All(), func(m *telemetry.Metric) bool { return m.Name == name }); namespace == telemetry.Namespace && i >= 0 {
		return telemetry.DimensionStack
	}
	return awsMetrics[namespace+" "+name]
}

// An alarm is of a metric with one dimension.
type alarm struct{ namespace, metric, dimension, value, condition string }

func alarmsOf(t *testing.T, read template) map[string]alarm {
	t.Helper()
	alarms := map[string]alarm{}
	for id, r := range read.Resources {
		if r.Type != "AWS::CloudWatch::Alarm" {
			continue
		}
		p := &r.Properties
		dimensions := at(p, "Dimensions").Content
		if len(dimensions) != 1 {
			t.Fatalf("%s has %d dimensions", id, len(dimensions))
		}
		alarms[id] = alarm{
			at(p, "Namespace").Value, at(p, "MetricName").Value,
			at(dimensions[0], "Name").Value, at(dimensions[0], "Value").Value, r.Condition,
		}
		if missing := at(p, "TreatMissingData").Value; missing != "notBreaching" {
			t.Errorf("%s: TreatMissingData is %s: it would be without data in a stack that is idle", id, missing)
		}
		for _, actions := range []*yaml.Node{at(p, "AlarmActions"), at(p, "OKActions")} {
			if actions.Tag != "!If" || actions.Content[0].Value != "HasAlarmTopic" || leaf(actions.Content[1]) != "AlarmTopic" {
				t.Errorf("%s does not publish to AlarmTopic", id)
			}
		}
	}
	return alarms
}

// Each alarm is of a metric that is written.
func TestAlarmsAreOfMetricsThatAreWritten(t *testing.T) {
	t.Parallel()
	read := readTemplate(t)
	for id, a := range alarmsOf(t, read) {
		if want := dimensionOf(a.namespace, a.metric); want == "" || a.dimension != want {
			t.Errorf("%s is of %s %s by %s; the dimension is %q", id, a.namespace, a.metric, a.dimension, want)
		}
		of := read.Resources[strings.TrimSuffix(a.value, ".QueueName")]
		wantType := map[string]string{
			"QueueName": "AWS::SQS::Queue", "FunctionName": "AWS::Serverless::Function", "ApiId": "AWS::ApiGatewayV2::Api",
		}[a.dimension]
		if of.Type != wantType || wantType == "" && a.value != "AWS::StackName" {
			t.Errorf("%s is of %s, a %q", id, a.value, of.Type)
		}
	}
}

// Series are the values of metrics in periods of five minutes, by namespace, metric and the dimension's
// value in the template.
type series map[string][]float64

// ringing returns the alarms of the template that these values bring into the state ALARM, as
// CloudWatch evaluates them: by dimension, over the latest periods, all of which exceed the threshold.
// Missing values are good.
func ringing(t *testing.T, values series, conditions ...string) (all []string) {
	t.Helper()
	read := readTemplate(t)
	for id, a := range alarmsOf(t, read) {
		r := read.Resources[id]
		number := func(name string) int {
			n, err := strconv.Atoi(at(&r.Properties, name).Value)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		const period = 300
		latest := slices.Clone(values[a.namespace+" "+a.metric+" "+a.value])
		periods, width := number("EvaluationPeriods"), number("Period")/period
		rings := slices.Contains(append(conditions, "HasAlarms"), a.condition) && len(latest) >= periods*width
		for ; rings && periods > 0; periods-- {
			from := len(latest) - width
			value := slices.Max(latest[from:])
			if at(&r.Properties, "Statistic") != nil && at(&r.Properties, "Statistic").Value == "Sum" {
				value = 0
				for _, v := range latest[from:] {
					value += v
				}
			}
			rings, latest = value > float64(number("Threshold")), latest[:from]
		}
		if rings {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return all
}

// About ten alarms ring for what an operator has to act on, and none because a flow's own action or
// job failed.
func TestAlarmsRingForWhatMatters(t *testing.T) {
	t.Parallel()
	const stack = " AWS::StackName"
	all := []string{"HasJobAlarm", "HasDeliveryAlarm", "UndoesDeployments"}
	often := []float64{1, 2, 1, 1, 1, 1, 1, 1, 1}
	for name, tt := range map[string]struct {
		values     series
		conditions []string
		want       []string
	}{
		"idle":                         {series{}, all, nil},
		"an action fails":              {series{"AWS/Lambda Errors CallServiceFunction": often}, all, nil},
		"a job is refused":             {series{"AWS/Lambda Errors StartJobFunction": often, "AWS/Lambda Errors GetJobStatusFunction": often}, all, nil},
		"a function of a user fails":   {series{"AWS/Lambda Errors EchoFunction": often, "Waitless ExecutionsFailed" + stack: often}, all, nil},
		"a message fails once":         {series{"Waitless MessagesFailed" + stack: {0, 7, 0}}, all, nil},
		"messages fail":                {series{"Waitless MessagesFailed" + stack: often}, all, []string{"MessagesAlarm"}},
		"a dead wake":                  {series{"AWS/SQS ApproximateNumberOfMessagesVisible WakeDeadLetters.QueueName": {1}}, all, []string{"WakeDeadLettersAlarm"}},
		"a dead task":                  {series{"Waitless DeadLettersLeft" + stack: {0, 0, 1}}, all, []string{"DeadLettersAlarm"}},
		"deliveries fail":              {series{"Waitless DeliveryFailures" + stack: often}, all, []string{"DeliveriesAlarm"}},
		"no deliveries are made":       {series{"Waitless DeliveryFailures" + stack: often}, nil, nil},
		"a job goes on":                {series{"Waitless JobStopFailures" + stack: {1, 0, 1}}, all, []string{"JobStopsAlarm"}},
		"a job is stopped late":        {series{"Waitless JobStopFailures" + stack: {1, 0, 0}}, all, nil},
		"wakes are late":               {series{"Waitless WakeAge" + stack: {130_000, 125_000, 300_000}}, all, []string{"WakesAlarm"}},
		"wakes of schedules":           {series{"Waitless WakeAge" + stack: {61_000, 62_000, 60_500}}, all, nil},
		"an execution is given up":     {series{"Waitless ExecutionsAbandoned" + stack: {1}}, all, []string{"AbandonedAlarm"}},
		"executions are overdue":       {series{"Waitless Overdue" + stack: often}, all, []string{"OverdueAlarm"}},
		"executions were overdue":      {series{"Waitless Overdue" + stack: append([]float64{0, 0, 0}, often[:6]...)}, all, nil},
		"the interpreter is throttled": {series{"AWS/Lambda Throttles InterpreterFunction": often}, all, []string{"InterpreterThrottlesAlarm"}},
		"the janitor fails":            {series{"AWS/Lambda Errors JanitorFunction": often}, all, []string{"JanitorErrorsAlarm"}},
		"the API fails":                {series{"AWS/ApiGateway 5xx ManagementApi": often}, all, []string{"ManagementAlarm"}},
		"callbacks fail":               {series{"AWS/ApiGateway 5xx CallbackApi": often}, all, []string{"CallbackAlarm"}},
		"callbacks are rejected":       {series{"AWS/ApiGateway 4xx CallbackApi": often}, all, nil},
		"a bad deployment":             {series{"AWS/Lambda Errors ApiFunction": often}, all, []string{"ApiErrorsAlarm"}},
		"a function fails":             {series{"AWS/Lambda Errors ApiFunction": often}, nil, nil}, // then its API has 5xx
	} {
		if got := ringing(t, tt.values, tt.conditions...); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q ring, want %q", name, got, tt.want)
		}
	}
	always := 0
	for _, a := range alarmsOf(t, readTemplate(t)) {
		if a.condition == "HasAlarms" {
			always++
		}
	}
	if most := 10; always > most {
		t.Errorf("a stack has %d alarms by default, want %d at most", always, most)
	}
}

func TestDashboardShowsMetricsThatAreWritten(t *testing.T) {
	t.Parallel()
	read := readTemplate(t)
	dashboard := read.Resources["OverviewDashboard"]
	var body struct {
		Widgets []struct {
			Properties struct{ Metrics [][]any }
		}
	}
	if err := json.Unmarshal([]byte(at(&dashboard.Properties, "DashboardBody").Value), &body); err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, widget := range body.Widgets {
		for _, metric := range widget.Properties.Metrics {
			namespace, ok := metric[0].(string)
			if !ok { // a search: of the metric with reasons
				continue
			}
			shown++
			if name, _ := metric[1].(string); metric[2] != dimensionOf(namespace, name) {
				t.Errorf("%v is not a metric that is written", metric)
			}
			id, _, _ := strings.Cut(strings.Trim(metric[3].(string), "${}"), ".")
			if _, ok := read.Resources[id]; !ok && id != "AWS::StackName" {
				t.Errorf("%v: the template has no %s", metric, id)
			}
		}
	}
	if shown < 30 {
		t.Errorf("it shows %d metrics", shown)
	}
}

// The outputs name each queue with its dead-letter queue, and the dashboard and the page about
// operations show both.
func TestOperatorsSeeEachQueue(t *testing.T) {
	t.Parallel()
	read := readTemplate(t)
	page, err := os.ReadFile(filepath.Join(root, "pkg", "docs", "reference", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	listed := func(output string) []string {
		value := read.Outputs[output].Value
		return scalars(value.Content[1])
	}
	queues, letters := listed("Queues"), listed("DeadLetters")
	if len(queues) != len(letters) {
		t.Fatalf("the outputs have %d queues and %d of dead letters: %q, %q", len(queues), len(letters), queues, letters)
	}
	dashboard := read.Resources["OverviewDashboard"]
	shown := at(&dashboard.Properties, "DashboardBody").Value
	for id, r := range read.Resources {
		if r.Type != "AWS::SQS::Queue" {
			continue
		}
		if !strings.Contains(shown, `"${`+id+`.QueueName}"`) || !strings.Contains(string(page), "`"+id+"`") {
			t.Errorf("the dashboard or operations.md does not show %s", id)
		}
		redrive := at(&r.Properties, "RedrivePolicy", "deadLetterTargetArn")
		if redrive == nil {
			continue
		}
		if i := slices.Index(queues, id); i < 0 || letters[i]+".Arn" != redrive.Value {
			t.Errorf("%s: the outputs are %q and %q; its dead letters are %s", id, queues, letters, redrive.Value)
		}
	}
}

// Lines of the access log name the route and not the path, which may have a token.
func TestAccessLogsHaveNoPath(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"ManagementStage", "CallbackStage"} {
		stage := readTemplate(t).Resources[id]
		settings := at(&stage.Properties, "AccessLogSettings", "Fn::If").Content
		format := at(settings[1], "Format").Value
		var line map[string]string
		if err := json.Unmarshal([]byte(format), &line); err != nil || settings[0].Value != "LogsAccess" {
			t.Fatalf("%s: the format is %s, error %v", id, format, err)
		}
		want := []string{
			"$context.apiId", "$context.identity.sourceIp", "$context.identity.userArn", "$context.requestId", "$context.requestTime",
			"$context.responseLatency", "$context.responseLength", "$context.routeKey", "$context.status",
		}
		var got []string
		for _, variable := range line {
			got = append(got, variable)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: the line has %q, want %q", id, got, want)
		}
	}
}

func TestAlarmTopicIsATopic(t *testing.T) {
	t.Parallel()
	allowed := regexp.MustCompile(readTemplate(t).Parameters["AlarmTopic"].Pattern)
	for topic, want := range map[string]bool{
		"": true, "arn:aws:sns:eu-west-1:123456789012:operators": true, "arn:aws-cn:sns:cn-north-1:123456789012:a_b-c": true,
		"operators": false, "arn:aws:sns:eu-west-1:123456789012:*": false, "arn:aws:sqs:eu-west-1:123456789012:operators": false,
		"arn:aws:sns:eu-west-1:123456789012:operators.fifo": false, "arn:aws:sns:eu-west-1:123456789012:a:b": false, // alarms publish to neither
	} {
		if got := allowed.MatchString(topic); got != want {
			t.Errorf("%q is allowed: %t, want %t", topic, got, want)
		}
	}
}
