package fdl_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/jobs"
)

// FuzzParse: a text gives a flow or errors, never a panic, and every problem
// is one line about a place in the text, in the order of the places.
func FuzzParse(f *testing.F) {
	for _, c := range mistakeCases(f) {
		f.Add([]byte(c.flow))
	}
	text, err := os.ReadFile("../../events/polling/flow.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		def, problems := fdl.Parse(text)
		if (def == nil) != (len(problems.Errors()) > 0) {
			t.Errorf("flow %t with the problems\n%s", def != nil, lines(problems))
		}
		textLines := strings.Split(strings.TrimPrefix(string(text), "\uFEFF"), "\n")
		last := flow.Position{Line: 1, Column: 1}
		for _, p := range problems {
			if p.Line < last.Line || (p.Line == last.Line && p.Column < last.Column) {
				t.Errorf("%s comes after %s", p.Position, last)
			}
			if last = p.Position; p.Line > len(textLines) || p.Column > utf8.RuneCountInString(textLines[p.Line-1])+1 {
				t.Errorf("%s is beyond the text: %s", p.Position, p.Message)
			}
			if p.Message == "" || strings.ContainsAny(p.Message, "\r\n") {
				t.Errorf("message %q is not one line", p.Message)
			}
		}
		if def != nil {
			checkLinks(t, def)
		}
	})
}

func checkLinks(t *testing.T, def *flow.Flow) {
	t.Helper()
	seen := map[string]bool{}
	for i, s := range def.All {
		if s.Index != i || !slices.Contains(s.Series.Steps, s) || s.Kind == nil || !flow.ValidName(s.Name) || seen[s.Name] {
			t.Errorf("step %d is %+v", i, s)
		}
		seen[s.Name] = true
	}
}

// FuzzParseResource: a parsed resource can be written again.
func FuzzParseResource(f *testing.F) {
	f.Add("acs:fc:eu-central-1:123:services/s.prod/functions/f")
	f.Add("arn:aws:lambda:eu-west-1:123456789012:function:f:$LATEST")
	f.Add("acs:fc:cn-hangzhou:123:functions/f/LATEST")
	f.Add("acs:fc:${ALIYUN::Region}:1:services/{s}/functions/<f>")
	f.Add("arn:aws:sqs:eu-west-1:123456789012:q")
	f.Add("batch:SubmitJob")
	f.Add("dynamodb:PutItem")
	f.Add("arn:aws:dms:eu-west-1:123456789012:task:LOAD7")
	f.Add("arn:aws:states:eu-west-1:123456789012:stateMachine:Check")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := fdl.ParseResource(text)
		if err != nil {
			if r != (flow.Resource{}) {
				t.Errorf("got %+v with %v", r, err)
			}
			return
		}
		if _, known := jobs.Find(r.Kind); r.Kind != "" {
			if !known || r != (flow.Resource{Text: text, Kind: r.Kind, Function: flow.StartJob}) {
				t.Errorf("got %+v from %q", r, text)
			}
			return
		}
		if r.Operation != "" {
			if r != (flow.Resource{Text: text, Operation: text, Function: flow.CallService}) {
				t.Errorf("got %+v from %q", r, text)
			}
			return
		}
		if r.Subflow {
			if r != (flow.Resource{Text: text, Subflow: true, Flow: r.Flow}) || text != fdl.StartExecution && !strings.HasSuffix(text, ":flow/"+r.Flow) {
				t.Errorf("got %+v from %q", r, text)
			}
			return
		}
		separator, name := ":", "function:"+r.Function
		switch {
		case r.Service != "":
			separator, name = ".", "services/"+r.Service
		case strings.HasPrefix(text, "acs:"):
			separator, name = "/", "functions/"+r.Function
		}
		if r.Qualifier != "" {
			name += separator + r.Qualifier
		}
		if r.Service != "" {
			name += "/functions/" + r.Function
		}
		if r.Function == "" || r.Text != text || !strings.HasSuffix(text, ":"+name) {
			t.Errorf("got %+v from %q", r, text)
		}
	})
}
