package simulated

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/value"
)

var (
	// start has a fraction, so that flooring matters.
	start  = time.UnixMilli(1_767_225_600_900)
	random = [10]byte{0xff, 1, 0xff, 3, 4, 5, 6, 7, 8, 9}
)

const id = "019b76da-ab84-7f01-bf03-040506070809"

func TestStartJobReturnsTheStartInTheID(t *testing.T) {
	t.Parallel()
	inputs := []string{
		`{}`, ``, ` `, `null`, `{"delay":20}`, ` {"a":{"job_id":1}} `,
		`{"jobName":"my-job","jobDefinition":"d","jobQueue":"q","wait_time":60}`,
	}
	for _, input := range inputs {
		t.Run(input, func(t *testing.T) {
			t.Parallel()
			answer, err := StartJob([]byte(input), start, random)
			if want := `{"job_id":"` + id + `"}`; err != nil || string(answer) != want {
				t.Fatalf("got %s, %v, want %s", answer, err, want)
			}
		})
	}
}

func TestStartJobRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		input string
		now   time.Time
		want  string
	}{
		{`[]`, start, `input is array []: want an object`},
		{` "x" `, start, `input is string "x": want an object`},
		{`{`, start, `input is invalid JSON (unexpected end of JSON input): want an object`},
		{`{} {}`, start, `input is invalid JSON (invalid character '{' after top-level value): want an object`},
		{`{}`, time.Unix(-1, 0), `now is 1969-12-31T23:59:59Z: want an instant from 1970 to 10889, the range of a UUIDv7`},
		{`{}`, time.UnixMilli(1 << 48), `now is 10889-08-02T05:31:50Z: want an instant from 1970 to 10889, the range of a UUIDv7`},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			t.Parallel()
			answer, err := StartJob([]byte(tt.input), tt.now, random)
			checkRefusal(t, answer, err, "InvalidArgument", tt.want)
		})
	}
}

func TestJobIDHoldsTheWholeRange(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	for _, ms := range []int64{0, 1, 999, 1000, start.UnixMilli(), 1<<48 - 1} {
		for _, b := range []byte{0, 0x5a, 0xff} {
			got, err := newJobID(time.UnixMilli(ms), [10]byte{b, b, b, b, b, b, b, b, b, b})
			if err != nil || !form.MatchString(got) {
				t.Fatalf("%d: got %q, %v", ms, got, err)
			}
			if at, ok := startOf(got); !ok || at.UnixMilli() != ms {
				t.Errorf("%d: %s reads back as %d, %t", ms, got, at.UnixMilli(), ok)
			}
		}
	}
}

func TestGetJobStatus(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		fields string // after the job_id
		after  time.Duration
		status string
		count  int
	}{
		{"delay left out, before", ``, 59 * time.Second, "running", 1},
		{"delay left out, due", ``, 60 * time.Second, "success", 1},
		{"first poll of the tutorial", `,"delay":20,"try_count":0`, 10 * time.Second, "running", 1},
		{"second poll of the tutorial", `,"delay":20,"try_count":1`, 20 * time.Second, "success", 2},
		{"fourth poll of 41", `,"delay":41,"try_count":3`, 40 * time.Second, "running", 4},
		{"whole seconds: start and now are floored", `,"delay":1`, 100 * time.Millisecond, "success", 1},
		{"whole seconds: not yet the next one", `,"delay":1`, 99 * time.Millisecond, "running", 1},
		{"fraction, before", `,"delay":20.5`, 20 * time.Second, "running", 1},
		{"fraction, due", `,"delay":20.5`, 21 * time.Second, "success", 1},
		{"exponent, before", `,"delay":2e1`, 19 * time.Second, "running", 1},
		{"exponent, due", `,"delay":2E+1`, 20 * time.Second, "success", 1},
		{"zero", `,"delay":0`, 0, "success", 1},
		{"minus zero", `,"delay":-0.0`, 0, "success", 1},
		{"negative", `,"delay":-5`, 0, "success", 1},
		{"far below zero", `,"delay":-1e999`, 0, "success", 1},
		{"tiny", `,"delay":1e-9`, 0, "running", 1},
		{"huge", `,"delay":1e999999999`, 1e6 * time.Hour, "running", 1},
		{"longer than 64 bits", `,"delay":18446744073709551616`, 1e6 * time.Hour, "running", 1},
		{"start ahead of now, zero", `,"delay":0`, -time.Hour, "success", 1},
		{"start ahead of now, negative", `,"delay":-1`, -time.Hour, "success", 1},
		{"start ahead of now", `,"delay":1`, -time.Hour, "running", 1},
		{"count as a decimal", `,"delay":0,"try_count":2.0`, 0, "success", 3},
		{"count as an exponent", `,"delay":0,"try_count":2e0`, 0, "success", 3},
		{"negative count", `,"delay":0,"try_count":-1`, 0, "success", 0},
		{"largest count", `,"delay":0,"try_count":9007199254740990`, 0, "success", 9007199254740991},
		{"unknown members", `,"delay":0,"kind":"x","Delay":99,"TRY_COUNT":"x"`, 0, "success", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			answer, err := GetJobStatus([]byte(`{"job_id":"`+id+`"`+tt.fields+`}`), start.Add(tt.after))
			want := fmt.Sprintf(`{"job_id":%q,"job_status":%q,"try_count":%d}`, id, tt.status, tt.count)
			if err != nil || string(answer) != want {
				t.Fatalf("got %s, %v, want %s", answer, err, want)
			}
		})
	}
}

func TestGetJobStatusTakesAnUpperCaseID(t *testing.T) {
	t.Parallel()
	upper := strings.ToUpper(id)
	answer, err := GetJobStatus([]byte(`{"job_id":"`+upper+`"}`), start)
	if want := `{"job_id":"` + upper + `","job_status":"running","try_count":1}`; err != nil || string(answer) != want {
		t.Fatalf("got %s, %v, want %s", answer, err, want)
	}
}

func TestGetJobStatusRefuses(t *testing.T) {
	t.Parallel()
	const (
		noJob    = `: want the UUIDv7 that StartJob or SubmitJob returned`
		noDelay  = `: want a number of seconds such as 20 or 20.5 (leave it out for 60)`
		noCount  = `: want an integer from -9007199254740991 to 9007199254740990 (leave it out for 0)`
		anObject = `: want an object`
	)
	job := `{"job_id":"` + id + `",`
	tests := []struct{ input, name, want string }{
		{``, "JobNotFound", `job_id is missing` + noJob},
		{`null`, "JobNotFound", `job_id is missing` + noJob},
		{`{"delay":"x"}`, "JobNotFound", `job_id is missing` + noJob},
		{`{"Job_Id":"` + id + `"}`, "JobNotFound", `job_id is missing` + noJob},
		{`{"job_id":null}`, "JobNotFound", `job_id is null` + noJob},
		{`{"job_id":7}`, "JobNotFound", `job_id is number 7` + noJob},
		{`{"job_id":["a"]}`, "JobNotFound", `job_id is array ["a"]` + noJob},
		{`{"job_id":""}`, "JobNotFound", `job_id is string ""` + noJob},
		{`{"job_id":"job-1"}`, "JobNotFound", `job_id is string "job-1"` + noJob},
		{`{"job_id":"a2f14d2e-8a57-4d4c-9d5c-6a1f7b0f3c11"}`, "JobNotFound",
			`job_id is string "a2f14d2e-8a57-4d4c-9d5c-6a1f7b0f3c11"` + noJob},
		{`{"job_id":"019b76da-ab84-7f01-cf03-040506070809"}`, "JobNotFound",
			`job_id is string "019b76da-ab84-7f01-cf03-040506070809"` + noJob},
		{`{"job_id":"019b76da-ab84-7f01-bf03-04050607080g"}`, "JobNotFound",
			`job_id is string "019b76da-ab84-7f01-bf03-04050607080g"` + noJob},
		{`{"job_id":"019b76da-ab84-7f01-bf03---0506070809"}`, "JobNotFound",
			`job_id is string "019b76da-ab84-7f01-bf03---0506070809"` + noJob},
		{`{"job_id":"` + strings.Repeat("ä", 50) + `"}`, "JobNotFound",
			`job_id is string "` + strings.Repeat("ä", 39) + `...` + noJob},
		{job + `"delay":"20"}`, "InvalidArgument", `delay is string "20"` + noDelay},
		{job + `"delay":null}`, "InvalidArgument", `delay is null` + noDelay},
		{job + `"delay":true}`, "InvalidArgument", `delay is boolean true` + noDelay},
		{job + `"delay":{"s":1}}`, "InvalidArgument", `delay is object {"s":1}` + noDelay},
		{job + `"try_count":"1"}`, "InvalidArgument", `try_count is string "1"` + noCount},
		{job + `"try_count":1.5}`, "InvalidArgument", `try_count is number 1.5` + noCount},
		{job + `"try_count":9007199254740991}`, "InvalidArgument", `try_count is number 9007199254740991` + noCount},
		{job + `"try_count":9223372036854775807}`, "InvalidArgument", `try_count is number 9223372036854775807` + noCount},
		{job + `"try_count":1e400}`, "InvalidArgument", `try_count is number 1e400` + noCount},
		{job + `"try_count":-1e400}`, "InvalidArgument", `try_count is number -1e400` + noCount},
		{`[1]`, "InvalidArgument", `input is array [1]` + anObject},
		{`17`, "InvalidArgument", `input is number 17` + anObject},
		{`{"job_id":}`, "InvalidArgument", `input is invalid JSON (invalid character '}' looking for beginning of value)` + anObject},
	}
	for _, tt := range tests {
		t.Run(tt.input, func(t *testing.T) {
			t.Parallel()
			answer, err := GetJobStatus([]byte(tt.input), start)
			checkRefusal(t, answer, err, tt.name, tt.want)
		})
	}
}

func checkRefusal(t *testing.T, answer []byte, err error, name, want string) {
	t.Helper()
	if answer != nil || err == nil {
		t.Fatalf("got %s, %v, want an error", answer, err)
	}
	if got := errorName(err); got != name {
		t.Errorf("got the name %q, want %q", got, name)
	}
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
}

func TestEcho(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 10, 0, 15, 0, time.UTC)
	tests := []struct{ name, input, want string }{
		{"ready since now", `{"since":"2026-01-31T10:00:00Z","ready_after":15}`, `{"since":"2026-01-31T10:00:00Z","ready_after":15}`},
		{"ready, without an instant", `{"ready_after":15}`, `{"ready_after":15}`},
		{"no instant", `{"since":"noon","ready_after":15}`, `{"since":"noon","ready_after":15}`},
		{"no input", "", "{}"},
		{"white space alone", " \n", "{}"},
		{"object", `{"taskToken":"t"}`, `{"taskToken":"t"}`},
		{"byte for byte", " {\"b\": 1e0, \"a\" : \"<\\u0041>\",\"b\":2}\n", " {\"b\": 1e0, \"a\" : \"<\\u0041>\",\"b\":2}\n"},
		{"null", `null`, `null`},
		{"unchecked", `{`, `{`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			answer, err := Echo([]byte(tt.input), now)
			if err != nil || string(answer) != tt.want {
				t.Fatalf("got %q, %v, want %q", answer, err, tt.want)
			}
		})
	}
	_, err := Echo([]byte(`{"since":"2026-01-31T11:00:00+01:00","ready_after":15.5}`), now)
	if want := "nothing is ready before 2026-01-31T10:00:15.5Z: try again"; errorName(err) != "NotReady" || err.Error() != want {
		t.Errorf("too early: got %v, want %q", err, want)
	}
}

// errorName is the public name of an error.
func errorName(err error) string {
	if refused, ok := errors.AsType[*jobs.RequestError](err); ok {
		return refused.Name
	}
	return ""
}

func TestNamesAreLookedUp(t *testing.T) {
	t.Parallel()
	want := []string{"CheckJob", "GetJobStatus", "StartJob", "SubmitJob", "echo"}
	if got := Names(); !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	if _, ok := Lookup("Echo"); ok {
		t.Error("Echo was found, want exact names only")
	}
	answers := map[string]string{
		"StartJob": `{"job_id":"` + id + `"}`, "SubmitJob": `{"job_id":"` + id + `"}`,
		"GetJobStatus": `{"job_id":"` + id + `","job_status":"running","try_count":1}`,
		"CheckJob":     `{"job_id":"` + id + `","job_status":"running","try_count":1}`,
		"echo":         `{"job_id":"` + id + `"}`,
	}
	for _, name := range Names() {
		f, ok := Lookup(name)
		if !ok {
			t.Fatalf("%s was not found", name)
		}
		answer, err := f(value.Object(value.Member{Key: "job_id", Value: value.String(id)}), start, random)
		if err != nil || answer.JSON() != answers[name] {
			t.Errorf("%s: got %s, %v, want %s", name, answer, err, answers[name])
		}
	}
}

// TestFunctionsOfValues compares the functions that runners call with those for JSON.
func TestFunctionsOfValues(t *testing.T) {
	t.Parallel()
	statuses := func(input []byte, now time.Time, _ [10]byte) ([]byte, error) { return GetJobStatus(input, now) }
	echoes := func(input []byte, now time.Time, _ [10]byte) ([]byte, error) { return Echo(input, now) }
	ofJSON := map[string]func([]byte, time.Time, [10]byte) ([]byte, error){"StartJob": StartJob, "GetJobStatus": statuses, "echo": echoes}
	for name, want := range ofJSON {
		for _, input := range []string{
			`null`, `[]`, `"x"`, `7`, `true`, `{}`, `{"job_id":7}`, `{"job_id":"x"}`, `{"job_id":null}`, `{"job_id":["` + id + `"]}`,
			`{"job_id":"` + id + `"}`, `{"job_id":"` + strings.ToUpper(id) + `","delay":1.5,"try_count":3,"other":[1]}`,
			`{"job_id":"` + id + `","delay":"20"}`, `{"job_id":"` + id + `","delay":null}`, `{"job_id":"` + id + `","delay":1e999}`,
			`{"job_id":"` + id + `","try_count":1.5}`, `{"job_id":"` + id + `","try_count":9007199254740991}`,
			`{"since":"2026-01-31T10:00:00Z","ready_after":15}`, `{"since":"9999-01-31T10:00:00Z","ready_after":15}`, `{"since":7}`,
		} {
			v, err := value.ParseJSON([]byte(input))
			if err != nil {
				t.Fatal(err)
			}
			f, _ := Lookup(name)
			got, err := f(v, start.Add(2*time.Second), random)
			wanted, wantErr := want([]byte(v.JSON()), start.Add(2*time.Second), random)
			if fmt.Sprint(err) != fmt.Sprint(wantErr) || err == nil && got.JSON() != string(wanted) {
				t.Errorf("%s of %s: got %s, %v, want %s, %v", name, input, got.JSON(), err, wanted, wantErr)
			}
		}
	}
}

func FuzzGetJobStatus(f *testing.F) {
	f.Add([]byte(`{"job_id":"`+id+`","delay":20,"try_count":1}`), int64(20_000))
	f.Fuzz(func(t *testing.T, input []byte, afterMS int64) {
		now := start.Add(time.Duration(afterMS%1e12) * time.Millisecond)
		answer, err := GetJobStatus(input, now)
		if err != nil {
			checkNamed(t, answer, err)
			return
		}
		checkKeys(t, answer)
	})
}

func checkNamed(t *testing.T, answer []byte, err error) {
	t.Helper()
	if name := errorName(err); answer != nil || (name != "JobNotFound" && name != "InvalidArgument") {
		t.Errorf("got %s and an error named %q: %v", answer, name, err)
	}
}

func checkKeys(t *testing.T, answer []byte) {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(answer, &m); err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	jobID, _ := m["job_id"].(string)
	_, isJob := startOf(jobID)
	_, isCount := m["try_count"].(float64)
	status := m["job_status"]
	if len(m) != 3 || !isJob || !isCount || (status != "success" && status != "running") {
		t.Errorf("got %s, want exactly job_id, job_status and try_count", answer)
	}
}
