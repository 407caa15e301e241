package rest

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
)

func (h handler) listFlows(r *http.Request) (int, any, error) {
	definitions, err := h.Catalog.Definitions(r.Context(), r.URL.Query().Get("flow"))
	list, now := flowsOf(definitions), time.Now()
	for i := range list.Flows {
		if err == nil {
			list.Flows[i].Paused, err = h.Engine.IsPaused(r.Context(), list.Flows[i].Name, now)
		}
	}
	return http.StatusOK, list, err
}

// addPaused adds whether an execution that has not ended is held by the pause of its flow.
func (h handler) addPaused(ctx context.Context, e *Execution, asOf time.Time) (err error) {
	if !e.Status.Final() {
		e.Paused, err = h.Engine.IsPaused(ctx, e.Flow, asOf)
	}
	return err
}

// pause pauses a flow.
func (h handler) pause(r *http.Request) (int, any, error) {
	flow, err := h.Engine.Pause(r.Context(), r.PathValue("flow"))
	if engine.CodeOf(err) == engine.CodeNotFound {
		err = noFlow(r)
	}
	return http.StatusOK, Flow{Name: flow.Name, Hash: flow.Hash, Paused: true}, err
}

// resume lets a flow go on, and rearms a page of its executions. A deleted flow may have some.
func (h handler) resume(r *http.Request) (int, any, error) {
	var form Rearm
	if err := h.readJSON(r, &form, "after"); err != nil {
		return 0, nil, err
	}
	if err := h.Engine.Resume(r.Context(), r.PathValue("flow")); err != nil && engine.CodeOf(err) != engine.CodeNotFound {
		return 0, nil, err
	}
	page, err := h.rearmPage(r.Context(), running(r.PathValue("flow")), form)
	if err == nil && form.After == "" && page.Next == "" && len(page.Rearmed) == 0 {
		_, err = h.definitions(r)
	}
	return http.StatusOK, page, err
}

// flowList is a response with several definitions.
type flowList struct {
	Flows []Flow `json:"flows"`
}

func flowsOf(definitions []engine.Definition) flowList {
	list := flowList{make([]Flow, len(definitions))}
	for i, d := range definitions {
		list.Flows[i] = flowOf(d)
	}
	return list
}

func flowOf(d engine.Definition) Flow {
	flow := Flow{Name: d.Flow.Name, Hash: d.Flow.Hash, CreatedTime: instant(d.Created)}
	if d.Notify.Target != "" {
		flow.Notify = engine.ShownTarget(d.Notify.Target)
	}
	return flow
}

// definitions returns the definitions of a flow. A flow without any is an error.
func (h handler) definitions(r *http.Request) ([]engine.Definition, error) {
	definitions, err := h.Catalog.Definitions(r.Context(), r.PathValue("flow"))
	if err == nil && len(definitions) == 0 {
		err = noFlow(r)
	}
	return definitions, err
}

func noFlow(r *http.Request) error { return notFound("there is no flow %q", r.PathValue("flow")) }

func (h handler) showFlow(r *http.Request) (int, any, error) {
	definitions, err := h.definitions(r)
	if err != nil {
		return 0, nil, err
	}
	found, err := pick(definitions, r.URL.Query().Get("hash"))
	if err != nil {
		return 0, nil, err
	}
	text, err := h.Catalog.FlowText(r.Context(), found.Flow)
	flow := flowOf(found)
	flow.Definition = string(text)
	return http.StatusOK, flow, err
}

// pick returns the definition with the hash prefix, or the latest definition for an empty hash.
func pick(definitions []engine.Definition, hash string) (engine.Definition, error) {
	if hash == "" {
		return definitions[0], nil
	}
	var found []engine.Definition
	for _, d := range definitions {
		if strings.HasPrefix(d.Flow.Hash, hash) {
			found = append(found, d)
		}
	}
	name := definitions[0].Flow.Name
	switch len(found) {
	case 0:
		return engine.Definition{}, notFound("flow %s has no definition with the hash %s", name, hash)
	case 1:
		return found[0], nil
	}
	return engine.Definition{}, invalid("flow %s has %d definitions whose hash begins with %s; give more of it", name, len(found), hash)
}

func (h handler) deleteFlow(r *http.Request) (int, any, error) {
	definitions, err := h.definitions(r)
	if err != nil {
		return 0, nil, err
	}
	err = h.refuseUnfinished(r.Context(), r.PathValue("flow"))
	if err == nil {
		err = h.Schedules.DeleteAll(r.Context(), r.PathValue("flow"))
	}
	if err == nil {
		err = engine.DeleteAll(r.Context(), h.Catalog, definitions)
	}
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, flowsOf(definitions), nil
}

// refuseUnfinished returns an error if an execution of the flow has not ended. The index may lack
// the latest executions; these can still read their definition.
func (h handler) refuseUnfinished(ctx context.Context, flow string) error {
	var unfinished []engine.ID
	for after, more := "", true; more && len(unfinished) == 0; more = after != "" {
		var err error
		if unfinished, after, err = h.Catalog.Executions(ctx, running(flow), after, 1); err != nil {
			return err
		}
	}
	if len(unfinished) == 0 {
		return nil
	}
	state, err := h.Engine.Describe(ctx, unfinished[0])
	if err != nil {
		return err
	}
	return conflict("flow %s is in use: %s/%s has not ended; stop its executions or wait for their end", flow, flow, state.Execution)
}
