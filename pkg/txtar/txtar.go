// Package txtar reads and writes test cases: one text file with several named sections, as
// golang.org/x/tools/txtar has them.
//
//	what the case shows
//	-- flow.yaml --
//	version: v1
//	-- want --
//	flow.yaml:1:1: ...
package txtar

import "strings"

// A Section is a part of a case.
type Section struct {
	Name, Text string // Text is empty or ends with a line break
}

// Parse returns the lines before the first section, and the sections.
func Parse(text string) (comment string, sections []Section) {
	current := &comment
	for line := range strings.Lines(text) {
		name, isBegin := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "-- ")
		name, isEnd := strings.CutSuffix(name, " --")
		if isBegin && isEnd {
			sections = append(sections, Section{Name: name})
			current = &sections[len(sections)-1].Text
			continue
		}
		*current += line
	}
	return comment, sections
}

// Format returns the text of a case. Parse reads it if every text is empty or ends with a line break.
func Format(comment string, sections []Section) string {
	var text strings.Builder
	text.WriteString(comment)
	for _, s := range sections {
		text.WriteString("-- " + s.Name + " --\n" + s.Text)
	}
	return text.String()
}

// Find returns the text of the first section with that name.
func Find(sections []Section, name string) (text string, ok bool) {
	for _, s := range sections {
		if s.Name == name {
			return s.Text, true
		}
	}
	return "", false
}
