package call

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
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
	RESTXML  Protocol = "xml"
	Query    Protocol = "query"
	Bytes    Protocol = "bytes" // of objects: the body of a response as it is
)

// message is the request of an operation before it has a host and a signature.
type message struct {
	method, path, rawQuery string // the path is escaped
	header                 http.Header
	body                   []byte
}

// messageOf writes the params in the protocol of the operation.
func messageOf(o Operation, params []byte, once string) (message, error) {
	members, err := readParams(shapeOf(o.Input), params, once)
	if err != nil {
		return message{}, err
	}
	m := message{method: http.MethodPost, path: "/", header: http.Header{}}
	switch o.Service.Protocol {
	case JSON10, JSON11:
		m.header.Set("Content-Type", "application/x-amz-json-"+string(o.Service.Protocol))
		m.header.Set("X-Amz-Target", o.Service.Target+"."+o.Name)
		if o.Service.HadQuery {
			m.header.Set("X-Amzn-Query-Mode", "true")
		}
		m.body, err = writeJSON(inBody(shapeOf(o.Input), members))
	case Query:
		m.header.Set("Content-Type", "application/x-www-form-urlencoded")
		var body bytes.Buffer
		encoder := query.NewEncoder(&body)
		form := encoder.Object()
		form.Key("Action").String(o.Name)
		form.Key("Version").String(o.Service.Target)
		writeStructure(form, shapeOf(o.Input), inBody(shapeOf(o.Input), members))
		err = encoder.Encode()
		m.body = body.Bytes()
	case RESTJSON, RESTXML:
		err = m.writeREST(o, members)
	case Bytes:
		fallthrough
	default:
		err = errors.New("the row has no protocol")
	}
	return m, err
}

// inBody gives members the names that they have in the body.
func inBody(s *shape, members map[string]any) map[string]any {
	renamed := map[string]any{}
	for name, value := range members {
		if m := s.find(name); m != nil && m.name == name {
			name = m.key()
		}
		renamed[name] = value
	}
	return renamed
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

func writeStructure(to *query.Object, s *shape, members map[string]any) {
	for _, m := range s.members {
		if value, ok := members[m.key()]; ok {
			writeValue(to.Key(m.key()), m.shape, value)
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
		items := to.Array(cmp.Or(s.value, "member"))
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
		if !ok || each.place == "" || each.place == placeBody {
			continue
		}
		delete(members, each.name)
		if each.place == placePayload {
			body = value
		} else if err := place(encoder, each, value); err != nil {
			return err
		}
	}
	request, err := encoder.Encode(&http.Request{URL: &url.URL{}, Header: http.Header{}})
	if err != nil {
		return err
	}
	for name, value := range fixedHeaders[o.Service.ID] {
		if request.Header.Get(name) == "" {
			request.Header.Set(name, value)
		}
	}
	m.method, m.path, m.rawQuery, m.header = o.Method, request.URL.EscapedPath(), request.URL.RawQuery, request.Header
	if o.Service.Protocol == RESTXML {
		m.writeXML(o, body)
		return nil
	}
	return m.writeBody(shapeOf(o.Input), members, body)
}

// fixedHeaders are headers that a service needs in all requests, by its id. The vendor's clients
// have them in their code.
var fixedHeaders = map[string]map[string]string{
	"API Gateway": {"Accept": "application/json"},
	"Glacier":     {"X-Amz-Glacier-Version": "2012-06-01"},
}

// place puts a value into path, query or headers. A label cannot lead out of its place in the path.
func place(encoder *httpbinding.Encoder, m member, value any) error {
	switch m.place {
	case placeURI:
		label := textAs(m.shape.kind, value)
		if label == "" || slices.Contains(strings.Split(label, "/"), ".") || slices.Contains(strings.Split(label, "/"), "..") {
			return wrong("%s is %q, which no path has", m.name, label)
		}
		return encoder.SetURI(cmp.Or(m.in, m.name)).String(label)
	case placeHeaders:
		entries, _ := value.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(entries)) {
			if name == "" || strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c) }) {
				return wrong("%s has the name %q, which no header has", m.name, name)
			}
			if err := place(encoder, member{name: m.name + "." + name, place: placeHeader, in: m.in + name, shape: m.shape.item}, entries[name]); err != nil {
				return err
			}
		}
		return nil
	case placeHeader:
		header := headerText(m.shape.kind, value)
		if strings.ContainsFunc(header, func(c rune) bool { return c < ' ' || c == 0x7f }) {
			return wrong("%s has a control character", m.name)
		}
		encoder.SetHeader(m.in).String(header)
		return nil
	}
	addQuery(encoder, m, value)
	return nil
}

// addQuery adds a value, each item of a list, or each entry of a map, to the query.
func addQuery(encoder *httpbinding.Encoder, m member, value any) {
	switch value := value.(type) {
	case []any:
		for _, each := range value {
			addQuery(encoder, m, each)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			addQuery(encoder, member{in: name, shape: anything}, value[name])
		}
	default:
		encoder.AddQuery(m.in).String(textAs(m.shape.kind, value))
	}
}

// headerText writes a value in a header, and the items of a list with commas between them.
func headerText(kind byte, value any) string {
	list, ok := value.([]any)
	if !ok {
		return textAs(kind, value)
	}
	items := make([]string, len(list))
	for i, each := range list {
		items[i] = textAs(kind, each)
		if strings.ContainsAny(items[i], `",`) {
			items[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(items[i]) + `"`
		}
	}
	return strings.Join(items, ",")
}

// textAs writes a value outside of a body.
func textAs(kind byte, value any) string {
	at, isInstant := value.(time.Time)
	switch {
	case isInstant && kind == 'h':
		return smithytime.FormatHTTPDate(at)
	case isInstant && kind == 'u':
		return strconv.FormatInt(at.Unix(), 10)
	}
	return text(value)
}

func (m *message) writeBody(s *shape, members map[string]any, body any) (err error) {
	if blob, ok := body.([]byte); ok {
		if m.header.Get("Content-Type") == "" { // a member may be that
			m.header.Set("Content-Type", "application/octet-stream")
		}
		m.body = blob
		return nil
	}
	if body == nil && s.payload() == nil && slices.ContainsFunc(s.members, func(m member) bool { return m.place == "" || m.place == placeBody }) {
		body = inBody(s, members)
	}
	if body == nil {
		return nil
	}
	if m.header.Get("Content-Type") == "" {
		m.header.Set("Content-Type", "application/json")
	}
	m.body, err = writeJSON(body)
	return err
}
