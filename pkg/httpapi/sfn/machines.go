package sfn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/language"
	"github.com/waitless/waitless/pkg/machine"
)

// arn returns the ARN of what these words name: "stateMachine" and a flow, or "execution", a flow
// and a name.
func (h handler) arn(words ...string) string {
	return strings.Join(append([]string{"arn:aws:states", h.Region, h.Account}, words...), ":")
}

// fullARN adds region and account to an ARN without them, as an execution writes it.
func (h handler) fullARN(arn string) string {
	if rest, ok := strings.CutPrefix(arn, "arn:aws:states:::"); ok {
		return h.arn(rest)
	}
	return arn
}

// named returns the names in an ARN of the kind. It has one of these counts of names.
func (h handler) named(parameter, text, kind string, counts ...int) ([]string, error) {
	if text == "" {
		return nil, missing(parameter)
	}
	prefix := h.arn(kind, "")
	rest, ok := strings.CutPrefix(h.fullARN(text), prefix)
	names := strings.Split(rest, ":")
	for i, name := range names {
		_, noVersion := strconv.ParseUint(name, 10, 31)
		ok = ok && (flow.ValidName(name) || i > 0 && kind == "stateMachine" && noVersion == nil || i > 0 && kind == "execution" && flow.ValidExecution(name))
	}
	if !ok || !slices.Contains(counts, len(names)) {
		second := map[string]string{"stateMachine": "VERSION_OR_ALIAS", "execution": "NAME"}[kind]
		var forms []string
		for _, count := range counts {
			forms = append(forms, prefix+strings.Join([]string{"FLOW", second}[:count], ":"))
		}
		return nil, invalid("InvalidArn", fmt.Sprintf("%s is not %s, with this region and account", parameter, strings.Join(forms, " or ")))
	}
	return names, nil
}

// seconds returns an instant as the API writes it.
func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1e3 } //nolint:mnd // of milliseconds

var errName = invalid("InvalidName",
	`the name of a state machine, an alias or an activity begins with a letter or "_" and goes on with letters, digits, "_" and "-", 128 characters at most`)

// refOf checks the definition of a request and returns its reference.
func (h handler) refOf(name, text string) (machine.FlowRef, error) {
	ref, _, err := engine.ParseFlow(name, []byte(text), h.Check)
	if engine.CodeOf(err) == engine.CodeInvalid {
		err = invalid("InvalidDefinition", "Invalid State Machine Definition: "+err.Error())
	}
	return ref, err
}

// types are the types of state machines. Both run alike.
var types = []string{"STANDARD", "EXPRESS"}

// createMachine puts a definition under a name that has none. A request that equals the one before
// has the same response.
func (h handler) createMachine(ctx context.Context, r request) (object, error) {
	if r.Type = cmp.Or(r.Type, types[0]); !slices.Contains(types, r.Type) {
		return nil, invalid("StateMachineTypeNotSupported", "this type is not one of "+strings.Join(types, " and "))
	}
	if !flow.ValidName(r.Name) {
		return nil, errName
	}
	if err := r.checkSettings(); err != nil {
		return nil, err
	}
	ref, err := h.refOf(r.Name, r.Definition)
	if err != nil {
		return nil, err
	}
	m, err := h.read(ctx, r.Name)
	if err != nil || len(m.definitions) > 0 {
		return h.createdBefore(m, r, m.latest() == ref, err)
	}
	created := record{Created: h.Now(), Updated: h.Now(), First: ref.Hash, Type: r.Type, RoleArn: r.RoleArn, Settings: r.settings()}
	if err := created.setTags(r.Tags); err != nil {
		return nil, err
	}
	if r.Publish {
		created.publish(ref.Hash, r.VersionDescription, created.Created)
	}
	if _, err := h.Flows.Put(ctx, r.Name, []byte(r.Definition)); err != nil {
		return nil, err
	}
	if m, err = h.read(ctx, r.Name); err != nil {
		return nil, err
	}
	if m.First != "" {
		return h.lostRace(ctx, r, ref)
	}
	m.record = created
	if err := h.store(ctx, m); errors.Is(err, engine.ErrConflict) {
		return h.lostRace(ctx, r, ref)
	} else if err != nil {
		return nil, err
	}
	return h.creation(m), nil
}

// lostRace returns the response if another request created the state machine meanwhile. It takes
// back the definition of this request if the other one has a different definition.
func (h handler) lostRace(ctx context.Context, r request, ref machine.FlowRef) (object, error) {
	m, err := h.read(ctx, r.Name)
	if err == nil && m.First != ref.Hash && m.latest() == ref {
		err = h.Catalog.DeleteFlow(ctx, ref)
	}
	return h.createdBefore(m, r, m.First == ref.Hash, err)
}

// latest returns the reference of the latest definition, the zero value if there is none.
func (m *stateMachine) latest() machine.FlowRef {
	if len(m.definitions) == 0 {
		return machine.FlowRef{}
	}
	return m.definitions[0].Flow
}

// createdBefore returns the response to a request for a state machine that exists.
func (h handler) createdBefore(m stateMachine, r request, sameDefinition bool, err error) (object, error) {
	same := sameDefinition && cmp.Or(m.Type, types[0]) == r.Type
	for name, setting := range r.settings() {
		same = same && string(m.Settings[name]) == string(setting)
	}
	if r.Publish {
		same = same && len(m.Versions) > 0 && m.Versions[0].Hash == m.latest().Hash && m.Versions[0].Description == r.VersionDescription
	}
	if err == nil && !same {
		err = invalid("StateMachineAlreadyExists", fmt.Sprintf("State Machine Already Exists: '%s'", h.arn("stateMachine", r.Name)))
	}
	if err != nil {
		return nil, err
	}
	return h.creation(m), nil
}

func (h handler) creation(m stateMachine) object {
	shown := object{"stateMachineArn": h.arn("stateMachine", m.name), "creationDate": seconds(m.created())}
	if len(m.Versions) > 0 {
		shown["stateMachineVersionArn"] = h.versionARN(m.name, m.Versions[0].Number)
	}
	return shown
}

// created returns when the state machine was created.
func (m *stateMachine) created() time.Time {
	if m.Created.IsZero() { // another API put it
		return m.definitions[len(m.definitions)-1].Created
	}
	return m.Created
}

// settings returns the configurations of a request.
func (r request) settings() map[string]json.RawMessage {
	given := map[string]json.RawMessage{
		"loggingConfiguration": r.LoggingConfiguration, "tracingConfiguration": r.TracingConfiguration, "encryptionConfiguration": r.EncryptionConfiguration,
	}
	for name, setting := range given {
		if len(setting) == 0 {
			delete(given, name)
		}
	}
	return given
}

func (r request) checkSettings() error {
	if r.RoleArn != "" && (!strings.HasPrefix(r.RoleArn, "arn:") || !strings.Contains(r.RoleArn, ":role/")) {
		return invalid("InvalidArn", "roleArn is not arn:aws:iam::ACCOUNT:role/NAME")
	}
	if r.VersionDescription != "" && !r.Publish {
		return invalid(codeInvalid, "versionDescription is given without publish; set publish to true")
	}
	return checkDescription(r.VersionDescription)
}

// updateMachine changes the parameters in a request. Executions keep their definition.
func (h handler) updateMachine(ctx context.Context, r request) (shown object, err error) {
	m, err := h.existing(ctx, "stateMachineArn", r.StateMachineArn)
	if err == nil && r.Definition == "" && r.RoleArn == "" {
		err = invalid("MissingRequiredParameter", "neither definition nor roleArn is given; give one of them")
	}
	if err == nil {
		err = r.checkSettings()
	}
	if err != nil {
		return nil, err
	}
	revision := m.latest()
	if r.Definition != "" {
		if revision, err = h.refOf(m.name, r.Definition); err != nil {
			return nil, err
		}
		if _, err := h.Flows.Put(ctx, m.name, []byte(r.Definition)); err != nil {
			return nil, err
		}
	}
	err = h.change(ctx, m.name, func(m *stateMachine) error {
		m.Updated, m.RoleArn = h.Now(), cmp.Or(r.RoleArn, m.RoleArn)
		if m.Settings == nil {
			m.Settings = map[string]json.RawMessage{}
		}
		for name, setting := range r.settings() {
			m.Settings[name] = setting
		}
		shown = object{"updateDate": seconds(m.Updated), "revisionId": revision.Hash}
		if r.Publish {
			shown["stateMachineVersionArn"] = h.versionARN(m.name, m.publish(revision.Hash, r.VersionDescription, m.Updated).Number)
		}
		return nil
	})
	return shown, err
}

// deleteMachine deletes the schedules of a state machine, stops the executions that have not ended
// and takes its definitions off the list. Deleting a state machine that does not exist has no
// effect.
func (h handler) deleteMachine(ctx context.Context, r request) (object, error) {
	names, err := h.named("stateMachineArn", r.StateMachineArn, "stateMachine", 1)
	if err != nil {
		return nil, err
	}
	m, err := h.read(ctx, names[0])
	if err != nil || len(m.definitions) == 0 {
		return object{}, err
	}
	if err := h.Schedules.DeleteAll(ctx, m.name); err != nil {
		return nil, err
	}
	err = engine.StopAll(ctx, h.Catalog, m.name, func(id engine.ID) error {
		return h.Executions.Stop(ctx, id, "StateMachineDeleted", "the state machine was deleted")
	})
	if err == nil {
		err = engine.DeleteAll(ctx, h.Catalog, m.definitions)
	}
	return object{}, err
}

func (h handler) describeMachine(ctx context.Context, r request) (object, error) {
	of, err := h.revision(ctx, r.StateMachineArn)
	if err != nil {
		return nil, err
	}
	shown, err := h.describe(ctx, of.stateMachine, of.flow, r)
	shown["status"], shown["type"], shown["creationDate"] = "ACTIVE", cmp.Or(of.Type, types[0]), seconds(of.created())
	if v := of.version; v != nil {
		shown["stateMachineArn"], shown["creationDate"] = h.versionARN(of.name, v.Number), seconds(v.Created)
		if v.Description != "" {
			shown["description"] = v.Description
		}
	}
	return shown, err
}

// describe returns a definition of a state machine, with its settings.
func (h handler) describe(ctx context.Context, m stateMachine, ref machine.FlowRef, r request) (object, error) {
	shown := object{
		"stateMachineArn": h.arn("stateMachine", ref.Name), "name": ref.Name, "revisionId": ref.Hash,
		"loggingConfiguration": object{"level": "OFF", "includeExecutionData": false}, "tracingConfiguration": object{"enabled": false},
	}
	for name, setting := range m.Settings {
		shown[name] = setting
	}
	if m.RoleArn != "" {
		shown["roleArn"] = m.RoleArn
	}
	if r.IncludedData == metadataOnly {
		return shown, nil
	}
	text, err := h.Catalog.FlowText(ctx, ref)
	shown["definition"] = language.AsJSON(text)
	return shown, err
}

// describeForExecution returns the definition of an execution.
func (h handler) describeForExecution(ctx context.Context, r request) (object, error) {
	_, state, err := h.find(ctx, r)
	if err != nil {
		return nil, err
	}
	m, err := h.read(ctx, state.Flow.Name)
	i := slices.IndexFunc(m.definitions, func(d engine.Definition) bool { return d.Flow == state.Flow })
	switch {
	case err != nil:
		return nil, err
	case i < 0:
		return nil, h.unknownMachine(state.Flow.Name)
	}
	shown, err := h.describe(ctx, m, state.Flow, r)
	shown["updateDate"] = seconds(m.definitions[i].Created)
	return shown, err
}

// validateDefinition returns the problems of a definition. Warnings are among them if the request
// asks for warnings.
func (h handler) validateDefinition(_ context.Context, r request) (object, error) {
	const most = 100
	if r.Definition == "" {
		return nil, missing("definition")
	}
	if r.MaxResults < 0 || r.MaxResults > most {
		return nil, invalid(codeInvalid, "maxResults is not a number from 0 to "+strconv.Itoa(most))
	}
	if !slices.Contains([]string{"", "ERROR", "WARNING"}, r.Severity) {
		return nil, invalid(codeInvalid, "this severity is not one of ERROR and WARNING")
	}
	_, problems := language.Parse([]byte(r.Definition), h.Check)
	result := "OK"
	if len(problems.Errors()) > 0 {
		result = "FAIL"
	}
	if r.Severity != "WARNING" {
		problems = problems.Errors()
	}
	limit := min(len(problems), cmp.Or(r.MaxResults, most))
	diagnostics := []object{}
	for _, p := range problems[:limit] {
		severity := "WARNING"
		if p.Severity == flow.SeverityError {
			severity = "ERROR"
		}
		diagnostics = append(diagnostics, object{
			"severity": severity, "code": cmp.Or(p.Code, "SCHEMA_VALIDATION_FAILED"), "message": p.Message, "location": p.String(),
		})
	}
	return object{"result": result, "diagnostics": diagnostics, "truncated": limit < len(problems)}, nil
}

// limit returns how many entries a page has at most.
func (r request) limit() (int, error) {
	const most, otherwise = 1000, 100
	if r.MaxResults < 0 || r.MaxResults > most {
		return 0, invalid(codeInvalid, "maxResults is not a number from 0 to "+strconv.Itoa(most))
	}
	if r.MaxResults == 0 {
		return otherwise, nil
	}
	return r.MaxResults, nil
}

var errPageToken = invalid("InvalidToken", "this nextToken is not that of a page before")

// listMachines returns state machines by name.
func (h handler) listMachines(ctx context.Context, r request) (object, error) {
	all, err := h.Catalog.Definitions(ctx, "")
	list, keys := []object{}, []string{}
	for begin, end := 0, 1; begin < len(all) && err == nil; end++ {
		if end < len(all) && all[end].Flow.Name == all[begin].Flow.Name {
			continue
		}
		m := stateMachine{name: all[begin].Flow.Name, definitions: all[begin:end]}
		m.record, err = recordOf(all[begin])
		list = append(list, object{
			"stateMachineArn": h.arn("stateMachine", m.name), "name": m.name, "type": cmp.Or(m.Type, types[0]), "creationDate": seconds(m.created()),
		})
		keys, begin = append(keys, m.name), end
	}
	if err != nil {
		return nil, err
	}
	return r.page("stateMachines", list, keys)
}
