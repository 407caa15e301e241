package lambda

import (
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
)

func TestWhichLambdaFunctionAResourceNames(t *testing.T) {
	t.Parallel()
	names := Names{Stack: "w", Functions: map[string]string{
		"mapped": "other", "shop/mapped": "shops", "fixed": "other:live", "far": "arn:aws:lambda:eu-west-1:1:function:far",
		"farFixed": "arn:aws:lambda:eu-west-1:1:function:far:7", "CheckJob": "mine",
	}, Callable: []string{"arn:aws:lambda:eu-west-1:1:function:theirs"}}
	const arn = "arn:aws:lambda:us-east-1:123456789012:function:"
	for resource, want := range map[string]target{
		"acs:fc:::services/s/functions/echo":                    {"w-echo", ""},
		"acs:fc:{region}:{accountID}:services/s/functions/echo": {"w-echo", ""},
		"acs:fc:cn-hangzhou:123:services/s.prod/functions/echo": {"w-echo", "prod"},
		"acs:fc:::services/s.LATEST/functions/echo":             {"w-echo", ""},
		"acs:fc:::services/batch-poller/functions/SubmitJob":    {"w-StartJob", ""},
		"acs:fc:::services/batch-poller/functions/CheckJob":     {"mine", ""},
		"acs:fc:::services/s/functions/mapped":                  {"other", ""},
		"acs:fc:::services/shop/functions/mapped":               {"shops", ""},
		"acs:fc:::services/s.prod/functions/mapped":             {"other", "prod"},
		"acs:fc:::services/s.prod/functions/fixed":              {"other:live", ""},
		"acs:fc:::services/s.prod/functions/far":                {"arn:aws:lambda:eu-west-1:1:function:far", "prod"},
		"acs:fc:::services/s.prod/functions/farFixed":           {"arn:aws:lambda:eu-west-1:1:function:far:7", ""},
		"batch:SubmitJob": {"w-StartJob", ""},
		"arn:aws:dms:eu-west-1:123456789012:task:LOAD7":            {"w-StartJob", ""},
		"arn:aws:states:eu-west-1:123456789012:stateMachine:Check": {"w-StartJob", ""},
		arn + "w_mine":                                             {arn + "w_mine", ""},
		arn + "w_mine:live":                                        {arn + "w_mine", "live"},
		arn + "w_mine:$LATEST":                                     {arn + "w_mine", "$LATEST"},
		"arn:aws:lambda:::function:w_mine:live":                    {"w_mine", "live"},
		arn + "other":                                              {arn + "other", ""},
		"arn:aws:lambda:eu-west-1:1:function:far":                  {"arn:aws:lambda:eu-west-1:1:function:far", ""},
		arn + "mapped":                                             {"other", ""},
		"arn:aws:lambda:eu-west-1:1:function:theirs":               {"arn:aws:lambda:eu-west-1:1:function:theirs", ""},
		"arn:aws:lambda:eu-west-1:1:function:theirs:live":          {"arn:aws:lambda:eu-west-1:1:function:theirs", "live"},
		"arn:aws:lambda:us-east-1:1:function:theirs":               {},
		"acs:fc:::services/s/functions/api":                        {},
		"acs:fc:::services/s.prod/functions/interpreter":           {},
		arn + "w-callback":                                         {},
		"acs:fc:::services/s/functions/prod-api":                   {},
		"acs:fc:::services/s/functions/prod-callback":              {},
		"acs:fc:::services/s/functions/prod-jobevents":             {},
		"acs:fc:::services/s/functions/prod-interpreter":           {},
		"acs:fc:::services/s/functions/prod-eu-taskrunner":         {},
		"acs:fc:::services/s/functions/prod-StartJob":              {},
		"acs:fc:::services/s.live/functions/prod-GetJobStatus":     {},
		arn + "w-prod-api":                                         {},
		arn + "w-prod-StartJob:live":                               {},
		"arn:aws:lambda:::function:w-prod-jobevents":               {},
		"acs:fc:::services/s/functions/prod-apis":                  {"w_prod-apis", ""},
		"acs:fc:::services/s/functions/charge":                     {"w_charge", ""},
		arn + "w-charge":                                           {},
		arn + "w-prod_charge":                                      {},
		arn + "w-echo":                                             {arn + "w-echo", ""},
		arn + "w-StartJob":                                         {arn + "w-StartJob", ""},
		"acs:fc:::services/s/functions/janitor":                    {},
		"acs:fc:::services/s/functions/prod-sfn":                   {},
		"arn:aws:lambda:us-east-1:123456789012:function:secret":    {},
		"arn:aws:lambda:us-east-1:123456789012:function:wrong-fit": {},
		"arn:aws:lambda:us-east-1:123456789012:function:w":         {},
	} {
		t.Run(resource, func(t *testing.T) {
			t.Parallel()
			r, err := fdl.ParseResource(resource)
			if err != nil {
				t.Fatal(err)
			}
			got, err := names.resolve(r)
			if got != want || (err != nil) != (want == target{}) {
				t.Errorf("it is %+v, error %v; want %+v", got, err, want)
			}
			if err != nil && !strings.Contains(err.Error(), "CheckJob, far, farFixed, fixed, mapped, shop/mapped, arn:aws:lambda:eu-west-1:1:function:theirs, w_*") {
				t.Errorf("the error does not say what is allowed: %v", err)
			}
		})
	}
}

func TestCallableFunctionsHaveWildcards(t *testing.T) {
	t.Parallel()
	const arn = "arn:aws:lambda:eu-west-1:123456789012:function:"
	for _, tt := range []struct {
		callable, resource string
		want               bool
	}{
		{arn + "py-*", arn + "py-charge", true},
		{arn + "py-*", arn + "py-StartJob", false}, // the function of another stack may have that name
		{arn + "py-*", arn + "py-charge:live", true},
		{arn + "py-*", arn + "py-", true},
		{arn + "py-*", arn + "other", false},
		{arn + "py-*", arn + "spy-charge", false},
		{arn + "py-?", arn + "py-1", true},
		{arn + "py-?", arn + "py-12", false},
		{"arn:aws:lambda:*:123456789012:function:py-*", arn + "py-1", true},
		{"arn:aws:lambda:*:*:function:py-*", "arn:aws:lambda:us-east-1:1:function:py-1", true},
		{"arn:aws:lambda:eu-west-?:123456789012:function:a*b*c", arn + "a1b2c", true},
		{"arn:aws:lambda:*:function:py-1", arn + "py-1", false},
		{arn + "p.-*", arn + "py-1", false},
		{arn + "*", arn + "w-api", false},
		{arn + "*", arn + "w-prod-interpreter", false},
		{arn + "*", arn + "w-prod-taskrunner:live", false},
		{"*", arn + "py-1", false},
	} {
		r, err := fdl.ParseResource(tt.resource)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := (Names{Callable: []string{tt.callable}}).resolve(r); (err == nil) != tt.want {
			t.Errorf("%s of %s: %+v, error %v", tt.resource, tt.callable, got, err)
		}
	}
}

func TestWithoutAStackOnlyNamedFunctionsAreCalled(t *testing.T) {
	t.Parallel()
	names := Names{Functions: map[string]string{"a": "b"}}
	if got, err := names.resolve(flow.Resource{Text: "acs:", Function: "a"}); err != nil || got.name != "b" {
		t.Errorf("it is %+v, error %v", got, err)
	}
	for _, text := range []string{"acs:fc:::services/s/functions/-x", "arn:aws:lambda:::function:-x"} {
		if got, err := names.resolve(flow.Resource{Text: text, Function: "-x"}); err == nil {
			t.Errorf("it is %+v", got)
		}
	}
}

func TestOldNamesOfFunctions(t *testing.T) {
	t.Parallel()
	const arn = "arn:aws:lambda:us-east-1:123456789012:function:"
	for resource, want := range map[string]target{
		"acs:fc:::services/s/functions/charge":   {"w-charge", ""},
		"acs:fc:::services/s/functions/CheckJob": {"w-GetJobStatus", ""},
		arn + "w-charge":                         {arn + "w-charge", ""},
		arn + "w_charge":                         {arn + "w_charge", ""},
		arn + "w-prod-api":                       {},
		arn + "w-sfn":                            {},
		arn + "w-janitor":                        {},
	} {
		r, err := fdl.ParseResource(resource)
		if err != nil {
			t.Fatal(err)
		}
		got, err := (Names{Stack: "w", OldNames: true}).resolve(r)
		if got != want || (err != nil) != (want == target{}) {
			t.Errorf("%s is %+v, error %v; want %+v", resource, got, err, want)
		}
	}
}

func TestNamesOfFunctionsHaveALimit(t *testing.T) {
	t.Parallel()
	names := Names{Stack: "w"}
	for length, want := range map[int]string{62: "", 63: "has 65 characters and the limit is 64; shorten it"} {
		_, err := names.resolve(flow.Resource{Text: "acs:", Function: strings.Repeat("f", length)})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d characters: error %v, want %q", length, err, want)
		}
	}
}
