package sfn

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
)

// arn returns the ARN of what these words name: "stateMachine" and a flow, or "execution", a flow
// and a name.
func (h handler) arn(words ...string) string {
	return strings.Join(append([]string{"arn:aws:states", h.Region, h.Account}, words...), ":")
}

// named returns the count names in an ARN of the kind.
func (h handler) named(parameter, text, kind string, count int) ([]string, error) {
	if text == "" {
		return nil, missing(parameter)
	}
	prefix := h.arn(kind, "")
	rest, ok := strings.CutPrefix(text, prefix)
	names := strings.Split(rest, ":")
	for _, name := range names {
		ok = ok && flow.ValidName(name)
	}
	if !ok || len(names) != count {
		return nil, invalid("InvalidArn", parameter+" is not "+prefix+strings.Join([]string{"FLOW", "NAME"}[:count], ":")+", without a version or an alias")
	}
	return names, nil
}

// definitions returns the listed definitions of the flow that an ARN names, the latest first.
func (h handler) definitions(ctx context.Context, arn string) ([]engine.Definition, error) {
	names, err := h.named("stateMachineArn", arn, "stateMachine", 1)
	if err != nil {
		return nil, err
	}
	definitions, err := h.Catalog.Definitions(ctx, names[0])
	if err == nil && len(definitions) == 0 {
		err = invalid("StateMachineDoesNotExist", fmt.Sprintf("State Machine Does Not Exist: '%s'", arn))
	}
	return definitions, err
}

// seconds returns an instant as the API writes it.
func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1e3 } //nolint:mnd // of milliseconds

func (h handler) describeMachine(ctx context.Context, r request) (object, error) {
	definitions, err := h.definitions(ctx, r.StateMachineArn)
	if err != nil {
		return nil, err
	}
	text, err := h.Catalog.FlowText(ctx, definitions[0].Flow)
	shown := h.machine(definitions[len(definitions)-1])
	shown["status"], shown["definition"], shown["revisionId"] = "ACTIVE", string(text), definitions[0].Flow.Hash
	return shown, err
}

// machine returns the list entry of a flow; first is its first definition.
func (h handler) machine(first engine.Definition) object {
	name := first.Flow.Name
	return object{"stateMachineArn": h.arn("stateMachine", name), "name": name, "type": "STANDARD", "creationDate": seconds(first.Created)}
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

// listMachines returns flows by name. The token of the next page is the name of the last flow.
func (h handler) listMachines(ctx context.Context, r request) (object, error) {
	limit, err := r.limit()
	if err == nil && r.NextToken != "" && !flow.ValidName(r.NextToken) {
		err = errPageToken
	}
	if err != nil {
		return nil, err
	}
	all, err := h.Catalog.Definitions(ctx, "")
	list, last := []object{}, ""
	for i, definition := range all {
		name := definition.Flow.Name
		if name <= r.NextToken || i+1 < len(all) && all[i+1].Flow.Name == name { // the last of a name was its first
			continue
		}
		if len(list) == limit {
			return object{"stateMachines": list, "nextToken": last}, nil
		}
		list, last = append(list, h.machine(definition)), name
	}
	return object{"stateMachines": list}, err
}
