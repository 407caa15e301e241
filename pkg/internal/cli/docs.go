package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/docs"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/similar"
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
			var rows [][]string
			topics := docs.Topics()
			for i, topic := range topics {
				report.add(topic)
				rows = append(rows, []string{fmt.Sprintf("%-22s", topic.Name), topic.About})
				if i+1 == len(topics) || topics[i+1].Group != topic.Group {
					text += topic.Group + ":\n" + view.Columns(rows)
					rows = nil
				}
			}
		} else if text = report.show(args[0], c.out().Width()); text == "" {
			hits := docs.Search(args[0])
			if len(hits) == 0 {
				return view.Result{}, view.Usage("there is no such topic, rule or error"+similar.DidYouMean(args[0], inDocs()), "waitless docs")
			}
			const most, widest = 5, 90
			for _, hit := range hits[:min(len(hits), most)] {
				report.add(hit.Topic)
				if line := []rune(hit.Line); len(line) > widest {
					hit.Line = string(line[:widest]) + "..."
				}
				text += view.Line("waitless docs %-22s %s", hit.Name, hit.Line)
			}
		}
		return view.Result{Form: "docs", JSON: report, Text: text}, nil
	})
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
		rule, ok := docs.FindRule(number)
		if !ok {
			continue
		}
		if n := len(r.Rules); n == 0 || r.Rules[n-1].Topic != rule.Topic { // consecutive rules share their topic
			topic, _ := docs.Find(rule.Topic) // which has the rule
			r.add(topic)
			text += fmt.Sprintf("%s: %s\n", topic.Name, topic.Title)
		}
		r.Rules = append(r.Rules, rule)
		text += view.Rule(fmt.Sprintf("%s (%s) %s", rule.Number, rule.Origin, rule.Text), width)
	}
	return text
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
