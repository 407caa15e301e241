package jobs

import (
	"bytes"
	"crypto/md5" //nolint:gosec // what the vendor tells of a message's body; it protects nothing
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// message is what differs between the kinds that send one.
type message struct {
	name  string // the param that names the queue or the topic
	place string // the param that the service has instead
	body  string // what the service calls the body
	delay bool   // the service can delay it
	most  int    // attributes that it takes, 0 for any number
}

// The params of a message, as the vendor's queues and topics have them.
const (
	paramBody       = "MessageBody"
	paramDelay      = "DelaySeconds"
	paramPriority   = "Priority"
	paramTag        = "MessageTag"
	paramAttributes = "MessageAttributes"
)

const (
	maxDelay    = 900 // seconds; of SQS
	maxPriority = 16
)

// Sent is what StartJob answers of a message: the fields of the vendor's topics.
type Sent struct {
	MessageID string `json:"MessageId"`
	BodyMD5   string `json:"MessageBodyMD5"` // in upper-case hexadecimal digits
	RequestID string `json:"RequestId"`
}

// HasEnd reports whether somebody can wait for the end of what this kind starts:
// a message has none.
func (k Kind) HasEnd() bool { return k.row.message == nil }

// MessagePlace is the name of the queue or of the topic that a resource like
// acs:mns:::/queues/orders/messages names.
func MessagePlace(resource string) (name string, ok bool) {
	kind, ok := first(func(k Kind) bool { return k.row.names(resource) })
	if !ok || kind.HasEnd() {
		return "", false
	}
	return kind.row.named(resource), true
}

// MessageParams are the params of a service's operation for a message that the
// params of StartJob describe, in the words of the vendor or in those of the
// service. Account and region are where a topic is that only its name is given
// of. Unique is the same text for the same start, which a FIFO queue or topic
// knows a repeated message by. The error is a [*RequestError].
func (k Kind) MessageParams(account, region string, params []byte, unique string) ([]byte, error) {
	members, err := objectMembers("params", params)
	if err != nil {
		return nil, err
	}
	m := &messageParams{kind: k, of: k.row.message, members: members}
	for _, step := range []func() error{m.readBody, m.readDelay, m.readPriority, m.readAttributes, func() error { return m.readPlace(account, region) }} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if err := m.order(unique); err != nil {
		return nil, err
	}
	return encode(m.members), nil
}

type messageParams struct {
	kind    Kind
	of      *message
	members map[string]json.RawMessage
	fifo    bool
}

// take removes a member.
func (m *messageParams) take(name string) (json.RawMessage, bool) {
	found, ok := findMember(m.members, name)
	value := m.members[found]
	delete(m.members, found)
	return value, ok
}

// readBody makes a text of the body: a text as it is, anything else as JSON.
func (m *messageParams) readBody() error {
	body, ok := m.take(paramBody)
	if !ok {
		body, ok = m.take(m.of.body)
	}
	switch {
	case !ok:
		return m.missing(paramBody)
	case string(body) == `""`:
		return invalid("params.%s is empty: %s takes no message without a text", paramBody, m.kind.Service)
	case body[0] != '"':
		var compact bytes.Buffer // what the value is counts, and not the blanks that it came with
		if err := json.Compact(&compact, body); err != nil {
			return err
		}
		body = quote(compact.String())
	}
	m.members[m.of.body] = body
	return nil
}

func (m *messageParams) missing(param string) error {
	return invalid("params.%s is missing: %s of %s needs %s and %s", param, m.kind.Start, m.kind.Service, m.of.name, paramBody)
}

func (m *messageParams) readDelay() error {
	delay, ok := m.take(paramDelay)
	if !ok {
		return nil
	}
	if !m.of.delay {
		return invalid("params.%s is %s: a message to a topic cannot be delayed; a wait step before the task waits", paramDelay, Found(delay))
	}
	if seconds, err := strconv.Atoi(string(delay)); err != nil || seconds < 0 || seconds > maxDelay {
		return invalid("params.%s is %s: want whole seconds from 0 to %d, which is what %s can; a wait step before the task waits longer",
			paramDelay, Found(delay), maxDelay, m.kind.Service)
	}
	m.members[paramDelay] = delay
	return nil
}

// readPriority: neither service has priorities.
func (m *messageParams) readPriority() error {
	priority, ok := m.take(paramPriority)
	if !ok {
		return nil
	}
	if n, err := strconv.Atoi(string(priority)); err != nil || n < 1 || n > maxPriority {
		return invalid("params.%s is %s: want an integer from 1 to %d", paramPriority, Found(priority), maxPriority)
	}
	return nil
}

// readAttributes makes attributes of the service of plain values, and one of
// the tag.
func (m *messageParams) readAttributes() error {
	attributes, err := m.givenAttributes()
	if err != nil {
		return err
	}
	tag, ok := m.take(paramTag)
	if ok && tag[0] != '"' {
		return invalid("params.%s is %s: want a text", paramTag, Found(tag))
	}
	if ok && string(tag) != `""` { // no attribute is empty
		attributes[paramTag] = attribute(tag)
	}
	if most := m.of.most; most > 0 && len(attributes) > most {
		return invalid("params.%s and %s are %d attributes: %s takes %d at most; write the others into the body",
			paramAttributes, paramTag, len(attributes), m.kind.Service, most)
	}
	if len(attributes) > 0 {
		m.members[paramAttributes] = encode(attributes)
	}
	return nil
}

// givenAttributes are those without the tag, in the form of the service.
func (m *messageParams) givenAttributes() (attributes map[string]json.RawMessage, err error) {
	given, ok := m.take(paramAttributes)
	if !ok {
		return map[string]json.RawMessage{}, nil
	}
	var text string
	if json.Unmarshal(given, &text) == nil { // the vendor takes them as JSON in a text
		given = json.RawMessage(text)
	}
	if attributes, err = objectMembers("params."+paramAttributes, given); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if string(attributes[name]) == `""` {
			return nil, invalid("params.%s has an empty text at %q: %s takes none; leave the attribute out", paramAttributes, name, m.kind.Service)
		}
		attributes[name] = attribute(attributes[name])
	}
	return attributes, nil
}

// attribute is a value in the form of the service, unless it has that already.
func attribute(value json.RawMessage) json.RawMessage {
	switch members, isObject := split(value); {
	case isObject && slices.ContainsFunc(slices.Collect(maps.Keys(members)), func(name string) bool { return strings.EqualFold(name, "DataType") }):
		return value
	case typeOf(value) == "string":
		return object("DataType", "String", "StringValue", value)
	case typeOf(value) == "number":
		return object("DataType", "Number", "StringValue", string(value))
	}
	return object("DataType", "String", "StringValue", string(value))
}

// readPlace checks that a queue or a topic is named, once.
func (m *messageParams) readPlace(account, region string) error {
	name, hasName := m.take(m.of.name)
	place, hasPlace := findMember(m.members, m.of.place)
	switch {
	case !hasName && !hasPlace:
		return m.missing(m.of.name)
	case hasName && hasPlace:
		return invalid("params has %s and %s: want one of them", m.of.name, m.of.place)
	case hasPlace:
		m.fifo = strings.HasSuffix(string(m.members[place]), `.fifo"`)
		return nil
	}
	var text string
	if json.Unmarshal(name, &text) != nil || !placeForm.MatchString(text) {
		return invalid("params.%s is %s: want a name of letters, digits, - and _, as it is called on AWS", m.of.name, Found(name))
	}
	m.fifo = strings.HasSuffix(text, ".fifo")
	if m.kind.Service == "sns" {
		m.members[m.of.place] = quote(fmt.Sprintf("arn:%s:sns:%s:%s:%s", partition(region), region, account, text))
		return nil
	}
	m.members[m.of.name] = name
	return nil
}

// placeForm is that of the names of queues and topics.
var placeForm = formOf(`^`+placeName+`$`, 256)

const placeName = `[0-9A-Za-z_-]+(?:\.fifo)?`

// order gives a message of a FIFO queue, or topic, what it is known by. Such a
// queue takes no delay of a single message, not even none.
func (m *messageParams) order(unique string) error {
	if !m.fifo {
		return nil
	}
	if delay, ok := m.take(paramDelay); ok && string(delay) != "0" {
		return invalid("params.%s is %s: a queue whose name ends with .fifo delays no single message; a wait step before the task waits",
			paramDelay, Found(delay))
	}
	const group, once = "MessageGroupId", "MessageDeduplicationId"
	if _, ok := findMember(m.members, group); !ok {
		return invalid("params.%s is missing: a name that ends with .fifo needs it, for messages keep their order within a group", group)
	}
	if unique != "" {
		setDefault(m.members, once, unique)
	}
	return nil
}

// ReadSent reads what the service answered to these params of its operation.
func (k Kind) ReadSent(params, answer []byte) (Sent, error) {
	var sent Sent
	if err := json.Unmarshal(answer, &sent); err != nil || sent.MessageID == "" {
		return Sent{}, k.answerError(k.Start, Found(answer)+": want an object with a MessageId")
	}
	members, _ := split(params)
	var body string
	if err := json.Unmarshal(members[k.row.message.body], &body); err != nil {
		return Sent{}, fmt.Errorf("jobs: %s: the params of the message have no body", k.Name)
	}
	sum := md5.Sum([]byte(body)) //nolint:gosec // as above
	sent.BodyMD5 = strings.ToUpper(hex.EncodeToString(sum[:]))
	return sent, nil
}
