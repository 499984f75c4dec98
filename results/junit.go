package results

import (
	"encoding/xml"
	"fmt"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/verdict"
)

// The parts of the JUnit format that continuous integration systems read.
type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Time     string      `xml:"time,attr"`
		Started  string      `xml:"timestamp,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitProblem `xml:"failure,omitempty"`
		Error   *junitProblem `xml:"error,omitempty"`
	}
	junitProblem struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit renders the run as a test suite with one case for each level: violated
// is a failure, unknown and vacuous are errors.
func JUnit(r *Run) ([]byte, error) {
	c := &r.Config
	s := junitSuite{
		Name:    fmt.Sprintf("isohound %s, %s", c.Driver, c.Isolation),
		Tests:   len(r.Outcomes),
		Started: c.Started.UTC().Format("2006-01-02T15:04:05"),
		Time:    fmt.Sprintf("%.3f", r.Stats.Seconds),
	}
	for _, o := range r.Outcomes {
		jc := junitCase{Class: "isohound." + c.Driver + "." + c.Workload, Name: o.Level + " of " + c.Isolation, Time: fmt.Sprintf("%.3f", o.CheckSeconds)}
		switch o.Verdict {
		case verdict.Violated:
			s.Failures++
			jc.Failure = &junitProblem{Type: o.Anomalies[0].Name, Message: o.Anomalies[0].Name + " violates " + o.Level}
			for _, a := range o.Anomalies {
				jc.Failure.Text += a.Name + "\n" + a.Text + "\n\n"
			}
			jc.Failure.Text += "repeat: " + c.Repeat
		case verdict.Unknown, verdict.Vacuous:
			s.Errors++
			jc.Error = &junitProblem{Type: o.Verdict.String(), Message: o.Reason, Text: "repeat: " + c.Repeat}
		}
		s.Cases = append(s.Cases, jc)
	}
	b, err := xml.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, errors.Wrap(err, junitFile)
	}
	return append([]byte(xml.Header), append(b, '\n')...), nil
}
