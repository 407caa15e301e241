package call

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/xml"
	"hash/crc32"
	"strings"
)

// flattened stands for the names of the items of a list that has no element of its own.
const flattened = "="

// writeXML writes the payload: bytes, or an element in the namespace of the service. S3 wants a
// checksum of some bodies, and accepts one of all.
func (m *message) writeXML(o Operation, payload any) {
	media := "application/octet-stream"
	switch payload := payload.(type) {
	case nil:
		return
	case []byte:
		m.body = payload
	case string:
		m.body, media = []byte(payload), "application/json" // of a policy
	default:
		var body bytes.Buffer
		root := shapeOf(o.Input).payload()
		writeElement(&body, cmp.Or(root.in, root.name), ` xmlns="`+o.Service.Target+`"`, root.shape, payload)
		m.body, media = body.Bytes(), "application/xml"
	}
	if m.header.Get("Content-Type") == "" { // a member may be that
		m.header.Set("Content-Type", media)
	}
	for name := range m.header {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-amz-checksum-") || name == "x-amz-sdk-checksum-algorithm" || name == "content-md5" {
			return
		}
	}
	sum := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(m.body))
	m.header.Set("X-Amz-Checksum-Crc32", base64.StdEncoding.EncodeToString(sum))
}

// writeElement writes the element of a value, or the elements of a flattened list.
func writeElement(to *bytes.Buffer, name, attributes string, s *shape, value any) {
	if list, ok := value.([]any); ok && s.value == flattened {
		for _, item := range list {
			writeElement(to, name, "", s.item, item)
		}
		return
	}
	for _, m := range s.members {
		if members, _ := value.(map[string]any); m.place == placeAttribute && members[m.name] != nil {
			var quoted bytes.Buffer
			_ = xml.EscapeText(&quoted, []byte(text(members[m.name])))
			attributes += ` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" ` + m.in + `="` + quoted.String() + `"`
		}
	}
	to.WriteString("<" + name + attributes + ">")
	switch value := value.(type) {
	case map[string]any:
		for _, m := range s.members {
			if found, ok := value[m.key()]; ok && m.place != placeAttribute {
				writeElement(to, m.key(), "", m.shape, found)
			}
		}
	case []any:
		for _, item := range value {
			writeElement(to, cmp.Or(s.value, "member"), "", s.item, item)
		}
	default:
		_ = xml.EscapeText(to, []byte(textAs(s.kind, value))) // a buffer takes all
	}
	to.WriteString("</" + name + ">")
}

// readRESTXML returns the members in the element of a body.
func readRESTXML(s *shape, body []byte) (map[string]any, error) {
	decoder, payload, members := xml.NewDecoder(bytes.NewReader(body)), s.payload(), map[string]any{}
	for {
		token, err := decoder.Token()
		if err != nil {
			return nil, noEOF(err)
		}
		if _, ok := token.(xml.StartElement); !ok {
			continue
		}
		if payload != nil {
			members[payload.name], err = element(decoder, payload.shape)
			return members, err
		}
		inBody := &shape{kind: '{'} // a header may have the name of an element
		for _, m := range s.members {
			if m.place == "" || m.place == placeBody {
				inBody.members = append(inBody.members, m)
			}
		}
		found, err := element(decoder, inBody)
		members, _ = found.(map[string]any)
		return members, err
	}
}
