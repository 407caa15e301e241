package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/internal/cli/view"
)

const reservingFlow = `version: v1
type: flow
steps:
  - {type: task, name: Reserve, resourceArn: acs:fc:::services/shop/functions/reserve, outputMappings: [{target: reserved, source: $local.reserved}]}
  - {type: task, name: Charge, resourceArn: acs:fc:::services/shop/functions/charge, outputMappings: [{target: paid, source: $local.paid}]}
`

// One terminal runs, fails and redrives; the next run continues. Reserve has no second call.
func TestRedrive(t *testing.T) {
	t.Parallel()
	env, dir := inStore(t), t.TempDir()
	flow, calls, money := writeIn(t, dir, "order.yaml", reservingFlow), filepath.Join(dir, "calls"), filepath.Join(dir, "money")
	tasks := []string{
		"--task", `reserve=exec:sh -c 'echo reserve >>` + calls + `; echo {\"reserved\":true}'`,
		"--task", `charge=exec:sh -c 'echo charge >>` + calls + `; test -e ` + money + ` && echo {\"paid\":true}'`,
	}
	const input = `{"order":7}`
	run := func(name string) result {
		return doWith(t, "", env, append([]string{"run", flow, "--name", name, "--input", input}, tasks...)...)
	}
	if got := run("one"); got.exit != view.ExitFailed {
		t.Fatalf("%+v", got)
	}
	doWith(t, "", env, "redrive", "order/one", "--name", "again-failed")
	run("again-failed")
	got := doWith(t, "", env, "redrive", "order/one", "--name", "again-failed")
	if got.stderr != "redrive order/again-failed goes on from there; --name starts another redrive of order/one\n" {
		t.Errorf("%+v", got)
	}
	writeIn(t, dir, "money", "")
	for _, want := range []string{"order/one-redrive  Starting, from step Charge of order/one\n", "order/one-redrive  exists already: Starting\n"} {
		if got := doWith(t, "", env, "redrive", "order/one"); got.exit != view.ExitSucceeded || got.stdout != want ||
			!strings.Contains(got.stderr, "no worker runs") {
			t.Errorf("%+v", got)
		}
	}
	if got := run("one-redrive"); got.exit != view.ExitSucceeded || got.stdout != `{"paid":true,"reserved":true}`+"\n" {
		t.Errorf("%+v", got)
	}
	if got, err := os.ReadFile(calls); err != nil || string(got) != "reserve\ncharge\ncharge\ncharge\n" {
		t.Errorf("calls %q, %v", got, err)
	}
	for args, want := range map[string]string{
		"show order/one-redrive":              "redriven  from order/one at step Charge\n",
		"show order/one":                      "status    Failed\n",
		"graph order --execution one-redrive": "« Reserve",
		"redrive order/one-redrive":           "it succeeded, so no step is left; rerun it to run all steps again",
		"redrive order/one --from None":       `the flow has no step "None"; go on from one that ran: Reserve, Charge`,
		"redrive order/none":                  "there is no execution order/none",
		"redrive order/one --name one":        "choose another name",
		"rerun order/one --name again":        "order/again  Starting\n",
		"redrive order/one --from Reserve":    "choose another name",
		"redrive order/one --newest --name n": "order/n  Starting, from step Charge of order/one\n",
	} {
		if got := doWith(t, "", env, strings.Fields(args)...); !strings.Contains(got.stdout+got.stderr, want) {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

const shelvesFlow = `version: v1
type: flow
steps:
  - type: foreach
    name: Shelves
    inputMappings: [{target: shelves, source: $input.shelves}]
    iterationMapping: {collection: $.shelves, item: shelf}
    maxConcurrency: 2
    steps:
      - {type: task, name: Read, resourceArn: acs:fc:::services/shop/functions/read, inputMappings: [{target: shelf, source: $input.shelf}]}
    outputMappings: [{target: read, source: $local}]
outputMappings: [{target: read, source: $local.read}]
`

// A redrive reads the shelves that were not read, and no other.
func TestRedriveOfForeach(t *testing.T) {
	t.Parallel()
	env, dir := inStore(t), t.TempDir()
	flow, calls, on := writeIn(t, dir, "shelves.yaml", shelvesFlow), filepath.Join(dir, "calls"), filepath.Join(dir, "on")
	script := writeIn(t, dir, "read.sh", `read -r input; echo "$input" >>`+calls+`; case "$input" in *D*) test -e `+on+` || exit 1;; esac; echo "$input"`)
	run := func(name string) result {
		return doWith(t, "", env, "run", flow, "--name", name, "--input", `{"shelves":["A","B","C","D","E"]}`, "--task", "read=exec:sh "+script)
	}
	if got := run("one"); got.exit != view.ExitFailed {
		t.Fatalf("%+v", got)
	}
	writeIn(t, dir, "on", "")
	if got := doWith(t, "", env, "redrive", "shelves/one"); got.exit != view.ExitSucceeded {
		t.Fatalf("%+v", got)
	}
	const want = `{"read":[{"shelf":"A"},{"shelf":"B"},{"shelf":"C"},{"shelf":"D"},{"shelf":"E"}]}` + "\n"
	if got := run("one-redrive"); got.exit != view.ExitSucceeded || got.stdout != want {
		t.Errorf("%+v", got)
	}
	read, err := os.ReadFile(calls)
	for shelf, most := range map[string]int{"A": 1, "B": 1, "C": 2, "D": 2, "E": 2} { // C may have been stopped
		if n := strings.Count(string(read), shelf); err != nil || n == 0 || n > most || shelf == "D" && n != 2 {
			t.Errorf("shelf %s was read %d times: %q, %v", shelf, n, read, err)
		}
	}
}

func TestRedriveOnAStack(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	run := s.begin("run", callbackFlow, "--name", "one")
	run.awaits("report the outcome")
	s.do("stop", "callback/one")
	run.wait()
	if got := s.do("redrive", "callback/one"); got.exit != view.ExitSucceeded || !strings.HasPrefix(got.stdout, "callback/one-redrive  ") {
		t.Fatalf("%+v", got)
	}
	follow := s.begin("run", callbackFlow, "--name", "one-redrive")
	token := follow.awaits(`waitless tokens succeed (\S+) --output`)
	if got := s.do("tokens", "succeed", token, "--output", `{"status":"ok"}`); got.exit != view.ExitSucceeded {
		t.Errorf("%+v", got)
	}
	if code := follow.wait(); code != view.ExitSucceeded || follow.stdout.String() != "{\"s\":\"ok\"}\n" {
		t.Errorf("exit %d, output %q", code, follow.stdout.String())
	}
}
