package stack_test

import (
	"context"
	"flag"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/schemas"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"
	"github.com/google/go-cmp/cmp"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/release"
)

var update = flag.Bool("update", false, "write what doctor prints to testdata")

// lone is a stack whose tests run one after the other: they break it.
var lone = deployment{name: freshName(), parameters: []string{"LongestDelay=30", "JobEvents=aws.batch"}, build: shipped}

var aloneOn sync.Mutex

// alone returns the lone stack, which belongs to the test until its end.
func alone(t *testing.T) stack {
	t.Helper()
	s := lone.get(t)
	aloneOn.Lock()
	t.Cleanup(aloneOn.Unlock)
	return s
}

// An ailment is something wrong with a stack, or with what the user has set. Its name is that of
// the golden file.
type ailment struct {
	name string
	exit int
	// cause makes the stack ill until the test ends, and returns the variables of the user.
	cause func(t *testing.T, s stack) (environment map[string]string)
}

var ailments = []ailment{
	{"healthy", view.ExitSucceeded, func(*testing.T, stack) map[string]string { return nil }},
	{"no-credentials", view.ExitFailed, func(*testing.T, stack) map[string]string {
		return map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_EC2_METADATA_DISABLED": "true"}
	}},
	{"another-region", view.ExitFailed, func(*testing.T, stack) map[string]string { return map[string]string{"AWS_REGION": "eu-west-1"} }},
	{"another-endpoint", view.ExitFailed, func(*testing.T, stack) map[string]string {
		return map[string]string{"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
	}},
	{"clock", view.ExitFailed, lateClock},
	{
		"no-right-to-read", view.ExitFailed, limited(`"execute-api:Invoke","Resource":"arn:aws:execute-api:*:*:*/*/GET/flows*"`, `"cloudformation:*","Resource":"*"`),
	},
	{"no-right-to-write", view.ExitSucceeded, limited(`"execute-api:Invoke","Resource":"arn:aws:execute-api:*:*:*/*/GET/*"`,
		`["cloudformation:*","sqs:*","lambda:*","dynamodb:*","scheduler:*","cloudwatch:*"],"Resource":"*"`)},
	{"dead-letters", view.ExitFailed, func(t *testing.T, s stack) map[string]string {
		t.Helper()
		s.put(t, "WakeDeadLetters", "unreadable")
		t.Cleanup(func() {
			purge := &sqs.PurgeQueueInput{QueueUrl: aws.String(s.resources["WakeDeadLetters"])}
			_, err := sqs.NewFromConfig(emulator.Config(t)).PurgeQueue(context.WithoutCancel(t.Context()), purge)
			if err != nil {
				t.Error(err)
			}
		})
		return nil
	}},
	{"functions", view.ExitFailed, withoutFunctions},
	{"changed", view.ExitFailed, changed},
	{"behind", view.ExitFailed, behind},
}

// lateClock leads requests through a proxy whose clock is ten minutes ahead.
func lateClock(t *testing.T, _ stack) map[string]string {
	t.Helper()
	target, err := url.Parse(*emulator.Config(t).BaseEndpoint)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host },
		ModifyResponse: func(r *http.Response) error {
			r.Header.Set("Date", time.Now().UTC().Add(10*time.Minute).Format(http.TimeFormat))
			return nil
		},
	})
	t.Cleanup(server.Close)
	return map[string]string{"AWS_ENDPOINT_URL": server.URL}
}

// limited makes a user with these rights only.
func limited(actions ...string) func(*testing.T, stack) map[string]string {
	return func(t *testing.T, s stack) map[string]string {
		t.Helper()
		var statements []string
		for _, action := range actions {
			statements = append(statements, `{"Effect":"Allow","Action":`+action+`}`)
		}
		config := s.user(t, t.Name()[strings.LastIndexByte(t.Name(), '/')+1:], strings.Join(statements, ","))
		credentials, err := config.Credentials.Retrieve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{"AWS_ACCESS_KEY_ID": credentials.AccessKeyID, "AWS_SECRET_ACCESS_KEY": credentials.SecretAccessKey}
	}
}

// withoutFunctions reserves no concurrency for one function, and stops the messages of another.
func withoutFunctions(t *testing.T, s stack) map[string]string {
	t.Helper()
	client := lambda.NewFromConfig(emulator.Config(t))
	name, source := aws.String(s.resources["ApiFunction"]), aws.String(s.resources["TaskRunnerSource"])
	_, err := client.PutFunctionConcurrency(t.Context(), &lambda.PutFunctionConcurrencyInput{FunctionName: name, ReservedConcurrentExecutions: aws.Int32(0)})
	if err == nil {
		_, err = client.UpdateEventSourceMapping(t.Context(), &lambda.UpdateEventSourceMappingInput{UUID: source, Enabled: aws.Bool(false)})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		_, err := client.DeleteFunctionConcurrency(ctx, &lambda.DeleteFunctionConcurrencyInput{FunctionName: name})
		if err == nil {
			_, err = client.UpdateEventSourceMapping(ctx, &lambda.UpdateEventSourceMappingInput{UUID: source, Enabled: aws.Bool(true)})
		}
		if err != nil {
			t.Error(err)
		}
	})
	return nil
}

// behind has CloudWatch say that wakes wait for twenty minutes, and an alarm.
func behind(t *testing.T, s stack) map[string]string {
	t.Helper()
	client := watch(t)
	queue := s.resources["WakeQueue"]
	_, err := client.PutMetricData(t.Context(), &cloudwatch.PutMetricDataInput{
		Namespace: aws.String("AWS/SQS"), MetricData: []types.MetricDatum{{
			MetricName: aws.String("ApproximateAgeOfOldestMessage"), Value: aws.Float64((20 * time.Minute).Seconds()),
			Dimensions: []types.Dimension{{Name: aws.String("QueueName"), Value: aws.String(queue[strings.LastIndexByte(queue, '/')+1:])}},
		}},
	})
	if err == nil {
		_, err = client.SetAlarmState(t.Context(), &cloudwatch.SetAlarmStateInput{
			AlarmName: aws.String(s.resources["JanitorErrorsAlarm"]), StateValue: types.StateValueAlarm, StateReason: aws.String("errors"),
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return nil
}

func watch(t *testing.T) *cloudwatch.Client {
	t.Helper()
	return cloudwatch.NewFromConfig(emulator.Config(t), func(o *cloudwatch.Options) { o.Protocol = awsjson.New10(schemas.GraniteServiceVersion20100801) })
}

// replaceAlarms leaves the stack one alarm, of a metric that has no data. The alarms of the
// emulator do not distinguish the functions and queues of a metric, so they show what other tests
// do.
func replaceAlarms(t *testing.T, s stack) {
	t.Helper()
	client := watch(t)
	var names []string
	for pages := cloudwatch.NewDescribeAlarmsPaginator(client, &cloudwatch.DescribeAlarmsInput{AlarmNamePrefix: aws.String(s.name + "-")}); pages.HasMorePages(); {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, alarm := range page.MetricAlarms {
			names = append(names, *alarm.AlarmName)
		}
	}
	left := s.resources["JanitorErrorsAlarm"]
	if !slices.Contains(names, left) {
		t.Fatalf("there is no alarm %s; found %q", left, names)
	}
	_, err := client.DeleteAlarms(t.Context(), &cloudwatch.DeleteAlarmsInput{AlarmNames: names})
	if err == nil {
		_, err = client.PutMetricAlarm(t.Context(), &cloudwatch.PutMetricAlarmInput{
			AlarmName: &left, AlarmDescription: aws.String("Janitor has failed for 45 minutes"), Namespace: aws.String("Waitless/Test"),
			MetricName: aws.String("None"), Statistic: types.StatisticSum, Period: aws.Int32(60), EvaluationPeriods: aws.Int32(1),
			Threshold: aws.Float64(1), ComparisonOperator: types.ComparisonOperatorGreaterThanThreshold,
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestDoctor examines a healthy stack, and a stack with each ailment. The tables of the stack have
// what they had before.
func TestDoctor(t *testing.T) { //nolint:tparallel // each ailment is that of the same stack
	t.Parallel()
	s := alone(t)
	replaceAlarms(t, s)
	s.expireTables(t)
	before := s.items(t)
	for _, a := range ailments { //nolint:paralleltest // each breaks the stack
		t.Run(a.name, func(t *testing.T) {
			a.check(t, s)
		})
	}
	if after := s.items(t); !cmp.Equal(before, after) {
		t.Errorf("doctor changed the tables: %v, %v", before, after)
	}
}

func (a ailment) check(t *testing.T, s stack) {
	t.Helper()
	environment := a.cause(t, s)
	cmd := s.command(t, "doctor", "--stack", s.name)
	for name, value := range environment {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.Output()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != a.exit {
		t.Errorf("%v, want exit code %d", err, a.exit)
	}
	got := s.anonymous(t, string(out))
	if secret := environment["AWS_SECRET_ACCESS_KEY"]; secret != "" && strings.Contains(string(out), secret) {
		t.Errorf("it prints a secret:\n%s", out)
	}
	file := filepath.Join("testdata", "doctor", a.name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

var (
	aVersion  = regexp.MustCompile(`waitless .* \(.*\)`)
	anAddress = regexp.MustCompile(`http://(127\.0\.0\.1|[0-9a-f]+\.execute-api\.localhost):\d{2,}`)
	// the examination before may have sent wakes that are still handled
	someWakes = regexp.MustCompile(`(WakeQueue +)\d+ messages, \d+ in flight`)
)

// anonymous is text of doctor without what differs from run to run.
func (s stack) anonymous(t *testing.T, text string) string {
	t.Helper()
	text = aVersion.ReplaceAllString(anAddress.ReplaceAllString(text, "http://$1:PORT"), "waitless VERSION")
	text = someWakes.ReplaceAllString(text, "${1}0 messages, 0 in flight")
	ids := slices.SortedFunc(maps.Keys(s.resources), func(a, b string) int { return len(s.resources[b]) - len(s.resources[a]) })
	for _, name := range ids {
		if id := s.resources[name]; len(id) >= len("12345678") {
			text = strings.ReplaceAll(text, id, "ID-OF-"+name)
		}
	}
	text = concurrencySeen.ReplaceAllString(text, "runs N functions")
	return strings.NewReplacer(s.name, "orders", release.Version, "VERSION").Replace(text)
}

// items are the sizes of the tables of a stack.
func (s stack) items(t *testing.T) (counts [2]int) {
	t.Helper()
	for i, table := range []string{"LogTable", "WaitsTable"} {
		found, err := dynamodb.NewFromConfig(emulator.Config(t)).Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(s.resources[table])})
		if err != nil {
			t.Fatal(err)
		}
		counts[i] = len(found.Items)
	}
	return counts
}

// concurrencySeen matches the concurrency of the emulator's account, which follows the machine.
var concurrencySeen = regexp.MustCompile(`runs \d+ functions`)
