package view

import (
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/docs"
)

func TestRenderMarkdown(t *testing.T) {
	t.Parallel()
	const text = "# Title\n\nA [link](other.md) and `code` in a text that\nis wrapped.\n- **W-1** An item of a list that is\n  wrapped too.\n" +
		"\n```text\na  block that stays as it is, however wide it may be\n```\n\n" +
		"| a | b `x\\|y` |\n|---|---|\n| one | two words and a word-that-is-much-too-long |\n| a long name | y |\n"
	const want = "# Title\n\nA link and `code` in a\ntext that is wrapped.\n- W-1 An item of a\n  list that is wrapped\n  too.\n\n" +
		"    a  block that stays as it is, however wide it may be\n\n" +
		"a         b `x|y`\none       two words and\n          a\n          word-that-is-much-too-long\na long name\n          y\n"
	if got := Markdown(text, 24); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// No topic has a line that is wider than a terminal, but for code and for words that are longer,
// alone or beside the first column of a table.
func TestTopicsFitTheTerminal(t *testing.T) {
	t.Parallel()
	for _, topic := range docs.Topics() {
		for _, width := range []int{60, 80, 200} {
			for line := range strings.Lines(Markdown(topic.Text, width)) {
				line = strings.TrimSuffix(line, "\n")
				isCode := strings.HasPrefix(line, "    ")
				if isWord := len(strings.Fields(line)) <= 2; cells(line) > min(width, WidestText) && !isCode && !isWord {
					t.Errorf("%s at %d: %q", topic.Name, width, line)
				}
			}
		}
	}
	golden(t, "docs/exit-codes-80.txt", Markdown(topicText(t, "exit-codes"), 80))
}

func topicText(t *testing.T, name string) string {
	t.Helper()
	topic, ok := docs.Find(name)
	if !ok {
		t.Fatalf("there is no topic %s", name)
	}
	return topic.Text
}
