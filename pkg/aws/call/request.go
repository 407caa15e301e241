package call

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/query"
	"github.com/aws/smithy-go/encoding/httpbinding"
	smithytime "github.com/aws/smithy-go/time"
)

// Protocol is a protocol of AWS.
type Protocol string

// The protocols.
const (
	JSON10   Protocol = "1.0"
	JSON11   Protocol = "1.1"
	RESTJSON Protocol = "rest"
	Query    Protocol = "query"
)

// message is the request of an operation before it has a host and a signature.
type message struct {
	method, path, rawQuery string // the path is escaped
	header                 http.Header
	body                   []byte
}

// messageOf writes the params in the protocol of the operation.
func messageOf(o Operation, params []byte) (message, error) {
	members, err := readParams(shapeOf(o.Input), params)
	if err != nil {
		return message{}, err
	}
	m := message{method: http.MethodPost, path: "/", header: http.Header{}}
	switch o.Service.Protocol {
	case JSON10, JSON11:
		m.header.Set("Content-Type", "application/x-amz-json-"+string(o.Service.Protocol))
		m.header.Set("X-Amz-Target", o.Service.Target+"."+o.Name)
		m.body, err = writeJSON(members)
	case Query:
		m.header.Set("Content-Type", "application/x-www-form-urlencoded")
		m.body, err = writeForm(o, members)
	case RESTJSON:
		err = m.writeREST(o, members)
	default:
		err = errors.New("the row has no protocol")
	}
	return m, err
}

// writeJSON writes members: instants as seconds, blobs in base64.
func writeJSON(members any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(wire(members))
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

func wire(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name := range value {
			value[name] = wire(value[name])
		}
	case []any:
		for i := range value {
			value[i] = wire(value[i])
		}
	case time.Time:
		return smithytime.FormatEpochSeconds(value)
	}
	return value
}

// writeForm writes members in the query protocol.
func writeForm(o Operation, members map[string]any) ([]byte, error) {
	var body bytes.Buffer
	encoder := query.NewEncoder(&body)
	form := encoder.Object()
	form.Key("Action").String(o.Name)
	form.Key("Version").String(o.Service.Target)
	writeStructure(form, shapeOf(o.Input), members)
	err := encoder.Encode()
	return body.Bytes(), err
}

func writeStructure(to *query.Object, s *shape, members map[string]any) {
	for _, m := range s.members {
		if value, ok := members[m.name]; ok {
			writeValue(to.Key(m.name), m.shape, value)
		}
	}
}

func writeValue(to query.Value, s *shape, value any) {
	switch value := value.(type) {
	case map[string]any:
		if s.kind == '{' {
			writeStructure(to.Object(), s, value)
			return
		}
		entries := to.Map(s.key, s.value)
		for _, name := range slices.Sorted(maps.Keys(value)) {
			writeValue(entries.Key(name), s.item, value[name])
		}
	case []any:
		items := to.Array("member")
		for _, item := range value {
			writeValue(items.Value(), s.item, item)
		}
	case nil:
	default:
		to.String(text(value))
	}
}

// text writes a value outside of JSON.
func text(value any) string {
	switch value := value.(type) {
	case time.Time:
		return smithytime.FormatDateTime(value)
	case []byte:
		return base64.StdEncoding.EncodeToString(value)
	}
	return fmt.Sprint(value)
}

// writeREST puts each member into its place.
func (m *message) writeREST(o Operation, members map[string]any) error {
	path, fixed := httpbinding.SplitURI(o.Path)
	encoder, err := httpbinding.NewEncoder(path, fixed, m.header)
	if err != nil {
		return err
	}
	var body any
	for _, each := range shapeOf(o.Input).members {
		value, ok := members[each.name]
		if !ok || each.place == "" {
			continue
		}
		delete(members, each.name)
		if each.place == "payload" {
			body = value
		} else if err := place(encoder, each, value); err != nil {
			return err
		}
	}
	request, err := encoder.Encode(&http.Request{URL: &url.URL{}, Header: http.Header{}})
	if err != nil {
		return err
	}
	m.method, m.path, m.rawQuery, m.header = o.Method, request.URL.EscapedPath(), request.URL.RawQuery, request.Header
	return m.writeBody(shapeOf(o.Input), members, body)
}

// place puts a value into path, query or headers. A label cannot lead out of its place in the path.
func place(encoder *httpbinding.Encoder, m member, value any) error {
	switch m.place {
	case "uri":
		label := text(value)
		if label == "" || slices.Contains(strings.Split(label, "/"), ".") || slices.Contains(strings.Split(label, "/"), "..") {
			return wrong("%s is %q, which no path has", m.name, label)
		}
		return encoder.SetURI(m.name).String(label)
	case "header":
		if strings.ContainsFunc(text(value), func(c rune) bool { return c < ' ' || c == 0x7f }) {
			return wrong("%s has a control character", m.name)
		}
		encoder.SetHeader(m.in).String(text(value))
		return nil
	}
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	for _, each := range list {
		encoder.AddQuery(m.in).String(text(each))
	}
	return nil
}

func (m *message) writeBody(s *shape, members map[string]any, body any) (err error) {
	if blob, ok := body.([]byte); ok {
		m.header.Set("Content-Type", "application/octet-stream")
		m.body = blob
		return nil
	}
	if body == nil && !s.lies("payload") && slices.ContainsFunc(s.members, func(m member) bool { return m.place == "" }) {
		body = members
	}
	if body == nil {
		return nil
	}
	m.header.Set("Content-Type", "application/json")
	m.body, err = writeJSON(body)
	return err
}
