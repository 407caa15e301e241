package jobs

import (
	"reflect"
	"testing"
)

// tokenKind returns a kind whose service knows a repeated start by its token.
func tokenKind(form *form, isUUID bool) Kind {
	start := startSpec{id: "JobId", nameParam: "Token", nameForm: form, nameIsUUID: isUUID}
	return Kind{Name: "k", StartOp: "Start", Once: OnceByToken, parts: &parts{start: start, describe: describeSpec{idForm: formOf(`^.+$`, 64)}}}
}

// The token of a start is its unique text if the service takes that, or else a hash that the
// service takes.
func TestTokensOfStarts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, pattern string
		most          int
		isUUID        bool
		want          string // of "b a r"
	}{
		{"any text", `^.+$`, 64, false, "b a r"},
		{"at most 64", `^[a-z0-9]+$`, 64, false, "7d98d08a77a3131e4a792464e271899e3011ad5f71affa34186ef071dafbd243"},
		{"at most 32", `^[a-z0-9]+$`, 32, false, "7d98d08a77a3131e4a792464e271899e"},
		{"at least 32", `^.{32,128}$`, 128, false, "7d98d08a77a3131e4a792464e271899e3011ad5f71affa34186ef071dafbd243"},
		{"a UUID", `^[a-f0-9-]{36}$`, 36, true, "7d98d08a-77a3-131e-4a79-2464e271899e"},
	}
	for _, tt := range tests {
		kind := tokenKind(formOf(tt.pattern, tt.most), tt.isUUID)
		got, err := kind.StartParams([]byte(`{}`), "b a r")
		if want := `{"Token":"` + tt.want + `"}`; err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", tt.name, got, err, want)
		}
		if kind.NamedByUs(tt.want, "b a r") {
			t.Errorf("%s: a token counts as the name of a job", tt.name)
		}
	}
}

// Some services return no name: the job has the one that the params gave.
func TestTheParamsNameTheJob(t *testing.T) {
	t.Parallel()
	kind := tokenKind(formOf(`^.+$`, 64), false)
	kind.start.id = ""
	for params, want := range map[string]string{`{"token":"mine"}`: "mine", `{}`: ""} {
		got, err := kind.ReadStart(account, region, []byte(params), []byte(`{"Arn":"a"}`))
		if got.ID != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %+v, %v, want %q", params, got, err, want)
		}
	}
}

// A role is given to the one service that runs the job with it.
func TestPassRole(t *testing.T) {
	t.Parallel()
	kind := Kind{parts: &parts{rights: rights{start: []right{{"s:Start", nil}}, roleTo: "s.amazonaws.com"}}}
	const role = "arn:aws:iam::111122223333:role/job"
	for _, tt := range []struct {
		given []string
		want  string
	}{{nil, "arn:aws:iam::111122223333:role/*"}, {[]string{role}, role}} {
		pass := allows("iam:PassRole", tt.want)
		pass.Condition = map[string]map[string]string{"StringEquals": {"iam:PassedToService": "s.amazonaws.com"}}
		if got, want := kind.StartStatements(account, region, tt.given...), []Statement{allows("s:Start", "*"), pass}; !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, want %+v", tt.given, got, want)
		}
	}
	if !kind.Grants(role) || kind.Grants("arn:aws:s3:::b/k") {
		t.Error("the role is not what the rights are for")
	}
}
