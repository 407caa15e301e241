// Package clientkeys reads the keys with which clients of the vendors' APIs sign their requests,
// and says which actions each key allows. One file of keys serves all of these APIs.
//
// This package is not an API and may change between releases.
package clientkeys

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/value"
)

// Key is the key with which a client signs its requests.
type Key struct {
	Secret string
	// Actions are the roles and the actions that the client may use. Nil means all.
	Actions []string
}

// The roles. Each is a list of actions, and each action has one.
const (
	roleRead   = "read"
	roleStart  = "start"
	roleReport = "report"
	roleManage = "manage"
)

// roles maps the actions of the APIs to their roles. Two APIs may share an action.
var roles = map[string]string{
	"CreateFlow": roleManage, "UpdateFlow": roleManage, "DeleteFlow": roleManage, "StopExecution": roleManage, "StartExecution": roleStart,
	"DescribeFlow": roleRead, "ListFlows": roleRead, "DescribeExecution": roleRead, "GetExecutionHistory": roleRead, "ListExecutions": roleRead,
	"CreateSchedule": roleManage, "UpdateSchedule": roleManage, "DeleteSchedule": roleManage, "DescribeSchedule": roleRead, "ListSchedules": roleRead,
	"DescribeRegions": roleRead, "ReportTaskSucceeded": roleReport, "ReportTaskFailed": roleReport,
	"SendTaskSuccess": roleReport, "SendTaskFailure": roleReport, "SendTaskHeartbeat": roleReport, "ListStateMachines": roleRead,
	"DescribeStateMachine": roleRead, "DescribeStateMachineForExecution": roleRead, "DescribeStateMachineAlias": roleRead,
	"ListStateMachineVersions": roleRead, "ListStateMachineAliases": roleRead, "ListTagsForResource": roleRead, "ValidateStateMachineDefinition": roleRead,
	"CreateStateMachine": roleManage, "UpdateStateMachine": roleManage, "DeleteStateMachine": roleManage, "PublishStateMachineVersion": roleManage,
	"DeleteStateMachineVersion": roleManage, "CreateStateMachineAlias": roleManage, "UpdateStateMachineAlias": roleManage,
	"DeleteStateMachineAlias": roleManage, "TagResource": roleManage, "UntagResource": roleManage,
	"StartSyncExecution": roleStart, "RedriveExecution": roleStart, "TestState": roleStart, "DescribeMapRun": roleRead, "ListMapRuns": roleRead,
	"GetActivityTask": roleReport,
	"CreateActivity":  roleManage, "DeleteActivity": roleManage, "DescribeActivity": roleRead, "ListActivities": roleRead,
}

// Allows reports whether the client may use the action.
func (k Key) Allows(action string) bool {
	return k.Actions == nil || slices.Contains(k.Actions, action) || slices.Contains(k.Actions, roles[action])
}

// UnmarshalJSON reads a secret, or {"secret":"...","actions":["read"]}. Names of members are exact:
// encoding/json would accept "Actions" too, and a second list could allow more than the first.
func (k *Key) UnmarshalJSON(text []byte) error {
	if !bytes.HasPrefix(text, []byte("{")) {
		return json.Unmarshal(text, &k.Secret)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	k.Actions = []string{} // which is not valid, and not all
	into := map[string]any{"secret": &k.Secret, "actions": &k.Actions}
	for name, member := range members {
		if into[name] == nil {
			return errors.New("unknown member") // a misspelt name would allow everything
		}
		if err := json.Unmarshal(member, into[name]); err != nil {
			return err
		}
	}
	if k.Actions == nil {
		k.Actions = []string{}
	}
	return nil
}

// minSecret is the least length of a client's secret in bytes: an attacker who has seen one signed
// request can try shorter ones offline.
const minSecret = 24

// Keys are the clients' keys, by key id.
type Keys map[string]Key

// Find returns the key with the id. It reports false for a secret that is missing or too short.
func (k Keys) Find(id string) (key Key, ok bool) {
	key = k[id]
	return key, len(key.Secret) >= minSecret
}

// Parse reads {"id":"secret"}, and keys that are limited to some actions. An error never shows a
// secret.
func Parse(text string) (Keys, error) {
	var texts map[string]json.RawMessage
	_, err := value.ParseJSON([]byte(text)) // rejects repeated ids: one may be limited and the other not
	if err != nil || json.Unmarshal([]byte(text), &texts) != nil {
		return nil, errors.New(`the keys cannot be read; allowed: {"id":"secret"} or {"id":{"secret":"...","actions":["read"]}}, ` +
			`with any number of different ids`)
	}
	keys := Keys{}
	for _, id := range slices.Sorted(maps.Keys(texts)) {
		var key Key
		if json.Unmarshal(texts[id], &key) != nil {
			return nil, fmt.Errorf(`key %s cannot be read; allowed: a secret, or {"secret":"...","actions":["read"]} with no other members`, shown(id))
		}
		keys[id] = key
		if len(key.Secret) < minSecret {
			return nil, fmt.Errorf("the secret of key %s has the length %d; allowed: at least %d bytes", shown(id), len(key.Secret), minSecret)
		}
		if err := key.checkActions(); err != nil {
			return nil, fmt.Errorf("key %s: %w", shown(id), err)
		}
	}
	return keys, nil
}

func (k Key) checkActions() error {
	known := append(slices.Sorted(maps.Keys(roles)), roleRead, roleStart, roleReport, roleManage)
	for _, action := range k.Actions {
		if !slices.Contains(known, action) {
			return fmt.Errorf("action %s is unknown%s; allowed: read, start, report, manage, or actions like StartExecution",
				shown(action), similar.DidYouMean(action, known))
		}
	}
	if k.Actions != nil && len(k.Actions) == 0 {
		return errors.New(`it has no actions; list some, or write {"id":"secret"} to allow all`)
	}
	return nil
}

// shown returns a text of the keys for an error. It hides a text as long as a secret, because it
// may be a secret in the wrong place.
func shown(text string) string {
	if len(text) >= minSecret {
		return fmt.Sprintf("(hidden: %d bytes, as long as a secret)", len(text))
	}
	return strconv.Quote(text)
}
