package flowtest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/internal/bounded"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/language"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// Case is a test in a file, with the wanted result.
type Case struct {
	Test
	// File is the file of the test, FlowFile the file of the flow, Title the name of the case.
	File, FlowFile, Title string
	// SubflowFiles are the files of the sub-flows, by name.
	SubflowFiles map[string]string
	want         want
}

// want is the result that a case wants. An omitted field may have any value.
type want struct {
	Status         machine.Status   `yaml:"status"`
	Output         yaml.Node        `yaml:"output"` // null is an output, too
	Error          string           `yaml:"error"`
	ElapsedSeconds *float64         `yaml:"elapsedSeconds"`
	Calls          map[string]int   `yaml:"calls"`
	Inputs         map[string][]any `yaml:"inputs"`
	Waits          string           `yaml:"waits"`
}

// fields are the top of a file and of its parts, which yaml reads.
type (
	fileFields struct {
		Flow     string            `yaml:"flow"`
		Mocks    string            `yaml:"mocks"`
		Subflows map[string]string `yaml:"subflows"`
		Tests    []caseFields      `yaml:"tests"`
	}
	caseFields struct {
		Name      string            `yaml:"name"`
		Case      string            `yaml:"case"`
		Now       string            `yaml:"now"`
		Input     any               `yaml:"input"`
		Functions map[string]any    `yaml:"functions"`
		Actions   []string          `yaml:"actions"`
		Objects   map[string]string `yaml:"objects"`
		Answers   []answerFields    `yaml:"answers"`
		Events    []eventFields     `yaml:"events"`
		Want      want              `yaml:"want"`
	}
	answerFields struct {
		Step         string    `yaml:"step"`
		AfterSeconds seconds   `yaml:"afterSeconds"`
		Output       yaml.Node `yaml:"output"`
		Error        string    `yaml:"error"`
		Cause        string    `yaml:"cause"`
		Choice       string    `yaml:"choice"`
		Heartbeats   []seconds `yaml:"heartbeats"`
	}
	eventFields struct {
		Step         string  `yaml:"step"`
		AfterSeconds seconds `yaml:"afterSeconds"`
		Event        any     `yaml:"event"`
	}
)

// ParseFile reads a file of tests, NAME.test.yaml:
//
//	flow: flow.yaml            # beside the file; this is the default
//	subflows: {child: child.yaml}
//	mocks: MockConfigFile.json # of Step Functions Local
//	tests:
//	- name: is approved after two hours
//	  now: 2026-01-31T10:00:00Z
//	  input: {order: 7}
//	  case: HappyPath          # of the mocks
//	  functions:               # by function, service/function or step
//	    orders/echo: {output: {reserved: true}}
//	    Ship: [{error: NotReady, cause: try again}, {output: {}}]   # call by call, the last for all later ones
//	  actions: ["batch:SubmitJob"]                                  # actions with simulated jobs
//	  objects: {"orders/today.json": "[1, 2]"}                      # of S3, by BUCKET/KEY
//	  answers:                 # of callbacks: step, afterSeconds, output, choice, or error and cause, heartbeats
//	  - {step: Approve, afterSeconds: 7200, output: {approved: true}}
//	  events:                  # of jobs: step, afterSeconds, event
//	  - {step: Load, afterSeconds: 60, event: stopped.json}
//	  want:                    # an omitted field may have any value
//	    status: Succeeded
//	    output: {shipped: true}
//	    error: OrderRejected
//	    elapsedSeconds: 7200
//	    calls: {Reserve: 3, Ship: 2}
//	    inputs: {Ship: [{order: 7}]}                                # call by call; an omitted member may have any value
//	    waits: Approve         # for the step nothing ends
//
// A file of tests may come from another person: the files that it names are in its folder or below,
// also by links. The error names the file, and all mistakes that do not depend on the flow.
func ParseFile(path string) ([]Case, error) {
	files := folder(filepath.Dir(path))
	text, err := bounded.ReadRegular(files, filepath.Base(path))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var file fileFields
	wrong := fdl.LoadYAML(text, &file, yaml.WithKnownFields())
	if wrong != nil {
		wrong = errors.New(path + ":" + strings.ReplaceAll(wrong.Error(), "\n", "\n"+path+":"))
	}
	file.Flow = cmp.Or(file.Flow, "flow.yaml")
	switch {
	case len(file.Tests) > 0:
	case wrong == nil:
		return nil, fmt.Errorf("%s: it has no tests; write a list of them below the key tests", path)
	default:
		return nil, wrong
	}
	all, err := file.withFlows(path, files)
	if err != nil {
		return nil, errors.Join(wrong, fmt.Errorf("%s: %w", path, err))
	}
	var cases []Case
	for i, fields := range file.Tests {
		c, err := file.caseOf(all, files, fields)
		c.place = func(list string, entry int, field string) string {
			return path + ":" + fdl.PositionOf(text, "tests", strconv.Itoa(i), list, strconv.Itoa(entry), field).String()
		}
		if err != nil {
			test := fmt.Sprintf("%s:%s: test %d: ", path, fdl.PositionOf(text, "tests", strconv.Itoa(i)), i+1)
			wrong = errors.Join(wrong, errors.New(test+strings.ReplaceAll(err.Error(), "\n", "\n"+test)))
		}
		cases = append(cases, c)
	}
	return cases, wrong
}

// withFlows returns a case with the flows of the file.
func (file fileFields) withFlows(path string, files folder) (c Case, err error) {
	c = Case{File: path, FlowFile: filepath.Join(string(files), file.Flow), SubflowFiles: map[string]string{}}
	c.Subflows, c.Files = map[string][]byte{}, files
	if c.Flow, err = files.read("the flow", file.Flow); err != nil {
		return c, err
	}
	for name, subflow := range file.Subflows {
		if c.Subflows[name], err = files.read("the flow", subflow); err != nil {
			return c, err
		}
		c.SubflowFiles[name] = filepath.Join(string(files), subflow)
	}
	// Without a name in its definition, a flow has the name of its file, or for flow.yaml and
	// machine.asl.json the name of the folder.
	name := language.NameOf(filepath.Base(c.FlowFile))
	if folder, err := filepath.Abs(filepath.Dir(c.FlowFile)); name == language.NoName && err == nil {
		name = filepath.Base(folder)
	}
	c.Name = fdl.AsName(name)
	return c, nil
}

// caseOf adds the fields of a test to a case with the flows.
func (file fileFields) caseOf(c Case, files folder, fields caseFields) (_ Case, err error) {
	c.Title, c.want, c.Input, c.Actions, c.Objects = fields.Name, fields.Want, fields.Input, fields.Actions, fields.Objects
	if fields.Now != "" {
		if c.Now, err = time.Parse(time.RFC3339Nano, fields.Now); err != nil {
			err = fmt.Errorf("now is %q; allowed: an instant like 2026-01-31T10:00:00Z", fields.Now)
		}
	}
	for _, a := range fields.Answers {
		answer := Answer{Step: a.Step, After: a.AfterSeconds.duration(), Output: written(a.Output), Error: a.Error, Cause: a.Cause, Choice: a.Choice}
		for _, s := range a.Heartbeats {
			answer.Heartbeats = append(answer.Heartbeats, s.duration())
		}
		c.Answers = append(c.Answers, answer)
	}
	for _, e := range fields.Events {
		c.Events = append(c.Events, Event{Step: e.Step, After: e.AfterSeconds.duration(), Event: e.Event})
	}
	err = errors.Join(err, c.addFunctions(fields.Functions))
	switch {
	case fields.Case == "":
	case file.Mocks == "":
		err = errors.Join(err, errors.New("it has a case and the file has no mocks; name the MockConfigFile.json in mocks"))
	default:
		err = errors.Join(err, c.addMocks(files, file.Mocks, fields.Case))
	}
	return c, err
}

// written returns a value of a file, with null as JSON, and nil for a missing one.
func written(n yaml.Node) (v any) {
	if n.IsZero() {
		return nil
	}
	_ = n.Load(&v, yaml.WithUniqueKeys(false)) // was read, in linear time
	return cmp.Or[any](v, json.RawMessage("null"))
}

// folder has the regular files in a folder and below. A link that leads out of it is not followed,
// and a named pipe is not opened: that would wait.
type folder string

// Open implements [fs.FS].
func (f folder) Open(name string) (fs.File, error) {
	root, err := os.OpenRoot(string(f))
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // it was read from
	switch info, err := root.Stat(filepath.FromSlash(name)); {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	return root.Open(filepath.FromSlash(name))
}

// read reads a file. Its error does not wrap the error of the file system: a caller would take it
// for an error of the file of tests.
func (f folder) read(what, name string) ([]byte, error) {
	text, err := bounded.ReadRegular(f, name)
	if wrong, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("%s %s: %s", what, filepath.Join(string(f), name), wrong.Err.Error())
	}
	return text, err
}

// seconds is a time in a file, from 0 to a hundred years.
type seconds float64

// UnmarshalYAML implements [yaml.Unmarshaler].
func (s *seconds) UnmarshalYAML(node *yaml.Node) error {
	const longest = 100 * 366 * 24 * 3600
	var n float64
	if err := node.Decode(&n); err != nil {
		return err
	}
	if !(n >= 0 && n <= longest) { // NaN is neither
		return fmt.Errorf("%s is not a number of seconds from 0 to %d", node.Value, longest)
	}
	*s = seconds(n)
	return nil
}

func (s seconds) duration() time.Duration { return time.Duration(float64(s) * float64(time.Second)) }

func (c *Case) addFunctions(all map[string]any) (wrong error) {
	c.Functions = map[string]Function{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list, isList := all[name].([]any)
		if !isList {
			list = []any{all[name]}
		}
		replies, err := repliesOf(list)
		if err != nil {
			wrong = errors.Join(wrong, fmt.Errorf("functions: %s: %w", name, err))
			continue
		}
		c.Functions[name] = standIn(replies)
	}
	return wrong
}

// standIn returns a function with a reply for each call, the last one for all later calls.
func standIn(replies []reply) Function {
	var mu sync.Mutex
	n := 0
	return func(Call) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		r := replies[min(n, len(replies)-1)]
		n++
		if r.Error != "" {
			return nil, &Error{r.Error, r.Cause}
		}
		return r.Output, nil
	}
}

// reply is the reply of a stand-in in a file.
type reply struct {
	Output       any    `json:"output"`
	Error, Cause string `json:",omitempty"`
}

func repliesOf(list []any) (replies []reply, err error) {
	for i, entry := range list {
		members, ok := entry.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("reply %d is not a mapping; allowed: output, or error and cause", i+1)
		}
		for name := range members {
			if !slices.Contains([]string{"output", "error", "cause"}, name) {
				return nil, fmt.Errorf("reply %d has the member %q; allowed: output, or error and cause", i+1, name)
			}
		}
		output, hasOutput := members["output"]
		r := reply{Output: output}
		r.Error, _ = members["error"].(string)
		r.Cause, _ = members["cause"].(string)
		if (r.Error == "") != hasOutput {
			return nil, fmt.Errorf("reply %d needs output or error, and not both", i+1)
		}
		replies = append(replies, r)
	}
	if len(replies) == 0 {
		return nil, errors.New("it has no replies")
	}
	return replies, nil
}

// Run runs the case, and returns the differences from the wanted result, a text each.
func (c Case) Run(ctx context.Context) (result Result, differences []string, err error) {
	if wrong := c.checkWant(); wrong != nil {
		return result, nil, cmp.Or(c.Verify(), wrong)
	}
	result, err = c.Test.Run(ctx)
	if err != nil {
		return result, nil, err
	}
	return result, c.want.differences(result), nil
}

// Verify returns the mistakes in the case that Run finds before it runs the flow. It does not check
// a flow that is not valid.
func (c Case) Verify() error {
	if flow, _ := language.Parse(c.Flow); flow == nil {
		return nil
	}
	_, err := c.newRun().prepare()
	return errors.Join(c.checkWant(), c.placed(err))
}

// ends are the states in which an execution can end.
var ends = []string{
	string(machine.StatusSucceeded), string(machine.StatusFailed), string(machine.StatusStopped), string(machine.StatusTimedOut),
}

// checkWant reports numbers below zero, and names that no flow of the test has.
func (c Case) checkWant() (err error) {
	if status := string(c.want.Status); status != "" && !slices.Contains(ends, status) {
		err = fmt.Errorf("want: status %q is unknown%s (allowed: %s)", status, similar.DidYouMean(status, ends), strings.Join(ends, ", "))
	}
	if elapsed := c.want.ElapsedSeconds; elapsed != nil && *elapsed < 0 {
		err = errors.Join(err, fmt.Errorf("want: elapsedSeconds is %v; allowed: 0 or more", *elapsed))
	}
	for _, step := range slices.Sorted(maps.Keys(c.want.Calls)) {
		if calls := c.want.Calls[step]; calls < 0 {
			err = errors.Join(err, fmt.Errorf("want: calls of %s are %d; allowed: 0 or more", step, calls))
		}
	}
	flow, _ := language.Parse(c.Flow)
	if flow == nil {
		return err // Run reports the mistakes of the flow
	}
	var names []string
	for _, step := range (&run{Test: c.Test, flow: flow}).withSubflows().All {
		names = append(names, step.Name)
	}
	wanted := slices.Concat(slices.Sorted(maps.Keys(c.want.Calls)), slices.Sorted(maps.Keys(c.want.Inputs)))
	if c.want.Waits != "" {
		wanted = append(wanted, c.want.Waits)
	}
	for _, name := range wanted {
		if !slices.Contains(names, name) {
			err = errors.Join(err, fmt.Errorf("want: the flow has no step %q%s", name, similar.DidYouMean(name, names)))
		}
	}
	return err
}

func (w want) differences(r Result) (all []string) {
	differs := func(what string, want, got any) {
		if want != got {
			all = append(all, fmt.Sprintf("%s is %v, want %v", what, got, want))
		}
	}
	ofStatus := w.Status != "" || w.Waits == "" && w.Error == ""
	if ofStatus {
		status := w.Status
		if status == "" {
			status = machine.StatusSucceeded
		}
		why := ""
		if r.Error != "" {
			why = fmt.Sprintf(" (%s: %s)", r.Error, r.Cause)
		}
		if r.Waits != "" {
			why = fmt.Sprintf(" (step %s waits, and nothing ends that)", r.Waits)
		}
		if r.Status != status {
			all = append(all, fmt.Sprintf("status is %s%s, want %s", r.Status, why, status))
		}
	}
	if w.Error != "" && w.Error != r.Error {
		why := ""
		if r.Cause != "" {
			why = fmt.Sprintf(" (%s)", r.Cause)
		}
		all = append(all, fmt.Sprintf("error is %s%s, want %s", r.Error, why, w.Error))
	}
	if w.Waits != "" || !ofStatus { // else the status says it
		differs("waits", cmp.Or(w.Waits, "none"), cmp.Or(r.Waits, "none"))
	}
	if w.ElapsedSeconds != nil {
		differs("elapsedSeconds", *w.ElapsedSeconds, r.Elapsed.Seconds())
	}
	for _, step := range slices.Sorted(maps.Keys(w.Calls)) {
		differs("calls of "+step, w.Calls[step], r.Count(step))
	}
	for _, step := range slices.Sorted(maps.Keys(w.Inputs)) {
		all = append(all, w.inputsDiffer(step, r)...)
	}
	for _, unused := range r.UnusedAnswers {
		all = append(all, "no step waited for "+unused)
	}
	if diff := w.outputDiffers(r); diff != "" {
		all = append(all, diff)
	}
	return all
}

// inputsDiffer compares the inputs of the first calls of a step, in their order, with the wanted
// ones.
func (w want) inputsDiffer(step string, r Result) (all []string) {
	calls := slices.DeleteFunc(slices.Clone(r.Calls), func(call Call) bool { return call.Step != step })
	for i, input := range w.Inputs[step] {
		if i == len(calls) {
			times := fmt.Sprint(i, " times")
			if i == 1 {
				times = "once"
			}
			return append(all, fmt.Sprintf("inputs of %s: want %d, and the step was called %s", step, len(w.Inputs[step]), times))
		}
		want, err := inputOf(input)
		if err != nil {
			return append(all, fmt.Sprintf("inputs of %s: want %d: %v", step, i+1, err))
		}
		got, _ := value.ParseJSON(calls[i].Input) // is JSON
		for _, difference := range partDiffers("", want, got) {
			all = append(all, fmt.Sprintf("input of call %d of %s: %s", i+1, step, difference))
		}
	}
	return all
}

// partDiffers compares the value at a place with the wanted value. Wanted objects may lack members.
func partDiffers(place string, want, got value.Value) (all []string) {
	differ := func() []string {
		return []string{fmt.Sprintf("%s is %.200s, want %.200s", cmp.Or(place, "it"), got, want)}
	}
	if want.Kind() != got.Kind() || want.Kind() == value.KindArray && want.Len() != got.Len() {
		return differ()
	}
	switch want.Kind() {
	case value.KindObject:
		for _, m := range want.Members() {
			inside := strings.TrimPrefix(place+"."+m.Key, ".")
			if of := got.Get(m.Key); of.IsMissing() {
				all = append(all, fmt.Sprintf("%s is missing, want %.200s; %s is %.200s", inside, m.Value, cmp.Or(place, "it"), got))
			} else {
				all = append(all, partDiffers(inside, m.Value, of)...)
			}
		}
	case value.KindArray:
		for i, m := range want.Members() {
			all = append(all, partDiffers(fmt.Sprintf("%s[%d]", place, i), m.Value, got.At(i))...)
		}
	case value.KindMissing, value.KindNull, value.KindBool, value.KindNumber, value.KindString:
		if !value.Equal(want, got) {
			return differ()
		}
	}
	return all
}

// outputDiffers compares outputs as JSON.
func (w want) outputDiffers(r Result) string {
	if w.Output.IsZero() {
		return ""
	}
	want, _ := json.MarshalIndent(written(w.Output), "", "  ")
	var output any
	_ = json.Unmarshal(r.Output, &output) // missing after a failure
	got, _ := json.MarshalIndent(output, "", "  ")
	if string(got) == string(want) {
		return ""
	}
	return "output differs (- want, + got):\n" + lineDiff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n"))
}

// maxDiff bounds the pairs of lines that are compared. A pair takes 8 bytes.
const maxDiff = 1 << 22

// lineDiff shows the lines of both texts, common lines once. Of long texts it shows where they
// begin to differ.
func lineDiff(want, got []string) string {
	if len(want)*len(got) > maxDiff {
		same := 0
		for same < min(len(want), len(got)) && want[same] == got[same] {
			same++
		}
		const shown = 100 // fewer than maxDiff allows
		part := func(lines []string) []string { return lines[min(same, len(lines)):min(same+shown, len(lines))] }
		return fmt.Sprintf("  from line %d on:\n", same+1) + lineDiff(part(want), part(got))
	}
	common := make([][]int, len(want)+1) // common[i][j] is how many lines want[i:] and got[j:] have in common
	for i := len(want); i >= 0; i-- {
		common[i] = make([]int, len(got)+1)
		for j := len(got) - 1; j >= 0 && i < len(want); j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); want[i] == got[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var out strings.Builder
	for i, j := 0, 0; i < len(want) || j < len(got); {
		switch {
		case i < len(want) && j < len(got) && want[i] == got[j]:
			out.WriteString("    " + want[i] + "\n")
			i, j = i+1, j+1
		case i < len(want) && (j == len(got) || common[i+1][j] >= common[i][j+1]):
			out.WriteString("  - " + want[i] + "\n")
			i++
		default:
			out.WriteString("  + " + got[j] + "\n")
			j++
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}
