package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/docs"
)

func TestDocsShowsEveryTopic(t *testing.T) {
	t.Parallel()
	list := do(t, "docs")
	for _, topic := range docs.Topics() {
		if got, want := do(t, "docs", topic.Name), (result{stdout: topic.Text}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if !strings.Contains(list.stdout, topic.Name+" ") || !strings.Contains(list.stdout, topic.Title+"\n") {
			t.Errorf("the list lacks %s: %s", topic.Name, list.stdout)
		}
	}
	if list.exit != ExitSucceeded || list.stderr != "" {
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
