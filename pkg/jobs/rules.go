package jobs

import (
	"encoding/json"
	"maps"
	"slices"
)

// patternLimit is how many characters AWS accepts as the pattern of a rule.
const patternLimit = 2048

// orLimit is how many combinations of alternatives AWS accepts in the pattern of a rule. One $or
// has as many as it has members.
const orLimit = 1000

// Sources returns the sources of the events of all kinds, sorted.
func Sources() []string {
	var sources []string
	for _, k := range kinds() {
		if k.HasEvents() && !k.ByTopic() {
			sources = append(sources, k.Source)
		}
	}
	slices.Sort(sources)
	return slices.Compact(sources)
}

// Rules returns the patterns of the rules that match the ends of jobs. A pattern has alternatives,
// each with the detail-types and the final statuses of the kinds that tell both in the same way. A
// pattern is within the limits of AWS together with an account and all [Sources], which the user of
// the rule adds.
//
// The rules match final statuses only: otherwise each step of each job of the account would start
// work.
func Rules() []json.RawMessage {
	var rules []json.RawMessage
	var or []alternative
	for _, next := range alternatives() {
		if len(or) > 0 && !isWithinLimits(append(or, next)) {
			rules, or = append(rules, ruleOf(or)), nil
		}
		or = append(or, next)
	}
	return append(rules, ruleOf(or))
}

// alternative is a member of a rule's $or.
type alternative struct {
	Detail any      `json:"detail,omitempty"`
	Types  []string `json:"detail-type"`
}

// alternatives returns the alternatives of all kinds, in the order of their details.
func alternatives() []alternative {
	types := map[string][]string{}
	for _, k := range kinds() {
		if !k.HasEvents() || k.ByTopic() {
			continue
		}
		detail := "null" // the detail-type tells the end
		if k.event.status != "" {
			words := k.describe.finals()
			if k.event.words != nil {
				words = slices.Collect(maps.Keys(k.event.words))
			}
			pattern := map[string]any{}
			k.event.status.put(pattern, slices.Sorted(slices.Values(words)))
			detail = string(encode(pattern))
		}
		types[detail] = append(types[detail], k.DetailTypes()...)
	}
	var all []alternative
	for _, detail := range slices.Sorted(maps.Keys(types)) {
		is, _ := decode([]byte(detail)) // it was encoded here
		all = append(all, alternative{is, slices.Compact(slices.Sorted(slices.Values(types[detail])))})
	}
	return all
}

func ruleOf(or []alternative) json.RawMessage { return encode(map[string]any{"$or": or}) }

// isWithinLimits reports whether AWS accepts the pattern with an account and all sources.
func isWithinLimits(or []alternative) bool {
	whole := encode(map[string]any{"$or": or, "account": []string{"123456789012"}, "source": Sources()})
	return len(or) <= orLimit && len(whole) <= patternLimit
}
