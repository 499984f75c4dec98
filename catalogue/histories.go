package catalogue

import (
	"fmt"
	"path"
	"strings"

	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/yamldoc"
)

// recorded reads a history in the DSL. Its comments state the expectations: "# expect
// LEVEL=VERDICT …", and before it "# anomaly NAME" if an anomaly of that name must be reported.
// The other comments are the description; the first line is the title.
func recorded(file, text string) (*Scenario, []yamldoc.Problem) {
	s := &Scenario{
		Name: strings.TrimSuffix(file, path.Ext(file)), File: file, History: text, Target: Target{Kind: Embedded}, Time: Duration(historyTime),
	}
	var problems []yamldoc.Problem
	add := func(line int, format string, args ...any) {
		problems = append(problems, yamldoc.Problem{File: file, Line: line, Text: fmt.Sprintf(format, args...)})
	}
	if _, err := dsl.Parse(text, file); err != nil {
		problems = append(problems, yamldoc.Problem{File: file, Text: strings.TrimPrefix(err.Error(), file+":")})
	}
	anomaly := ""
	var about []string
	for n, line := range strings.Split(text, "\n") {
		comment, ok := strings.CutPrefix(line, "#")
		if !ok {
			continue
		}
		comment = strings.TrimRight(strings.TrimPrefix(comment, " "), " ")
		if name, ok := strings.CutPrefix(comment, "anomaly "); ok {
			anomaly = name
			if !explain.Known(name) {
				add(n+1, "no anomaly is called %q", name)
			}
			continue
		}
		list, ok := strings.CutPrefix(comment, "expect ")
		if !ok {
			about = append(about, comment)
			continue
		}
		for _, pair := range strings.Fields(list) {
			name, verdict, _ := strings.Cut(pair, "=")
			if _, err := level.Parse(name); err != nil {
				add(n+1, "%v", err)
			}
			// For a history that is cut off, only unknown can be expected.
			if !decided(verdict) && verdict != "unknown" {
				add(n+1, "%s: expected LEVEL=satisfied, LEVEL=violated or LEVEL=unknown", pair)
			}
			e := Expectation{Level: name, Verdict: verdict}
			if verdict == "violated" {
				e.Anomaly = anomaly
			}
			s.Expect = append(s.Expect, e)
		}
	}
	if len(s.Expect) == 0 {
		add(0, `nothing is expected: a line "# expect ser=violated si=satisfied" says what must come out`)
	}
	if len(about) > 0 {
		s.Title = strings.TrimSuffix(about[0], ".")
		s.About = strings.TrimSpace(strings.Join(about, "\n"))
	}
	return s, problems
}
