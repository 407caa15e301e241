package machine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// series returns a script of a foreach whose iterations run one after the other, and its input: as
// many elements, each with a text of that size.
func series(t *testing.T, elements, size int) (*script, value.Value) {
	t.Helper()
	flow := parseFlow(t, `
version: v1
type: flow
steps:
  - type: foreach
    name: Each
    maxConcurrency: 1
    iterationMapping: {collection: $.list, item: x}
    steps:
      - {type: task, name: One, resourceArn: "acs:fc:::services/s/functions/f", inputMappings: [{target: x, source: $input.x}]}
    outputMappings: [{target: all, source: "$local[*].x"}]
`)
	list := make([]value.Value, elements)
	for i := range list {
		list[i] = value.String(fmt.Sprint(i) + strings.Repeat("x", size))
	}
	return &script{flow: flow, limits: machine.Limits{Data: machine.MaxData}}, value.Object(member("list", value.Array(list...)))
}

// TestLongSeriesDoesNotRewriteItsOutputs: full lists of outputs stay in the items in which they became
// full.
func TestLongSeriesDoesNotRewriteItsOutputs(t *testing.T) {
	t.Parallel()
	const elements = 60
	for _, size := range []int{50, 200, 400} {
		s, input := series(t, elements, size)
		end := s.played(t, input)
		if end.local.Get("all").JSON() != input.Get("list").JSON() {
			t.Errorf("the output is %.200s", end.local)
		}
		first, last := len(s.log.items[elements/4]), len(s.log.items[elements-1])
		if last > first+1500 {
			t.Errorf("outputs of %d bytes: item %d has %d bytes, item %d has %d", size, elements/4, first, elements-1, last)
		}
	}
}
