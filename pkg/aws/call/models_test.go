package call

import (
	"compress/gzip"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tools has the vendor's models of its services, in the version of the lock file of the emulator.
const tools = "../../../.tools/emulator"

// model is the vendor's description of a service.
type model struct {
	Metadata struct {
		ServiceID       string `json:"serviceId"`
		EndpointPrefix  string `json:"endpointPrefix"`
		SigningName     string `json:"signingName"`
		Protocol        string `json:"protocol"`
		JSONVersion     string `json:"jsonVersion"`
		TargetPrefix    string `json:"targetPrefix"`
		QueryCompatible any    `json:"awsQueryCompatible"`
		APIVersion      string `json:"apiVersion"`
	} `json:"metadata"`
	Operations map[string]struct {
		HTTP   struct{ Method, RequestURI string } `json:"http"`
		Input  *modelMember                        `json:"input"`
		Output *modelMember                        `json:"output"`
		Errors []modelMember                       `json:"errors"`
	} `json:"operations"`
	Shapes map[string]modelShape `json:"shapes"`
}

type modelShape struct {
	Type      string
	Members   map[string]modelMember
	Member    *modelMember
	Key       *modelMember
	Value     *modelMember
	Required  []string
	Payload   string
	Flattened bool
	Document  bool
	Error     struct {
		Code           string
		HTTPStatusCode int `json:"httpStatusCode"`
	}
}

type modelMember struct {
	Shape, Location, LocationName string
	ResultWrapper                 string
	IdempotencyToken, Flattened   bool
}

// folders of the models, by the id of the service.
var folders = map[string]string{
	"Batch": "batch", "Database Migration Service": "dms", "SFN": "stepfunctions", "Transcribe": "transcribe", "SNS": "sns",
	"CloudFormation": "cloudformation", "STS": "sts",
}

func readModel(t *testing.T, folder string) model {
	t.Helper()
	versions, err := filepath.Glob(tools + "/lib/python3*/site-packages/botocore/data/" + folder + "/*/service-2.json.gz")
	if err != nil || len(versions) == 0 {
		t.Fatalf("no model of %s: `make test` installs it, `make unit` runs the tests that need none (%v)", folder, err)
	}
	file, err := os.Open(slices.Max(versions))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // only read
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var m model
	if err := json.NewDecoder(unpacked).Decode(&m); err != nil {
		t.Fatal(err)
	}
	return m
}

var scalars = map[string]string{
	"string": "s", "integer": "i", "long": "l", "boolean": "b", "timestamp": "t", "double": "d", "float": "d", "blob": "B",
}

// shape writes a shape of the model as rows have it. Of an output of JSON it leaves out all that has no instants.
func (m model) shape(t *testing.T, name string, instants bool) string {
	t.Helper()
	s := m.Shapes[name]
	if s.Flattened {
		t.Errorf("shape %s is flattened, which rows cannot say", name)
	}
	switch s.Type {
	case "structure":
		if s.Document {
			return "*"
		}
		var members []string
		for _, each := range slices.Sorted(maps.Keys(s.Members)) {
			if text := m.member(t, s, each, instants); text != "" {
				members = append(members, text)
			}
		}
		if instants && len(members) == 0 {
			return ""
		}
		return "{" + strings.Join(members, " ") + "}"
	case "list":
		return around("[", m.shape(t, s.Member.Shape, instants), "]")
	case "map":
		names := ""
		if s.Key.LocationName != "" && m.Metadata.Protocol == "query" {
			names = s.Key.LocationName + " " + s.Value.LocationName + " "
		}
		return around("<"+names, m.shape(t, s.Value.Shape, instants), ">")
	}
	if instants && s.Type != "timestamp" {
		return ""
	}
	return scalars[s.Type]
}

func around(before, text, after string) string {
	if text == "" {
		return ""
	}
	return before + text + after
}

func (m model) member(t *testing.T, s modelShape, name string, instants bool) string {
	t.Helper()
	each := s.Members[name]
	text := m.shape(t, each.Shape, instants)
	if text == "" {
		return ""
	}
	wire, flags := name, ""
	if each.LocationName != "" && each.Location == "" {
		wire = each.LocationName
	}
	if !instants && slices.Contains(s.Required, name) {
		flags += "!"
	}
	if each.IdempotencyToken {
		flags += "?"
	}
	switch each.Location {
	case "uri":
		wire, flags = each.LocationName, flags+"@uri"
	case "querystring":
		flags += "@query=" + each.LocationName
	case "header":
		flags += "@header=" + each.LocationName
	}
	if s.Payload == name {
		flags += "@payload"
	}
	return wire + flags + ":" + text
}

// row writes an operation of the model as a row of that service.
func (m model) row(t *testing.T, service Service, name string) Operation {
	t.Helper()
	operation, ok := m.Operations[name]
	if !ok {
		t.Fatalf("the model has no %s", name)
	}
	o := Operation{Service: service, Name: name, Input: "{}"}
	if service.Protocol == RESTJSON {
		o.Method, o.Path = operation.HTTP.Method, operation.HTTP.RequestURI
	}
	if operation.Input != nil {
		o.Input = m.shape(t, operation.Input.Shape, false)
	}
	if operation.Output != nil {
		o.Output = m.shape(t, operation.Output.Shape, service.Protocol != Query)
	}
	return o
}

// service returns what the model says of how the service is spoken to.
func (m model) service(hosts map[string]string) Service {
	d := m.Metadata
	s := Service{ID: d.ServiceID, Prefix: d.EndpointPrefix, Target: d.TargetPrefix, hosts: hosts}
	if d.SigningName != d.EndpointPrefix {
		s.Signing = d.SigningName
	}
	s.Protocol = map[string]Protocol{"json": Protocol(d.JSONVersion), "rest-json": RESTJSON, "query": Query}[d.Protocol]
	if s.Protocol == Query {
		s.Target = d.APIVersion
	}
	return s
}

// TestRows: rows say what the vendor's models say: protocol, target, signing name, paths, members, types and what is required.
func TestRows(t *testing.T) {
	t.Parallel()
	models := map[string]model{}
	for _, row := range Rows() {
		m, ok := models[row.Service.ID]
		if !ok {
			m = readModel(t, folders[row.Service.ID])
			models[row.Service.ID] = m
			want := m.service(row.Service.hosts)
			if got, _ := json.Marshal(row.Service); string(got) != marshal(want) {
				t.Errorf("service %s, want %s", got, marshal(want))
			}
		}
		want := m.row(t, row.Service, row.Name)
		if row.Method != want.Method || row.Path != want.Path {
			t.Errorf("%s: %s %s, want %s %s", row.Name, row.Method, row.Path, want.Method, want.Path)
		}
		for _, text := range []struct{ what, got, want string }{{"input", row.Input, want.Input}, {"output", row.Output, want.Output}} {
			if got := strings.Join(strings.Fields(text.got), " "); got != text.want {
				t.Errorf("%s: %s\n%s\nwant\n%s", row.Name, text.what, got, text.want)
			}
		}
		if len(m.Operations[row.Name].Errors) == 0 && row.Service.Protocol != Query {
			t.Errorf("%s has no errors", row.Name)
		}
	}
}

func marshal(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}
