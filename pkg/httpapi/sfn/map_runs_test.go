package sfn_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
)

// mapOf is a machine with a distributed Map over numbers. A number below 0 fails its child, and 0
// makes it wait.
const mapOf = `{"StartAt": "Each", "States": {"Each": {"Type": "Map", "Label": "Numbers", "ToleratedFailureCount": 1, "MaxConcurrency": 4, "End": true,
	"ItemProcessor": {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, "StartAt": "Which", "States": {
		"Which": {"Type": "Choice", "Default": "Good", "Choices": [
			{"Variable": "$", "NumericLessThan": 0, "Next": "Bad"}, {"Variable": "$", "NumericEquals": 0, "Next": "Late"}]},
		"Good": {"Type": "Pass", "Parameters": {"of.$": "$"}, "End": true}, "Bad": {"Type": "Fail", "Error": "Negative"},
		"Late": {"Type": "Wait", "Seconds": 60, "Next": "Good"}}}}}}`

// mapThatWaits is [mapOf] with a child that waits for a token.
var mapThatWaits = strings.Replace(mapOf, `"Type": "Wait", "Seconds": 60`, `"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken",
	"Parameters": {"FunctionName": "echo", "Payload": {"token.$": "$$.Task.Token"}}`, 1)

// A Map in mode DISTRIBUTED is a run with children, which are not in the history of the execution.
func TestMapRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("f", mapOf)
	c := f.client()
	_, err := c.StartExecution(t.Context(), start("f", "e", "[1, 2, -3, 4, 5, 6, 7]"))
	wantSuccess(t, err)
	f.run()
	f.read = 0
	history := f.events(c, sdk.GetExecutionHistoryInput{})
	if want := "ExecutionStarted MapStateEntered MapStateStarted MapRunStarted MapRunSucceeded MapStateSucceeded MapStateExited ExecutionSucceeded"; shownEvents(
		history) != want || f.read != 4 {
		t.Errorf("%s, and %d events were read", shownEvents(history), f.read)
	}
	listed, err := c.ListMapRuns(t.Context(), &sdk.ListMapRunsInput{ExecutionArn: aws.String(runs + "f:e")})
	wantSuccess(t, err)
	arn := *history[3].MapRunStartedEventDetails.MapRunArn
	if len(listed.MapRuns) != 1 || *listed.MapRuns[0].MapRunArn != arn || !strings.HasPrefix(arn, "arn:aws:states:eu-west-1:123456789012:mapRun:f/Numbers:") {
		t.Fatalf("%v, want %s", listed.MapRuns, arn)
	}
	run, err := c.DescribeMapRun(t.Context(), &sdk.DescribeMapRunInput{MapRunArn: &arn})
	wantSuccess(t, err)
	if counts := run.ExecutionCounts; run.Status != types.MapRunStatusSucceeded || counts.Total != 7 || counts.Succeeded != 6 || counts.Failed != 1 ||
		counts.Running+counts.Pending+counts.Aborted != 0 || run.MaxConcurrency != 4 || run.ToleratedFailureCount != 1 {
		t.Errorf("%+v, %+v", run, counts)
	}
	f.checkChildren(t, c, arn)
	short := strings.Replace(arn, "eu-west-1:123456789012", ":", 1) // as in the result of the Map
	run, err = c.DescribeMapRun(t.Context(), &sdk.DescribeMapRunInput{MapRunArn: &short})
	wantSuccess(t, err)
	children, err := c.ListExecutions(t.Context(), &sdk.ListExecutionsInput{MapRunArn: &short})
	wantSuccess(t, err)
	if *run.MapRunArn != arn || len(children.Executions) != 7 {
		t.Errorf("%s, %d children", *run.MapRunArn, len(children.Executions))
	}
	for _, child := range []string{*children.Executions[0].ExecutionArn, strings.Replace(*children.Executions[0].ExecutionArn, "eu-west-1:123456789012", ":", 1)} {
		_, err = c.DescribeExecution(t.Context(), &sdk.DescribeExecutionInput{ExecutionArn: &child})
		wantSuccess(t, err)
		_, err = c.ListMapRuns(t.Context(), &sdk.ListMapRunsInput{ExecutionArn: &child})
		wantCode(t, "runs of a child", err, "InvalidArn")
	}
	_, err = c.DescribeExecution(t.Context(), &sdk.DescribeExecutionInput{ExecutionArn: aws.String("arn:aws:states:::execution:f:e")})
	wantSuccess(t, err)
	for _, wrong := range []string{arn + "1", strings.Replace(arn, "Numbers", "Other", 1), strings.Replace(arn, ":f/", ":g/", 1), "arn"} {
		_, err := c.DescribeMapRun(t.Context(), &sdk.DescribeMapRunInput{MapRunArn: &wrong})
		wantCode(t, wrong, err, "ResourceNotFound")
	}
}

// A run that was stopped counts the children that ended before.
func TestStoppedMapRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("f", strings.Replace(mapThatWaits, `"MaxConcurrency": 4`, `"MaxConcurrency": 1`, 1))
	c := f.client()
	started, err := c.StartExecution(t.Context(), start("f", "e", "[1, -3, 4, 0, 5]"))
	wantSuccess(t, err)
	f.run()
	_, err = c.StopExecution(t.Context(), &sdk.StopExecutionInput{ExecutionArn: started.ExecutionArn})
	wantSuccess(t, err)
	f.run()
	listed, err := c.ListMapRuns(t.Context(), &sdk.ListMapRunsInput{ExecutionArn: started.ExecutionArn})
	wantSuccess(t, err)
	run, err := c.DescribeMapRun(t.Context(), &sdk.DescribeMapRunInput{MapRunArn: listed.MapRuns[0].MapRunArn})
	wantSuccess(t, err)
	if n := run.ExecutionCounts; run.Status != types.MapRunStatusAborted || n.Total != 5 || n.Succeeded != 2 || n.Failed != 1 || n.Aborted != 2 || n.Running != 0 {
		t.Errorf("%s, %+v", run.Status, n)
	}
}

// The iterations of a Map in mode INLINE have runs of their own. A stop, or an iteration that fails,
// ends the runs of the others.
func TestMapRunsInIterations(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("f", `{"StartAt": "All", "States": {"All": {"Type": "Map", "End": true, "ItemProcessor": `+mapThatWaits+`}}}`)
	c := f.client()
	shown := func(arn *string) (all []string) {
		listed, err := c.ListMapRuns(t.Context(), &sdk.ListMapRunsInput{ExecutionArn: arn})
		wantSuccess(t, err)
		for _, r := range listed.MapRuns {
			run, err := c.DescribeMapRun(t.Context(), &sdk.DescribeMapRunInput{MapRunArn: r.MapRunArn})
			wantSuccess(t, err)
			children, err := c.ListExecutions(t.Context(), &sdk.ListExecutionsInput{MapRunArn: r.MapRunArn})
			wantSuccess(t, err)
			text := string(run.Status)
			for _, child := range children.Executions {
				one, err := c.DescribeExecution(t.Context(), &sdk.DescribeExecutionInput{ExecutionArn: child.ExecutionArn})
				wantSuccess(t, err)
				text += fmt.Sprint(" ", *one.Input, " ", child.Status)
			}
			all = append(all, text)
		}
		return all
	}
	for items, want := range map[string][]string{
		"[[1, 0], [-3, 4], [0, 5]]": {
			"RUNNING 1 SUCCEEDED 0 RUNNING", "SUCCEEDED -3 FAILED 4 SUCCEEDED", "RUNNING 0 RUNNING 5 SUCCEEDED",
			"ABORTED 1 SUCCEEDED 0 ABORTED", "SUCCEEDED -3 FAILED 4 SUCCEEDED", "ABORTED 0 ABORTED 5 SUCCEEDED"},
		"[[1, 0], [-3, -4]]": {
			"ABORTED 1 SUCCEEDED 0 ABORTED", "FAILED -3 FAILED -4 FAILED", "ABORTED 1 SUCCEEDED 0 ABORTED", "FAILED -3 FAILED -4 FAILED"},
	} {
		started, err := c.StartExecution(t.Context(), start("f", fmt.Sprint("e", len(items)), items))
		wantSuccess(t, err)
		f.run()
		got := shown(started.ExecutionArn)
		_, err = c.StopExecution(t.Context(), &sdk.StopExecutionInput{ExecutionArn: started.ExecutionArn})
		wantSuccess(t, err)
		f.run()
		if got = append(got, shown(started.ExecutionArn)...); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", items, got, want)
		}
	}
}

// checkChildren reads the children of a run page by page, and each alone.
func (f *fixture) checkChildren(t *testing.T, c *sdk.Client, arn string) {
	t.Helper()
	pages, shown := 0, map[string]string{}
	for token := aws.String(""); token != nil; pages++ {
		input := sdk.ListExecutionsInput{MapRunArn: &arn, MaxResults: 3}
		if *token != "" {
			input.NextToken = token
		}
		page, err := c.ListExecutions(t.Context(), &input)
		wantSuccess(t, err)
		for _, e := range page.Executions {
			child, err := c.DescribeExecution(t.Context(), &sdk.DescribeExecutionInput{ExecutionArn: e.ExecutionArn})
			wantSuccess(t, err)
			shown[*child.Input] = fmt.Sprint(child.Status, " ", aws.ToString(child.Output), aws.ToString(child.Error))
		}
		token = page.NextToken
	}
	if pages < 3 || len(shown) != 7 || shown["-3"] != "FAILED Negative" || shown["7"] != `SUCCEEDED {"of":7}` {
		t.Errorf("%d pages: %v", pages, shown)
	}
	failed, err := c.ListExecutions(t.Context(), &sdk.ListExecutionsInput{MapRunArn: &arn, StatusFilter: types.ExecutionStatusFailed})
	wantSuccess(t, err)
	if len(failed.Executions) != 1 || !strings.HasSuffix(*failed.Executions[0].Name, "-2") {
		t.Errorf("%v", failed.Executions)
	}
}
