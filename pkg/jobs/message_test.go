package jobs

import (
	"testing"
)

const (
	queueResource = "acs:mns:cn-hangzhou:123:/queues/orders/messages"
	topicResource = "acs:mns:::/topics/events/messages"
)

func TestMessagesOfResources(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ resource, kind, params, place string }{
		{queueResource, "sqs-message", `{"QueueName":"orders"}`, "orders"},
		{"acs:mns:::/queues/a_b-1.fifo/messages", "sqs-message", `{"QueueName":"a_b-1.fifo"}`, "a_b-1.fifo"},
		{topicResource, "sns-message", `{"TopicName":"events"}`, "events"},
		{"acs:mns:::/queues/orders", "", "", ""},
		{"acs:mns:::/queues/or ders/messages", "", "", ""},
		{"acs:mns:::/queues//messages", "", "", ""},
		{taskARN, "dms-task", `{"ReplicationTaskArn":"` + taskARN + `"}`, ""},
	} {
		kind, params, ok := ForResource(tt.resource)
		if ok != (tt.kind != "") || kind.Name != tt.kind || string(params) != tt.params {
			t.Errorf("%s: %q, %s, %t", tt.resource, kind.Name, params, ok)
		}
		if name, ok := MessagePlace(tt.resource); name != tt.place || ok != (tt.place != "") {
			t.Errorf("%s is %q, %t", tt.resource, name, ok)
		}
	}
	for _, kind := range Kinds() {
		if isMessage := kind.Name == "sqs-message" || kind.Name == "sns-message"; kind.HasEnd() == isMessage {
			t.Errorf("%s has an end: %t", kind.Name, kind.HasEnd())
		}
	}
}

// rules: M-8 M-9 M-10 M-11 M-12
func TestMessageParams(t *testing.T) {
	t.Parallel()
	const sqs, sns = "sqs-message", "sns-message"
	for _, tt := range []struct{ name, kind, params, want, error string }{
		{"a text", sqs, `{"QueueName":"q","MessageBody":"hi"}`, `{"MessageBody":"hi","QueueName":"q"}`, ""},
		{"an object", sqs, `{"QueueName":"q","MessageBody":{"b": [1.50, "<"]}}`, `{"MessageBody":"{\"b\":[1.50,\"<\"]}","QueueName":"q"}`, ""},
		{"a number", sqs, `{"QueueName":"q","messageBody":7}`, `{"MessageBody":"7","QueueName":"q"}`, ""},
		{
			"all of the vendor's", sqs,
			`{"QueueName":"q","MessageBody":"b","DelaySeconds":900,"Priority":16,"MessageTag":"t","MessageAttributes":{"n":1.5,"s":"x","o":{"a":1}}}`,
			`{"DelaySeconds":900,"MessageAttributes":{"MessageTag":{"DataType":"String","StringValue":"t"},"n":{"DataType":"Number","StringValue":"1.5"},` +
				`"o":{"DataType":"String","StringValue":"{\"a\":1}"},"s":{"DataType":"String","StringValue":"x"}},"MessageBody":"b","QueueName":"q"}`, "",
		},
		{"attributes in a text", sqs, `{"QueueName":"q","MessageBody":"b","MessageAttributes":"{\"n\":true}","MessageTag":""}`,
			`{"MessageAttributes":{"n":{"DataType":"String","StringValue":"true"}},"MessageBody":"b","QueueName":"q"}`, ""},
		{
			"the service's own words", sqs, `{"queueUrl":"https://q","MessageBody":"b","messageAttributes":{"n":{"DataType":"Number.int","StringValue":"1"}},"Other":1}`,
			`{"MessageAttributes":{"n":{"DataType":"Number.int","StringValue":"1"}},"MessageBody":"b","Other":1,"queueUrl":"https://q"}`, "",
		},
		{"first come, first served", sqs, `{"QueueName":"q.fifo","MessageBody":"b","MessageGroupId":"g"}`,
			`{"MessageBody":"b","MessageDeduplicationId":"u","MessageGroupId":"g","QueueName":"q.fifo"}`, ""},
		{"and named by the flow", sqs, `{"QueueUrl":"https://q.fifo","MessageBody":"b","MessageGroupId":"g","messageDeduplicationId":"mine"}`,
			`{"MessageBody":"b","MessageGroupId":"g","QueueUrl":"https://q.fifo","messageDeduplicationId":"mine"}`, ""},
		{"a topic", sns, `{"TopicName":"t","MessageBody":{},"MessageTag":"x"}`,
			`{"Message":"{}","MessageAttributes":{"MessageTag":{"DataType":"String","StringValue":"x"}},"TopicArn":"arn:aws:sns:eu-west-1:111122223333:t"}`, ""},
		{"a topic by its ARN", sns, `{"TopicArn":"arn:x","Message":"m","Subject":"s"}`, `{"Message":"m","Subject":"s","TopicArn":"arn:x"}`, ""},
		{"a topic in order", sns, `{"TopicArn":"arn:x.fifo","Message":"m","MessageGroupId":"g"}`,
			`{"Message":"m","MessageDeduplicationId":"u","MessageGroupId":"g","TopicArn":"arn:x.fifo"}`, ""},

		{"no body", sqs, `{"QueueName":"q"}`, "", "params.MessageBody is missing: SendMessage of sqs needs QueueUrl or QueueName, and MessageBody"},
		{"null", sqs, `{"QueueName":"q","MessageBody":null}`, "", "params.MessageBody is missing: SendMessage of sqs needs QueueUrl or QueueName, and MessageBody"},
		{"no text", sqs, `{"QueueName":"q","MessageBody":""}`, "", "params.MessageBody is empty: sqs takes no message without a text"},
		{"no queue", sqs, `{"MessageBody":"b"}`, "", "params.QueueUrl is missing: SendMessage of sqs needs QueueUrl or QueueName, and MessageBody"},
		{"no topic", sns, `{"MessageBody":"b"}`, "", "params.TopicArn is missing: Publish of sns needs TopicArn or TopicName, and Message or MessageBody"},
		{"two queues", sqs, `{"QueueName":"q","QueueUrl":"u","MessageBody":"b"}`, "", "params has QueueName and QueueUrl: want one of them"},
		{"no name of a queue", sqs, `{"QueueName":"q/r","MessageBody":"b"}`, "",
			`params.QueueName is string "q/r": want a name of letters, digits, - and _, as it is called on AWS`},
		{"no text for a queue", sqs, `{"QueueName":7,"MessageBody":"b"}`, "",
			`params.QueueName is number 7: want a name of letters, digits, - and _, as it is called on AWS`},
		{"a long delay", sqs, `{"QueueName":"q","MessageBody":"b","DelaySeconds":901}`, "",
			"params.DelaySeconds is number 901: want an integer from 0 to 900; a wait step before the task waits longer"},
		{"a delay in a text", sqs, `{"QueueName":"q","MessageBody":"b","DelaySeconds":"5"}`, "",
			`params.DelaySeconds is string "5": want an integer from 0 to 900; a wait step before the task waits longer`},
		{"a delay of a topic", sns, `{"TopicName":"t","MessageBody":"b","DelaySeconds":5}`, "",
			"params.DelaySeconds is number 5: want an integer from 0 to 0; a wait step before the task waits longer"},
		{"a delay in order", sqs, `{"QueueName":"q.fifo","MessageBody":"b","MessageGroupId":"g","DelaySeconds":5}`, "",
			"params.DelaySeconds is number 5: want an integer from 0 to 0; a wait step before the task waits longer"},
		{"no delay in order", sqs, `{"QueueUrl":"https://q.fifo","MessageBody":"b","MessageGroupId":"g","DelaySeconds":0}`,
			`{"MessageBody":"b","MessageDeduplicationId":"u","MessageGroupId":"g","QueueUrl":"https://q.fifo"}`, ""},
		{
			"too many attributes", sqs,
			`{"QueueName":"q","MessageBody":"b","MessageTag":"t","MessageAttributes":{"0":0,"1":1,"2":2,"3":3,"4":4,"5":5,"6":6,"7":7,"8":8,"9":9}}`, "",
			"params.MessageAttributes and MessageTag are 11 attributes: sqs takes 10 at most; write the others into the body",
		},
		{"an empty attribute", sns, `{"TopicArn":"a","MessageBody":"b","MessageAttributes":{"n":1,"e":""}}`, "",
			`params.MessageAttributes has an empty text at "e": sns takes none; leave the attribute out`},
		{"a low priority", sqs, `{"QueueName":"q","MessageBody":"b","Priority":0}`, "", "params.Priority is number 0: want an integer from 1 to 16"},
		{"a tag that is not a text", sqs, `{"QueueName":"q","MessageBody":"b","MessageTag":1}`, "", "params.MessageTag is number 1: want a text"},
		{"attributes that are none", sqs, `{"QueueName":"q","MessageBody":"b","MessageAttributes":[1]}`, "", "params.MessageAttributes is array [1]: want an object"},
		{"no group", sqs, `{"QueueName":"q.fifo","MessageBody":"b"}`, "",
			"params.MessageGroupId is missing: a name that ends with .fifo needs it, for messages keep their order within a group"},
		{"a list", sqs, `[1]`, "", "params is array [1]: want an object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := find(t, tt.kind).MessageParams("111122223333", "eu-west-1", []byte(tt.params), "u")
			if tt.error != "" {
				checkRefusal(t, err, ErrorInvalid, tt.error)
				return
			}
			if err != nil || string(got) != tt.want {
				t.Fatalf("got %s, %v\nwant %s", got, err, tt.want)
			}
		})
	}
	if got, err := find(t, "sqs-message").MessageParams("1", "r", []byte(`{"QueueName":"q.fifo","MessageBody":"b","MessageGroupId":"g"}`), ""); err != nil ||
		string(got) != `{"MessageBody":"b","MessageGroupId":"g","QueueName":"q.fifo"}` {
		t.Errorf("of a start that nothing names: %s, %v", got, err)
	}
}

func TestReadSent(t *testing.T) {
	t.Parallel()
	for kind, params := range map[string]string{"sqs-message": `{"MessageBody":"hello"}`, "sns-message": `{"Message":"hello"}`} {
		got, err := find(t, kind).ReadSent([]byte(params), []byte(`{"MessageId":"m","RequestId":"r","MD5OfMessageBody":"x"}`))
		if want := (Sent{MessageID: "m", BodyMD5: "5D41402ABC4B2A76B9719D911017C592", RequestID: "r"}); err != nil || got != want {
			t.Errorf("%s: %+v, %v", kind, got, err)
		}
	}
	if _, err := find(t, "sqs-message").ReadSent([]byte(`{"MessageBody":"hello"}`), []byte(`{}`)); err == nil ||
		err.Error() != `jobs: sqs-message: SendMessage of sqs returned object {}: want an object with a MessageId` {
		t.Errorf("error %v", err)
	}
	if _, err := find(t, "sqs-message").ReadSent([]byte(`{}`), []byte(`{"MessageId":"m"}`)); err == nil {
		t.Error("a message without a body was sent")
	}
}

// A message has no end to wait for.
func TestMessagesRejectTokens(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"token", "taskToken", "callbackId"} {
		_, err := ParseStart([]byte(`{"kind":"sqs-message","params":{},"` + token + `":"t"}`))
		checkRefusal(t, err, ErrorInvalid,
			"a request of kind sqs-message has a token: want none, for a message has no end; the receiver of the message can close a token in its body")
	}
}
