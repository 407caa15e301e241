package jobs

import (
	"regexp"
	"sync"
)

// form is what a text has to look like. Its pattern is compiled when it is first
// needed, for most processes that know the table need few of them. How long a
// text may be is no part of it: {1,255} is compiled into that many states.
type form struct {
	pattern func() *regexp.Regexp
	most    int // in bytes
}

// anyText is a region or an account of the vendor's. A placeholder in it may have colons: ${ALIYUN::Region}.
const anyText = `(?:\$\{[^{}]*\}|[^:])*`

// maxARN is longer than any ARN of a job.
const maxARN = 512

func formOf(pattern string, most int) *form { return &form{lazily(pattern), most} }

// lazily is the pattern, compiled once.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// MatchString reports whether the text has the form.
func (f *form) MatchString(text string) bool {
	return len(text) <= f.most && f.pattern().MatchString(text)
}
