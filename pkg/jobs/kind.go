package jobs

import (
	"slices"
	"strings"
	"sync"
)

// Kind is a row of the table.
type Kind struct {
	// Name is the kind: "batch-job".
	Name string
	// Service, StartOp, DescribeOp and StopOp are the service of AWS and its operations: "batch",
	// "SubmitJob", "DescribeJobs", "TerminateJob". A flow's action is Service:StartOp. They are
	// empty for kinds without a service, and each is empty if the service has no such operation.
	Service, StartOp, DescribeOp, StopOp string

	Scope Scope
	// Source and DetailType identify the kind's events; they are empty if it has none. Several
	// kinds may have one source.
	Source, DetailType string
	// Delivery is how the service delivers the events, empty if it has none.
	Delivery Delivery
	// Once says why a repeated start is not a second one.
	Once Once
	// Function is the ARN of the Lambda function of a custom kind. It is empty for other kinds and
	// for a declaration without a function.
	Function string

	*parts
}

// parts are the parts of a kind that only this package needs.
type parts struct {
	event    event
	start    startSpec
	describe describeSpec
	stop     stopSpec
	rights   rights
}

// The kinds without a service of AWS.
const (
	KindSimulated = "simulated" // the tutorial's job is its own job_id
	KindCallback  = "callback"  // nothing is started: the job is that a callback arrives
)

func init() {
	add(&callbackKind)
	add(&simulatedKind)
}

var (
	callbackKind  = Kind{Name: KindCallback, Once: OnceNot, parts: &parts{}}
	simulatedKind = Kind{Name: KindSimulated, Once: OnceNot, parts: &parts{}}
)

// kinds returns the table, in the order of names. It is made when it is first used, because many
// processes start without a job.
var kinds = sync.OnceValue(func() []Kind {
	table := slices.Clone(rows)
	for _, row := range made {
		table = append(table, row())
	}
	slices.SortFunc(table, func(a, b Kind) int { return strings.Compare(a.Name, b.Name) })
	return table
})

// rows are kinds, and made are kinds of services with several alike. The file of a kind adds it
// when the program starts, so that a new kind is a new file and changes no other. Nothing else
// writes them.
var (
	rows []Kind
	made []func() Kind
)

// add adds the kind. A kind is a variable of its own because the program then holds it as data: a
// literal here would be built at each start.
func add(kind *Kind) { rows = append(rows, *kind) }

func addMade(row func() Kind) { made = append(made, row) }

// Scope says which runs have the same key.
type Scope uint8

// The scopes of a key.
const (
	// ScopeRun: the key names one run, so an event about it decides.
	ScopeRun Scope = iota
	// ScopeResource: later runs have the same key. An event is a hint, and the description decides.
	ScopeResource
)

// Once says how a service prevents a second start.
type Once string

// The ways.
const (
	// OnceNot: it does not.
	OnceNot Once = "none"
	// OnceByName: no two jobs have the name that [Kind.StartParams] gives.
	OnceByName Once = "our name"
	// OnceByToken: the service returns the first job again for the token that [Kind.StartParams]
	// gives.
	OnceByToken Once = "client token"
	// OnceBusy: a resource has one run at a time.
	OnceBusy Once = "resource busy"
)

// Delivery is how a service delivers its events to EventBridge, as its reference says.
type Delivery string

// The deliveries.
const (
	// DeliveryDurable: at least once.
	DeliveryDurable Delivery = "durable"
	// DeliveryBestEffort: an event may be lost.
	DeliveryBestEffort Delivery = "best effort"
)

// Kinds returns all kinds, in the order of their names.
func Kinds() []Kind { return slices.Clone(kinds()) }

// Find returns the kind with the name. Every custom kind is found, without the declaration that a
// [Table] may have.
func Find(name string) (kind Kind, ok bool) {
	if IsCustom(name) {
		return customKind(name), true
	}
	return first(func(k Kind) bool { return k.Name == name })
}

// ForAction returns the kind that a flow's action starts: "batch:SubmitJob".
func ForAction(action string) (kind Kind, ok bool) {
	if IsCustom(action) {
		return customKind(action), true
	}
	return first(func(k Kind) bool { return k.StartOp != "" && k.Service+":"+k.StartOp == action })
}

// ForResource returns the kind that starts an existing resource, and the params that name the
// resource: an ARN of a DMS task or of a state machine, or a queue or a topic of the vendor.
func ForResource(arn string) (kind Kind, params []byte, ok bool) {
	kind, ok = first(func(k Kind) bool { return k.start.resource != nil && k.start.resource.MatchString(arn) })
	if !ok {
		return Kind{}, nil, false
	}
	return kind, encode(map[string]string{kind.start.resourceParam: kind.start.resource.part(arn)}), true
}

// Action returns the flow's action that starts a job of the kind, "" if nothing does.
func (k Kind) Action() string {
	if k.StartOp == "" {
		return ""
	}
	return k.Service + ":" + k.StartOp
}

// MessagePlace returns the name of the queue or of the topic that a resource names, such as
// acs:mns:::/queues/orders/messages.
func MessagePlace(resource string) (name string, ok bool) {
	kind, _, ok := ForResource(resource)
	if !ok || kind.HasEnd() {
		return "", false
	}
	return kind.start.resource.part(resource), true
}

func first(is func(Kind) bool) (Kind, bool) {
	i := slices.IndexFunc(kinds(), is)
	if i < 0 {
		return Kind{}, false
	}
	return kinds()[i], true
}

// HasEvents reports whether events may tell that jobs of this kind ended. A custom kind has events
// only if its declaration names them.
func (k Kind) HasEvents() bool { return k.DetailType != "" || k.Custom() }

// HasEnd reports whether jobs of this kind have an end to wait for. A message has none.
func (k Kind) HasEnd() bool { return k.start.message == nil }
