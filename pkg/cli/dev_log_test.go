package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestLogFormat(t *testing.T) {
	t.Parallel()
	got := do(t, "dev", "--log-format", "xml")
	if got.exit != ExitUsage || !strings.Contains(got.stderr, `--log-format is "xml"; allowed: text, json`) {
		t.Errorf("got %+v", got)
	}
}

// An execution whose function has no runner any more says so in the log, and wherever it is shown.
func TestExecutionsThatCannotContinue(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	flow := t.TempDir() + "/blocked.yaml"
	const text = "version: v1\ntype: flow\nname: blocked\nsteps:\n  - {type: wait, name: W, duration: 1}\n" +
		"  - {type: task, name: T, resourceArn: 'acs:fc:::services/s/functions/mytask'}\n"
	if err := os.WriteFile(flow, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d := startDev(t, program(t), env, "--task", "mytask=exec:cat")
	d.do("start", flow, "--name", "one")
	d.do("start", flow, "--name", "two")
	d.kill()
	d = startDev(t, program(t), env)
	const why = "no runner for mytask; start waitless dev with --task mytask=exec:COMMAND"
	if shown := d.do("show", "blocked/one"); !strings.Contains(shown, "blocked   cannot continue: "+why+"\n") {
		t.Errorf("show says:\n%s", shown)
	}
	if list := d.do("list"); strings.Count(list, "cannot continue: "+why) != 2 {
		t.Errorf("list says:\n%s", list)
	}
	conforms(t, "execution", d.do("show", "blocked/one", "--json"))
	conforms(t, "executions", d.do("list", "--json"))
	d.interrupt()
	warning := regexp.MustCompile(`WARN  executions cannot continue flow=blocked executions=2 one=(one|two) why="` + regexp.QuoteMeta(why) + `"\n`)
	if log := d.stderr.String(); len(warning.FindAllString(log, -1)) != 1 {
		t.Errorf("dev logs:\n%s", log)
	}
	d = startDev(t, program(t), env, "--task", "mytask=exec:cat")
	d.until("Succeeded", "show", "blocked/one")
	d.until("Succeeded", "show", "blocked/two")
	d.interrupt()
	if log := d.stderr.String(); strings.Contains(log, "WARN") || strings.Count(log, "INFO  execution succeeded    execution=blocked/") != 2 {
		t.Errorf("dev logs:\n%s", log)
	}
}

func TestDevWarnsOfSignedCallbacksWithoutASecret(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	flow := writeFile(t, "signed.yaml", "version: v1\ntype: flow\nname: signed\nsteps: [{type: task, name: Ask, pattern: waitForCallback, signed: true, "+
		"resourceArn: 'acs:fc:::services/s/functions/echo'}]\n")
	if got := doWith(t, "", env, "flows", "put", flow); got.exit != ExitSucceeded {
		t.Fatalf("%+v", got)
	}
	const warning = `signed callbacks are rejected, because no secret is configured flow=signed set=WAITLESS_CALLBACK_SECRET`
	d := startDev(t, program(t), env)
	d.interrupt()
	if log := d.stderr.String(); strings.Count(log, warning) != 1 {
		t.Errorf("dev logs:\n%s", log)
	}
	env["WAITLESS_CALLBACK_SECRET"] = "whsec_" + strings.Repeat("ab", 24)
	d = startDev(t, program(t), env)
	d.interrupt()
	if log := d.stderr.String(); strings.Contains(log, warning) {
		t.Errorf("dev logs:\n%s", log)
	}
}
