package enginetest

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// DefinitionList is the list of a store's definitions, which the APIs show and change.
type DefinitionList interface {
	engine.Flows
	engine.Catalog
}

// Definitions is the suite of a [DefinitionList].
func Definitions(t *testing.T, open func(t *testing.T) DefinitionList) {
	t.Helper()
	for name, test := range map[string]func(onDefinitions){
		"a store without flows lists none":                           definitionsNone,
		"what was put is listed by name":                             definitionsListed,
		"of one name the latest definition is the first":             definitionsLatest,
		"a name that begins like another one is another one":         definitionsPrefix,
		"the same put again changes nothing":                         definitionsAgain,
		"an earlier text that is put again is the newest":            definitionsNewestAgain,
		"the newest is the first of those that are listed":           definitionsNewest,
		"of several that are put and deleted at once too":            definitionsNewestRace,
		"a text comes back as it was put":                            definitionsText,
		"a text that was never put is not found":                     definitionsNoText,
		"what was deleted is not listed and its text not found":      definitionsDeleted,
		"what was deleted is still there for its executions":         definitionsKept,
		"what was deleted and put again is listed again":             definitionsBack,
		"to delete what is not listed changes nothing":               definitionsDeleteNothing,
		"another definition of the name stays when one was deleted":  definitionsOtherStays,
		"properties are those of one definition":                     definitionsProperties,
		"properties are replaced if they are those before":           definitionsPropertiesConflict,
		"properties leave the list with their definition":            definitionsPropertiesDeleted,
		"properties of a name are those of all its definitions":      definitionsOfName,
		"properties of a name are replaced if they are those before": definitionsOfNameConflict,
		"properties of a name leave with its last definition":        definitionsOfNameDeleted,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(onDefinitions{t, open(t)})
		})
	}
}

// onDefinitions is what a case is run on, and the test that it reports to.
type onDefinitions struct {
	*testing.T
	store DefinitionList
}

const (
	one = "version: v1\ntype: flow # é\nsteps:\n  - type: pass\n    name: One\n"
	two = "version: v1\ntype: flow\nsteps:\n  - type: pass\n    name: Two\n"
)

func (c onDefinitions) put(name, text string) machine.FlowRef {
	c.Helper()
	flow, err := c.store.Put(c.Context(), name, []byte(text))
	if err != nil {
		c.Fatal(err)
	}
	return flow
}

func (c onDefinitions) delete(flow machine.FlowRef) {
	c.Helper()
	if err := c.store.DeleteFlow(c.Context(), flow); err != nil {
		c.Fatal(err)
	}
}

func (c onDefinitions) list(name string) []engine.Definition {
	c.Helper()
	list, err := c.store.Definitions(c.Context(), name)
	if err != nil {
		c.Fatal(err)
	}
	return list
}

// wantListed: these are listed under the name, in any order of one name's.
func (c onDefinitions) wantListed(name string, want ...machine.FlowRef) {
	c.Helper()
	list := c.list(name)
	listed := make([]machine.FlowRef, len(list))
	for i, d := range list {
		listed[i] = d.Flow
	}
	if len(listed) != len(want) || slices.ContainsFunc(want, func(f machine.FlowRef) bool { return !slices.Contains(listed, f) }) {
		c.Errorf("listed under %q: %v; want %v", name, listed, want)
	}
	if !slices.IsSortedFunc(list, inOrder) {
		c.Errorf("listed in this order: %v", list)
	}
}

func inOrder(a, b engine.Definition) int {
	switch {
	case a.Flow.Name < b.Flow.Name:
		return -1
	case a.Flow.Name > b.Flow.Name:
		return 1
	}
	return b.Created.Compare(a.Created)
}

func (c onDefinitions) wantNoText(flow machine.FlowRef) {
	c.Helper()
	if text, err := c.store.FlowText(c.Context(), flow); !errors.Is(err, engine.ErrNotFound) {
		c.Errorf("text %q, error %v; want one that is engine.ErrNotFound", text, err)
	}
}

func definitionsNone(c onDefinitions) {
	c.wantListed("")
	c.wantListed("one")
}

func definitionsListed(c onDefinitions) {
	// Stores keep instants in whole milliseconds at least.
	before := time.Now().Truncate(time.Millisecond)
	b, a := c.put("b", one), c.put("a", one)
	after := time.Now()
	c.wantListed("", a, b)
	c.wantListed("a", a)
	c.wantListed("c")
	for _, d := range c.list("") {
		if d.Created.Before(before) || d.Created.After(after) {
			c.Errorf("%v was created before %s or after %s", d, before, after)
		}
	}
}

func definitionsLatest(c onDefinitions) {
	older := c.put("a", one)
	created := c.list("a")[0].Created
	var newer machine.FlowRef
	// The clock of the store tells the two apart when it has moved on.
	for list := c.list("a"); !list[0].Created.After(created); list = c.list("a") {
		c.delete(newer)
		newer = c.put("a", two)
	}
	c.wantListed("a", newer, older)
	if latest := c.list("a")[0].Flow; latest != newer {
		c.Errorf("the first is %v; want %v", latest, newer)
	}
}

func definitionsPrefix(c onDefinitions) {
	short, long := c.put("flow", one), c.put("flow-2", one)
	c.wantListed("flow", short)
	c.wantListed("flow-2", long)
	c.wantListed("flo")
}

func definitionsAgain(c onDefinitions) {
	flow := c.put("a", one)
	first := c.list("a")
	c.put("a", one)
	if again := c.list("a"); len(again) != 1 || again[0].Flow != flow || !again[0].Created.Equal(first[0].Created) {
		c.Errorf("first %v, then %v", first, again)
	}
}

func definitionsNewestAgain(c onDefinitions) {
	earlier, later := c.put("a", one), c.put("a", two)
	if err := c.store.SetProperties(c.Context(), earlier, "", "kept"); err != nil {
		c.Fatal(err)
	}
	c.put("a", one)
	if list := c.list("a"); len(list) != 2 || list[0].Flow != earlier || list[1].Flow != later || list[0].Properties != "kept" {
		c.Errorf("got %v", list)
	}
	if newest, err := c.store.Newest(c.Context(), "a"); err != nil || newest != earlier {
		c.Errorf("the newest is %v, error %v", newest, err)
	}
}

// wantNewest: it is the newest one, and the first on the list; the zero FlowRef stands for none.
func (c onDefinitions) wantNewest(want machine.FlowRef) {
	c.Helper()
	newest, err := c.store.Newest(c.Context(), "a")
	if newest != want || (want == machine.FlowRef{}) != errors.Is(err, engine.ErrNotFound) {
		c.Errorf("the newest is %v, error %v; want %v", newest, err, want)
	}
	if list := c.list("a"); (want != machine.FlowRef{}) && (len(list) == 0 || list[0].Flow != want) {
		c.Errorf("listed %v; want %v first", list, want)
	}
}

func definitionsNewest(c onDefinitions) {
	c.wantNewest(machine.FlowRef{})
	c.put("b", one)
	first, second := c.put("a", one), c.put("a", two)
	c.wantNewest(second)
	c.delete(second)
	c.wantNewest(first)
	c.put("a", two)
	c.delete(first)
	c.wantNewest(second)
	c.delete(second)
	c.wantNewest(machine.FlowRef{})
	c.put("a", one)
	c.wantNewest(first)
}

func definitionsNewestRace(c onDefinitions) {
	flows := []machine.FlowRef{c.put("a", one), c.put("a", two)}
	var beside sync.WaitGroup
	for _, text := range []string{one, two} {
		beside.Go(func() { c.put("a", text) })
		beside.Go(func() { c.delete(flows[0]) })
	}
	beside.Wait()
	if list := c.list("a"); len(list) == 0 {
		c.Error("nothing is listed")
	} else {
		c.wantNewest(list[0].Flow)
	}
}

func definitionsText(c onDefinitions) {
	a, b := c.put("a", one), c.put("a", two)
	for flow, want := range map[machine.FlowRef]string{a: one, b: two} {
		if text, err := c.store.FlowText(c.Context(), flow); err != nil || string(text) != want {
			c.Errorf("text %q, %v; want %q", text, err, want)
		}
	}
}

func definitionsNoText(c onDefinitions) {
	flow := c.put("a", one)
	c.wantNoText(machine.FlowRef{Name: "b", Hash: flow.Hash})
	c.wantNoText(machine.FlowRef{Name: "a", Hash: "0"})
	c.wantNoText(machine.FlowRef{})
}

func definitionsDeleted(c onDefinitions) {
	flow := c.put("a", one)
	c.delete(flow)
	c.wantListed("")
	c.wantListed("a")
	c.wantNoText(flow)
}

func definitionsKept(c onDefinitions) {
	flow := c.put("a", one)
	c.delete(flow)
	if found, err := c.store.Flow(c.Context(), flow); err != nil || found.Steps[0].Name != "One" {
		c.Errorf("flow %+v, error %v", found, err)
	}
}

func definitionsBack(c onDefinitions) {
	flow := c.put("a", one)
	for range 2 {
		c.delete(flow)
		if back := c.put("a", one); back != flow {
			c.Errorf("first %v, then %v", flow, back)
		}
		c.wantListed("a", flow)
		if text, err := c.store.FlowText(c.Context(), flow); err != nil || string(text) != one {
			c.Errorf("text %q, %v", text, err)
		}
	}
}

func definitionsDeleteNothing(c onDefinitions) {
	flow := c.put("a", one)
	c.delete(machine.FlowRef{Name: "b", Hash: flow.Hash})
	c.delete(machine.FlowRef{Name: "a", Hash: "0"})
	c.wantListed("", flow)
}

func definitionsOtherStays(c onDefinitions) {
	gone, stays := c.put("a", one), c.put("a", two)
	c.delete(gone)
	c.wantListed("a", stays)
}

// wantProperties: the definition is listed with them.
func (c onDefinitions) wantProperties(flow machine.FlowRef, want string) {
	c.Helper()
	for _, d := range c.list(flow.Name) {
		if d.Flow == flow && d.Properties != want {
			c.Errorf("the properties are %q; want %q", d.Properties, want)
		}
	}
}

func definitionsProperties(c onDefinitions) {
	b, a := c.put("a", two), c.put("a", one)
	before := c.list("a")
	c.wantProperties(a, "")
	if err := c.store.SetProperties(c.Context(), a, "", "text é\x00\xff"); err != nil {
		c.Error(err)
	}
	c.put("a", one)
	c.wantProperties(a, "text é\x00\xff")
	c.wantProperties(b, "")
	for i, d := range c.list("a") {
		if d.Flow != before[i].Flow || !d.Created.Equal(before[i].Created) {
			c.Errorf("listed %v; want %v", d, before[i])
		}
	}
	if text, err := c.store.FlowText(c.Context(), a); err != nil || string(text) != one {
		c.Errorf("text %q, %v", text, err)
	}
}

func definitionsPropertiesConflict(c onDefinitions) {
	flow := c.put("a", one)
	c.conflicts(flow, func(then string) { c.wantProperties(flow, then) })
}

// conflicts sets the properties of a definition or of a name, from others than it has, too.
func (c onDefinitions) conflicts(of machine.FlowRef, want func(then string)) {
	for _, tt := range []struct {
		before, properties string
		want               error
		then               string
	}{
		{"x", "y", engine.ErrConflict, ""},
		{"", "first", nil, "first"},
		{"", "second", engine.ErrConflict, "first"},
		{"firs", "second", engine.ErrConflict, "first"},
		{"first", "second", nil, "second"},
	} {
		if err := c.store.SetProperties(c.Context(), of, tt.before, tt.properties); !errors.Is(err, tt.want) {
			c.Errorf("from %q to %q: error %v; want %v", tt.before, tt.properties, err, tt.want)
		}
		want(tt.then)
	}
}

func definitionsPropertiesDeleted(c onDefinitions) {
	flow := c.put("a", one)
	if err := c.store.SetProperties(c.Context(), flow, "", "first"); err != nil {
		c.Error(err)
	}
	c.delete(flow)
	for _, unknown := range []machine.FlowRef{flow, {Name: "b", Hash: flow.Hash}} {
		if err := c.store.SetProperties(c.Context(), unknown, "first", "second"); !errors.Is(err, engine.ErrNotFound) {
			c.Errorf("%v: error %v; want one that is engine.ErrNotFound", unknown, err)
		}
	}
	c.wantListed("")
	c.put("a", one)
	c.wantProperties(flow, "")
}

// wantOfName: all definitions of the name are listed with these properties of it.
func (c onDefinitions) wantOfName(name, want string) {
	c.Helper()
	for _, d := range c.list("") {
		if d.Flow.Name == name && d.OfName != want {
			c.Errorf("the properties of %s are %q; want %q", name, d.OfName, want)
		}
	}
	for _, d := range c.list(name) {
		if d.OfName != want {
			c.Errorf("the properties of %s are %q in its own list; want %q", name, d.OfName, want)
		}
	}
}

func (c onDefinitions) setOfName(name, before, properties string) {
	c.Helper()
	if err := c.store.SetProperties(c.Context(), machine.FlowRef{Name: name}, before, properties); err != nil {
		c.Errorf("properties of %s: %v", name, err)
	}
}

func definitionsOfName(c onDefinitions) {
	a := c.put("a", one)
	c.put("ab", one)
	c.setOfName("a", "", "text é\x00\xff")
	b := c.put("a", two)
	c.wantListed("a", a, b)
	c.wantOfName("a", "text é\x00\xff")
	c.wantOfName("ab", "")
	c.wantProperties(a, "")
	c.wantProperties(b, "")
	if newest, err := c.store.Newest(c.Context(), "a"); err != nil || newest != b {
		c.Errorf("the newest is %v, %v", newest, err)
	}
}

func definitionsOfNameConflict(c onDefinitions) {
	flow := c.put("a", one)
	c.conflicts(machine.FlowRef{Name: "a"}, func(then string) {
		c.wantOfName("a", then)
		c.wantProperties(flow, "")
	})
}

func definitionsOfNameDeleted(c onDefinitions) {
	a, b := c.put("a", one), c.put("a", two)
	c.setOfName("a", "", "first")
	c.delete(b)
	c.wantOfName("a", "first")
	c.delete(a)
	c.wantListed("")
	c.put("a", one)
	c.wantOfName("a", "")
	c.setOfName("a", "", "second")
	c.wantOfName("a", "second")
}
