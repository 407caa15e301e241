// Package botocore reads the vendor's descriptions of its services from its library for Python. The
// tests of package call compare the rows with them, and the catalogue is generated from them.
package botocore

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Model is the vendor's description of a service.
type Model struct {
	Metadata struct {
		ServiceID      string   `json:"serviceId"`
		EndpointPrefix string   `json:"endpointPrefix"`
		SigningName    string   `json:"signingName"`
		Protocol       string   `json:"protocol"`
		Protocols      []string `json:"protocols"`
		JSONVersion    string   `json:"jsonVersion"`
		TargetPrefix   string   `json:"targetPrefix"`
		APIVersion     string   `json:"apiVersion"`
		Signature      string   `json:"signatureVersion"`
		HadQuery       any      `json:"awsQueryCompatible"`
	} `json:"metadata"`
	Operations map[string]Operation `json:"operations"`
	Shapes     map[string]Shape     `json:"shapes"`
}

// Operation is an operation of a model.
type Operation struct {
	HTTP      struct{ Method, RequestURI string } `json:"http"`
	Input     *Member                             `json:"input"`
	Output    *Member                             `json:"output"`
	Errors    []Member                            `json:"errors"`
	AuthType  string                              `json:"authtype"`
	Endpoint  struct{ HostPrefix string }         `json:"endpoint"`
	Discovery struct{ Required bool }             `json:"endpointdiscovery"`
}

// Shape is a type of a model.
type Shape struct {
	Type                                        string
	Members                                     map[string]Member
	Member, Key, Value                          *Member
	Required, Enum                              []string
	Payload, TimestampFormat, LocationName      string
	Flattened, Document, EventStream, Streaming bool
	Error                                       struct {
		Code           string
		HTTPStatusCode int `json:"httpStatusCode"`
	}
}

// Member is a use of a shape.
type Member struct {
	Shape, Location, LocationName          string
	ResultWrapper                          string
	IdempotencyToken, JSONValue, Streaming bool
	XMLAttribute                           bool
}

// isXML reports whether names of elements are in the shapes.
func (m Model) isXML() bool {
	return m.Metadata.Protocol == "query" || m.Metadata.Protocol == "rest-xml"
}

// Tool returns the folder of a tool that `make tools` installs.
func Tool(name string) (string, error) {
	folder, err := os.Getwd()
	for ; err == nil && folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "Makefile")); err == nil {
			return filepath.Join(folder, ".tools", name), nil
		}
	}
	return "", cmp.Or(err, errors.New("no folder above has a Makefile"))
}

// data returns the files of the models below the folder, the pattern of a service.
func data(folder string) ([]string, error) {
	tools, err := Tool("emulator")
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(tools, "lib/python3*/site-packages/botocore/data", folder, "*/service-2.json.gz"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no model of %s: `make test` installs it, `make unit` runs the tests that need none", folder)
	}
	return files, err
}

// Folders returns the names of all services in the vendor's library, which are those in its command
// line, in their order.
func Folders() ([]string, error) {
	files, err := data("*")
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = filepath.Base(filepath.Dir(filepath.Dir(file)))
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// Read reads the newest model of a service.
func Read(folder string) (m Model, err error) {
	files, err := data(folder)
	if err != nil {
		return m, err
	}
	packed, err := os.ReadFile(slices.Max(files))
	if err != nil {
		return m, err
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return m, err
	}
	return m, json.NewDecoder(unpacked).Decode(&m)
}

//go:embed vendor.py
var program string

// Run runs cases by the vendor's library.
func Run(ctx context.Context, cases, results any) error {
	tools, err := Tool("emulator")
	if err != nil {
		return err
	}
	input, err := json.Marshal(cases)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(tools, "bin/python"), "-c", program) //nolint:gosec // the installed one
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%w: `make test` installs the vendor's library, `make unit` runs the tests that need none", err)
	}
	return json.Unmarshal(out, results)
}

// Form is a form of shapes.
type Form int

// The forms.
const (
	// Full has all members.
	Full Form = iota
	// Instants has only the differences between a result and the JSON of a response: instants, and
	// members outside of the body.
	Instants
	// Outline has the members of the input itself. Below them it has only instants, and members
	// with another name in JSON.
	Outline
)

var scalars = map[string]string{
	"string": "s", "character": "s", "integer": "i", "long": "l", "boolean": "b", "timestamp": "t", "double": "d", "float": "d", "blob": "B",
}

// Shape writes a shape of the model, the input or the output of an operation, as rows of package
// call have it.
func (m Model) Shape(name string, form Form) string { return m.shape(name, form, nil) }

// shape writes a shape that is nested in the shapes of within.
func (m Model) shape(name string, form Form, within []string) string {
	if slices.Contains(within, name) {
		return open("*", form, within)
	}
	s := m.Shapes[name]
	if s.Flattened && m.isXML() && (s.Type != "list" || m.Metadata.Protocol == "query") {
		panic("botocore: " + name + " is flattened in the query protocol, which shapes cannot say")
	}
	inner := append(slices.Clone(within), name)
	switch s.Type {
	case "structure":
		if s.Document {
			return open("*", form, within)
		}
		return m.structure(s, form, inner)
	case "list":
		return m.list(s, form, inner)
	case "map":
		names := ""
		if s.Key.LocationName != "" && m.isXML() {
			names = s.Key.LocationName + " " + s.Value.LocationName + " "
		}
		return around("<"+names, m.item(s.Value.Shape, form, inner), ">")
	}
	switch {
	case s.Type == "timestamp" && s.TimestampFormat == "iso8601":
		return open("s", form, within)
	case s.Type == "timestamp":
		return open("t", form, within)
	}
	if form == Full || form == Outline && len(within) == 1 {
		return scalars[s.Type]
	}
	return ""
}

// list writes a list with the name of its items, if that is not "member".
func (m Model) list(s Shape, form Form, within []string) string {
	name := ""
	switch other := m.wireName(*s.Member, "member"); {
	case s.Flattened && m.isXML():
		name = "= "
	case other != "member" && m.isXML():
		name = other + " "
	}
	return around("["+name, m.item(s.Member.Shape, form, within), "]")
}

// open returns the text of a member, empty if it needs no conversion and the form leaves out such
// members.
func open(text string, form Form, within []string) string {
	if form == Full || text == "t" || form == Outline && len(within) == 1 {
		return text
	}
	return ""
}

// item writes the items of a list or a map.
func (m Model) item(name string, form Form, within []string) string {
	text := m.shape(name, form, within)
	if text == "" && form == Outline && len(within) == 2 {
		return "*"
	}
	return text
}

func (m Model) structure(s Shape, form Form, within []string) string {
	var members []string
	for _, each := range slices.Sorted(maps.Keys(s.Members)) {
		if text := m.member(s, each, form, within); text != "" {
			members = append(members, text)
		}
	}
	text := strings.Join(members, " ")
	switch {
	case form == Outline && len(within) == 2:
		return "(" + text + ")"
	case text == "" && form != Full && len(within) > 1, text == "" && form == Instants:
		return ""
	case form == Outline && len(within) > 1:
		return "(" + text + ")"
	}
	return "{" + text + "}"
}

func around(before, text, after string) string {
	if text == "" {
		return ""
	}
	return before + text + after
}

// member writes a member of a structure, empty if the form leaves it out.
func (m Model) member(s Shape, name string, form Form, within []string) string {
	each := s.Members[name]
	text := m.shape(each.Shape, form, within)
	place := m.place(s, name, len(within) == 1)
	inWire := m.wireName(each, name)
	other := inWire != name
	switch {
	case text != "":
	case place != "" && form == Instants:
		text = cmp.Or(scalars[m.Shapes[each.Shape].Type], "*")
	case form == Outline && other:
		text = "*"
	default:
		return ""
	}
	flags := ""
	if form != Instants && slices.Contains(s.Required, name) && (form == Full || len(within) == 1) {
		flags += "!"
	}
	if each.IdempotencyToken {
		flags += "?"
	}
	wire := name
	if each.XMLAttribute {
		place = "@attribute=" + inWire
	} else if other && each.Location == "" {
		if place == "@payload" {
			place += "=" + inWire
		} else if (form == Outline || m.isXML()) && !strings.EqualFold(name, inWire) {
			place = "@body=" + inWire
		} else {
			wire = inWire
		}
	}
	return wire + flags + place + ":" + instantAt(m.Shapes[each.Shape], each.Location, text)
}

// instantAt returns the kind of a member outside of the body, where instants have other defaults.
func instantAt(s Shape, location, text string) string {
	switch {
	case s.Type != "timestamp" || location == "" && s.TimestampFormat != "rfc822":
		return text
	case s.TimestampFormat == "unixTimestamp":
		return "u"
	case location == "header" && s.TimestampFormat == "", s.TimestampFormat == "rfc822":
		return "h"
	}
	return "t"
}

// wireName returns the name of a member in requests and responses, which in the query protocol its
// shape may have.
func (m Model) wireName(each Member, name string) string {
	if m.Metadata.Protocol == "query" {
		return cmp.Or(each.LocationName, m.Shapes[each.Shape].LocationName, name)
	}
	return cmp.Or(each.LocationName, name)
}

// place returns where a member is in the request or response, empty for the body.
func (m Model) place(s Shape, name string, top bool) string {
	each := s.Members[name]
	switch {
	case !top:
		return ""
	case s.Payload == name:
		return "@payload"
	}
	switch each.Location {
	case "uri":
		if each.LocationName != name {
			return "@uri=" + each.LocationName
		}
		return "@uri"
	case "querystring":
		return "@query=" + each.LocationName
	case "header", "headers":
		return "@" + each.Location + "=" + each.LocationName
	case "statusCode":
		return "@status"
	}
	return ""
}
