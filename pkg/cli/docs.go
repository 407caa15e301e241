package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/cli/view"
	"github.com/waitless/waitless/pkg/docs"
)

// docsReport is the JSON of docs; schema/docs.json describes it.
type docsReport struct {
	Topics []topicReport `json:"topics"`
	Rules  []ruleReport  `json:"rules,omitempty"`
	Errors []errorReport `json:"errors,omitempty"`
}

// topicReport is one topic, with its text if it was asked for.
type topicReport struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Text  string `json:"text,omitempty"`
}

// ruleReport is a rule that was asked for, or that an error comes by.
type ruleReport struct {
	Number string `json:"number"`
	Topic  string `json:"topic"`
	Origin string `json:"origin"`
	Text   string `json:"text"`
}

// errorReport is an error that was asked for.
type errorReport struct {
	Name  string   `json:"name"`
	When  string   `json:"when"`
	Rules []string `json:"rules"`
}

func (c Command) docsCommand() *cobra.Command {
	return c.plain(helpOf("docs", arguments(0, 1)), func(_ context.Context, args []string) (view.Result, error) {
		if len(args) == 0 {
			return listTopics(), nil
		}
		return showTopic(args[0], c.out().Width())
	})
}

func listTopics() view.Result {
	var report docsReport
	var rows [][]string
	for _, topic := range docs.Topics() {
		report.Topics = append(report.Topics, topicReport{Name: topic.Name, Title: topic.Title})
		rows = append(rows, []string{topic.Name, topic.About})
	}
	return view.Result{Form: "docs", JSON: report, Text: view.Columns(rows)}
}

// showTopic returns a topic, a rule or an error. A width of 0 keeps the Markdown of a topic.
func showTopic(name string, width int) (view.Result, error) {
	if topic, ok := docs.Find(name); ok {
		text := topic.Text
		if width > 0 {
			text = view.Markdown(text, width)
		}
		return view.Result{Form: "docs", JSON: docsReport{Topics: []topicReport{{topic.Name, topic.Title, topic.Text}}}, Text: text}, nil
	}
	report, ok := findInTopics(name)
	if !ok {
		return view.Result{}, view.Usage("there is no such topic, rule or error"+didYouMean(name, inDocs()), "waitless docs")
	}
	return view.Result{Form: "docs", JSON: report, Text: report.text(width)}, nil
}

// findInTopics is the rule or the error of that name, with its topics.
func findInTopics(name string) (docsReport, bool) {
	var report docsReport
	numbers := []string{name}
	if e, ok := docs.FindError(name); ok {
		report.Errors = []errorReport{{e.Name, e.When, e.Rules}}
		numbers = e.Rules
	}
	for _, number := range numbers {
		if rule, ok := docs.FindRule(number); ok {
			report.addRule(rule)
		}
	}
	return report, len(report.Rules) > 0
}

func (r *docsReport) addRule(rule docs.Rule) {
	r.Rules = append(r.Rules, ruleReport{rule.Number, rule.Topic, rule.Origin, rule.Text})
	if slices.ContainsFunc(r.Topics, func(t topicReport) bool { return t.Name == rule.Topic }) {
		return
	}
	topic, _ := docs.Find(rule.Topic) // which has the rule
	r.Topics = append(r.Topics, topicReport{Name: topic.Name, Title: topic.Title})
}

// text is the report for people: the error, and each topic with its rules.
func (r *docsReport) text(width int) string {
	var text strings.Builder
	for _, e := range r.Errors {
		_, _ = fmt.Fprintf(&text, "%s: %s\n", e.Name, e.When)
	}
	for _, topic := range r.Topics {
		_, _ = fmt.Fprintf(&text, "%s: %s\n", topic.Name, topic.Title)
		for _, rule := range r.Rules {
			if rule.Topic == topic.Name {
				text.WriteString(view.Rule(fmt.Sprintf("%s (%s) %s", rule.Number, rule.Origin, rule.Text), width))
			}
		}
	}
	return text.String()
}

// inDocs are the names of topics and of errors.
func inDocs() []string {
	var names []string
	for _, topic := range docs.Topics() {
		names = append(names, topic.Name)
	}
	for _, e := range docs.Errors() {
		names = append(names, e.Name)
	}
	return names
}
