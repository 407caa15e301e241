package jobs

import (
	"maps"
	"slices"
	"strings"
)

// Claims are the names in the row of a kind, for a comparison with the service's own model.
type Claims struct {
	// Params are members of the params of a start.
	Params []string
	// Started and Described are paths in the responses of the start and of the description, in the
	// form of [path].
	Started, Described []string
	// Status is the path of the status in a description, and Final are its values that mean an end.
	Status string
	Final  []string
	// Codes are the error codes that the row reads, by operation.
	Codes map[string][]string
}

// Claims returns the names that the row uses from its service.
func (k Kind) Claims() Claims {
	start, d := k.start, k.describe
	c := Claims{
		Status: k.below(d.status), Final: d.finals(),
		Codes: map[string][]string{k.StartOp: start.inUse, k.DescribeOp: d.unknown, k.StopOp: k.stop.over},
	}
	params := slices.Concat(start.required, slices.Collect(maps.Keys(start.defaults)), []string{start.nameParam, start.resourceParam, start.single})
	c.Params = slices.DeleteFunc(params, func(name string) bool { return name == "" })
	for _, p := range slices.Concat(start.began, start.key.parts(), start.id.parts(), start.refused.parts()) {
		if name, isParam := strings.CutPrefix(string(p), "params."); isParam {
			c.Params = append(c.Params, name)
		} else if p != "" {
			c.Started = append(c.Started, string(p))
		}
	}
	described := slices.Concat(d.began, d.key.parts(), []path{d.status, d.at, d.busy})
	for _, f := range d.output {
		described = append(described, f.path)
	}
	for _, p := range described {
		if p != "" {
			c.Described = append(c.Described, k.below(p))
		}
	}
	return c
}

// below returns the path of a member of a job in a description.
func (k Kind) below(p path) string {
	return strings.TrimPrefix(string(k.describe.job)+"."+string(p), ".")
}
