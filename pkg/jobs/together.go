package jobs

import (
	"encoding/json"
	"slices"
	"strings"
)

// together says how several jobs of a kind are described in one call. The params of the description
// then have "[ID]" or "[ID1]", a list of one.
type together struct {
	most int  // how many the service accepts
	id   path // of the ids in the list, below a job of the response
}

// DescribedTogether returns how many jobs of this kind one call may describe: 1 if the service
// takes one at a time.
func (k Kind) DescribedTogether() int { return max(k.describe.together.most, 1) }

// SharedDescription returns the common part of the params of descriptions that one call may
// combine: for tasks of ECS their cluster. Ok is false for params that [Kind.DescribeParams] did
// not make.
func (k Kind) SharedDescription(params []byte) (shared string, ok bool) {
	shared, _, ok = k.describedID(params)
	return shared, ok
}

// JoinDescriptions returns the params of one call for the descriptions of several params, each made
// by [Kind.DescribeParams], at most [Kind.DescribedTogether]. It returns false if they are not such
// params, or do not share a call.
func (k Kind) JoinDescriptions(params [][]byte) ([]byte, bool) {
	ids, common := make([]string, len(params)), ""
	for i, each := range params {
		shared, id, ok := k.describedID(each)
		if !ok || len(params) > k.DescribedTogether() || i > 0 && shared != common {
			return nil, false
		}
		ids[i], common = string(quote(id)), shared
	}
	slices.Sort(ids)
	_, after, _ := k.listed()
	return []byte(common + strings.Join(slices.Compact(ids), ",") + after), true
}

// listed returns the params of a description without the place of the id in their list.
func (k Kind) listed() (before, after string, ok bool) {
	before, after, ok = strings.Cut(k.describe.params, "[ID")
	return before + "[", strings.TrimPrefix(after, "1"), ok
}

// SplitDescription returns the response that the call with these params alone would have had, from
// the response of a call that [Kind.JoinDescriptions] made. It has no job if the service did not
// return this one.
func (k Kind) SplitDescription(response, params []byte) ([]byte, error) {
	document, err := decode(response)
	if err != nil {
		return nil, k.responseError(k.DescribeOp, "invalid JSON: "+err.Error())
	}
	_, id, _ := k.describedID(params)
	members, _ := document.(map[string]any)
	name, _ := findMember(members, string(k.describe.job))
	list, _ := members[name].([]any)
	isOther := func(job any) bool { return k.describe.together.id.text(job) != id }
	return encode(map[string]any{string(k.describe.job): slices.DeleteFunc(list, isOther)}), nil
}

// describedID returns the id in the list of the params of a description, and the text before it.
func (k Kind) describedID(params []byte) (shared, id string, ok bool) {
	before, after, ok := k.listed()
	text, ends := strings.CutSuffix(string(params), after)
	at := strings.LastIndex(text, "[") + 1
	if !ok || !ends || json.Unmarshal([]byte(text[at:]), &id) != nil {
		return "", "", false
	}
	if shared = text[:at]; strings.Contains(before, "ID") {
		before = string(filledIn(before, k.describe.idForm, id))
	}
	return shared, id, shared == before
}
