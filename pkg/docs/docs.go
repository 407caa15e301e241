// Package docs contains the reference of the flow language and of the command: one Markdown text
// for each topic. A statement about flows or executions is a numbered rule, and a test scenario
// shows it.
//
// The folder decisions has the decisions of the project.
//
// This package is not an API and may change between releases.
package docs

import (
	"embed"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Topic is one text of the reference.
type Topic struct {
	Name  string `json:"name"` // as `waitless docs` takes it
	Title string `json:"title"`
	About string `json:"-"`              // in a few words, for lists
	Group string `json:"-"`              // the heading of a list of topics
	Text  string `json:"text,omitempty"` // Markdown, which begins with the title
}

// Rule is one testable statement of the reference.
type Rule struct {
	Number string `json:"number"` // letters for the topic, and a number: "W-3"
	Topic  string `json:"topic"`  // the name of its topic
	Origin string `json:"origin"` // FDL or ASL, or Waitless where the vendor's documents are silent
	Text   string `json:"text"`
}

// Error is one row of the table of errors.
type Error struct {
	Name  string   `json:"name"`
	When  string   `json:"when"`  // Markdown
	Rules []string `json:"rules"` // the numbers of the rules that say so
}

//go:embed reference/*.md
var files embed.FS

// topicForm matches a heading or a row in the list of topics in the README.
var topicForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^## (.+)$|^\| \[(\S+)\]\(\S+\) \| (.+) \|$`)
})

// Topics returns all topics, in the order in which a user learns the language.
func Topics() (all []Topic) {
	list, _ := files.ReadFile("reference/README.md") // embedded, so it is there
	group := ""
	for _, match := range topicForm().FindAllStringSubmatch(string(list), -1) {
		if match[1] != "" {
			group = match[1]
			continue
		}
		text, _ := files.ReadFile("reference/" + match[2] + ".md") // a test reads each
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		all = append(all, Topic{Name: match[2], Title: title, About: match[3], Group: group, Text: string(text)})
	}
	return all
}

// Find returns the topic with that name.
func Find(name string) (Topic, bool) {
	return first(Topics(), func(t Topic) bool { return t.Name == name })
}

// ruleForm matches a rule: a row of a table with number, statement and origin.
var ruleForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\| ([A-Z]+-[0-9]+) \| (.+) \| (FDL|ASL|Waitless) \|$`)
})

// Rules returns the rules of all topics, in the order of the topics.
func Rules() []Rule {
	var rules []Rule
	for _, topic := range Topics() {
		for _, match := range ruleForm().FindAllStringSubmatch(topic.Text, -1) {
			text := strings.ReplaceAll(match[2], `\|`, "|")
			rules = append(rules, Rule{Number: match[1], Topic: topic.Name, Text: text, Origin: match[3]})
		}
	}
	return rules
}

// FindRule returns the rule with that number, in upper or lower case.
func FindRule(number string) (Rule, bool) {
	return first(Rules(), func(r Rule) bool { return strings.EqualFold(r.Number, number) })
}

// errorForm matches a row of the table of errors.
var errorForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(?m)^\\| `([^`|]+)` \\| ([^|]+) \\| ([^|]+) \\|$") })

// Errors returns the rows of the table of errors.
func Errors() []Error {
	var errors []Error
	topic, _ := Find("errors") // a test compares what the table has
	for _, match := range errorForm().FindAllStringSubmatch(topic.Text, -1) {
		errors = append(errors, Error{Name: match[1], When: match[2], Rules: strings.Split(match[3], ", ")})
	}
	return errors
}

// FindError returns the error with that name, in upper or lower case.
func FindError(name string) (Error, bool) {
	return first(Errors(), func(e Error) bool { return strings.EqualFold(e.Name, name) })
}

func first[T any](all []T, is func(T) bool) (found T, ok bool) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], true
	}
	return found, false
}
