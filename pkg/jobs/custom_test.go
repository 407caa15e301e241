package jobs

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestParseTableReportsMistakes: a declaration that cannot be right is rejected when the function
// starts.
func TestParseTableReportsMistakes(t *testing.T) {
	t.Parallel()
	const arn = `"function":"arn:aws:lambda:eu-central-1:111122223333:function:render"`
	const same = `{"source":"s","detail-type":"T","id":"i"}`
	event := func(members string) string {
		return `{"custom:a":{` + arn + `,"event":{"source":"com.example","detail-type":"T","id":"detail.job"` + members + `}}}`
	}
	for text, want := range map[string]string{
		`[]`:                                    "the declaration of the kinds is array",
		`{"custom:a":`:                          "is invalid JSON",
		`{"batch-job":{` + arn + `}}`:           `"batch-job" is not the name of a custom kind`,
		`{"custom:A":{` + arn + `}}`:            `"custom:A" is not the name of a custom kind`,
		`{"custom:a":{}}`:                       "custom:a: function is missing",
		`{"custom:a":{"function":"render"}}`:    `custom:a: function is "render"; write the ARN`,
		`{"custom:a":{"functions":"x"}}`:        `custom:a: unknown field "functions"; allowed: function, event`,
		`{"custom:a":{` + arn + `,"event":{}}}`: "custom:a: event: source is not that of events",
		strings.Replace(event(""), `"detail.job"`, `"$.job"`, 1):                                        "id is not a path of the event",
		strings.Replace(event(""), `"T"`, `""`, 1):                                                      "detail-type is missing",
		strings.Replace(event(""), `"T"`, `"Batch Job State Change"`, 1):                                `"Batch Job State Change" is that of a kind`,
		event(`,"succeeded":["a"]`):                                                                     "need status",
		event(`,"status":"detail.s"`):                                                                   "status needs succeeded, failed or stopped",
		event(`,"status":"state","failed":["a"]`):                                                       "status is not a path below detail",
		event(`,"status":"detail.s","failed":["a"],"stopped":["a"]`):                                    `status "a" is in two places`,
		`{"custom:a":{` + arn + `,"event":` + same + `},"custom:b":{` + arn + `,"event":` + same + `}}`: "custom:b: custom:a has events of the same source",
	} {
		_, err := ParseTable(text)
		if refused, ok := errors.AsType[*RequestError](err); !ok || refused.Name != ErrorInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	for _, text := range []string{"", "{}", `{"custom:a":{` + arn + `}}`, event(""), event(`,"status":"detail.s","failed":["a"]`)} {
		if _, err := ParseTable(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestCustomKindsAreFound: each custom kind is found by its name, which is its action; a declared
// one has its function.
func TestCustomKindsAreFound(t *testing.T) {
	t.Parallel()
	table := declared(t)
	for _, find := range []func(string) (Kind, bool){Find, ForAction, table.Find} {
		if kind, ok := find("custom:other"); !ok || !kind.Custom() || kind.Function != "" || !kind.CanStop() || !kind.HasEvents() {
			t.Errorf("got %+v, %t", kind, ok)
		}
		for _, name := range []string{"custom:", "custom:A", "custom:a b", "custom:1", "customs:a", "custom:" + strings.Repeat("a", 58)} {
			if kind, ok := find(name); ok {
				t.Errorf("%s is %+v", name, kind)
			}
		}
	}
	if kind, _ := table.Find("custom:render-video"); kind.Function == "" || kind.Source != "com.example.render" {
		t.Errorf("got %+v", kind)
	}
	if got := table.Custom(); len(got) != 1 || len(table.Kinds()) != len(Kinds())+1 {
		t.Errorf("the table has %d custom kinds", len(got))
	}
	if slices.ContainsFunc(Kinds(), Kind.Custom) {
		t.Error("a custom kind is in the table of this package")
	}
}

// TestCustomEventsNeedTheirSource: events of another source, or of an undeclared kind, tell
// nothing.
func TestCustomEventsNeedTheirSource(t *testing.T) {
	t.Parallel()
	text := file(t, "custom:render-video", "success.event.json")
	if _, seen, err := declared(t).ReadEvent(text); err != nil || !seen.IsHint() {
		t.Errorf("got %+v, %v; want a hint", seen, err)
	}
	for name, read := range map[string]func() error{
		"undeclared": func() error { _, _, err := ReadEvent(text); return err },
		"another source": func() error {
			_, _, err := declared(t).ReadEvent([]byte(strings.Replace(string(text), "com.example.render", "com.example.others", 1)))
			return err
		},
	} {
		if err := read(); !errors.Is(err, ErrNoEnd) {
			t.Errorf("%s: got %v, want ErrNoEnd", name, err)
		}
	}
}

// TestCustomDescriptions: a status that the function cannot mean is an error, because the wait
// would never end.
func TestCustomDescriptions(t *testing.T) {
	t.Parallel()
	kind, _ := Find("custom:a")
	for response, want := range map[string]string{
		`{"status":"done"}`:    `"done" as status: want running, succeeded, failed, stopped or unknown`,
		`{}`:                   `"" as status`,
		`{"status":"unknown"}`: `the function of custom:a says that there is no job "j-1"`,
		`oops`:                 "invalid JSON",
	} {
		if _, _, err := kind.ReadDescription(account, region, "j-1", []byte(response)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", response, err, want)
		}
	}
	const noID = `jobs: custom:a: the function returned "" as job_id: want 1 to 512 visible ASCII characters`
	if _, err := kind.ReadStart(account, region, []byte(`{}`), []byte(`{}`)); err == nil || err.Error() != noID {
		t.Errorf("a start without a job_id: %v, want %s", err, noID)
	}
	if got, want := string(kind.CustomStart([]byte(`{"n":1}`))), `{"action":"start","kind":"custom:a","params":{"n":1}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestCustomIDsDoNotNameTheAccount: the id of a custom job may be the ARN of anything, and its
// function runs in the account of the caller.
func TestCustomIDsDoNotNameTheAccount(t *testing.T) {
	t.Parallel()
	const id = "arn:aws:mediaconvert:us-east-1:999988887777:jobs/1"
	want := Key{Kind: "custom:render-video", Account: "111122223333", Region: "eu-central-1", Name: id}
	kind, _ := Find(want.Kind)
	started, err := kind.ReadStart(want.Account, want.Region, []byte(`{}`), []byte(`{"job_id":"`+id+`"}`))
	if err != nil || started.Key != want {
		t.Errorf("a start has the key %v, %v; want %v", started.Key, err, want)
	}
	event := strings.ReplaceAll(string(file(t, want.Kind, "success.event.json")), "render-42", id)
	if key, _, err := declared(t).ReadEvent([]byte(event)); err != nil || key != want {
		t.Errorf("an event has the key %v, %v; want %v", key, err, want)
	}
}
