package asl

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/flow/document"
	"github.com/waitless/waitless/pkg/value"
)

const objectService = "arn:aws:states:::s3:"

// itemReader is ItemReader: the items of a Map are in an object, or are a list of objects.
type itemReader struct {
	params *template
	format string // "" for a list of objects
	// headers are the names of columns, nil for those in the first row.
	headers   value.Value
	delimiter string
	most      limit
}

func (s *seriesParser) itemReader(n *document.Node) *itemReader {
	s.fields(n, "ItemReader", "Resource", s.argumentsField(), "ReaderConfig")
	resource := s.oneOf(n, "Resource", objectService+"getObject", objectService+"listObjectsV2")
	s.required(n, "Resource")
	needed := "Bucket Key"
	if strings.HasSuffix(resource, "listObjectsV2") {
		needed = "Bucket"
	}
	r := &itemReader{params: s.objectParams(n, "ItemReader", needed, "Bucket Key Prefix")}
	config := s.config(n, "ReaderConfig")
	s.fields(config, "ReaderConfig", "InputType", "MaxItems", "MaxItemsPath", "CSVHeaderLocation", "CSVHeaders", "CSVDelimiter")
	r.most = s.limit(config, "MaxItems")
	if strings.HasSuffix(resource, "listObjectsV2") {
		return r
	}
	r.format = cmp.Or(s.oneOf(config, "InputType", "JSON", "JSONL", "CSV"), "JSON")
	delimiters := map[string]string{"": ",", "COMMA": ",", "PIPE": "|", "SEMICOLON": ";", "SPACE": " ", "TAB": "\t"}
	r.delimiter = delimiters[s.oneOf(config, "CSVDelimiter", "COMMA", "PIPE", "SEMICOLON", "SPACE", "TAB")]
	if r.format == "CSV" {
		s.required(config, "CSVHeaderLocation")
	}
	if s.oneOf(config, "CSVHeaderLocation", "FIRST_ROW", "GIVEN") == "GIVEN" {
		if headers := s.required(config, "CSVHeaders"); headers != nil {
			for _, header := range s.list(headers, "CSVHeaders", "names of columns") {
				if _, ok := header.Text(); !ok {
					s.unfit(header, "an element of CSVHeaders", "a string")
				}
			}
			r.headers = headers.Value()
		}
	}
	return r
}

// config returns the object with the configuration of a reader or writer, an empty one by default.
func (s *seriesParser) config(n *document.Node, name string) *document.Node {
	field := n.Get(name)
	if field != nil && field.Kind == document.Mapping {
		return field
	}
	if field != nil {
		s.unfit(field, name, "an object")
	}
	return &document.Node{Kind: document.Mapping, Pos: n.Pos}
}

// objectParams reads the parameters of a request to S3, which has those that are needed.
func (s *seriesParser) objectParams(n *document.Node, of, needed, allowed string) *template {
	name := s.argumentsField()
	field := s.required(n, name)
	if field == nil {
		return &template{}
	}
	text, _ := field.Text()
	switch {
	case field.Kind == document.Mapping:
		names := strings.Fields(allowed)
		for _, key := range slices.Clone(names) {
			names = append(names, key+".$")
		}
		s.fields(field, "the "+name+" of "+of, names...)
		for key := range strings.FieldsSeq(needed) {
			if field.Get(key+".$") == nil {
				s.required(field, key)
			}
		}
	case !s.isQuery || !strings.HasPrefix(text, "{%"):
		s.unfit(field, name, "an object")
	}
	return s.templateOf(n, name)
}

// request returns the input of the call that reads the items.
func (r *itemReader) request(e *evaluation) (value.Value, error) {
	most, err := r.most.of(e)
	if err != nil && r.most.source != nil {
		return value.Null(), &stateError{errorItemReader, err.Error()}
	}
	params, err := r.params.eval(e)
	if err != nil {
		return params, err
	}
	return value.Object(
		value.Member{Key: "read", Value: params}, value.Member{Key: "format", Value: value.String(r.format)}, value.Member{Key: "headers", Value: r.headers},
		value.Member{Key: "delimiter", Value: value.String(r.delimiter)}, value.Member{Key: "most", Value: value.Int(most)},
	), nil
}

// resultWriter is ResultWriter: the results of a Map go into objects, or are transformed only.
type resultWriter struct {
	params         *template // nil for the latter
	transformation string
	isLines        bool
}

func (s *seriesParser) resultWriter(n *document.Node) *resultWriter {
	s.fields(n, "ResultWriter", "Resource", s.argumentsField(), "WriterConfig")
	config := s.config(n, "WriterConfig")
	s.fields(config, "WriterConfig", "Transformation", "OutputType")
	w := &resultWriter{transformation: s.oneOf(config, "Transformation", "NONE", "COMPACT", "FLATTEN")}
	w.isLines = s.oneOf(config, "OutputType", "JSON", "JSONL") == "JSONL"
	if n.Get("WriterConfig") == nil || n.Get("Resource") != nil || n.Get(s.argumentsField()) != nil {
		w.params = s.objectParams(n, "ResultWriter", "Bucket", "Bucket Prefix")
		s.required(n, "Resource")
		s.oneOf(n, "Resource", objectService+"putObject")
	} else if w.isLines || w.transformation != "COMPACT" && w.transformation != "FLATTEN" {
		s.Problem(n.Pos, "%s: ResultWriter without Resource is served with Transformation COMPACT or FLATTEN and OutputType JSON; write these, or Resource and %s",
			s.place(), s.argumentsField())
	}
	return w
}

// flattened is [itemOutputs] with the elements of outputs that are arrays in their place.
func flattened(f *flow.Frame) value.Value {
	var all []value.Member
	for _, output := range itemOutputs(f).Members() {
		if list := f.Lookup.Open(output.Value); list.Kind() == value.KindArray {
			all = append(all, list.Members()...)
		} else {
			all = append(all, output)
		}
	}
	return value.ArrayFrom(all)
}

// toWrite implements [flow.MapRun.Written].
func (m *mapData) toWrite(work, local value.Value) value.Value {
	run, items, machine := work.Get(keyRun).Text(), work.Get(keyItems), work.Get(keyMachine).Text()
	results := make([]value.Member, local.Len())
	for i, result := range local.Members() {
		input := items.At(i)
		if m.givesItem() {
			input = input.Get(keyData)
		}
		name := run + "-" + strconv.Itoa(i)
		members := []value.Member{
			{Key: "Name", Value: value.String(name)}, {Key: "Input", Value: value.String(input.JSON())}, {Key: "Status", Value: value.String("SUCCEEDED")},
			{Key: "ExecutionArn", Value: value.String("arn:aws:states:::execution:" + machine + "/" + m.label + ":" + name)},
		}
		if failure := result.Value.Get("error"); failure.IsMissing() {
			members = append(members, value.Member{Key: "Output", Value: cmp.Or(result.Value.Get(keyData), value.Null())})
		} else {
			members[2].Value = value.String("FAILED")
			members = append(members, value.Member{Key: "Error", Value: failure}, value.Member{Key: "Cause", Value: result.Value.Get("cause")})
		}
		results[i].Value = value.Object(members...)
	}
	return value.Object(
		value.Member{Key: "write", Value: work.Get(keyTarget)}, value.Member{Key: "run", Value: value.String(run)},
		value.Member{Key: "runArn", Value: value.String(runARN(machine, m.label, run))}, value.Member{Key: "results", Value: value.ArrayFrom(results)},
		value.Member{Key: "transformation", Value: value.String(m.writer.transformation)}, value.Member{Key: "isLines", Value: value.Bool(m.writer.isLines)},
	)
}

// runARN returns the ARN of a run, without region and account.
func runARN(machine, label, run string) string {
	return "arn:aws:states:::mapRun:" + machine + "/" + label + ":" + run
}
