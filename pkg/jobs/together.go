package jobs

import (
	"encoding/json"
	"slices"
	"strings"
)

// together says how several jobs of a kind are described in one call. The params of the description then have ID in a list.
type together struct {
	most int  // how many the service accepts
	id   path // of the job_id, below a job of the response
}

// DescribedTogether returns how many jobs of this kind one call may describe: 1 if the service takes one at a time.
func (k Kind) DescribedTogether() int { return max(k.describe.together.most, 1) }

// JoinDescriptions returns the params of one call that describes what these params describe, each made by [Kind.DescribeParams]. They
// are at most [Kind.DescribedTogether]. It returns false if they are not such params.
func (k Kind) JoinDescriptions(params [][]byte) ([]byte, bool) {
	ids := make([]string, len(params))
	for i, each := range params {
		id, ok := k.describedID(each)
		if !ok || len(params) > k.DescribedTogether() {
			return nil, false
		}
		ids[i] = string(quote(id))
	}
	slices.Sort(ids)
	return []byte(strings.Replace(k.describe.params, "ID", strings.Join(slices.Compact(ids), ","), 1)), true
}

// SplitDescription returns the response that the call with these params alone would have had, from the response of a call that
// [Kind.JoinDescriptions] made. It has no job if the service did not return this one.
func (k Kind) SplitDescription(response, params []byte) ([]byte, error) {
	document, err := decode(response)
	if err != nil {
		return nil, k.responseError(k.DescribeOp, "invalid JSON: "+err.Error())
	}
	id, _ := k.describedID(params)
	members, _ := document.(map[string]any)
	name, _ := findMember(members, string(k.describe.job))
	list, _ := members[name].([]any)
	isOther := func(job any) bool { return k.describe.together.id.text(job) != id }
	return encode(map[string]any{string(k.describe.job): slices.DeleteFunc(list, isOther)}), nil
}

// describedID returns the job_id in the params of a description.
func (k Kind) describedID(params []byte) (id string, ok bool) {
	before, after, ok := strings.Cut(k.describe.params, "ID")
	rest, begins := strings.CutPrefix(string(params), before)
	text, ends := strings.CutSuffix(rest, after)
	if !ok || !begins || !ends || json.Unmarshal([]byte(text), &id) != nil {
		return "", false
	}
	return id, true
}
