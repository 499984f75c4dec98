package hunt

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/isohound/isohound/results"
)

// sentence says what a difference means.
func (c *Comparison) sentence(d *Difference) string {
	a, b := 0, 1
	if d.K[0] == 0 {
		a, b = 1, 0
	}
	one, other := c.Sides[a].Name, c.Sides[b].Name
	if d.N[b] == 0 {
		return fmt.Sprintf("Only %s has runs that could show it. It was shown in %s; nothing can be compared.", one, d.Rate(a))
	}
	text := fmt.Sprintf("Both showed it: %s in %s, %s in %s.", one, d.Rate(a), other, d.Rate(b))
	if d.K[b] == 0 {
		text = fmt.Sprintf("Only %s showed it, in %s; %s in %s.", one, d.Rate(a), other, d.Rate(b))
	}
	switch {
	case d.Differs:
		text += fmt.Sprintf(" If both showed it equally often, luck alone would make such a difference with probability %s%s: luck is no likely reason.", probability(d.P), c.among())
	case d.K[b] == 0:
		text += fmt.Sprintf(" This may be luck: if both showed it equally often, such a difference or a greater one would come with probability %s.%s", probability(d.P), d.missing(a, b))
	case d.P < luck:
		text += fmt.Sprintf(" The rates may differ by luck: the probability of such a difference is %s%s.", probability(d.P), c.among())
	default:
		text += fmt.Sprintf(" The rates do not differ by more than luck makes (probability %s).", probability(d.P))
	}
	if x, y := d.length(a), d.length(b); x > 2*y || y > 2*x {
		text += fmt.Sprintf(" A run of %s has %s commits on average, one of %s %s: longer runs show more.", one, results.Thousands(fmt.Sprintf("%.0f", x)), other, results.Thousands(fmt.Sprintf("%.0f", y)))
	}
	return text
}

// among says of how many findings one is.
func (c *Comparison) among() string {
	if c.Tested < 2 {
		return ""
	}
	return fmt.Sprintf(", where %d findings are compared", c.Tested)
}

func (d *Difference) length(side int) float64 {
	return float64(d.Commits[side]) / float64(max(d.N[side], 1))
}

// missing says how likely side b misses the finding if it shows it as often as side a did, and how many runs it needs.
func (d *Difference) missing(a, b int) string {
	rate := float64(d.K[a]) / float64(d.N[a])
	if rate >= 1 {
		return ""
	}
	miss := math.Pow(1-rate, float64(d.N[b]))
	need := int(math.Ceil(math.Log(luck) / math.Log(1-rate)))
	if miss <= luck || need <= d.N[b] {
		return ""
	}
	return fmt.Sprintf(" At the rate of the other side %s show nothing with probability %s; it takes %d runs without it to say more.", count(d.N[b], "run"), probability(miss), need)
}

// probability writes a probability so that a small one is not 0.
func probability(p float64) string {
	if p >= 0.9995 {
		return "1"
	}
	return strings.TrimSuffix(fmt.Sprintf("%.2g", p), ".0")
}

// notes say what else differs between the sides.
func (c *Comparison) notes() {
	add := func(format string, args ...any) { c.Notes = append(c.Notes, fmt.Sprintf(format, args...)) }
	a, b := &c.Sides[0], &c.Sides[1]
	if !slices.Equal(a.Servers, b.Servers) && c.What == "nights" {
		add("The servers differ: %s had %s, and %s had %s.", a.Name, listed(a.Servers), b.Name, listed(b.Servers))
	}
	if !slices.Equal(a.Versions, b.Versions) {
		add("The versions of isohound differ: %s had %s, and %s had %s.", a.Name, listed(a.Versions), b.Name, listed(b.Versions))
	}
	var only [2]int
	changed := 0
	for _, p := range c.Cells {
		switch {
		case p.Of[1].Runs == 0:
			only[0]++
		case p.Of[0].Runs == 0:
			only[1]++
		case p.Changed:
			changed++
		}
	}
	for n := range only {
		if only[n] > 0 {
			add("%s run by %s only.", results.Capital(were(only[n], "cell")), c.Sides[n].Name)
		}
	}
	if changed > 0 {
		add("The plan says something else of %s.", count(changed, "cell"))
	}
}

// listed lists names, which may have commas.
func listed(all []string) string {
	if len(all) == 0 {
		return "none known"
	}
	return strings.Join(all, "; ")
}

// Words is the comparison in a few words.
func (c *Comparison) Words() string {
	differ, one, alone := 0, 0, 0
	for _, d := range c.Findings {
		switch {
		case d.Differs:
			differ++
		case !d.compared():
			alone++
		case d.sides() == 1:
			one++
		}
	}
	var parts []string
	if differ > 0 {
		parts = append(parts, be(differ, "difference")+" more than luck")
	}
	if one > 0 {
		parts = append(parts, count(one, "finding")+" on one side only may be luck")
	}
	if alone > 0 {
		parts = append(parts, count(alone, "finding")+" cannot be compared")
	}
	switch {
	case len(parts) > 0:
		return results.Capital(strings.Join(parts, "; "))
	case len(c.Findings) == 0:
		return "Neither side showed a violation"
	}
	return "No difference in what was found"
}

func be(n int, what string) string {
	if n == 1 {
		return "1 " + what + " is"
	}
	return count(n, what) + " are"
}

// Verdict is the colour of the comparison.
func (c *Comparison) Verdict() string {
	if slices.ContainsFunc(c.Findings, func(d *Difference) bool { return d.Differs || d.sides() == 1 }) {
		return unknown
	}
	return satisfied
}

// Text is the comparison for a console.
func (c *Comparison) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", c.Words())
	for n := range c.Sides {
		s := &c.Sides[n]
		fmt.Fprintf(&b, "%s: %s, %d judged, %d violated, %d vacuous, %d ended early, %d failed; %s commits; %s\n", s.Name, count(s.Runs, "run"), s.Judged, s.Violated, s.Vacuous, s.Early, s.Failed, results.Thousands(s.Commits), listed(s.Servers))
	}
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	for _, d := range c.Findings {
		fmt.Fprintf(&b, "\n%s: %s on %s\n  %s\n", d.Name, d.Of(), strings.Join(d.Workloads, "; "), d.Sentence)
	}
	return b.String()
}

// Write writes the page into the folder of the hunt, and returns its path.
func (c *Comparison) Write(dir string, page results.Page) (string, error) {
	html, err := page("compare", c)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, ComparisonFile)
	return path, replace(path, html)
}

// Of is what a finding violates, and where.
func (d *Difference) Of() string {
	text := d.Level + " (" + promise(d.Promised) + "), " + d.Isolation
	if d.Target != "" {
		text = d.Level + " (" + promise(d.Promised) + "), " + d.Target + ", " + d.Isolation
	}
	return text
}

// Share is the share of the runs of a side that showed a finding, in percent.
func (d *Difference) Share(side int) float64 {
	return 100 * float64(d.K[side]) / float64(max(d.N[side], 1))
}

// Where is the cell of a pair, in words.
func (p *Pair) Where() string {
	text := p.Isolation
	if p.Target != "" {
		text = p.Target + ", " + text
	}
	return text
}
