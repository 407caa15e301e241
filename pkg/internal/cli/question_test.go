package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// rules: B-19 B-20 B-21
func TestDevAsks(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	target, notices := receiver(t, 204)
	env[notifyVariable] = notifySecret
	const asked, input = "Ship order A-17? (Approve, Reject)", `{"order":"A-17","items":[]}`
	doWith(t, "", env, "start", "../../../events/orders/flow.yaml", "--name", "one", "--input", input, "--notify", target, "--notify-waits")
	doWith(t, "", env, "start", "../../../events/orders/flow.yaml", "--name", "two", "--input", input)
	d := startDev(t, program(t), env)
	if notice := next(t, notices); fmt.Sprint(notice.Data["question"]) != "map[choices:[Approve Reject] prompt:Ship order A-17?]" {
		t.Errorf("the notice is %+v", notice)
	}
	d.until(`asks +Ship order A-17\? \(Approve, Reject\)`, "show", "orders/one")
	for _, args := range [][]string{{"tokens", "list", "orders/one"}, {"tokens", "show", "orders/one"}, {"history", "orders/one"}} {
		if got := d.do(args...); !strings.Contains(got, asked) && !strings.Contains(got, `"prompt":"Ship order A-17?"`) {
			t.Errorf("%s: %s", args, got)
		}
	}
	conforms(t, "tokens", d.do("tokens", "list", "--json"))
	conforms(t, "execution", d.do("show", "orders/one", "--json"))
	for args, want := range map[string]string{
		"--choice No":                 `choice "No" is unknown (allowed: Approve, Reject)`,
		"--choice approve":            `choice "approve" is unknown; did you mean "Approve"? (allowed: Approve, Reject)`,
		"--choice Reject --output {}": "--choice and --output are both given",
	} {
		got := doWith(t, "", env, append([]string{"tokens", "succeed", "orders/one"}, strings.Fields(args)...)...)
		if got.exit != view.ExitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v, want %s", args, got, want)
		}
	}
	conforms(t, "token", d.do("tokens", "succeed", "orders/one", "--choice", "Approve", "--json"))
	d.endedBy("orders/one", "hand")

	url := strings.TrimSpace(d.do("tokens", "url", "orders/two"))
	_, page := d.ask(url, "Accept", "text/html")
	if !strings.Contains(page, `value="1" dir="auto">Reject</button>`) || !strings.Contains(page, "<dd>Approve</dd>") {
		t.Errorf("the page is %s", page)
	}
	d.post(url, "choice=1", "Content-Type", "application/x-www-form-urlencoded")
	d.until(`OrderRejected`, "show", "orders/two")
}
