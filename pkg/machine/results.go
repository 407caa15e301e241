package machine

import (
	"maps"
	"slices"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/value"
)

// Results holds the results that a fork had in the execution before a redrive. Their items do not
// run again: lanes claim the other items, by their position among these.
type Results struct {
	Step int // the index of the fork
	// Done are the items that have results, as a list of numbers: the first item of a range, the
	// item after its last one, and so on.
	Done value.Value
	// Outputs is the list of their outputs. It is empty if no mapping reads outputs, and for lanes.
	Outputs value.Value
}

// DoneBefore returns how many of the items before an item are done. The value of Done is complete.
func (p *Results) DoneBefore(item int) (n int) {
	if p == nil {
		return 0
	}
	for i := 0; i < p.Done.Len(); i += 2 {
		n += max(0, min(p.bound(i+1), item)-p.bound(i))
	}
	return n
}

// at returns the item that has n items without results before it.
func (p *Results) at(n int) (item int) {
	item = n
	for i := 0; p != nil && i < p.Done.Len() && p.bound(i) <= item; i += 2 {
		item += p.bound(i+1) - p.bound(i)
	}
	return item
}

func (p *Results) bound(i int) int {
	n, _ := p.Done.At(i).Int64()
	return int(n)
}

// add adds the results to those by item.
func (p *Results) add(to map[int]value.Value) {
	outputs := p.Outputs.Members()
	for i := 0; i < p.Done.Len(); i += 2 {
		for item := p.bound(i); item < p.bound(i+1); item++ {
			if to[item] = value.Missing(); len(outputs) > 0 {
				to[item], outputs = outputs[0].Value, outputs[1:]
			}
		}
	}
}

// results returns the results that the fork has before it runs, nil for none.
func (r forkRun) results() *Results {
	kept := r.state().Results
	if kept == nil || kept.Step != r.step.Index {
		return nil
	}
	return &Results{kept.Step, r.lookup.Complete(kept.Done), kept.Outputs}
}

// withResults returns the outputs of all items, from the outputs of this attempt.
func (r forkRun) withResults(ran value.Value) value.Value {
	p := r.results()
	if p == nil {
		return ran
	}
	p.Outputs = r.lookup.Open(p.Outputs)
	by, outputs := map[int]value.Value{}, elements(ran)
	p.add(by)
	all := make([]value.Value, len(by)+len(outputs))
	for i := range all {
		if output, done := by[i]; done || len(outputs) == 0 {
			all[i] = output
			continue
		}
		all[i], outputs = outputs[0], outputs[1:]
	}
	return value.Array(all...)
}

// AddResults adds the results of the fork that the redrive begins with. Logs are the events of the
// logs that ran the items of the attempt. Values that have to be loaded into known first are
// returned as load.
func (p *RedrivePoint) AddResults(flow *flow.Flow, logs [][]Event, known map[value.Ref]value.Value) (load []value.Ref) {
	lookup, by := value.Lookup{Known: known}, map[int]value.Value{}
	if had := p.Results; had != nil {
		(&Results{had.Step, lookup.Complete(had.Done), lookup.Open(had.Outputs)}).add(by)
	}
	load = lookup.Load
	for _, events := range logs {
		r := newReplay(flow, State{}, known)
		r.fork = p.Step
		for _, e := range events {
			r.followItem(e, by)
		}
		load = append(load, r.lookup.Load...)
	}
	if len(by) == 0 || len(load) > 0 {
		return load
	}
	var done, outputs []value.Value
	last := -1
	for _, item := range slices.Sorted(maps.Keys(by)) {
		if item != last+1 || last < 0 {
			done = append(done, value.Int(int64(item)), value.Missing())
		}
		last = item
		done[len(done)-1] = value.Int(int64(item + 1))
		outputs = append(outputs, by[item])
	}
	p.Results = &Results{p.Step.Index, value.Array(done...), value.Array(outputs...)}
	return nil
}
