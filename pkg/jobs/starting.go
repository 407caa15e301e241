package jobs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// StartParams are the params of a start with what makes it happen once, as far
// as the service can: unique is the same text for the same start, or empty for
// none. Names are compared without case. The error is a [*RequestError].
func (k Kind) StartParams(params []byte, unique string) ([]byte, error) {
	members, err := objectMembers("params", params)
	if err != nil {
		return nil, err
	}
	if k.row.nameParam != "" && unique != "" {
		setDefault(members, k.row.nameParam, k.row.onceName(unique))
	}
	for name, value := range k.row.defaults {
		setDefault(members, name, value)
	}
	if name, ok := findMember(members, k.row.textParam); ok && members[name][0] != '"' {
		members[name] = quote(string(members[name]))
	}
	for _, name := range k.row.required {
		if _, ok := findMember(members, name); !ok {
			return nil, invalid("params.%s is missing: %s of %s needs %s", name, k.Start, k.Service, strings.Join(k.row.required, ", "))
		}
	}
	return encode(members), nil
}

// NamedByUs says whether the job with that job_id has the name that
// [Kind.StartParams] gives to the start that unique names.
func (k Kind) NamedByUs(id, unique string) bool {
	name := id[strings.LastIndex(id, ":")+1:] // the whole id, unless it is an ARN
	return k.Once == OnceByName && unique != "" && name == k.row.onceName(unique)
}

// onceName is unique as the service takes names.
func (r *row) onceName(unique string) string {
	if r.nameForm.MatchString(unique) {
		return unique
	}
	hash := sha256.Sum256([]byte(unique))
	return hex.EncodeToString(hash[:])
}

func setDefault(members map[string]json.RawMessage, name, value string) {
	if _, ok := findMember(members, name); !ok {
		members[name] = quote(value)
	}
}

// findMember is the member of that name in whatever case, unless it is null.
func findMember(members map[string]json.RawMessage, name string) (string, bool) {
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if name != "" && strings.EqualFold(key, name) && string(members[key]) != "null" {
			return key, true
		}
	}
	return "", false
}

func quote(text string) json.RawMessage { return encode(text) }
