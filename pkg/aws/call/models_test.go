package call

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/internal/suite/botocore"
)

// folders of the models, by the id of the service.
var folders = map[string]string{
	"Batch": "batch", "Database Migration Service": "dms", "SFN": "stepfunctions", "Transcribe": "transcribe", "SNS": "sns",
	"CloudFormation": "cloudformation", "STS": "sts",
}

func readModel(t *testing.T, folder string) botocore.Model {
	t.Helper()
	m, err := botocore.Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// row writes an operation of the model as a row of that service.
func rowIn(t *testing.T, m botocore.Model, service Service, name string) Operation {
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
		o.Input = m.Shape(operation.Input.Shape, botocore.Full)
	}
	if operation.Output != nil {
		form := botocore.Instants
		if service.Protocol == Query {
			form = botocore.Full
		}
		o.Output = m.Shape(operation.Output.Shape, form)
	}
	return o
}

// service returns what the model says of how the service is spoken to.
func serviceOf(m botocore.Model, hosts map[string]string) Service {
	d := m.Metadata
	s := Service{ID: d.ServiceID, Prefix: d.EndpointPrefix, Target: d.TargetPrefix, Hosts: hosts, HadQuery: d.HadQuery != nil}
	if d.SigningName != d.EndpointPrefix {
		s.Signing = d.SigningName
	}
	s.Protocol = map[string]Protocol{"json": Protocol(d.JSONVersion), "rest-json": RESTJSON, "query": Query}[d.Protocol]
	if s.Protocol == Query {
		s.Target = d.APIVersion
	}
	return s
}

// TestRows compares rows with the vendor's models: protocol, target, signing name, paths, members,
// types and required members.
func TestRows(t *testing.T) {
	t.Parallel()
	models := map[string]botocore.Model{}
	for _, row := range samples() {
		m, ok := models[row.Service.ID]
		if !ok {
			m = readModel(t, folders[row.Service.ID])
			models[row.Service.ID] = m
			want := serviceOf(m, row.Service.Hosts)
			if got, _ := json.Marshal(row.Service); string(got) != marshal(want) {
				t.Errorf("service %s, want %s", got, marshal(want))
			}
		}
		want := rowIn(t, m, row.Service, row.Name)
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
