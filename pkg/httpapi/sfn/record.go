package sfn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// record holds what only this API knows of a state machine. It is stored as the OfName of the
// flow's definitions.
type record struct {
	Created, Updated time.Time
	// First is the hash of the definition that CreateStateMachine put.
	First         string
	Type, RoleArn string
	// Settings are the configurations that have no effect, as they were given.
	Settings map[string]json.RawMessage
	Tags     map[string]string
	// Versions has the latest version first. Published counts the deleted versions too.
	Versions  []version
	Published int
	Aliases   map[string]alias
}

// version is a definition with a number.
type version struct {
	Number            int
	Hash, Description string
	Created           time.Time
}

// alias is a name for a version.
type alias struct {
	Version          int
	Description      string
	Created, Updated time.Time
}

// maxRecord is the maximum size of a stored record in bytes: a store reads it with the definitions
// of the flow.
const maxRecord = 100 << 10

// stateMachine is a flow as this API shows it.
type stateMachine struct {
	record

	name        string
	definitions []engine.Definition // the latest first; none if the flow does not exist
}

// read reads the state machine with the name.
func (h handler) read(ctx context.Context, name string) (stateMachine, error) {
	definitions, err := h.Catalog.Definitions(ctx, name)
	m := stateMachine{name: name, definitions: definitions}
	if err != nil || len(definitions) == 0 {
		return m, err
	}
	m.record, err = recordOf(definitions[0])
	return m, err
}

func recordOf(d engine.Definition) (r record, err error) {
	if d.OfName != "" {
		if err = json.Unmarshal([]byte(d.OfName), &r); err != nil {
			err = fmt.Errorf("record of state machine %s: %w", d.Flow.Name, err)
		}
	}
	return r, err
}

// existing reads the state machine that an ARN without a version or an alias names.
func (h handler) existing(ctx context.Context, parameter, arn string) (stateMachine, error) {
	names, err := h.named(parameter, arn, "stateMachine", 1)
	if err != nil {
		return stateMachine{}, err
	}
	return h.readExisting(ctx, names[0])
}

func (h handler) readExisting(ctx context.Context, name string) (stateMachine, error) {
	m, err := h.read(ctx, name)
	if err == nil && len(m.definitions) == 0 {
		err = h.unknownMachine(name)
	}
	return m, err
}

func (h handler) unknownMachine(words ...string) error {
	return invalid("StateMachineDoesNotExist", fmt.Sprintf("State Machine Does Not Exist: '%s'", h.arn(append([]string{"stateMachine"}, words...)...)))
}

// revision is the definition that an ARN names: the latest one, or the definition of a version or
// of an alias.
type revision struct {
	stateMachine

	flow    machine.FlowRef
	version *version // nil for the latest definition
}

// revision reads the definition that an ARN of a state machine names.
func (h handler) revision(ctx context.Context, arn string) (revision, error) {
	names, err := h.named("stateMachineArn", arn, "stateMachine", 1, 2) //nolint:mnd // the name and a qualifier
	if err != nil {
		return revision{}, err
	}
	m, err := h.readExisting(ctx, names[0])
	if err != nil {
		return revision{}, err
	}
	if len(names) == 1 {
		return revision{m, m.definitions[0].Flow, nil}, nil
	}
	number, err := strconv.Atoi(names[1])
	if err != nil {
		number = m.Aliases[names[1]].Version
	}
	v := m.version(number)
	if v == nil {
		return revision{}, h.unknownMachine(names...)
	}
	return revision{m, machine.FlowRef{Name: m.name, Hash: v.Hash}, v}, nil
}

// version returns the version with the number, nil for none.
func (r *record) version(number int) *version {
	i := slices.IndexFunc(r.Versions, func(v version) bool { return v.Number == number })
	if i < 0 {
		return nil
	}
	return &r.Versions[i]
}

// publish returns the latest version if it has the definition, and otherwise a new one.
func (r *record) publish(hash, description string, now time.Time) version {
	if len(r.Versions) == 0 || r.Versions[0].Hash != hash {
		r.Published++
		r.Versions = slices.Insert(r.Versions, 0, version{r.Published, hash, description, now})
	}
	return r.Versions[0]
}

// change applies a change to the record of a state machine, again if another request changed it
// meanwhile.
func (h handler) change(ctx context.Context, name string, apply func(*stateMachine) error) error {
	const tries = 10
	for range tries {
		m, err := h.readExisting(ctx, name)
		if err == nil {
			err = apply(&m)
		}
		if err == nil {
			err = h.store(ctx, m)
		}
		if !errors.Is(err, engine.ErrConflict) {
			return err
		}
	}
	return invalid("ConflictException", "other requests change this state machine; try again")
}

// store stores the record of a state machine. The error is [engine.ErrConflict] if it changed since
// it was read.
func (h handler) store(ctx context.Context, m stateMachine) error {
	before := m.definitions[0].OfName
	stored, err := json.Marshal(m.record)
	switch {
	case err != nil || string(stored) == before:
		return err
	case len(stored) > maxRecord:
		return invalid("ServiceQuotaExceededException",
			fmt.Sprintf("the versions, aliases, tags and settings of this state machine have %d bytes; allowed: at most %d; delete some", len(stored), maxRecord))
	}
	return h.Catalog.SetProperties(ctx, machine.FlowRef{Name: m.name}, before, string(stored))
}
