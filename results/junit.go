package results

import (
	"encoding/xml"
	"fmt"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator"
)

// The elements of the JUnit format that continuous integration systems read.
type (
	junitSuite struct {
		XMLName  xml.Name `xml:"testsuite"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Errors   int      `xml:"errors,attr"`
		Time     string   `xml:"time,attr"`
		Started  string   `xml:"timestamp,attr"`
		// Properties are the settings of the run.
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitProblem `xml:"failure,omitempty"`
		Error   *junitProblem `xml:"error,omitempty"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitProblem struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit renders the run as a test suite with one case for each level that was to be checked, and
// one for the run itself if it did not end in good order. Violated is a failure; unknown,
// vacuous, not judged, and an invariant that could not be checked, are errors.
func JUnit(r *Run) ([]byte, error) {
	c := &r.Config
	s := junitSuite{
		Name:    fmt.Sprintf("isohound %s, %s", c.Driver, c.Isolation),
		Started: c.Started.UTC().Format("2006-01-02T15:04:05"),
		Time:    fmt.Sprintf("%.3f", r.Stats.Seconds),
		Properties: []junitProperty{
			{"server", c.Server}, {"isolation", c.Isolation}, {"workload", c.Workload}, {"seed", fmt.Sprint(c.Seed)},
			{"isohound", c.Version}, {"repeat", c.Repeat},
		},
	}
	if c.Promises != "" {
		s.Properties = append(s.Properties, junitProperty{"promises", c.Promises})
	}
	aborts := r.mostAborts()
	if aborts != "" {
		s.Properties = append(s.Properties, junitProperty{"aborts", aborts})
		aborts = "; " + aborts
	}
	class := "isohound." + c.Driver + "." + c.Workload
	failed := func(name, what, message string) {
		s.Errors++
		s.Cases = append(s.Cases, junitCase{Class: class, Name: name, Time: "0.000",
			Error: &junitProblem{Type: what, Message: message, Text: "repeat: " + c.Repeat}})
	}
	if c.Ended != generator.Complete && c.Ended != generator.DurationReached {
		message := c.Early()
		if message == "" {
			message = "the run ended early: " + c.EndedWords()
		}
		failed("run", "incomplete", message+aborts)
	}
	judged := map[string]bool{}
	for _, o := range r.Outcomes {
		judged[o.Level] = true
		jc := junitCase{Class: class, Name: o.Level + " of " + c.Isolation, Time: fmt.Sprintf("%.3f", o.CheckSeconds)}
		switch o.Verdict {
		case verdict.Violated:
			s.Failures++
			jc.Failure = &junitProblem{Type: "violated", Message: o.Level + " is violated; " + o.Reason}
			if len(o.Anomalies) > 0 {
				jc.Failure.Type, jc.Failure.Message = o.Anomalies[0].Name, o.Anomalies[0].Name+" violates "+o.Level
			}
			if o.Promised != nil && !*o.Promised {
				jc.Failure.Message += "; " + o.Level + " is not promised"
			} else if o.Promised != nil {
				jc.Failure.Message += "; " + o.Level + " is promised"
			}
			for _, a := range o.Anomalies {
				jc.Failure.Text += a.Name + "\n" + a.Text + "\n\n"
			}
			jc.Failure.Text += "repeat: " + c.Repeat
		case verdict.Unknown, verdict.Vacuous:
			s.Errors++
			jc.Error = &junitProblem{Type: o.Verdict.String(), Message: o.Reason + aborts, Text: "repeat: " + c.Repeat}
		}
		s.Cases = append(s.Cases, jc)
	}
	for _, i := range r.Broken() {
		s.Failures++
		s.Cases = append(s.Cases, junitCase{Class: class, Name: "invariant " + i.Name, Time: "0.000",
			Failure: &junitProblem{Type: "invariant", Message: c.InvariantWords(i), Text: i.Text + "\n\nrepeat: " + c.Repeat}})
	}
	for _, i := range r.unchecked() {
		failed("invariant "+i.Name, "not checked", c.InvariantWords(i))
	}
	for _, l := range c.Levels {
		if !judged[l] {
			failed(l+" of "+c.Isolation, "not judged", "the history was not judged at "+l)
		}
	}
	s.Tests = len(s.Cases)
	b, err := xml.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, errors.Wrap(err, junitFile)
	}
	return append([]byte(xml.Header), append(b, '\n')...), nil
}
