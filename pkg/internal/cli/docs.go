package cli

import (
	"context"
	"fmt"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/docs"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// docsReport is the JSON of docs; schema/docs.json describes it. A topic has its text if it was
// asked for.
type docsReport struct {
	Topics []docs.Topic `json:"topics"`
	Rules  []docs.Rule  `json:"rules,omitempty"`
	Errors []docs.Error `json:"errors,omitempty"`
}

func docsCommand(c Command) *cobra.Command {
	return c.plain(helpOf("docs", arguments(0, 1)), func(_ context.Context, args []string) (view.Result, error) {
		var report docsReport
		var text string
		if len(args) == 0 {
			text = report.list()
		} else if text = report.show(args[0], c.out().Width()); text == "" {
			return view.Result{}, view.Usage("there is no such topic, rule or error"+didYouMean(args[0], inDocs()), topicWith(args[0])+"waitless docs")
		}
		return view.Result{Form: "docs", JSON: report, Text: text}, nil
	})
}

// topicWith says which topic has the word most often, or "" if none has it.
func topicWith(word string) (try string) {
	isWord, most := regexp.MustCompile(`(?i)\b`+regexp.QuoteMeta(word)+`\b`), 0
	for _, topic := range docs.Topics() {
		if n := len(isWord.FindAllString(topic.Text, -1)); n > most {
			most, try = n, "waitless docs "+topic.Name+", which has the word, or "
		}
	}
	return try
}

func (r *docsReport) list() string {
	var rows [][]string
	for _, topic := range docs.Topics() {
		r.add(topic)
		rows = append(rows, []string{topic.Name, topic.About})
	}
	return view.Columns(rows)
}

// add adds a topic without its text.
func (r *docsReport) add(topic docs.Topic) {
	topic.Text = ""
	r.Topics = append(r.Topics, topic)
}

// show adds the topic, rule or error with the name, and returns it as text, "" if there is none. A
// width of 0 keeps the Markdown of a topic.
func (r *docsReport) show(name string, width int) (text string) {
	if topic, ok := docs.Find(name); ok {
		r.Topics = []docs.Topic{topic}
		if width == 0 {
			return topic.Text
		}
		return view.Markdown(topic.Text, width)
	}
	numbers := []string{name}
	if e, ok := docs.FindError(name); ok {
		r.Errors, numbers = []docs.Error{e}, e.Rules
		text = fmt.Sprintf("%s: %s\n", e.Name, e.When)
	}
	for _, number := range numbers {
		if rule, ok := docs.FindRule(number); ok {
			text += r.addRule(rule, width)
		}
	}
	return text
}

// addRule adds a rule, and its topic unless the rule before is of the same.
func (r *docsReport) addRule(rule docs.Rule, width int) (text string) {
	if n := len(r.Rules); n == 0 || r.Rules[n-1].Topic != rule.Topic {
		topic, _ := docs.Find(rule.Topic) // which has the rule
		r.add(topic)
		text = fmt.Sprintf("%s: %s\n", topic.Name, topic.Title)
	}
	r.Rules = append(r.Rules, rule)
	return text + view.Rule(fmt.Sprintf("%s (%s) %s", rule.Number, rule.Origin, rule.Text), width)
}

// inDocs returns the names of topics and of errors.
func inDocs() (names []string) {
	for _, topic := range docs.Topics() {
		names = append(names, topic.Name)
	}
	for _, e := range docs.Errors() {
		names = append(names, e.Name)
	}
	return names
}
