package services_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/internal/suite/botocore"
	"github.com/waitless/waitless/pkg/jobs"
)

// TestKindsFollowTheModels: what the row of a kind says about its service, and the files of its
// folder, agree with the service's model: names of members and operations, types, statuses and
// error codes.
func TestKindsFollowTheModels(t *testing.T) {
	t.Parallel()
	for _, kind := range jobs.Kinds() {
		if kind.DescribeOp == "" {
			continue
		}
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			folder := kind.Service
			if folder == "sfn" {
				folder = "stepfunctions" // the other name is that of the SDK
			}
			model, err := botocore.Read(folder)
			if err != nil {
				t.Fatal(err)
			}
			c := comparison{t, model, kind}
			c.claims()
			c.files()
		})
	}
}

// unmodelled are statuses of events that the models lack.
var unmodelled = map[string]string{"sm-pipeline": "CompletedWithFailures"}

type comparison struct {
	*testing.T

	model botocore.Model
	kind  jobs.Kind
}

func (c comparison) claims() {
	claims := c.kind.Claims()
	for _, name := range claims.Params {
		c.at(c.input(c.kind.StartOp), name)
	}
	for _, path := range claims.Started {
		c.at(c.output(c.kind.StartOp), path)
	}
	for _, path := range claims.Described {
		c.at(c.output(c.kind.DescribeOp), path)
	}
	if status := c.at(c.output(c.kind.DescribeOp), claims.Status); len(status.Enum) > 0 {
		for _, word := range claims.Final {
			if !slices.Contains(status.Enum, word) && unmodelled[c.kind.Name] != word {
				c.Errorf("the status %s is not one of %q", word, status.Enum)
			}
		}
	}
	for operation, codes := range claims.Codes {
		known := []string{"ValidationException"} // a common error of AWS, which models do not repeat
		for _, each := range c.model.Operations[operation].Errors {
			known = append(known, each.Shape, c.model.Shapes[each.Shape].Error.Code)
		}
		for _, code := range codes {
			if !slices.Contains(known, code) {
				c.Errorf("the error code %s of %s is not one of %q", code, operation, known)
			}
		}
	}
}

func (c comparison) input(operation string) botocore.Shape {
	o, ok := c.model.Operations[operation]
	if !ok || o.Input == nil {
		c.Fatalf("the service has no operation %q with params", operation)
	}
	return c.model.Shapes[o.Input.Shape]
}

func (c comparison) output(operation string) botocore.Shape {
	o, ok := c.model.Operations[operation]
	if !ok || o.Output == nil {
		return botocore.Shape{Type: "structure"} // the response is empty
	}
	return c.model.Shapes[o.Output.Shape]
}

// at returns the shape at a path, in which lists stand for their elements.
func (c comparison) at(shape botocore.Shape, path string) botocore.Shape {
	c.Helper()
	for name := range strings.SplitSeq(path, ".") {
		for shape.Type == "list" {
			shape = c.model.Shapes[shape.Member.Shape]
		}
		found, ok := c.member(shape, name)
		if !ok {
			c.Errorf("%s: the model has no %s", path, name)
			return botocore.Shape{}
		}
		shape = found
	}
	return shape
}

// member returns the shape of a member by its name or by that on the wire. Names are compared
// without case.
func (c comparison) member(shape botocore.Shape, name string) (botocore.Shape, bool) {
	for own, m := range shape.Members {
		if strings.EqualFold(own, name) || strings.EqualFold(m.LocationName, name) {
			return c.model.Shapes[m.Shape], true
		}
	}
	return botocore.Shape{}, false
}

// files compares the params and responses of the kind's folder, and the params that the row makes.
func (c comparison) files() {
	start, id := inFolder(c.T, c.kind.Name, "start.params.json"), ""
	if params, err := c.kind.StartParams(start, "once"); err != nil {
		c.Error(err)
	} else {
		c.value(c.kind.StartOp, c.input(c.kind.StartOp), decoded(c.T, params))
		response := inFolder(c.T, c.kind.Name, "start.response.json")
		c.value("start.response.json", c.output(c.kind.StartOp), decoded(c.T, response))
		started, err := c.kind.ReadStart("111122223333", "eu-central-1", params, response)
		if err != nil {
			c.Error(err)
		}
		id = started.ID
	}
	if params, err := c.kind.DescribeParams(id); err != nil {
		c.Error(err)
	} else {
		c.value(c.kind.DescribeOp, c.input(c.kind.DescribeOp), decoded(c.T, params))
	}
	if c.kind.CanStop() {
		params, err := c.kind.StopParams(id)
		if err != nil {
			c.Error(err)
		}
		c.value(c.kind.StopOp, c.input(c.kind.StopOp), decoded(c.T, params))
	}
	for _, state := range []string{"running", "success", "failure"} {
		name := "described." + state + ".json"
		c.value(name, c.output(c.kind.DescribeOp), decoded(c.T, inFolder(c.T, c.kind.Name, name)))
	}
}

func decoded(t *testing.T, text []byte) (value any) {
	t.Helper()
	if err := json.Unmarshal(text, &value); err != nil {
		t.Error(err)
	}
	return value
}

// tomorrow is a member in the folder of a kind that its service does not have: rows ignore what
// they do not know.
const tomorrow = "AFieldOfTomorrow"

// value compares a value with its shape.
func (c comparison) value(path string, shape botocore.Shape, value any) {
	switch found := value.(type) {
	case map[string]any:
		for name, each := range found {
			switch member, ok := c.member(shape, name); {
			case shape.Type == "map":
				c.value(path+"."+name, c.model.Shapes[shape.Value.Shape], each)
			case !ok && !shape.Document && name != tomorrow:
				c.Errorf("%s: the model has no %s", path, name)
			case ok:
				c.value(path+"."+name, member, each)
			}
		}
		for _, name := range shape.Required {
			if strings.Contains(path, ".json") {
				break // a response in a folder has what the row reads, and not all the rest
			}
			if !shape.Members[name].IdempotencyToken && !c.has(found, shape, name) { // a client makes tokens
				c.Errorf("%s: %s is missing, which the model requires", path, name)
			}
		}
	case []any:
		if shape.Type != "list" {
			c.Errorf("%s is a list, want a %s", path, shape.Type)
			return
		}
		for _, each := range found {
			c.value(path, c.model.Shapes[shape.Member.Shape], each)
		}
	default:
		c.scalar(path, shape, value)
	}
}

func (c comparison) has(members map[string]any, shape botocore.Shape, name string) bool {
	for found := range members {
		if strings.EqualFold(found, name) || strings.EqualFold(found, shape.Members[name].LocationName) {
			return true
		}
	}
	return false
}

func (c comparison) scalar(path string, shape botocore.Shape, value any) {
	var types []string
	switch value := value.(type) {
	case string:
		types = []string{"string", "timestamp", "blob"}
		if len(shape.Enum) > 0 && !slices.Contains(shape.Enum, value) {
			c.Errorf("%s is %q, want one of %q", path, value, shape.Enum)
		}
	case float64:
		types = []string{"integer", "long", "double", "float", "timestamp"}
	case bool:
		types = []string{"boolean"}
	case nil:
		return
	}
	if !slices.Contains(types, shape.Type) {
		c.Errorf("%s is %v, want a %s", path, value, shape.Type)
	}
}
