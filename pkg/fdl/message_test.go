package fdl_test

import "testing"

// What a message says and no service of AWS does is for strict mode to tell.
func TestStrictMessages(t *testing.T) {
	t.Parallel()
	const message = `  - {type: task, name: Only, resourceArn: "acs:mns:::/queues/q/messages", serviceParams: {MessageBody: $, Priority: 8}}` + "\n"
	const want = "flow.yaml:4:107: strict: Priority does nothing: neither SQS nor SNS has priorities\n"
	if got := lines(parse(t, flowOf(message)).Extensions); got != want {
		t.Errorf("got %swant %s", got, want)
	}
}
