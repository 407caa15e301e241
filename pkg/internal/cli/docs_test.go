package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/docs"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

func TestDocsShowsEveryTopic(t *testing.T) {
	t.Parallel()
	list := do(t, "docs")
	for _, topic := range docs.Topics() {
		if got, want := do(t, "docs", topic.Name), (result{stdout: topic.Text}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if !strings.Contains(list.stdout, topic.Name+" ") {
			t.Errorf("the list lacks %s: %s", topic.Name, list.stdout)
		}
	}
	if list.exit != view.ExitSucceeded || list.stderr != "" {
		t.Errorf("got %+v", list)
	}
}

func TestDocsJSON(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"docs", "--json"}, {"docs", "flow", "--json"}} {
		got := do(t, args...)
		conforms(t, "docs", got.stdout)
		var report docsReport
		if err := json.Unmarshal([]byte(got.stdout), &report); err != nil {
			t.Fatal(err)
		}
		if one := len(args) > 2; (len(report.Topics) == 1) != one || (report.Topics[0].Text != "") != one {
			t.Errorf("%q prints %s", args, got.stdout)
		}
	}
}

// A rule is found by its number, and an error by its name, with the rules that
// say when it comes.
func TestDocsFindsRulesAndErrors(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct{ topics, text []string }{
		"W-3":  {[]string{"wait"}, []string{"wait: Wait\n  W-3 "}},
		"w-3":  {[]string{"wait"}, []string{"wait: Wait\n  W-3 "}},
		"E-14": {[]string{"errors"}, []string{"errors: Errors\n  E-14 (Waitless) A command that "}},
		"FnF.TaskTimeout": {[]string{"task", "callbacks"}, []string{
			"FnF.TaskTimeout: an attempt took longer ", "\ntask: ", "\n  T-11 ", "\ncallbacks: ", "\n  B-6 ", "\n  B-9 ",
		}},
		"jobnotfound": {[]string{"errors"}, []string{"JobNotFound: the type that ", "\nerrors: Errors\n  E-1 (FDL) An exception "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := do(t, "docs", name)
			for _, part := range want.text {
				if got.exit != view.ExitSucceeded || !strings.Contains("\n"+got.stdout, part) {
					t.Errorf("got %+v, which lacks %q", got, part)
				}
			}
			got = do(t, "docs", name, "--json")
			conforms(t, "docs", got.stdout)
			var report docsReport
			if err := json.Unmarshal([]byte(got.stdout), &report); err != nil {
				t.Fatal(err)
			}
			var topics []string
			for _, topic := range report.Topics {
				topics = append(topics, topic.Name)
			}
			if isError := strings.HasPrefix(want.text[0], name+":") || name == "jobnotfound"; !slices.Equal(topics, want.topics) ||
				len(report.Rules) == 0 || (len(report.Errors) == 1) != isError {
				t.Errorf("the report is %s", got.stdout)
			}
		})
	}
	if got := do(t, "docs", "FnF.TaskTimout"); got.exit != view.ExitUsage ||
		!strings.Contains(got.stderr, `no such topic, rule or error; did you mean "FnF.TaskTimeout"?`) {
		t.Errorf("got %+v", got)
	}
}

func TestDocsFindsThePageOfAWord(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"rearm": "recovery", "Prometheus": "metrics", "timeout": "task", "token": "callbacks", "price": "cost", "backup": "recovery", "map": "foreach",
		"approval": "callbacks", "retries": "retry", "human": "callbacks", "docker": "runners", "embed": "testing", "encryption": "security", "sleep": "wait",
	} {
		got := do(t, "docs", word)
		if first, _, _ := strings.Cut(got.stdout, "\n"); got.exit != view.ExitSucceeded || !strings.HasPrefix(first, "waitless docs "+want+" ") ||
			strings.Count(got.stdout, "\n") > 5 {
			t.Errorf("%s: got %+v", word, got)
		}
	}
	got := do(t, "docs", "token", "--json")
	if conforms(t, "docs", got.stdout); !strings.Contains(got.stdout, `"callbacks"`) {
		t.Errorf("got %s", got.stdout)
	}
	for _, word := range []string{"a.[", "zzz"} {
		if got := do(t, "docs", word); got.exit != view.ExitUsage || !strings.HasSuffix(got.stderr, "\ntry: waitless docs\n") {
			t.Errorf("%s: got %+v", word, got)
		}
	}
}

func TestListOfTopicsDescribesEachTopic(t *testing.T) {
	t.Parallel()
	got := do(t, "docs")
	for line := range strings.Lines(got.stdout) {
		if strings.HasSuffix(line, ":\n") { // the heading of a group
			continue
		}
		name, about, _ := strings.Cut(strings.TrimSpace(line), " ")
		if about = strings.TrimSpace(about); strings.EqualFold(name, about) || about == "" || len(line) > 80 {
			t.Errorf("%q", line)
		}
	}
}
