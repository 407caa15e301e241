// Package docs is the reference of the language that flows are written in, and
// of the command: one text a topic, in Markdown. What a text demands of a flow, or
// promises of an execution, is a numbered rule, and a scenario shows each of them.
//
// This package may change between releases.
package docs

import (
	"embed"
	"regexp"
	"slices"
	"strings"
)

// Topic is one text of the reference.
type Topic struct {
	Name  string // as `waitless docs` takes it
	Title string
	Text  string // Markdown, which begins with the title
}

// Rule is one statement of the reference that can be tested.
type Rule struct {
	Number string // letters that stand for the topic, and a number: "W-3"
	Topic  string // the name of the topic that has it
	Text   string
	// Ours: the vendor's documents are silent here, and this project decided.
	Ours bool
}

// Error is one row of the table of errors.
type Error struct {
	Name  string
	When  string   // Markdown
	Rules []string // the numbers of those that say so
}

// names are those of the topics, in the order in which somebody learns the
// language; the tables come last.
var names = []string{
	"language", "flow", "steps", "data", "context", "conditions",
	"task", "retry", "catch", "callbacks", "jobs", "messages", "wait-for-condition", "pass", "wait", "choice", "succeed", "fail",
	"stop", "history", "errors", "limits", "fields", "extensions", "seeds",
	"runners", "settings", "script", "store", "signing", "aws", "exit-codes",
}

//go:embed reference/*.md
var files embed.FS

// Topics are all topics, in the order in which somebody learns the language.
func Topics() []Topic {
	topics := make([]Topic, len(names))
	for i, name := range names {
		text, _ := files.ReadFile("reference/" + name + ".md") // a test reads each
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		topics[i] = Topic{Name: name, Title: title, Text: string(text)}
	}
	return topics
}

// Find is the topic of that name.
func Find(name string) (Topic, bool) {
	return first(Topics(), func(t Topic) bool { return t.Name == name })
}

// ruleForm is a rule in a text: an item of a list, which may go on in indented
// lines.
var ruleForm = regexp.MustCompile(`(?m)^- \*\*([A-Z]+-[0-9]+)\*\* (\(ours\) )?(.*(?:\n  .*)*)`)

// Rules are the rules of all topics, in the order of the topics.
func Rules() []Rule {
	var rules []Rule
	for _, topic := range Topics() {
		for _, match := range ruleForm.FindAllStringSubmatch(topic.Text, -1) {
			text := strings.Join(strings.Fields(match[3]), " ")
			rules = append(rules, Rule{Number: match[1], Topic: topic.Name, Text: text, Ours: match[2] != ""})
		}
	}
	return rules
}

// FindRule is the rule with that number, in capital or small letters.
func FindRule(number string) (Rule, bool) {
	return first(Rules(), func(r Rule) bool { return strings.EqualFold(r.Number, number) })
}

// errorForm is a row of the table of errors.
var errorForm = regexp.MustCompile("(?m)^\\| `([^`|]+)` \\| ([^|]+) \\| ([^|]+) \\|$")

// Errors are the rows of the table of errors.
func Errors() []Error {
	var errors []Error
	topic, _ := Find("errors") // a test compares what the table has
	for _, match := range errorForm.FindAllStringSubmatch(topic.Text, -1) {
		errors = append(errors, Error{Name: match[1], When: match[2], Rules: strings.Split(match[3], ", ")})
	}
	return errors
}

// FindError is the error of that name, in capital or small letters.
func FindError(name string) (Error, bool) {
	return first(Errors(), func(e Error) bool { return strings.EqualFold(e.Name, name) })
}

func first[T any](all []T, is func(T) bool) (found T, ok bool) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], true
	}
	return found, false
}
