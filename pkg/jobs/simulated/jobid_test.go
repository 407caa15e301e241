package simulated

import (
	"strings"
	"testing"
	"time"
)

func TestStartUntilSaysWhenTheJobEnds(t *testing.T) {
	t.Parallel()
	for params, seconds := range map[string]int{
		``: 60, `null`: 60, `{}`: 60, `{"delay":20}`: 20, `{"delay":20.5}`: 21, `{"delay":0}`: 0, `{"delay":-5}`: 0,
		`{"delay":600,"other":1}`: 600, `{"delay":31622400}`: 31622400,
	} {
		id, err := StartUntil([]byte(params), start, random)
		if err != nil {
			t.Errorf("%s: %v", params, err)
			continue
		}
		want := start.Truncate(time.Second).Add(time.Duration(seconds) * time.Second)
		if end, err := End(id); err != nil || !end.Equal(want) {
			t.Errorf("%s: it ends at %s, error %v; want %s", params, end, err, want)
		}
		for at, status := range map[time.Time]string{want.Add(-time.Nanosecond): "running", want: "success"} {
			answer, err := GetJobStatus([]byte(`{"job_id":"`+id+`"}`), at)
			if err != nil || !strings.Contains(string(answer), status) {
				t.Errorf("%s: at %s it answers %s, error %v; want %s", params, at, answer, err, status)
			}
		}
	}
}

func TestStartUntilRefuses(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]string{
		`[]`:                 "input is array []: want an object",
		`{"delay":"20"}`:     `delay is string "20": want a number of seconds such as 20 or 20.5 (leave it out for 60)`,
		`{"delay":31622401}`: "delay is number 31622401: want at most 31622400 seconds",
		`{"delay":1e999}`:    "delay is number 1e999: want at most 31622400 seconds",
	} {
		if id, err := StartUntil([]byte(params), start, random); id != "" || err == nil || err.Error() != want {
			t.Errorf("%s: got %q, error %v; want %s", params, id, err, want)
		}
	}
	if _, err := End("job-1"); errorName(err) != "JobNotFound" {
		t.Errorf("error %v", err)
	}
}
