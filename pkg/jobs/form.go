package jobs

import "regexp"

// form is what a text has to look like. How long it may be is no part of the
// pattern: one with {1,255} is compiled into that many states, when the process
// starts, and every function of a stack would start milliseconds later.
type form struct {
	pattern *regexp.Regexp
	most    int // in bytes
}

// maxARN is longer than any ARN of a job.
const maxARN = 512

func formOf(pattern string, most int) *form { return &form{regexp.MustCompile(pattern), most} }

// MatchString reports whether the text has the form.
func (f *form) MatchString(text string) bool {
	return len(text) <= f.most && f.pattern.MatchString(text)
}
