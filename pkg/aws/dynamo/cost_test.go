package dynamo_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/advise"
	"github.com/waitless/waitless/pkg/internal/suite/resumetest"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

var update = flag.Bool("update", false, "write the table of the prices instead of comparing with it")

// The list prices in January 2026, in dollars a million requests and a GB for a month.
const (
	storedMonth = 0.25
	transition  = 25.00 // of Step Functions Standard
	operation   = 8.00  // of a durable function
)

const month = 30 * 24 * time.Hour

// cost is what some work consumed.
type cost struct {
	capacity
	apiCalls  int
	byteHours float64 // until the items expire
}

func (c cost) minus(other cost) cost {
	return cost{
		capacity{c.read - other.read, c.write - other.write, c.index - other.index, c.messages - other.messages},
		c.apiCalls - other.apiCalls, c.byteHours - other.byteHours,
	}
}

// dollars is the price of a million times the work, if Lambda receives so many wakes together.
func (c cost) dollars(batch float64) float64 {
	return c.work().Dollars(batch)
}

func (c cost) work() advise.Work {
	return advise.Work{Reads: c.read, Writes: c.write + c.index, Messages: c.messages, Requests: c.apiCalls}
}

// storage is the price of what a million times the work leaves.
func (c cost) storage() float64 {
	const million, giga = 1e6, 1 << 30
	return c.byteHours / month.Hours() * million / giga * storedMonth
}

// spent is what the execution has consumed since its start.
func (r *flowRun) spent(apiCalls int) cost {
	r.t.Helper()
	return cost{r.sum, apiCalls, r.byteHours()}
}

// step applies the next wake and adds what that consumed.
func (r *flowRun) step() {
	r.t.Helper()
	r.meter.take()
	before := r.sum
	r.sum = before.plus(r.turn())
}

// byteHours is how many bytes are stored for how many hours from the start on.
func (r *flowRun) byteHours() (sum float64) {
	r.t.Helper()
	for _, table := range []string{r.store.log, r.store.waits} {
		scan, err := r.store.client.Scan(r.t.Context(), &dynamodb.ScanInput{TableName: &table})
		if err != nil {
			r.t.Fatal(err)
		}
		for _, item := range scan.Items {
			expires, ok := item["expires"].(*types.AttributeValueMemberN)
			if !ok {
				continue // a definition
			}
			second, err := strconv.ParseInt(expires.Value, 10, 64)
			if err != nil {
				r.t.Fatal(err)
			}
			sum += float64(storedBytes(item)) * time.Unix(second, 0).Sub(epoch).Hours()
		}
	}
	return sum
}

// storedBytes is how many bytes of an item and of its entry in the index DynamoDB bills.
func storedBytes(item map[string]types.AttributeValue) (size int) {
	const overhead = 100
	entry := 0
	for name, attribute := range item {
		bytes := len(name)
		switch v := attribute.(type) {
		case *types.AttributeValueMemberB:
			bytes += len(v.Value)
		case *types.AttributeValueMemberS:
			bytes += len(v.Value)
		case *types.AttributeValueMemberN:
			bytes += len(v.Value)/2 + 1
		}
		size += bytes
		if name != "b" && name != "n" {
			entry += bytes
		}
	}
	if _, listed := item["x"]; listed {
		size += entry + overhead
	}
	return size + overhead
}

// startCosted starts a flow as a stack does.
func startCosted(t *testing.T, text string, input value.Value, notify ...machine.Notify) *flowRun {
	t.Helper()
	const day = 24 * time.Hour
	r := &flowRun{t: t, meter: &meter{}, now: epoch, limits: machine.Limits{Duration: 90 * day, Retention: 30 * day, ShortLife: 2 * day}}
	r.store = newTables(t, atEpoch, r.meter.options)
	r.notify = slices.Concat(notify, []machine.Notify{{}})[0]
	r.start("sample", text, input)
	r.sum = r.meter.take()
	return r
}

// aPollOf is the cost of one poll of a sample, which is neither its first nor its last.
func aPollOf(t *testing.T, scenario string) cost {
	t.Helper()
	r := startCosted(t, sample(t, scenario), value.Object(value.Member{Key: "delay", Value: value.Int(40)}))
	r.step()
	r.step()
	before := r.spent(0)
	r.step()
	return r.spent(0).minus(before)
}

// aCallback is an execution with one callback.
func aCallback(t *testing.T, text string, notify ...machine.Notify) *flowRun {
	t.Helper()
	r := startCosted(t, text, value.Object(), notify...)
	r.step()
	state, err := r.Describe(t.Context(), r.id)
	if err != nil {
		t.Fatal(err)
	}
	r.meter.take()
	id, _ := token.HandleID(state.Waiting.Handle())
	if _, _, err := resumetest.Close(t.Context(), r.tokens, testKeys.Sign(id), token.Success(value.Object())); err != nil {
		t.Fatal(err)
	}
	r.sum = r.sum.plus(r.meter.take())
	r.wakesInOrder()
	r.wantSucceeded()
	return r
}

// estimates compares what an execution consumed with what package advise estimates from its
// history.
func (r *flowRun) estimates(name string, apiCalls int) {
	r.t.Helper()
	r.wantSucceeded()
	state, err := r.Describe(r.t.Context(), r.id)
	if err != nil {
		r.t.Fatal(err)
	}
	flow, err := r.Flow(r.t.Context(), state.Flow)
	if err != nil {
		r.t.Fatal(err)
	}
	events, err := r.History(r.t.Context(), r.id)
	if err != nil {
		r.t.Fatal(err)
	}
	if got, want := advise.CostOf(flow, events).Work, r.spent(apiCalls).work(); got != want {
		r.t.Errorf("%s is estimated to take %+v, and took %+v", name, got, want)
	}
}

// An execution takes what its history says.
func TestEstimatedCostsAreThoseCounted(t *testing.T) {
	t.Parallel()
	for _, scenario := range []string{"polling", "wait-for-condition"} {
		r := startCosted(t, sample(t, scenario), value.Object(value.Member{Key: "delay", Value: value.Int(30)}))
		for len(r.wakes) > 0 {
			r.step()
		}
		r.estimates(scenario, 1)
	}
	for _, deadline := range []string{"", "    timeoutSeconds: 600\n"} {
		aCallback(t, withDeadline(t, deadline)).estimates("a callback with "+deadline, 2)
	}
	aJob(t).estimates("a job", 1)
}

// withDeadline returns the flow of the sample with a callback, with another line.
func withDeadline(t *testing.T, line string) string {
	t.Helper()
	const pattern = "pattern: waitForCallback\n"
	callback := sample(t, "callback")
	if !strings.Contains(callback, pattern) {
		t.Fatal("the sample has no task that waits for a callback")
	}
	return strings.Replace(callback, pattern, pattern+line, 1)
}

// aJob is an execution with a job that is ended by its event.
func aJob(t *testing.T) *flowRun {
	t.Helper()
	r := startCosted(t, sample(t, "batch-callback"), value.Object(
		value.Member{Key: "queue", Value: value.String("night")}, value.Member{Key: "definition", Value: value.String("report:3")}))
	r.step()
	r.observe("batch-callback", "succeeded.json")
	r.polled.Due = time.Time{} // it is not early
	if err := r.observer.Reconcile(t.Context(), r.polled); err != nil {
		t.Fatal(err)
	}
	r.sum = r.sum.plus(r.meter.take())
	r.wakesInOrder()
	return r
}

// wakesInOrder applies the wakes that are left, the earliest first.
func (r *flowRun) wakesInOrder() {
	r.t.Helper()
	for len(r.wakes) > 0 {
		slices.SortStableFunc(r.wakes, func(a, b engine.Wake) int { return a.Due.Compare(b.Due) }) // a deadline after the callback
		r.step()
	}
}

func (c capacity) plus(more capacity) capacity {
	return capacity{c.read + more.read, c.write + more.write, c.index + more.index, c.messages + more.messages}
}

// TestCosts compares the table of the prices with what the samples consume. With -update it writes
// the table.
func TestCosts(t *testing.T) {
	t.Parallel()
	const loop, calledBack, durableCallback = 3 * transition, 2 * transition, 4 * operation
	rows := []struct {
		work               string
		cost               cost
		standard, durables float64
		endless            bool // it may wait for as long as an execution may take
	}{
		{"one poll of `waitForCondition`", aPollOf(t, "wait-for-condition"), loop, operation, false},
		{"one turn of a polling loop (wait, task, choice)", aPollOf(t, "polling"), loop, operation, false},
		{"an execution with one callback, started and reported through the APIs", aCallback(t, withDeadline(t, "")).spent(2), calledBack, durableCallback, true},
		{"the same with `timeoutSeconds: 600`", aCallback(t, withDeadline(t, "    timeoutSeconds: 600\n")).spent(2), calledBack, durableCallback, false},
	}
	text := fmt.Sprintf("| work (%s) | reads | writes | messages | saturated | idle | storage | Step Functions Standard | durable functions |\n"+
		"|---|---|---|---|---|---|---|---|---|\n", advise.PricesOf)
	for _, row := range rows {
		c := row.cost
		text += fmt.Sprintf("| %s | %g | %g | %d | %.2f | %.2f | %.2f | %.0f | %.0f |\n",
			row.work, c.read, c.write+c.index, c.messages, c.dollars(10), c.dollars(1), c.storage(), row.standard, row.durables)
		if !row.endless && c.storage() > c.dollars(1)/10 {
			t.Errorf("%s costs $%.2f a million, and to keep it $%.2f; want a tenth at most", row.work, c.dollars(1), c.storage())
		}
	}
	compareTable(t, costPage, "TestCosts", text)
}

// A notice is one message, which its receiver hides while it sends. Beside that an execution with a
// target costs what it does without.
func TestNoticesCostAMessageEach(t *testing.T) {
	t.Parallel()
	const (
		target                                      = "https://hooks.example.org/orders?key=0123456789abcdef"
		queueRequest, lambdaRun, lambdaGB, runnerGB = 0.40, 0.20, 13.3334, 0.25
		sendSeconds                                 = 0.2
	)
	callback := sample(t, "callback")
	plain := aCallback(t, callback).spent(2)
	for notify, messages := range map[machine.Notify]int{{Target: target}: 1, {Target: target, Waits: true}: 2} {
		got := aCallback(t, callback, notify).spent(2).minus(plain)
		if want := (capacity{messages: messages}); got.capacity != want {
			t.Errorf("%+v adds %+v, want %+v", notify, got, want)
		}
	}
	price := func(batch float64) float64 {
		return 2*queueRequest + (2*queueRequest+lambdaRun+sendSeconds*runnerGB*lambdaGB)/batch
	}
	row := fmt.Sprintf("| a notice, accepted within %g s | 1 message, 1 run of the task runner for up to 10 | %.2f to %.2f |\n", sendSeconds, price(10), price(1))
	if text, err := os.ReadFile(costPage); err != nil || !strings.Contains(string(text), row) {
		t.Errorf("%s lacks %s(error %v)", costPage, row, err)
	}
}

const costPage = "../../docs/reference/cost.md"

// compareTable compares the table that stands between two comments of a page. With -update it
// writes the table.
func compareTable(t *testing.T, page, test, want string) {
	t.Helper()
	begin, end := "<!-- counted by go test ./pkg/aws/dynamo -run "+test+" -update -->\n", "<!-- end -->\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(text), begin)
	got, tail, ended := strings.Cut(rest, end)
	switch {
	case !found || !ended:
		t.Errorf("%s has no table between %q and %q", page, begin, end)
	case got != want && *update:
		if err := os.WriteFile(page, []byte(head+begin+want+end+tail), 0o600); err != nil {
			t.Fatal(err)
		}
	case got != want:
		t.Errorf("%s has\n%s\nwant\n%s", page, got, want)
	}
}
