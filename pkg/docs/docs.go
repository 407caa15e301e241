// Package docs contains the reference of the flow language and of the command: one Markdown text for
// each topic. A statement about flows or executions is a numbered rule, and a test scenario shows it.
//
// The folder decisions has the decisions of the project.
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
	About string // in a few words, for lists
	Text  string // Markdown, which begins with the title
}

// Rule is one testable statement of the reference.
type Rule struct {
	Number string // letters for the topic, and a number: "W-3"
	Topic  string // the name of its topic
	Text   string
	Origin string // FDL, or Waitless where the vendor's documents are silent
}

// Error is one row of the table of errors.
type Error struct {
	Name  string
	When  string   // Markdown
	Rules []string // the numbers of the rules that say so
}

// topics lists the topics in the order in which a user learns the language; then tables, the command,
// and AWS.
var topics = []struct{ name, about string }{
	{"language", "the text of a flow: YAML, numbers, keys"},
	{"flow", "the whole definition, and its input and output"},
	{"steps", "the elements of a flow, their names and their order"},
	{"data", "input, local and output, and the mappings between them"},
	{"context", "$context: what mappings read of the execution"},
	{"conditions", "what a choice compares"},
	{"task", "call a function, start a job, send a message"},
	{"retry", "repeat a task that failed"},
	{"catch", "continue elsewhere after an error"},
	{"callbacks", "wait for a person or another service"},
	{"jobs", "start a job of AWS and wait for its end"},
	{"messages", "send to a queue or a topic"},
	{"wait-for-condition", "poll a function until its output meets a condition"},
	{"pass", "constants, renamed keys and counters"},
	{"wait", "pause for a time or until an instant"},
	{"choice", "branch by a condition"},
	{"parallel", "run branches side by side"},
	{"foreach", "run steps for each element of a list"},
	{"succeed", "end a series early"},
	{"fail", "fail on purpose"},
	{"stop", "end an execution from outside"},
	{"history", "the events of an execution"},
	{"errors", "all names of errors, and when they come"},
	{"limits", "sizes, numbers and durations"},
	{"fields", "all fields of all steps"},
	{"extensions", "what other services of FDL do not understand"},
	{"seeds", "the vendor's tutorials, as they run here"},
	{"validate", "check and improve a flow: validate, advise, init"},
	{"runners", "what is called for a function: programs, servers, Lambda"},
	{"settings", "waitless.yaml, the environment and flags"},
	{"script", "outcomes and job events in virtual time: script.yaml"},
	{"store", "where executions are kept, what grows, copies, the key"},
	{"dev", "serve a local store: callback URLs, job events, the API"},
	{"signing", "callbacks that are signed"},
	{"api", "the management API: requests, rights, the key of dev --api"},
	{"exit-codes", "how a command ends"},
	{"aws", "a stack: emulator, local functions, other engines"},
	{"parameters", "the parameters of a stack and their defaults"},
	{"operations", "rights, queues, dead letters and alarms of a stack"},
	{"security", "who may do what, the token key, and what to do after a leak"},
	{"cost", "what waits, polls and an idle stack cost on AWS"},
}

//go:embed reference/*.md
var files embed.FS

// Topics returns all topics, in the order in which a user learns the language.
func Topics() []Topic {
	all := make([]Topic, len(topics))
	for i, t := range topics {
		text, _ := files.ReadFile("reference/" + t.name + ".md") // a test reads each
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		all[i] = Topic{Name: t.name, Title: title, About: t.about, Text: string(text)}
	}
	return all
}

// Find returns the topic with that name.
func Find(name string) (Topic, bool) {
	return first(Topics(), func(t Topic) bool { return t.Name == name })
}

// ruleForm matches a rule: a row of a table with number, statement and origin.
var ruleForm = regexp.MustCompile(`(?m)^\| ([A-Z]+-[0-9]+) \| (.+) \| (FDL|Waitless) \|$`)

// Rules returns the rules of all topics, in the order of the topics.
func Rules() []Rule {
	var rules []Rule
	for _, topic := range Topics() {
		for _, match := range ruleForm.FindAllStringSubmatch(topic.Text, -1) {
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
var errorForm = regexp.MustCompile("(?m)^\\| `([^`|]+)` \\| ([^|]+) \\| ([^|]+) \\|$")

// Errors returns the rows of the table of errors.
func Errors() []Error {
	var errors []Error
	topic, _ := Find("errors") // a test compares what the table has
	for _, match := range errorForm.FindAllStringSubmatch(topic.Text, -1) {
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
