package rest_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/audit"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/token"
)

const onePass = "version: v1\ntype: flow\nsteps:\n  - type: pass\n    name: One\n"

func (a *api) put(name, text string) rest.Flow {
	a.t.Helper()
	flow, err := a.PutFlow(a.t.Context(), name, []byte(text), "")
	if err != nil {
		a.t.Fatal(err)
	}
	return flow
}

func TestFlowsAreListedAndShown(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	if list, err := a.Flows(t.Context(), ""); err != nil || len(list) != 0 {
		t.Errorf("listed %+v, %v", list, err)
	}
	older := a.put("b", onePass)
	newer := a.put("b", strings.Replace(onePass, "One", "Two", 1))
	other := a.put("a", onePass)
	list, err := a.Flows(t.Context(), "")
	if err != nil || len(list) != 3 || list[0].Name != "a" || list[0].Hash != other.Hash || list[0].CreatedTime == "" || list[0].Definition != "" {
		t.Errorf("listed %+v, %v", list, err)
	}
	if list, err := a.Flows(t.Context(), "b"); err != nil || len(list) != 2 {
		t.Errorf("listed %+v, %v", list, err)
	}
	for hash, want := range map[string]string{older.Hash: onePass, older.Hash[:12]: onePass, newer.Hash: strings.Replace(onePass, "One", "Two", 1)} {
		if flow, err := a.Flow(t.Context(), "b", hash); err != nil || flow.Definition != want || !strings.HasPrefix(flow.Hash, hash) {
			t.Errorf("shown %+v, %v", flow, err)
		}
	}
	if flow, err := a.Flow(t.Context(), "a", ""); err != nil || flow.Hash != other.Hash || flow.Definition != onePass {
		t.Errorf("shown %+v, %v", flow, err)
	}
	_, err = a.Flow(t.Context(), "b", "xyz")
	wantRefused(t, err, http.StatusNotFound, engine.CodeNotFound, "flow b has no definition with the hash xyz")
	_, err = a.Flow(t.Context(), "c", "")
	wantRefused(t, err, http.StatusNotFound, engine.CodeNotFound, `there is no flow "c"`)
}

// Seventeen definitions: two of their hashes begin with the same digit.
func TestAHashThatIsTooShort(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	seen := map[string]bool{}
	for i := range 17 {
		hash := a.put("b", strings.Replace(onePass, "One", "Step"+strings.Repeat("x", i), 1)).Hash
		if seen[hash[:1]] {
			_, err := a.Flow(t.Context(), "b", hash[:1])
			wantRefused(t, err, http.StatusBadRequest, engine.CodeInvalid, "whose hash begins with "+hash[:1])
			return
		}
		seen[hash[:1]] = true
	}
	t.Error("no two hashes begin with the same digit")
}

func TestAFlowInUseIsNotDeleted(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.started("callback", `{}`)
	for _, step := range []string{"before it runs", "while it waits"} {
		_, err := a.DeleteFlow(t.Context(), "callback")
		wantRefused(t, err, http.StatusConflict, engine.CodeConflict, "flow callback is in use: callback/one has not ended; stop its executions")
		if list, err := a.Flows(t.Context(), ""); err != nil || len(list) != 1 {
			t.Errorf("%s: listed %+v, %v", step, list, err)
		}
		a.run()
	}
	if _, err := a.Stop(t.Context(), "callback", "one", rest.Failure{}); err != nil {
		t.Fatal(err)
	}
	a.run()
	deleted, err := a.DeleteFlow(t.Context(), "callback")
	if err != nil || len(deleted) != 1 || deleted[0].Name != "callback" {
		t.Errorf("deleted %+v, %v", deleted, err)
	}
	if list, err := a.Flows(t.Context(), ""); err != nil || len(list) != 0 {
		t.Errorf("listed %+v, %v", list, err)
	}
	_, err = a.DeleteFlow(t.Context(), "callback")
	wantRefused(t, err, http.StatusNotFound, engine.CodeNotFound, `there is no flow "callback"`)
	// What ended before still tells the names of its steps.
	events, _, err := a.History(t.Context(), "callback", "one", "", false, 0)
	if err != nil || events[1].StepName != "mytask" {
		t.Errorf("history %+v, %v", events, err)
	}
}

// One execution's token is found without a look at the others.
func TestTheTokenOfOneExecution(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	text := a.waitingToken()
	if found, ok, err := a.openToken("callback", "one", true); err != nil || !ok || found.Token != text || found.Step != "mytask" {
		t.Errorf("token %+v, %t, %v", found, ok, err)
	}
	if found, ok, err := a.openToken("callback", "one", false); err != nil || !ok || found.Token != token.Mask(text) {
		t.Errorf("masked token %+v, %t, %v", found, ok, err)
	}
	if _, first, err := a.Succeed(t.Context(), text, object(t, `{}`)); err != nil || !first {
		t.Fatal(err)
	}
	if found, ok, err := a.openToken("callback", "one", true); err != nil || ok {
		t.Errorf("token %+v, %v", found, err)
	}
	_, _, err := a.openToken("callback", "two", true)
	wantRefused(t, err, http.StatusNotFound, engine.CodeNotFound, "")
}

// The audit of a put has the hash, and of a start the name, which the path has not.
func TestAuditNamesTheHashAndTheExecution(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	var lines bytes.Buffer
	a.server.Config.Handler = audit.Handler(slog.New(slog.NewTextHandler(&lines, nil)), "caller", checkedHandler(t, a.config))
	flow := a.put("f", "version: v1\ntype: flow\nsteps: [{type: pass, name: P}]\n")
	first, _, err := a.Start(t.Context(), "f", rest.Start{Hash: flow.Hash})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.Start(t.Context(), "f", rest.Start{Name: "two", Hash: flow.Hash}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"/flows/f " + flow.Hash, "/flows/f/executions " + first.Name, "/flows/f/executions two"} {
		if !strings.Contains(lines.String(), `object="`+want+`"`) {
			t.Errorf("no line has the object %q; the audit is\n%s", want, &lines)
		}
	}
}
