package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/cli/failure"
	"github.com/waitless/waitless/pkg/cli/view"
	"github.com/waitless/waitless/pkg/docs"
)

// docsReport is the JSON of docs; schema/docs.json describes it.
type docsReport struct {
	Schema string        `json:"schema"` // docsSchema
	Topics []topicReport `json:"topics"`
	Rules  []ruleReport  `json:"rules,omitempty"`
	Errors []errorReport `json:"errors,omitempty"`
}

const docsSchema = "waitless.docs/1"

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
	var asJSON bool
	cmd := helpOf("docs", arguments(0, 1))
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.listTopics(asJSON)
		}
		return c.showTopic(args[0], asJSON)
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object (see: waitless help json)")
	return cmd
}

func (c Command) listTopics(asJSON bool) error {
	if !asJSON {
		var rows [][]string
		for _, topic := range docs.Topics() {
			rows = append(rows, []string{topic.Name, topic.About})
		}
		return c.out().Text(view.Columns(rows))
	}
	report := docsReport{Schema: docsSchema}
	for _, topic := range docs.Topics() {
		report.Topics = append(report.Topics, topicReport{Name: topic.Name, Title: topic.Title})
	}
	return c.out().JSON(report)
}

func (c Command) showTopic(name string, asJSON bool) error {
	if topic, ok := docs.Find(name); ok {
		if asJSON {
			return c.out().JSON(docsReport{Schema: docsSchema, Topics: []topicReport{{topic.Name, topic.Title, topic.Text}}})
		}
		if width := c.out().Width(); width > 0 {
			return c.out().Text(view.Markdown(topic.Text, width))
		}
		return c.out().Text(topic.Text)
	}
	report, ok := findInTopics(name)
	switch {
	case !ok:
		return failure.Usage("there is no such topic, rule or error"+didYouMean(name, inDocs()), "waitless docs")
	case asJSON:
		return c.out().JSON(report)
	}
	return c.out().Text(report.text(c.out().Width()))
}

// findInTopics is the rule or the error of that name, with its topics.
func findInTopics(name string) (docsReport, bool) {
	report := docsReport{Schema: docsSchema}
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
