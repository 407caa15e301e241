package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/language"
)

// The functions that flows call.
const (
	functionCall     = "Call"
	functionPoll     = "Poll"   // answers "running" a few times, then "done"
	functionSubmit   = "Submit" // a person or program closes the token
	functionLong     = "Long"
	functionSlowPoll = "SlowPoll" // as Poll, but takes long
	functionSlow     = "Slow"     // as Submit, but takes long to be told of the token
	functionJob      = flow.StartJob
)

// The actions of jobs: the service of the second one is slow.
const (
	actionJob     = "batch:SubmitJob"
	actionSlowJob = "transcribe:StartTranscriptionJob"
)

// limits are the time limits of the functions, by their resources.
var limits = map[string]time.Duration{
	resourceOf(functionLong): 10 * time.Minute, resourceOf(functionSlow): 10 * time.Minute, resourceOf(functionSlowPoll): 10 * time.Minute,
	actionSlowJob: 10 * time.Minute,
}

// brings reports whether a person or program closes the function's token.
func brings(function string) bool {
	return function == functionSubmit || function == functionSlow || function == functionJob
}

func resourceOf(function string) string { return "acs:fc:::services/sim/functions/" + function }

// flow is a definition.
type flowDraft struct {
	text   string
	parsed *flow.Flow
	steps  int
	indent string // of the steps that are being added
	forks  int    // that these are in
	times  int    // how often they may run
	depth  int    // of sub-flows
}

// drawFlow makes up a flow of one to four parts, of a sub-flow at that depth.
func (w *world) drawFlow(depth int) flowDraft {
	f := flowDraft{text: "version: v1\ntype: flow\n" + w.drawTimeLimit() + "steps:\n", indent: "  ", times: 1, depth: depth}
	if w.machine && depth == 0 {
		f.text = w.drawStates(&f, 1+w.rand.IntN(4), 1)
		return f.read()
	}
	switch {
	case w.claims && depth == 0:
		w.drawClaims(&f)
	case w.begins && depth == 0:
		w.drawHandled(&f)
	case w.forks && depth == 0 && w.chance(2):
		w.drawAnyFork(&f)
	case w.forks && depth == 0:
		w.drawSub(&f)
	}
	parts := 1 + min(w.rand.IntN(4), w.rand.IntN(4))
	if (w.claims || w.begins) && depth == 0 {
		parts /= 2
	}
	for range parts {
		w.drawPart(&f)
	}
	return f.read()
}

// read parses the text.
func (f flowDraft) read() flowDraft {
	parsed, problems := language.Parse([]byte(f.text))
	if parsed == nil {
		panic(fmt.Sprintf("sim: a bad flow: %v\n%s", problems, f.text))
	}
	f.parsed = parsed
	return f
}

func (w *world) drawPart(f *flowDraft) {
	if w.forks && w.chance(2+f.forks+3*f.depth) {
		w.drawAnyFork(f)
		return
	}
	if w.forks && f.depth < mostNested && w.chance(6) {
		w.drawSub(f)
		return
	}
	if w.longCalls && w.chance(2) {
		for range 1 + w.rand.IntN(4) {
			f.task(functionCall)
		}
		return
	}
	switch {
	case w.swept && w.chance(8):
		f.step("wait", fmt.Sprintf("duration: %d", w.drawWait()))
	case w.tries && !w.chance(3):
		w.drawTry(f)
	case w.hasJobs && w.chance(3):
		w.drawJob(f)
	default:
		w.drawStep(f)
	}
}

// drawStep adds a step of any kind, or a loop.
func (w *world) drawStep(f *flowDraft) {
	switch w.rand.IntN(17) {
	case 0, 1, 2:
		f.task(functionCall)
	case 3, 4:
		f.task(functionCall, "atMostOnce: true")
	case 5, 10:
		f.task(functionLong, w.drawLong()...)
	case 6:
		f.step("wait", fmt.Sprintf("duration: %d", w.drawWait()))
	case 7, 8:
		w.drawLoop(f)
	case 9:
		f.step("choice", "choices: [{condition: $.n > 3, steps: [")
		f.text += f.indent + "    {type: task, name: Inner" + fmt.Sprint(f.steps) + ", resourceArn: " + resourceOf(functionCall) + w.drawInnerPolicies() + "}]}]\n"
	case 14, 15, 16:
		f.task(functionSlow, w.drawCallback()...)
	default:
		f.task(functionSubmit, w.drawCallback()...)
	}
}

// drawWait returns how many seconds a wait lasts: longer than the sweeps at times.
func (w *world) drawWait() int {
	if w.swept && w.chance(2) {
		return int(((mostSweeps + 1) * janitorPause).Seconds())
	}
	return w.rand.IntN(20)
}

// drawLoop polls until the function is done.
func (w *world) drawLoop(f *flowDraft) {
	pause := f.step("wait", fmt.Sprintf("duration: %d", w.rand.IntN(15)))
	if w.tries {
		w.tried(f, functionPoll)
	} else {
		f.task(functionPoll)
	}
	f.step("choice", fmt.Sprintf(`choices: [{condition: $.status == "running", goto: %s}]`, pause))
}

func (w *world) drawLong() []string {
	var lines []string
	if w.chance(2) {
		lines = append(lines, fmt.Sprintf("timeoutSeconds: %d", 20+w.rand.IntN(100)))
	}
	if w.chance(2) {
		lines = append(lines, "atMostOnce: true")
	}
	if lines == nil {
		lines = []string{"timeoutSeconds: 600"}
	}
	return lines
}

func (w *world) drawCallback() []string {
	lines := []string{
		"pattern: waitForCallback",
		"inputMappings: [{target: token, source: $context.task.token}, {target: n, source: $local.n}]",
	}
	if w.chance(3) {
		lines = append(lines, fmt.Sprintf("timeoutSeconds: %d", 2+w.rand.IntN(90)))
	}
	if w.chance(3) {
		lines = append(lines, fmt.Sprintf("heartbeatSeconds: %d", 2+w.rand.IntN(20)))
	}
	if w.chance(4) {
		lines = append(lines, "atMostOnce: true")
	}
	return lines
}

// drawJob waits for the end of a job.
func (w *world) drawJob(f *flowDraft) {
	action := []string{actionJob, actionJob, actionSlowJob}[w.rand.IntN(3)]
	params := "jobName: n, jobQueue: q, jobDefinition: d"
	if action == actionSlowJob {
		params = "media: {mediaFileUri: s3://b/k}"
	}
	lines := []string{"action: " + action, "pattern: sync", "serviceParams: {" + params + ", n: $.n, all: [$], delay: 1000000}"}
	if w.chance(3) {
		lines = append(lines, fmt.Sprintf("timeoutSeconds: %d", 2+w.rand.IntN(90)))
	}
	if w.chance(4) {
		lines = append(lines, "atMostOnce: true")
	}
	if w.tries {
		lines = append(lines, w.drawPolicies()...)
	}
	f.step("task", lines...)
}

func (f *flowDraft) task(function string, lines ...string) {
	f.step("task", append([]string{"resourceArn: " + resourceOf(function)}, lines...)...)
}

// step adds a step and answers its name.
func (f *flowDraft) step(kind string, lines ...string) string {
	f.steps++
	name := fmt.Sprintf("%c%s%d", kind[0]-'a'+'A', kind[1:], f.steps)
	inside := "\n" + f.indent + "  "
	f.text += f.indent + "- type: " + kind + inside + "name: " + name + inside + strings.Join(lines, inside) + "\n"
	return name
}

// pass adds a step that others go to.
func (f *flowDraft) pass(name string) { f.text += f.indent + "- {type: pass, name: " + name + "}\n" }

// task is the task of a step.
func (f flowDraft) taskOf(index int) *flow.Task {
	task, _ := f.parsed.All[index].Kind.(*flow.Task)
	return task
}

// patience is about how long a task waits for its token.
func patience(task *flow.Task) time.Duration {
	switch {
	case task.Timeout > 0:
		return task.Timeout
	case task.Heartbeat > 0:
		return 4 * task.Heartbeat
	}
	return time.Minute
}
