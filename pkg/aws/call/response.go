package call

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/restjson"
	awsxml "github.com/aws/aws-sdk-go-v2/aws/protocol/xml"
	"github.com/aws/smithy-go"
	smithytime "github.com/aws/smithy-go/time"
)

// result returns the body of a response as a JSON object with the names of the service.
func result(o Operation, status int, header http.Header, body []byte) ([]byte, error) {
	switch o.Service.Protocol {
	case Query:
		return readXML(o, body)
	case Bytes:
		return body, nil
	case JSON10, JSON11, RESTJSON, RESTXML:
	}
	s := anything
	if o.Output != "" {
		s = shapeOf(o.Output)
	}
	members, err := readBody(o.Service.Protocol, s, header, body)
	if err != nil {
		return nil, err
	}
	if o.Service.Protocol != RESTXML {
		withInstants(s, members)
	}
	for _, m := range s.members {
		if m.place == placeStatus {
			members[m.name] = status
		} else if m.place == placeHeaders {
			members[m.name] = headersWith(m.in, header)
		} else if text := header.Get(m.in); m.place == placeHeader && text != "" {
			members[m.name] = parsed(m.shape.kind, text)
		}
	}
	return writeJSON(members)
}

// headersWith returns the headers whose names begin with the prefix, by the rest in lower case.
func headersWith(prefix string, header http.Header) map[string]any {
	found := map[string]any{}
	for name, values := range header {
		if rest, ok := strings.CutPrefix(strings.ToLower(name), prefix); ok {
			found[rest] = strings.Join(values, ",")
		}
	}
	return found
}

// readBody reads the members in a body.
func readBody(protocol Protocol, s *shape, header http.Header, body []byte) (map[string]any, error) {
	payload, members := s.payload(), map[string]any{}
	switch {
	case payload != nil && (payload.shape.kind == 'B' || payload.shape.kind == 's'):
		members[payload.name] = readPayload(payload.shape.kind, header, body)
		return members, nil
	case len(bytes.TrimSpace(body)) == 0:
		return members, nil
	case protocol == RESTXML:
		return readRESTXML(s, body)
	}
	value, err := decodeNumbers(body)
	if err != nil {
		return nil, err
	}
	if payload != nil {
		members[payload.name] = value
		return members, nil
	}
	members, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("it is no object")
	}
	return members, nil
}

// readPayload returns a body of bytes: JSON as it is, if the header says so, and other bytes in
// base64.
func readPayload(kind byte, header http.Header, body []byte) any {
	if kind == 's' {
		return strings.ToValidUTF8(string(body), "\uFFFD")
	}
	media, _, _ := mime.ParseMediaType(header.Get("Content-Type")) // without one it is no JSON
	if media == "application/json" || strings.HasSuffix(media, "+json") {
		if value, err := decodeNumbers(body); err == nil {
			return value
		}
	}
	return base64.StdEncoding.EncodeToString(body)
}

// decodeNumbers decodes JSON, with numbers as they are.
func decodeNumbers(body []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

// lastSecond is the last second of the year 9999, the last year of RFC 3339.
const lastSecond = 253402300799

// withInstants turns the seconds of instants into texts. It leaves all that the shape does not
// know.
func withInstants(s *shape, value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, found := range value {
			if s.kind == '<' {
				value[name] = withInstants(s.item, found)
			} else if m := s.find(name); m != nil {
				value[name] = withInstants(m.shape, found)
			}
		}
	case []any:
		for i, item := range value {
			if s.kind == '[' {
				value[i] = withInstants(s.item, item)
			}
		}
	case json.Number:
		seconds, err := value.Float64()
		if s.kind == 't' && err == nil && seconds >= 0 && seconds <= lastSecond {
			return smithytime.ParseEpochSeconds(seconds).UTC().Format(time.RFC3339Nano)
		}
	}
	return value
}

// readXML reads <OperationResponse><OperationResult>...
func readXML(o Operation, body []byte) ([]byte, error) {
	decoder := xml.NewDecoder(bytes.NewReader(body))
	var found any = map[string]any{}
	err := children(decoder, func(xml.StartElement) error { // the response
		return children(decoder, func(e xml.StartElement) (err error) {
			if e.Name.Local != o.Name+"Result" {
				return decoder.Skip()
			}
			found, err = element(decoder, shapeOf(o.Output))
			return err
		})
	})
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return writeJSON(found)
}

// children calls read for each element up to the end of the open element. It returns io.EOF at the
// end of the document.
func children(decoder *xml.Decoder, read func(xml.StartElement) error) error {
	for {
		token, err := decoder.Token()
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			if err := read(token); err != nil {
				return err
			}
		case xml.EndElement:
			return nil
		}
	}
}

// element reads the content of the element that is open.
func element(decoder *xml.Decoder, s *shape) (any, error) {
	switch s.kind {
	case '{':
		members := map[string]any{}
		return members, noEOF(children(decoder, func(e xml.StartElement) (err error) {
			m := s.find(e.Name.Local)
			if m == nil {
				return decoder.Skip()
			}
			if m.shape.value != flattened {
				members[m.name], err = element(decoder, m.shape)
				return err
			}
			list, _ := members[m.name].([]any)
			item, err := element(decoder, m.shape.item)
			members[m.name] = append(list, item)
			return err
		}))
	case '[':
		list := []any{}
		return list, noEOF(children(decoder, func(xml.StartElement) error {
			item, err := element(decoder, s.item)
			list = append(list, item)
			return err
		}))
	case '<':
		pair := &shape{kind: '{', members: []member{{name: s.key, shape: &shape{kind: 's'}}, {name: s.value, shape: s.item}}}
		members := map[string]any{}
		return members, noEOF(children(decoder, func(xml.StartElement) error {
			entry, err := element(decoder, pair)
			if found, ok := entry.(map[string]any); ok && err == nil {
				name, _ := found[s.key].(string)
				members[name] = found[s.value]
			}
			return err
		}))
	}
	return leaf(decoder, s.kind)
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// leaf reads a text, and a number, a boolean or an instant of it where the text is one.
func leaf(decoder *xml.Decoder, kind byte) (any, error) {
	var found strings.Builder
	for {
		token, err := decoder.Token()
		if err != nil {
			return nil, noEOF(err)
		}
		switch token := token.(type) {
		case xml.CharData:
			found.Write(token)
		case xml.StartElement:
			if err := decoder.Skip(); err != nil {
				return nil, noEOF(err)
			}
		case xml.EndElement:
			return parsed(kind, found.String()), nil
		}
	}
}

func parsed(kind byte, text string) any {
	switch kind {
	case 'i', 'l', 'd':
		if number := json.Number(text); isNumber(kind, number) && json.Valid([]byte(text)) {
			return number
		}
	case 'b':
		if text == "true" || text == "false" {
			return text == "true"
		}
	case 't':
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			return at.UTC().Format(time.RFC3339Nano)
		}
	case 'h':
		if at, err := smithytime.ParseHTTPDate(text); err == nil {
			return at.UTC().Format(time.RFC3339Nano)
		}
	case 'u':
		if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds >= 0 && seconds <= lastSecond {
			return smithytime.ParseEpochSeconds(seconds).UTC().Format(time.RFC3339Nano)
		}
	}
	return text
}

// refusal returns the error of a response that is not a success.
func refusal(protocol Protocol, status int, header http.Header, body []byte) error {
	var code, message string
	switch protocol { //nolint:exhaustive // all others are JSON
	case RESTXML, Bytes:
		found, _ := awsxml.GetErrorResponseComponents(bytes.NewReader(body), true)
		if code, message = found.Code, found.Message; code == "" && status == http.StatusNotFound { // of a HEAD, which has no body
			code, message = "NoSuchKey", "The specified key does not exist."
		}
	case Query:
		found, _ := awsxml.GetErrorResponseComponents(bytes.NewReader(body), false) // a body that is not XML has no code
		code, message = found.Code, found.Message
	default:
		code, message, _ = restjson.GetErrorInfo(json.NewDecoder(bytes.NewReader(body)))
		code = cmp.Or(restjson.SanitizeErrorCode(header.Get("X-Amzn-Errortype")), code)
		old, _, _ := strings.Cut(header.Get("X-Amzn-Query-Error"), ";") // of a service that had the query protocol before
		code = cmp.Or(old, code)
	}
	refused := &smithy.GenericAPIError{Code: cmp.Or(code, "UnknownError"), Fault: smithy.FaultClient}
	refused.Message = cmp.Or(message, http.StatusText(status), refused.Code)
	if status >= http.StatusInternalServerError {
		refused.Fault = smithy.FaultServer
	}
	return refused
}
