package fnf

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
)

// properties are the attributes of a flow besides its definition. They are stored with one of its
// definitions.
type properties struct {
	Created, Modified time.Time
	// Texts are the parameters of CreateFlow that DescribeFlow returns as they were given.
	Texts map[string]string
}

// texts are the stored parameters, with their default values.
var texts = map[string]string{
	"Description": "", "Type": "FDL", "RoleArn": "", "ExternalStorageLocation": "", "ExecutionMode": "Standard", "Environment": "", "ResourceGroupId": "",
}

// maxProperties is the size of properties in bytes that fits in an item of a table beside the
// largest definition.
const maxProperties = 8 << 10

// flow is a flow with its listed definitions.
type storedFlow struct {
	properties

	definitions []engine.Definition // the latest first
}

// flowOf returns the flow of these definitions. It uses the properties that were modified last. A
// definition that another API put has no properties.
func flowOf(definitions []engine.Definition) (f storedFlow, err error) {
	f.definitions = definitions
	for _, d := range definitions {
		var own properties
		if d.Properties == "" {
			continue
		}
		if err := json.Unmarshal([]byte(d.Properties), &own); err != nil {
			return f, fmt.Errorf("properties of flow %s: %w", d.Flow.Name, err)
		}
		if f.Texts == nil || own.Modified.After(f.Modified) {
			f.properties = own
		}
	}
	if f.Texts == nil {
		f.Texts, f.Created = map[string]string{}, definitions[len(definitions)-1].Created
	}
	if latest := definitions[0].Created; latest.After(f.Modified) {
		f.Modified = latest
	}
	return f, nil
}

// change applies the parameters of a request to the texts.
func (f *storedFlow) change(given parameters) error {
	f.Texts = maps.Clone(f.Texts)
	for name := range texts {
		if text, ok := given[name]; ok {
			f.Texts[name] = text
		}
	}
	if kind := f.text("Type"); kind != "FDL" && kind != "DEFAULT" {
		return invalid("InvalidArgument", "this Type is not supported; supported: FDL")
	}
	if f.text("ExecutionMode") != "Standard" {
		return invalid("InvalidArgument", "this ExecutionMode is not supported; supported: Standard")
	}
	if environment := f.text("Environment"); environment != "" && json.Unmarshal([]byte(environment), &map[string]any{}) != nil {
		return invalid("InvalidArgument", "the Environment is no JSON object")
	}
	return nil
}

// text returns a text of the flow.
func (f *storedFlow) text(name string) string { return cmp.Or(f.Texts[name], texts[name]) }

// uuid returns an id in the form of a UUID, the same for the same text.
func uuid(text string) string {
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// shown returns the flow in the form of the API.
func (h handler) shown(ctx context.Context, f storedFlow) (object, error) {
	definition := f.definitions[0].Flow
	text, err := h.Catalog.FlowText(ctx, definition)
	shown := object{
		"Id":   uuid(fmt.Sprintf("%s %d", definition.Name, f.Created.UnixNano())), // another one if the flow is deleted and created again
		"Name": definition.Name, "Definition": string(text), "CreatedTime": instant(f.Created), "LastModifiedTime": instant(f.Modified),
	}
	for name := range texts {
		shown[name] = f.text(name)
	}
	if environment := f.text("Environment"); environment != "" {
		shown["Environment"] = json.RawMessage(environment)
	}
	return shown, err
}

// definitions returns the listed definitions of a flow, the latest first. A flow without any is an
// error.
func (h handler) definitions(ctx context.Context, flow string) ([]engine.Definition, error) {
	definitions, err := h.Catalog.Definitions(ctx, flow)
	if err == nil && len(definitions) == 0 {
		err = refused(http.StatusNotFound, "FlowNotExists", fmt.Sprintf("Flow '%s' does not exist", flow))
	}
	return definitions, err
}

// find returns the flow with the name.
func (h handler) find(ctx context.Context, name string) (storedFlow, error) {
	definitions, err := h.definitions(ctx, name)
	if err != nil {
		return storedFlow{}, err
	}
	return flowOf(definitions)
}

func (h handler) describeFlow(ctx context.Context, given parameters) (object, error) {
	f, err := h.find(ctx, given["Name"])
	if err != nil {
		return nil, err
	}
	return h.shown(ctx, f)
}

func (h handler) createFlow(ctx context.Context, given parameters) (object, error) {
	if _, ok := given["Description"]; !ok {
		return nil, invalid("MissingRequiredParams", "the parameter Description is missing")
	}
	name, f := given["Name"], storedFlow{properties: properties{Created: h.Now(), Texts: map[string]string{}}}
	if err := f.change(given); err != nil {
		return nil, err
	}
	definitions, err := h.Catalog.Definitions(ctx, name)
	if err == nil && len(definitions) > 0 {
		err = flowExists(name)
	}
	if err != nil {
		return nil, err
	}
	return h.store(ctx, given, f, flowExists(name))
}

func flowExists(name string) error {
	return refused(http.StatusConflict, "FlowAlreadyExists", fmt.Sprintf("Flow '%s' already exists", name))
}

// updateFlow changes the parameters in the request. Its definition becomes the latest, even if the
// flow had it before.
func (h handler) updateFlow(ctx context.Context, given parameters) (object, error) {
	f, err := h.find(ctx, given["Name"])
	if err == nil {
		err = f.change(given)
	}
	if err != nil {
		return nil, err
	}
	return h.store(ctx, given, f, refused(http.StatusConflict, "ConcurrentUpdateError", "another request changes the flow; try again"))
}

// store stores a flow with the definition of the request, or else with its latest one. If another
// request stored it meanwhile, the error is conflict.
func (h handler) store(ctx context.Context, given parameters, f storedFlow, conflict error) (object, error) {
	f.Modified = f.Modified.Add(time.Nanosecond)
	if now := h.Now(); now.After(f.Modified) {
		f.Modified = now
	}
	stored, err := json.Marshal(f.properties)
	if err == nil && len(stored) > maxProperties {
		err = invalid("InvalidArgument",
			fmt.Sprintf("the texts of the flow besides its Definition have %d bytes; allowed: at most %d", len(stored), maxProperties))
	}
	if err != nil {
		return nil, err
	}
	current, err := h.putDefinition(ctx, given, f.definitions)
	if err != nil {
		return nil, err
	}
	err = h.Catalog.SetProperties(ctx, current.Flow, current.Properties, string(stored))
	if errors.Is(err, engine.ErrConflict) || errors.Is(err, engine.ErrNotFound) {
		err = conflict
	}
	if err != nil {
		return nil, err
	}
	return h.describeFlow(ctx, given)
}

// putDefinition makes the definition of a request the latest one, and returns it as it is listed.
func (h handler) putDefinition(ctx context.Context, given parameters, listed []engine.Definition) (current engine.Definition, err error) {
	text := given["Definition"]
	if text == "" {
		return listed[0], nil
	}
	flow, _, err := engine.ParseFlow(given["Name"], []byte(text), h.Check)
	if err != nil {
		return current, err
	}
	if i := slices.IndexFunc(listed, func(d engine.Definition) bool { return d.Flow == flow }); i >= 0 {
		current = listed[i]
	}
	current.Flow = flow
	_, err = h.Flows.Put(ctx, flow.Name, []byte(text))
	return current, err
}

// deleteFlow deletes the schedules of a flow, stops the executions that have not ended and takes
// its definitions off the list.
func (h handler) deleteFlow(ctx context.Context, given parameters) (object, error) {
	f, err := h.find(ctx, given["Name"])
	if err != nil {
		return nil, err
	}
	if err := h.Schedules.DeleteAll(ctx, given["Name"]); err != nil {
		return nil, err
	}
	err = engine.StopAll(ctx, h.Catalog, given["Name"], func(id engine.ID) error {
		return h.Executions.Stop(ctx, id, "FlowDeleted", "the flow was deleted")
	})
	if err != nil {
		return nil, err
	}
	return object{}, engine.DeleteAll(ctx, h.Catalog, f.definitions)
}

// listFlows returns flows by name. The token of the next page is the name of the last flow.
func (h handler) listFlows(ctx context.Context, given parameters) (object, error) {
	limit, err := given.number("Limit", 1, 999, 60)
	if err != nil {
		return nil, err
	}
	after := given["NextToken"]
	if after != "" && !flow.ValidName(after) {
		return nil, invalid("InvalidArgument", "this NextToken is not that of a page before")
	}
	all, err := h.Catalog.Definitions(ctx, "")
	if err != nil {
		return nil, err
	}
	list, size, last := []object{}, 0, ""
	for begin, end := 0, 1; begin < len(all); end++ {
		name := all[begin].Flow.Name
		if end < len(all) && all[end].Flow.Name == name {
			continue
		}
		definitions := all[begin:end]
		begin = end
		if name <= after {
			continue
		}
		if len(list) == limit || size >= fullPage {
			return object{"Flows": list, "NextToken": last}, nil
		}
		last = name
		f, err := flowOf(definitions)
		if group := given["ResourceGroupId"]; err == nil && group != "" && f.text("ResourceGroupId") != group {
			continue
		}
		var shown object
		if err == nil {
			shown, err = h.shown(ctx, f)
		}
		switch {
		case errors.Is(err, engine.ErrNotFound): // it was deleted meanwhile
			continue
		case err != nil:
			return nil, err
		}
		list, size = append(list, shown), size+shown.size()
	}
	return object{"Flows": list}, nil
}
