package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A Call is one call of an entry, in a world of its own.
type Call struct {
	// Do makes the call through the proxy, and makes the same call again when it is called again.
	Do func(ctx context.Context) error
	// Overtake makes the same call as another client. It is nil if two calls do not meet.
	Overtake func() error
	// State returns the changes of the call: one text for each item, message or schedule. It is nil
	// for a call that only reads.
	State func() []string
	// Word names an error of Do that the table tells from others. It is optional.
	Word func(err error) string
	// Limited says that the entry bounds its requests, so a hanging request ends without help.
	Limited bool
}

// An Entry is a function that sends requests, with a constructor of its call.
type Entry struct {
	Name string // as in [Site]
	New  func(t *testing.T, p *Proxy) Call
}

// Columns of the table.
var columns = []struct {
	fault Fault
	name  string
}{
	{Overtake, "overtaken"}, {Conflict, "conflict"}, {Throttle, "throttled"}, {Fail, "status 500"}, {Refuse, "no connection"},
	{Lose, "response lost"}, {Hang, "no response"},
}

// Row is what becomes of the faults of a site, by column.
type Row struct {
	Site

	Results []string
}

// Results of a fault.
const (
	notPossible = "-"
	// hidden: the entry retries a request that fails once; a request that fails each time is an
	// error.
	hidden = "retried"
	// shown: the caller gets an error.
	shown = "error"
	// replaced: the call succeeds although the request fails each time.
	replaced = "tolerated"
	// doubled says that the effect is there twice.
	doubled = ", twice"
)

// Measure calls the entry with each fault at each of its operations.
func Measure(t *testing.T, endpoint string, e Entry) (rows []Row) {
	t.Helper()
	whole := measure(t, endpoint, e)
	for _, operation := range whole.operations {
		row := Row{Site{e.Name, operation}, make([]string, len(columns))}
		for i, column := range columns {
			row.Results[i] = notPossible
			if whole.meets(column.fault, operation) {
				row.Results[i] = whole.with(t, column.fault, operation)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// measured is the behavior of an entry without a fault.
type measured struct {
	endpoint   string
	entry      Entry
	operations []string
	state      []string // after the call
	again      []string // after a second call
	word       string   // of the second call
	overtakes  bool
}

func measure(t *testing.T, endpoint string, e Entry) *measured {
	t.Helper()
	p := NewProxy(t, endpoint)
	call := e.New(t, p)
	p.Requests()
	if err := call.Do(t.Context()); err != nil {
		t.Fatalf("%s without a fault: %v", e.Name, err)
	}
	m := &measured{endpoint: endpoint, entry: e, operations: p.Requests(), state: call.state(), overtakes: call.Overtake != nil}
	m.word = call.word(call.Do(t.Context()))
	if m.word == shown {
		t.Errorf("%s fails when it is repeated", e.Name)
	}
	m.again = call.state()
	slices.Sort(m.operations)
	m.operations = slices.Compact(m.operations)
	return m
}

// meets reports whether the fault may happen to the operation.
func (m *measured) meets(fault Fault, operation string) bool {
	if fault == Overtake {
		return m.overtakes
	}
	_, ok := answerOf(fault, operation)
	return ok
}

func (c Call) state() []string {
	if c.State == nil {
		return nil
	}
	return c.State()
}

func (c Call) word(err error) string {
	if err == nil {
		return ""
	}
	if c.Word != nil {
		return cmp.Or(c.Word(err), shown)
	}
	return shown
}

// always is more than the tries of any client.
const always = 10

// with returns the result of a fault that happens once, and checks the result of a permanent fault.
func (m *measured) with(t *testing.T, fault Fault, operation string) string {
	t.Helper()
	once := m.call(t, fault, operation, 1)
	switch {
	case once.word != "":
		return once.word + once.twice
	case fault == Overtake:
		return "done"
	case fault == Hang && once.tries > 1: // one that stays takes as long as all tries
		return hidden + once.twice
	case fault == Hang || m.call(t, fault, operation, always).word == "":
		return replaced + once.twice
	}
	return hidden + once.twice
}

// called is what became of a call with a fault.
type called struct {
	word  string // of its error
	twice string // that its effect is there twice
	tries int    // how often the operation was requested
}

// call makes the call with a fault in n requests, and then without. The effects must equal the
// effects of calls without a fault.
func (m *measured) call(t *testing.T, fault Fault, operation string, n int) (result called) {
	t.Helper()
	p := NewProxy(t, m.endpoint)
	p.hangs = fault == Hang
	call := m.entry.New(t, p)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	p.Overtaking = func() {
		if err := call.Overtake(); err != nil {
			t.Error(err)
		}
	}
	p.Hanging = func() {
		if !call.Limited {
			cancel(context.DeadlineExceeded)
		}
	}
	p.Requests()
	p.Inject(fault, operation, n)
	err := call.Do(ctx)
	result.word = call.word(err)
	for _, requested := range p.Requests() {
		if requested == operation {
			result.tries++
		}
	}
	if result.tries == 0 {
		t.Errorf("%s does not request %s", m.entry.Name, operation)
	}
	p.Inject(0, "", 0)
	state := call.state()
	if err == nil && fault != Overtake {
		m.same(t, fmt.Sprint(operation, " with fault ", fault), state, m.state)
	}
	if again := call.word(call.Do(t.Context())); again != "" && again != m.word {
		t.Errorf("%s of %s with fault %d: repeated: %s", operation, m.entry.Name, fault, again)
	}
	m.same(t, fmt.Sprintf("%s with fault %d, and repeated", operation, fault), call.state(), m.state, m.again)
	if len(state) > len(m.state) && fault == Lose {
		result.twice = doubled
	}
	return result
}

// same reports an error unless the state equals one of the possible states. Effects may occur more
// than once.
func (m *measured) same(t *testing.T, what string, state []string, want ...[]string) {
	t.Helper()
	set := func(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }
	got := set(state)
	if !slices.ContainsFunc(want, func(w []string) bool { return slices.Equal(got, set(w)) }) {
		t.Errorf("%s: %s: the state is\n%s\nwant one of\n%s", m.entry.Name, what, strings.Join(got, "\n"), want)
	}
}

// errNoTable says that a page has no table under the heading.
var errNoTable = errors.New("the page has no such section")

// Replace returns the page with the rows as the table of the section with that heading.
func Replace(page, heading string, rows []Row) (string, error) {
	begin, end, err := tableIn(page, heading)
	if err != nil {
		return "", err
	}
	return page[:begin] + render(rows) + page[end:], nil
}

// tableIn returns where the table of a section is.
func tableIn(page, heading string) (begin, end int, err error) {
	_, section, found := strings.Cut(page, "\n## "+heading+"\n")
	at := strings.Index(section, "\n|")
	if !found || at < 0 {
		return 0, 0, fmt.Errorf("section %s: %w", heading, errNoTable)
	}
	begin = len(page) - len(section) + at + 1
	end = begin
	for line := range strings.Lines(page[begin:]) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		end += len(line)
	}
	return begin, end, nil
}

func render(rows []Row) string {
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(strings.Compare(a.Entry, b.Entry), strings.Compare(a.Operation, b.Operation))
	})
	var text strings.Builder
	text.WriteString("| call | operation ")
	for _, column := range columns {
		text.WriteString("| " + column.name + " ")
	}
	text.WriteString("|\n" + strings.Repeat("|---", len(columns)+2) + "|\n") //nolint:mnd // and the two of the site
	for _, row := range rows {
		text.WriteString("| `" + row.Entry + "` | " + row.Operation + " | " + strings.Join(row.Results, " | ") + " |\n")
	}
	return text.String()
}

// SitesIn returns the sites of all tables of the page.
func SitesIn(page string) (sites []Site) {
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(line, "|\n"), "|")
		if entry := strings.TrimSpace(cells[0]); strings.HasPrefix(entry, "`") && len(cells) == len(columns)+2 {
			sites = append(sites, Site{strings.Trim(entry, "`"), strings.TrimSpace(cells[1])})
		}
	}
	return sites
}
