package jobs

import (
	"bytes"
	"crypto/md5" //nolint:gosec // the vendor's checksum of a body; it protects nothing
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// A message has a start and no end. The vendor's topics are topics of SNS here, and its queues are
// queues of SQS.
func init() {
	add(&snsMessage)
	add(&sqsMessage)
}

var (
	snsMessage = Kind{
		Name: "sns-message", Service: "sns", StartOp: "Publish", Once: OnceNot,
		parts: &parts{
			start: startSpec{
				resource: formOf(`^acs:mns:`+anyText+`:`+anyText+`:/topics/(`+placeName+`)/messages$`, maxARN), resourceParam: "TopicName",
				message: &message{name: "TopicName", place: "TopicArn", arn: "arn:PARTITION:sns:REGION:ACCOUNT:ID", body: "Message"},
			},
			rights: rights{start: []right{{"sns:Publish", []string{"sns:REGION:ACCOUNT:*"}}}},
		},
	}
	sqsMessage = Kind{
		Name: "sqs-message", Service: "sqs", StartOp: "SendMessage", Once: OnceNot,
		parts: &parts{
			start: startSpec{
				resource: formOf(`^acs:mns:`+anyText+`:`+anyText+`:/queues/(`+placeName+`)/messages$`, maxARN), resourceParam: "QueueName",
				message: &message{name: "QueueName", place: "QueueUrl", body: paramBody, maxDelay: 900, most: 10},
			},
			rights: rights{start: []right{{"sqs:GetQueueUrl", []string{"sqs:REGION:ACCOUNT:*"}}, {"sqs:SendMessage", []string{"sqs:REGION:ACCOUNT:*"}}}},
		},
	}
)

// anyText is a region or an account in the vendor's resources. A placeholder in it may have colons:
// ${ALIYUN::Region}.
const anyText = `(?:\$\{[^{}]*\}|[^:])*`

const placeName = `[0-9A-Za-z_-]+(?:\.fifo)?`

// placeForm is the form of the names of queues and topics.
var placeForm = formOf(`^`+placeName+`$`, 256)

// message says how the messages of a kind are sent.
type message struct {
	name     string // the param that names the queue or the topic
	place    string // the service's param for it
	arn      string // the form of place; empty if the service is sent the name
	body     string // the service's param for the body
	maxDelay int    // of a message, in seconds
	most     int    // attributes of a message, 0 for any number
}

// The params of a message in the vendor's queues and topics.
const (
	paramBody       = "MessageBody"
	paramDelay      = "DelaySeconds"
	paramPriority   = "Priority"
	paramTag        = "MessageTag"
	paramAttributes = "MessageAttributes"
)

// MessageParamNames returns the names of the params of a message that are not the service's.
func (k Kind) MessageParamNames() []string {
	return []string{k.start.message.name, paramBody, paramDelay, paramPriority, paramTag, paramAttributes}
}

// MessageParts returns the names of params: body and place are the service's names of the body and
// of the queue or topic; name is the vendor's name of the queue or topic.
func (k Kind) MessageParts() (body, place, name string) {
	return k.start.message.body, k.start.message.place, k.start.message.name
}

// Sent is the result of StartJob for a message: the fields of the vendor's topics.
type Sent struct {
	MessageID string `json:"MessageId"`
	BodyMD5   string `json:"MessageBodyMD5"` // in upper-case hexadecimal digits
	RequestID string `json:"RequestId"`
}

// MessageParams returns the params of the service's operation for a message. The params of StartJob
// describe the message in the words of the vendor or of the service. Account and region apply to a
// topic that is given by name. Unique is the same text for the same start, by which a FIFO queue or
// topic recognizes a repeated message. The error is a [*RequestError].
func (k Kind) MessageParams(account, region string, params []byte, unique string) ([]byte, error) {
	members, err := ObjectMembers("params", params)
	if err != nil {
		return nil, err
	}
	m := &messageParams{kind: k, message: *k.start.message, members: members}
	if err := m.readPlace(account, region, unique); err != nil {
		return nil, err
	}
	for _, step := range []func() error{m.readBody, m.readNumbers, m.readAttributes} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return encode(m.members), nil
}

type messageParams struct {
	message

	kind    Kind
	members map[string]json.RawMessage
}

// take removes a member and returns it.
func (m *messageParams) take(name string) (json.RawMessage, bool) {
	found, ok := findMember(m.members, name)
	value := m.members[found]
	delete(m.members, found)
	return value, ok
}

// readBody keeps a text as it is, and writes anything else as JSON.
func (m *messageParams) readBody() error {
	body, ok := m.take(paramBody)
	if !ok {
		body, ok = m.take(m.body)
	}
	switch {
	case !ok:
		return m.missing(m.body)
	case string(body) == `""`:
		return invalid("params.%s is empty: %s takes no message without a text", paramBody, m.kind.Service)
	case body[0] != '"':
		var compact bytes.Buffer
		if err := json.Compact(&compact, body); err != nil {
			return err
		}
		body = quote(compact.String())
	}
	m.members[m.body] = body
	return nil
}

func (m *messageParams) missing(param string) error {
	body := m.body
	if body != paramBody {
		body += " or " + paramBody
	}
	return invalid("params.%s is missing: %s of %s needs %s or %s, and %s", param, m.kind.StartOp, m.kind.Service, m.place, m.name, body)
}

// readNumbers drops a valid priority, because neither service has priorities, and a delay of 0.
func (m *messageParams) readNumbers() error {
	for _, param := range []struct {
		name        string
		least, most int
		hint        string
	}{{paramDelay, 0, m.maxDelay, "; a wait step before the task waits longer"}, {paramPriority, 1, 16, ""}} {
		raw, ok := m.take(param.name)
		n, err := strconv.Atoi(string(raw))
		switch {
		case ok && (err != nil || n < param.least || n > param.most):
			return invalid("params.%s is %s: want an integer from %d to %d%s", param.name, Found(raw), param.least, param.most, param.hint)
		case param.name == paramDelay && n > 0:
			m.members[param.name] = raw
		}
	}
	return nil
}

// readAttributes writes plain values in the form of the service, and the tag as an attribute.
func (m *messageParams) readAttributes() error {
	raw, _ := m.take(paramAttributes)
	if text := textOf(raw); text != "" { // the vendor accepts JSON in a text
		raw = json.RawMessage(text)
	}
	attributes, err := ObjectMembers("params."+paramAttributes, raw)
	if err != nil {
		return err
	}
	tag, ok := m.take(paramTag)
	if ok && tag[0] != '"' {
		return invalid("params.%s is %s: want a text", paramTag, Found(tag))
	}
	if textOf(tag) != "" {
		attributes[paramTag] = tag
	}
	for name, value := range attributes {
		if string(value) == `""` {
			return invalid("params.%s has an empty text at %q: %s takes none; leave the attribute out", paramAttributes, name, m.kind.Service)
		}
		attributes[name] = attribute(value)
	}
	if m.most > 0 && len(attributes) > m.most {
		return invalid("params.%s and %s are %d attributes: %s takes %d at most; write the others into the body",
			paramAttributes, paramTag, len(attributes), m.kind.Service, m.most)
	}
	if len(attributes) > 0 {
		m.members[paramAttributes] = encode(attributes)
	}
	return nil
}

// attribute returns a value in the form of the service, which it may have already.
func attribute(value json.RawMessage) json.RawMessage {
	dataType, text := "String", string(value)
	switch typeOf(value) {
	case "object":
		members, _ := ObjectMembers("", value)
		if _, isAttribute := findMember(members, "DataType"); isAttribute {
			return value
		}
	case "string":
		text = textOf(value)
	case "number":
		dataType = "Number"
	}
	return encode(map[string]string{"DataType": dataType, "StringValue": text})
}

// readPlace checks that one queue or topic is named.
func (m *messageParams) readPlace(account, region, unique string) error {
	raw, hasName := m.take(m.name)
	place, hasPlace := findMember(m.members, m.place)
	name := textOf(raw)
	switch {
	case !hasName && !hasPlace:
		return m.missing(m.place)
	case hasName && hasPlace:
		return invalid("params has %s and %s: want one of them", m.name, m.place)
	case hasPlace:
		name = textOf(m.members[place])
	case !placeForm.MatchString(name):
		return invalid("params.%s is %s: want a name of letters, digits, - and _, as it is called on AWS", m.name, Found(raw))
	case m.arn != "":
		m.members[m.place] = quote(filled(m.arn, account, region, name))
	default:
		m.members[m.name] = raw
	}
	if strings.HasSuffix(name, ".fifo") {
		m.maxDelay = 0 // a FIFO queue accepts no delay of a single message, not even 0
		const group, once = "MessageGroupId", "MessageDeduplicationId"
		if _, ok := findMember(m.members, group); !ok {
			return invalid("params.%s is missing: a name that ends with .fifo needs it, for messages keep their order within a group", group)
		}
		if unique != "" {
			setDefault(m.members, once, unique)
		}
	}
	return nil
}

// ReadSent reads the service's response to these params of its operation.
func (k Kind) ReadSent(params, response []byte) (Sent, error) {
	var sent Sent
	if err := json.Unmarshal(response, &sent); err != nil || sent.MessageID == "" {
		return Sent{}, k.responseError(k.StartOp, Found(response)+": want an object with a MessageId")
	}
	members, err := ObjectMembers("params", params)
	body := textOf(members[k.start.message.body])
	if err != nil || body == "" {
		return Sent{}, fmt.Errorf("jobs: %s: the params of the message have no body", k.Name)
	}
	sum := md5.Sum([]byte(body)) //nolint:gosec // as above
	sent.BodyMD5 = strings.ToUpper(hex.EncodeToString(sum[:]))
	return sent, nil
}
