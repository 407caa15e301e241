package flowtest

import (
	"encoding/xml"
	"io"
	"strings"
	"time"
)

// Outcome is a case that ran.
type Outcome struct {
	Case
	Result
	// Differences are the differences from the wanted result. Err is set if the case could not run.
	Differences []string
	Err         error
	Took        time.Duration // in real time
}

// Failed reports whether the case did not run, or differs from the wanted result.
func (o Outcome) Failed() bool { return o.Err != nil || len(o.Differences) > 0 }

type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Seconds float64       `xml:"time,attr"`
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes outcomes as JUnit XML, which services of continuous integration read.
func WriteJUnit(to io.Writer, outcomes []Outcome) error {
	suite := junitSuite{Name: "waitless", Tests: len(outcomes)}
	for _, o := range outcomes {
		c := junitCase{Class: o.File, Name: o.Title, Seconds: o.Took.Seconds()}
		switch {
		case o.Err != nil:
			suite.Errors++
			c.Error = &junitProblem{"the test could not run", o.Err.Error()}
		case o.Failed():
			suite.Failures++
			first, _, _ := strings.Cut(o.Differences[0], "\n")
			c.Failure = &junitProblem{first, strings.Join(o.Differences, "\n")}
		}
		suite.Cases = append(suite.Cases, c)
	}
	if _, err := io.WriteString(to, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(to)
	encoder.Indent("", "  ")
	if err := encoder.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(to, "\n")
	return err
}
