package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/internal/cli/view"
)

func TestLogFormat(t *testing.T) {
	t.Parallel()
	got := do(t, "dev", "--log-format", "xml")
	if got.exit != view.ExitUsage || !strings.Contains(got.stderr, `--log-format is "xml"; allowed: text, json`) {
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
	warning := regexp.MustCompile(`level=WARN msg="executions cannot continue" flow=blocked executions=2 one=(one|two) why="` + regexp.QuoteMeta(why) + `"\n`)
	if log := d.stderr.String(); len(warning.FindAllString(log, -1)) != 1 {
		t.Errorf("dev logs:\n%s", log)
	}
	d = startDev(t, program(t), env, "--task", "mytask=exec:cat")
	d.until("Succeeded", "show", "blocked/one")
	d.until("Succeeded", "show", "blocked/two")
	d.interrupt()
	if log := d.stderr.String(); strings.Contains(log, "WARN") || strings.Count(log, `level=INFO msg="execution succeeded" execution=blocked/`) != 2 {
		t.Errorf("dev logs:\n%s", log)
	}
}

// An outcome that was accepted while the execution cannot continue is shown as stored.
func TestOutcomeOfABlockedExecutionIsStored(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	flow := writeFile(t, "blocked.yaml", "version: v1\ntype: flow\nname: blocked\nsteps:\n"+
		"  - {type: task, name: T, pattern: waitForCallback, resourceArn: 'acs:fc:::services/s/functions/mytask'}\n")
	d := startDev(t, program(t), env, "--task", "mytask=exec:cat")
	d.do("start", flow, "--name", "one")
	d.until("callback", "show", "blocked/one")
	d.interrupt()
	d = startDev(t, program(t), env)
	const stored = "outcome   stored; it is applied once the execution can continue\n"
	if shown := d.do("show", "blocked/one"); strings.Contains(shown, stored) {
		t.Errorf("before the outcome, show says:\n%s", shown)
	}
	d.do("tokens", "succeed", "blocked/one")
	if shown := d.do("show", "blocked/one"); !strings.Contains(shown, stored) {
		t.Errorf("show says:\n%s", shown)
	}
	conforms(t, "execution", d.do("show", "blocked/one", "--json"))
	d.interrupt()
	d = startDev(t, program(t), env, "--task", "mytask=exec:cat")
	d.until("Succeeded", "show", "blocked/one")
	d.interrupt()
}

func TestDevWarnsOfSignedCallbacksWithoutASecret(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	for name, fields := range map[string]string{
		"plain":   "signed: true, resourceArn: 'acs:fc:::services/s/functions/echo'",
		"shop":    "signed: shop, resourceArn: 'acs:fc:::services/s/functions/echo'",
		"cannot":  "signed: shop, resourceArn: 'acs:fc:::services/s/functions/mytask'", // has no runner
		"another": "resourceArn: 'acs:fc:::services/s/functions/echo'",
	} {
		flow := writeFile(t, "signed.yaml", "version: v1\ntype: flow\nname: "+name+"\nsteps: [{type: task, name: Ask, pattern: waitForCallback, "+fields+"}]\n")
		if got := doWith(t, "", env, "flows", "put", flow); got.exit != view.ExitSucceeded {
			t.Fatalf("%+v", got)
		}
	}
	secret := "whsec_" + strings.Repeat("ab", 24)
	for _, c := range []struct {
		secrets string
		want    []string
	}{
		{"", []string{"flow=plain sender=default", "flow=shop sender=shop"}},
		{secret, []string{"flow=shop sender=shop"}},
		{`{"shop":"` + secret + `"}`, []string{"flow=plain sender=default"}},
		{`{"default":"` + secret + `","shop":"` + secret + `"}`, nil},
	} {
		env["WAITLESS_CALLBACK_SECRET"] = c.secrets
		d := startDev(t, program(t), env)
		d.interrupt()
		const warning = "signed callbacks are rejected, because no secret of their sender is configured\" "
		log := d.stderr.String()
		for _, want := range c.want {
			if !strings.Contains(log, warning+want+" set=WAITLESS_CALLBACK_SECRET\n") {
				t.Errorf("%q: dev does not warn of %s:\n%s", c.secrets, want, log)
			}
		}
		if got := strings.Count(log, warning); got != len(c.want) {
			t.Errorf("%q: %d warnings; want %d:\n%s", c.secrets, got, len(c.want), log)
		}
	}
}
