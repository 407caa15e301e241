package jobs

import (
	"slices"
	"testing"
)

// A start that asks for several jobs would have one of them awaited, so it is rejected.
func TestStartOfOneJob(t *testing.T) {
	t.Parallel()
	kind := Kind{Name: "k", Service: "s", StartOp: "Run", parts: &parts{start: startSpec{single: "Items"}}}
	for params, want := range map[string]string{
		`{}`: "", `{"items":1}`: "", `{"items":["a"]}`: "", `{"items":[{}]}`: "", `{"items":null}`: "",
		`{"items":2}`:         "params.items is number 2: want one job for each start",
		`{"items":"1"}`:       `params.items is string "1": want one job for each start`,
		`{"items":[]}`:        "params.items is array []: want one job for each start",
		`{"items":["a","b"]}`: `params.items is array ["a","b"]: want one job for each start`,
	} {
		_, err := kind.StartParams([]byte(params), "once")
		switch {
		case want != "":
			checkRefusal(t, err, ErrorInvalid, want)
		case err != nil:
			t.Errorf("%s: %v", params, err)
		}
	}
}

// A service may respond to a start without an error that it started nothing.
func TestStartOfNothing(t *testing.T) {
	t.Parallel()
	kind := Kind{Name: "k", Service: "s", StartOp: "Run", parts: &parts{
		start:    startSpec{key: "jobs.id", id: "jobs.id", refused: "failures.reason"},
		describe: describeSpec{idForm: formOf(`^[a-z]+$`, 9)},
	}}
	_, err := kind.ReadStart(account, region, nil, []byte(`{"jobs":[],"failures":[{"reason":"RESOURCE:MEMORY"}]}`))
	checkRefusal(t, err, ErrorFailed, "Run of s started nothing: RESOURCE:MEMORY")
	started, err := kind.ReadStart(account, region, nil, []byte(`{"jobs":[{"id":"a"}],"failures":[]}`))
	if err != nil || started.ID != "a" {
		t.Errorf("got %+v, %v", started, err)
	}
}

func TestEachValueOfAPath(t *testing.T) {
	t.Parallel()
	document, err := decode([]byte(`{"a":[{"b":1},{"c":2},{"B":[3,"x"]},{"b":null},{"b":""}],"d":"{\"e\":\"f\"}","g":"{"}`))
	if err != nil {
		t.Fatal(err)
	}
	for p, want := range map[path][]string{"a.b": {"1", "3", "x"}, "d.e": {"f"}, "g": {"{"}, "g.h": nil, "a.b.c": nil, "": nil, "z": nil} {
		if got := p.each(document); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", p, got, want)
		}
	}
}

// A crawler describes its last run also while the next one goes on.
func TestBusyResource(t *testing.T) {
	t.Parallel()
	d := describeSpec{status: "last.status", busy: "state", idle: "READY"}
	for text, want := range map[string]string{
		`{"state":"READY","last":{"status":"FAILED"}}`:   "FAILED",
		`{"state":"RUNNING","last":{"status":"FAILED"}}`: "RUNNING",
		`{"state":"RUNNING"}`:                            "RUNNING",
		`{"state":"READY"}`:                              "READY",
		`{"last":{"status":"FAILED"}}`:                   "FAILED",
		`{}`:                                             "",
	} {
		document, err := decode([]byte(text))
		if got, _ := d.word(document); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
}
