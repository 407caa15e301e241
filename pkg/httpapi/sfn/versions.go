package sfn

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/waitless/waitless/pkg/flow"
)

// page returns a page of a list in the order of its keys. Its token names the list and the key of
// the last entry, which may be gone when the next page is read.
func (r request) page(member string, list []object, keys []string) (object, error) {
	limit, err := r.limit()
	of := member + " " + r.StateMachineArn + " "
	token, tokenErr := base64.RawURLEncoding.DecodeString(r.NextToken)
	last, ok := strings.CutPrefix(string(token), of)
	if err == nil && r.NextToken != "" && (tokenErr != nil || !ok) {
		err = errPageToken
	}
	if err != nil {
		return nil, err
	}
	after, found := slices.BinarySearch(keys, last)
	if found {
		after++
	}
	if end := after + limit; end < len(list) {
		return object{member: list[after:end], "nextToken": base64.RawURLEncoding.EncodeToString([]byte(of + keys[end-1]))}, nil
	}
	return object{member: list[after:]}, nil
}

// maxDescription is the vendor's limit in bytes.
const maxDescription = 256

func checkDescription(text string) error {
	if len(text) > maxDescription {
		return invalid(codeInvalid, fmt.Sprintf("the description has %d bytes; allowed: at most %d", len(text), maxDescription))
	}
	return nil
}

func (h handler) versionARN(name string, number int) string {
	return h.arn("stateMachine", name, strconv.Itoa(number))
}

// publishVersion gives the latest definition a number.
func (h handler) publishVersion(ctx context.Context, r request) (shown object, err error) {
	m, err := h.existing(ctx, "stateMachineArn", r.StateMachineArn)
	if err == nil {
		err = checkDescription(r.Description)
	}
	if err != nil {
		return nil, err
	}
	err = h.change(ctx, m.name, func(m *stateMachine) error {
		hash := m.definitions[0].Flow.Hash
		if r.RevisionID != "" && r.RevisionID != hash {
			return invalid("ConflictException", "the state machine has another revisionId: "+hash)
		}
		v := m.publish(hash, r.Description, h.Now())
		shown = object{"stateMachineVersionArn": h.versionARN(m.name, v.Number), "creationDate": seconds(v.Created)}
		return nil
	})
	return shown, err
}

func (h handler) listVersions(ctx context.Context, r request) (object, error) {
	m, err := h.existing(ctx, "stateMachineArn", r.StateMachineArn)
	if err != nil {
		return nil, err
	}
	list, keys := []object{}, []string{}
	for _, v := range m.Versions {
		keys = append(keys, fmt.Sprintf("%010d", math.MaxInt32-v.Number))
		list = append(list, object{"stateMachineVersionArn": h.versionARN(m.name, v.Number), "creationDate": seconds(v.Created)})
	}
	return r.page("stateMachineVersions", list, keys)
}

// ofVersion returns the state machine and the number in the ARN of a version.
func (h handler) ofVersion(arn string) (name string, number int, err error) {
	names, err := h.named("stateMachineVersionArn", arn, "stateMachine", 2) //nolint:mnd // the name and the number
	if err != nil {
		return "", 0, err
	}
	if number, err = strconv.Atoi(names[1]); err != nil {
		err = invalid("InvalidArn", "stateMachineVersionArn does not end with the number of a version")
	}
	return names[0], number, err
}

// deleteVersion takes the number from a definition. The definition stays: executions have it.
func (h handler) deleteVersion(ctx context.Context, r request) (object, error) {
	name, number, err := h.ofVersion(r.StateMachineVersionArn)
	if err != nil {
		return nil, err
	}
	return object{}, h.change(ctx, name, func(m *stateMachine) error {
		for name, a := range m.Aliases {
			if a.Version == number {
				return invalid("ConflictException", fmt.Sprintf("the alias %s names this version; update or delete the alias first", name))
			}
		}
		m.Versions = slices.DeleteFunc(m.Versions, func(v version) bool { return v.Number == number })
		return nil
	})
}

// route is an element of a routingConfiguration.
type route struct {
	StateMachineVersionArn string
	Weight                 int
}

// routed returns the state machine and the version to which an alias leads.
func (h handler) routed(routes []route) (name string, number int, err error) {
	if len(routes) != 1 || routes[0].Weight != 100 {
		return "", 0, invalid(codeInvalid, "routingConfiguration is not one version with the weight 100; an alias names one version")
	}
	return h.ofVersion(routes[0].StateMachineVersionArn)
}

func unknownResource(arn string) error {
	return invalid("ResourceNotFound", fmt.Sprintf("Resource not found: '%s'", arn))
}

// asResource returns err, or the error of an unknown resource for an unknown state machine.
func asResource(arn string, err error) error {
	if rejected, ok := errors.AsType[refusal](err); ok && rejected.code == "StateMachineDoesNotExist" {
		return unknownResource(arn)
	}
	return err
}

// maxAliases is the vendor's limit of aliases of a state machine.
const maxAliases = 100

func (h handler) createAlias(ctx context.Context, r request) (shown object, err error) {
	name, number, err := h.routed(r.RoutingConfiguration)
	switch {
	case err != nil:
		return nil, err
	case !flow.ValidName(r.Name):
		return nil, errName
	case checkDescription(r.Description) != nil:
		return nil, checkDescription(r.Description)
	}
	version := r.RoutingConfiguration[0].StateMachineVersionArn
	err = h.change(ctx, name, func(m *stateMachine) error {
		a, exists := m.Aliases[r.Name]
		switch {
		case m.version(number) == nil:
			return unknownResource(version)
		case exists && (a.Version != number || a.Description != r.Description):
			return invalid("ConflictException", fmt.Sprintf("the alias %s exists and leads to version %d; update it", r.Name, a.Version))
		case len(m.Aliases) >= maxAliases && !exists:
			return invalid("ServiceQuotaExceededException", fmt.Sprintf("the state machine has %d aliases; delete one", maxAliases))
		case !exists:
			if a = (alias{number, r.Description, h.Now(), h.Now()}); m.Aliases == nil {
				m.Aliases = map[string]alias{}
			}
			m.Aliases[r.Name] = a
		}
		shown = object{"stateMachineAliasArn": h.arn("stateMachine", name, r.Name), "creationDate": seconds(a.Created)}
		return nil
	})
	return shown, asResource(version, err)
}

// changeAlias changes the alias that a request names.
func (h handler) changeAlias(ctx context.Context, r request, apply func(*stateMachine, string, alias) error) error {
	names, err := h.named("stateMachineAliasArn", r.StateMachineAliasArn, "stateMachine", 2) //nolint:mnd // the name and the alias
	if err != nil {
		return err
	}
	err = h.change(ctx, names[0], func(m *stateMachine) error {
		if a, ok := m.Aliases[names[1]]; ok {
			return apply(m, names[1], a)
		}
		return unknownResource(r.StateMachineAliasArn)
	})
	return asResource(r.StateMachineAliasArn, err)
}

// updateAlias changes the version, the description or both.
func (h handler) updateAlias(ctx context.Context, r request) (shown object, err error) {
	number := 0
	if len(r.RoutingConfiguration) > 0 {
		if _, number, err = h.routed(r.RoutingConfiguration); err != nil {
			return nil, err
		}
	}
	err = h.changeAlias(ctx, r, func(m *stateMachine, name string, a alias) error {
		if number > 0 && (r.RoutingConfiguration[0].StateMachineVersionArn != h.versionARN(m.name, number) || m.version(number) == nil) {
			return unknownResource(r.RoutingConfiguration[0].StateMachineVersionArn)
		}
		if a.Updated = h.Now(); number > 0 {
			a.Version = number
		}
		if r.Description != "" {
			a.Description = r.Description
		}
		m.Aliases[name], shown = a, object{"updateDate": seconds(a.Updated)}
		return checkDescription(r.Description)
	})
	return shown, err
}

func (h handler) describeAlias(ctx context.Context, r request) (shown object, err error) {
	err = h.changeAlias(ctx, r, func(m *stateMachine, name string, a alias) error { // without a change
		shown = object{
			"stateMachineAliasArn": r.StateMachineAliasArn, "name": name, "description": a.Description,
			"creationDate": seconds(a.Created), "updateDate": seconds(a.Updated),
			"routingConfiguration": []object{{"stateMachineVersionArn": h.versionARN(m.name, a.Version), "weight": 100}},
		}
		return nil
	})
	return shown, err
}

// listAliases returns the aliases of a state machine or of a version.
func (h handler) listAliases(ctx context.Context, r request) (object, error) {
	of, err := h.revision(ctx, r.StateMachineArn)
	if err != nil {
		return nil, err
	}
	list, keys := []object{}, []string{}
	for _, name := range slices.Sorted(maps.Keys(of.Aliases)) {
		if a := of.Aliases[name]; of.version == nil || of.version.Number == a.Version {
			keys = append(keys, name)
			list = append(list, object{"stateMachineAliasArn": h.arn("stateMachine", of.name, name), "creationDate": seconds(a.Created)})
		}
	}
	return r.page("stateMachineAliases", list, keys)
}

func (h handler) deleteAlias(ctx context.Context, r request) (object, error) {
	return object{}, h.changeAlias(ctx, r, func(m *stateMachine, name string, _ alias) error {
		delete(m.Aliases, name)
		return nil
	})
}

// tag is a tag of a state machine.
type tag struct{ Key, Value string }

// maxTags is the vendor's limit of tags of a state machine.
const maxTags = 50

// setTags adds tags, and replaces those with the same keys.
func (r *record) setTags(tags []tag) error {
	if r.Tags == nil {
		r.Tags = map[string]string{}
	}
	for _, t := range tags {
		if t.Key == "" || strings.HasPrefix(t.Key, "aws:") {
			return invalid(codeInvalid, `the key of a tag is empty or begins with "aws:"`)
		}
		r.Tags[t.Key] = t.Value
	}
	if len(r.Tags) > maxTags {
		return invalid("TooManyTags", fmt.Sprintf("the state machine would have %d tags; allowed: at most %d", len(r.Tags), maxTags))
	}
	return nil
}

// changeTags changes the tags of the state machine that a request names.
func (h handler) changeTags(ctx context.Context, r request, apply func(*stateMachine) error) (object, error) {
	names, err := h.named("resourceArn", r.ResourceArn, "stateMachine", 1)
	if err == nil {
		err = asResource(r.ResourceArn, h.change(ctx, names[0], apply))
	}
	return object{}, err
}

func (h handler) tagResource(ctx context.Context, r request) (object, error) {
	return h.changeTags(ctx, r, func(m *stateMachine) error { return m.setTags(r.Tags) })
}

func (h handler) untagResource(ctx context.Context, r request) (object, error) {
	return h.changeTags(ctx, r, func(m *stateMachine) error {
		for _, key := range r.TagKeys {
			delete(m.Tags, key)
		}
		return nil
	})
}

func (h handler) listTags(ctx context.Context, r request) (object, error) {
	m, err := h.existing(ctx, "resourceArn", r.ResourceArn)
	tags := []object{}
	for _, key := range slices.Sorted(maps.Keys(m.Tags)) {
		tags = append(tags, object{"key": key, "value": m.Tags[key]})
	}
	return object{"tags": tags}, asResource(r.ResourceArn, err)
}
