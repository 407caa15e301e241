package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/docs"
)

// docsReport is the JSON of docs; schema/docs.json describes it.
type docsReport struct {
	Schema string        `json:"schema"` // "waitless.docs/1"
	Topics []topicReport `json:"topics"`
}

// topicReport is one topic, with its text if it was asked for.
type topicReport struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Text  string `json:"text,omitempty"`
}

func (c Command) docsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "docs [TOPIC]",
		Short:   "Show the reference of the language",
		Long:    "Show a topic of the reference of the language, as Markdown; without a name, what topics there are.",
		Example: "  waitless docs flow",
		Args:    arguments(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.listTopics(asJSON)
			}
			return c.showTopic(args[0], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object (see: waitless help json)")
	return cmd
}

func (c Command) listTopics(asJSON bool) error {
	if !asJSON {
		return c.table(func(w *tabwriter.Writer) {
			for _, topic := range docs.Topics() {
				_, _ = fmt.Fprintf(w, "%s\t%s\n", topic.Name, topic.Title)
			}
		})
	}
	report := docsReport{Schema: "waitless.docs/1"}
	for _, topic := range docs.Topics() {
		report.Topics = append(report.Topics, topicReport{Name: topic.Name, Title: topic.Title})
	}
	return c.printJSON(report)
}

func (c Command) showTopic(name string, asJSON bool) error {
	topic, ok := docs.Find(name)
	if !ok {
		var names []string
		for _, topic := range docs.Topics() {
			names = append(names, topic.Name)
		}
		return usageError("docs "+name, "there is no such topic"+didYouMean(name, names), "waitless docs")
	}
	if asJSON {
		return c.printJSON(docsReport{"waitless.docs/1", []topicReport{{topic.Name, topic.Title, topic.Text}}})
	}
	return c.print(topic.Text)
}
