package flowtest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/flowtest"
)

const mockedMachine = `{"StartAt":"Price","States":{
  "Price":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Parameters":{"FunctionName":"price","Payload":{}},"ResultPath":"$.price",
    "Retry":[{"ErrorEquals":["Busy"],"MaxAttempts":3}],"Next":"Ask"},
  "Ask":{"Type":"Task","Resource":"arn:aws:states:::sqs:sendMessage.waitForTaskToken","Parameters":{"QueueUrl":"q","MessageBody.$":"$$.Task.Token"},
    "ResultPath":"$.answer","Next":"Load","Catch":[{"ErrorEquals":["Refused"],"Next":"No"}]},
  "Load":{"Type":"Task","Resource":"arn:aws:states:::batch:submitJob.sync","Parameters":{"JobName":"j","JobQueue":"q","JobDefinition":"d"},
    "OutputPath":"$.JobId","ResultPath":"$","End":true},
  "No":{"Type":"Fail","Error":"No"}}}`

const startingMachine = `{"StartAt":"Load","States":{"Load":{"Type":"Task",
	"Resource":"arn:aws:states:::states:startExecution.sync","Parameters":{"StateMachineArn":"other"},"End":true}}}`

const mocks = `{"StateMachines":{"orders":{"TestCases":{
    "Yes":{"Price":"Priced","Ask":"Agreed","Load":"Loaded"},"No":{"Price":"Priced","Ask":"Refused","Load":"Loaded"},
    "Start":{"Load":"Loaded"},"Gap":{"Price":"Gap"},"None":{"Price":"Missing"},"Range":{"Price":"Range","Pric":"Priced","No":"Priced"},
    "Wrong":{"Price":"Empty","Ask":"Both","Load":"Twice"},"Unmocked":{"Price":"Priced","Ask":"Agreed"},"Ends":{"Price":"Priced","Ask":"Refused"}}}},
  "MockedResponses":{
    "Priced":{"0-1":{"Throw":{"Error":"Busy","Cause":"later"}},"2":{"Return":{"StatusCode":200,"Payload":{"eur":5}}}},
    "Agreed":{"0":{"Return":{"ok":true}}},"Refused":{"0":{"Throw":{"Error":"Refused","Cause":"too much"}}},"Loaded":{"0":{"Return":{"JobId":"j-1"}}},
    "Gap":{"1":{"Return":{}}},"Range":{"1-0":{"Return":{}}},
    "Empty":{},"Both":{"0":{"Return":{},"Throw":{"Error":"E"}}},"Twice":{"0-3":{"Return":{}},"1":{"Return":{}},"-1":{"Return":{}}}}}`

// The mocks of Step Functions Local are the replies of a test.
func TestMocksOfStepFunctionsLocal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ test, machine, mocks, want string }{
		"success":           {"{case: Yes, want: {output: j-1, calls: {Price: 3, Ask: 1, Load: 1}}}", mockedMachine, mocks, ""},
		"failure":           {"{case: No, want: {error: No, calls: {Price: 3, Load: 0}}}", mockedMachine, mocks, ""},
		"own reply":         {"{case: Yes, functions: {Price: {output: {}}}, want: {output: j-1, calls: {Price: 1}}}", mockedMachine, mocks, ""},
		"a difference":      {"{case: Yes, want: {output: j-2}}", mockedMachine, mocks, "output differs"},
		"no such case":      {"{case: Maybe}", mockedMachine, mocks, `no test case "Maybe"`},
		"no such response":  {"{case: None}", mockedMachine, mocks, `state Price: there is no response "Missing"`},
		"a gap":             {"{case: Gap}", mockedMachine, mocks, "no entry for call 0"},
		"no job is reached": {"{case: Ends, want: {error: No, calls: {Load: 0}}}", mockedMachine, mocks, ""},
		"a simulated job":   {"{case: Unmocked, actions: ['batch:SubmitJob'], want: {calls: {Load: 2}}}", mockedMachine, mocks, "calls of Load is 1, want 2"},
		"a job without a mock": {"{case: Unmocked}", mockedMachine, mocks,
			`step Load: it has no mock; add one to the test case Unmocked, or write actions: ["batch:SubmitJob"]`},
		"a function of an execution": {"{functions: {Load: {output: {}}}}", startingMachine, mocks, "step Load starts an execution, which no function"},
		"no entry":                   {"{case: Wrong}", mockedMachine, mocks, "response Empty: it has no entry for call 0"},
		"two replies":                {"{case: Wrong}", mockedMachine, mocks, `response Both: entry "0" needs Return or Throw, and not both`},
		"overlapping":                {"{case: Wrong}", mockedMachine, mocks, `response Twice: entry "1": another entry has call 1, too`},
		"below zero":                 {"{case: Wrong}", mockedMachine, mocks, `entry "-1" is not the number of a call`},
		"a misspelt state": {"{case: Range}", mockedMachine, mocks,
			`MockConfigFile.json:3:112: state "Pric" is not a Task of the flow; did you mean "Price"?`},
		"a Fail":        {"{case: Range}", mockedMachine, mocks, `state "No" is not a Task`},
		"a wrong range": {"{case: Range}", mockedMachine, mocks, `entry "1-0"`},
		"no JSON":       {"{case: Yes}", mockedMachine, "{", "unexpected end"},
		"no file":       {"{case: Yes}", mockedMachine, "", "MockConfigFile.json: no such file"},
		"two machines":  {"{case: Yes}", mockedMachine, `{"StateMachines":{"a":{},"b":{}}}`, `no state machine "orders"`},
		"another execution": {"{case: Start}", startingMachine, mocks,
			"state Load starts an execution, which runs the machine below subflows; remove its mock"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			files := map[string]string{"orders.asl.json": c.machine, "MockConfigFile.json": c.mocks,
				"x.test.yaml": "flow: orders.asl.json\nmocks: MockConfigFile.json\ntests:\n- " + c.test + "\n"}
			for file, text := range files {
				if text == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cases, err := flowtest.ParseFile(filepath.Join(folder, "x.test.yaml"))
			found := ""
			if err == nil {
				var differences []string
				_, differences, err = cases[0].Run(t.Context())
				found = strings.Join(differences, "\n")
			}
			if err != nil {
				found = err.Error()
			}
			if found != c.want && (c.want == "" || !strings.Contains(found, c.want)) {
				t.Errorf("found %q; want %q", found, c.want)
			}
		})
	}
}

// TestMocksOfThePage runs the mocks on the page about tests.
func TestMocksOfThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/reference/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(page), "## Mocks of Step Functions Local")
	part := func(language string) string {
		_, text, _ := strings.Cut(after, "```"+language+"\n")
		text, _, _ = strings.Cut(text, "```\n")
		return text
	}
	dir := t.TempDir()
	write(t, dir, "orders.asl.json", `{"StartAt":"Price","States":{
		"Price":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Parameters":{"FunctionName":"price","Payload":{}},
			"Retry":[{"ErrorEquals":["Busy"],"MaxAttempts":3}],"Next":"Approve"},
		"Approve":{"Type":"Task","Resource":"arn:aws:states:::sqs:sendMessage.waitForTaskToken",
			"Parameters":{"QueueUrl":"q","MessageBody.$":"$$.Task.Token"},"End":true}}}`)
	write(t, dir, "MockConfigFile.json", part("json"))
	cases, err := flowtest.ParseFile(write(t, dir, "orders.test.yaml", part("text")))
	if err != nil || len(cases) != 1 {
		t.Fatalf("%d cases, error %v", len(cases), err)
	}
	if _, differences, err := cases[0].Run(t.Context()); err != nil || differences != nil {
		t.Errorf("%q, error %v", differences, err)
	}
}
