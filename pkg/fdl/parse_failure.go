package fdl

import "github.com/waitless/waitless/pkg/flow"

// The defaults of a policy, as the vendor documents them.
const (
	defaultInterval    = 1 // seconds
	defaultMultiplier  = 2
	defaultMaxAttempts = 3
)

// failures reads the retry and catch fields of a task that calls the resource, or of a fork.
func (p *parser) failures(h *flow.Handlers, resource flow.Resource, step *flow.Step, f *fields) {
	for _, item := range f.items("retry") {
		if policy := p.fields(item, "policy"); policy != nil {
			h.Retry = append(h.Retry, flow.Retry{
				Errors:      policy.errorNames(resource),
				Interval:    policy.seconds("intervalSeconds", defaultInterval),
				MaxInterval: policy.seconds("maxIntervalSeconds", int64(flow.MaxInterval.Seconds())),
				Multiplier:  policy.number("multiplier", defaultMultiplier),
				MaxAttempts: int(policy.whole("maxAttempts", defaultMaxAttempts)),
			})
		}
	}
	items := f.items("catch")
	h.Catch = make([]flow.Catch, len(items)) // gotos are filled in later
	for i, item := range items {
		entry := p.fields(item, "entry")
		if entry == nil {
			continue
		}
		if entry.get("steps") == nil && entry.get("goto") == nil {
			entry.missing(`an entry of catch has neither "goto" nor "steps"; write one of them, or both`)
		}
		h.Catch[i].Errors = entry.errorNames(resource)
		h.Catch[i].Steps = p.steps(entry, step)
		p.jump(entry, step, &h.Catch[i].Goto)
	}
	DataOf(step).Errors = f.mappings("errorMappings")
	if n := f.get("errorMappings"); n != nil && f.get("catch") == nil {
		p.warn(n.Pos, "errorMappings has no effect without catch; add catch, or remove errorMappings")
	}
}
