package docs_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/internal/advise"
	"github.com/waitless/waitless/pkg/jobs"
)

var update = flag.Bool("update", false, "write the table of the kinds of jobs instead of comparing with it")

const jobsPage = "reference/jobs.md"

// generatedTable is the part of the page of jobs that is made of the table of kinds.
var generatedTable = regexp.MustCompile(`(?s)<!-- made of pkg/jobs by go test ./pkg/docs -run TestTheTableOfKinds -update -->\n.*?<!-- end -->\n`)

func TestTheTableOfKinds(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(jobsPage)
	if err != nil {
		t.Fatal(err)
	}
	begin, _, _ := strings.Cut(generatedTable.FindString(string(page)), "\n")
	want := begin + "\n" + kindsTable() + "<!-- end -->\n"
	got := generatedTable.ReplaceAllLiteralString(string(page), want)
	switch {
	case begin == "":
		t.Fatal("the page has no place for the table of kinds")
	case got == string(page):
	case *update:
		if err := os.WriteFile(jobsPage, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s differs from the table of kinds: go test ./pkg/docs -run TestTheTableOfKinds -update", jobsPage)
	}
}

// kindsTable is the table of the kinds that AWS runs, and what a wait for one costs.
func kindsTable() string {
	var text strings.Builder
	text.WriteString("| kind | action | events: source, detail-type | delivery | the key names | described by | stopped by | a repeated start | rights |\n")
	text.WriteString("|---|---|---|---|---|---|---|---|---|\n")
	for _, k := range jobs.Kinds() {
		if k.DescribeOp == "" && !k.HasEvents() {
			continue
		}
		events := ""
		if k.HasEvents() {
			events = code(k.Source) + ", " + strings.Join(k.DetailTypes(), ", ")
		}
		fmt.Fprintf(&text, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", code(k.Name), code(actionOf(k)), events, k.Delivery,
			map[jobs.Scope]string{jobs.ScopeRun: "a run", jobs.ScopeResource: "a resource"}[k.Scope],
			code(k.DescribeOp), code(k.StopOp), startedAgain(k), rightsOf(k))
	}
	return text.String() + "\n" + waitCost() + "\n"
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

func actionOf(k jobs.Kind) string {
	if k.StartOp == "" {
		return ""
	}
	return k.Service + ":" + k.StartOp
}

func startedAgain(k jobs.Kind) string {
	if k.StartOp == "" {
		return ""
	}
	return map[jobs.Once]string{
		jobs.OnceNot: "is a second job", jobs.OnceByName: "is known by its name",
		jobs.OnceByToken: "is known by its token", jobs.OnceBusy: "is refused while it runs",
	}[k.Once]
}

// rightsOf are the actions of IAM that `waitless jobs iam` prints.
func rightsOf(k jobs.Kind) string {
	const account, region = "123456789012", "us-east-1"
	var actions []string
	for _, of := range [][]jobs.Statement{
		k.StartStatements(account, region), k.DescribeStatements(account, region), k.StopStatements(account, region),
	} {
		for _, s := range of {
			actions = append(actions, code(s.Action[0]))
		}
	}
	return cmp.Or(strings.Join(actions, " "), "")
}

// waitCost compares a wait of an hour with polling each minute, in dollars for a million waits.
func waitCost() string {
	const byEvent, safety, polls = 8, 7, 60 // the first is of the page of costs; the pauses double from a minute to 15
	lookup, poll := advise.Work{Reads: 1, Messages: 1}, advise.Work{Reads: 1, Writes: 1, Messages: 1}
	return fmt.Sprintf("A million waits of an hour cost $%d by their events, durable or not, and $%.0f to $%.0f for the %d polls that find a lost event. "+
		"Polling\neach minute costs $%.0f to $%.0f. [Costs](cost.md) has the assumptions.\n", byEvent,
		safety*lookup.Dollars(10), safety*lookup.Dollars(1), safety, polls*poll.Dollars(10), polls*poll.Dollars(1))
}
