package hunt

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"
)

// ScenarioFolder is the folder with a scenario for each violation, in the folder of a hunt.
const ScenarioFolder = "scenarios"

// maxWritten bounds a value in a list of changes.
const maxWritten = 60

// String writes the change.
func (c Change) String() string {
	return fmt.Sprintf("%s %s → %s", c.Name, abbreviated(c.From), abbreviated(c.To))
}

func abbreviated(value string) string {
	if len(value) <= maxWritten {
		return value
	}
	return fmt.Sprintf("%s … (%d names)", value[:strings.LastIndexByte(value[:maxWritten], ',')+1], strings.Count(value, ",")+1)
}

// String writes the rate.
func (r Rate) String() string { return fmt.Sprintf("%d of %s", r.K, count(r.N, "run")) }

// Smaller lists what became smaller.
func (s *Shrunk) Smaller() string {
	var parts []string
	for _, c := range s.Changes {
		parts = append(parts, c.String())
	}
	return strings.Join(parts, ", ")
}

// Words says what shrinking came to.
func (s *Shrunk) Words() string {
	text := ""
	switch {
	case len(s.Changes) == 0 && s.Text == stillShrinking:
		text = "No smaller workload so far"
	case len(s.Changes) == 0:
		text = "No smaller workload"
	case s.Confirmed:
		text = fmt.Sprintf("Smallest workload: %s. It shows %s in %s that had no part in its choice; the run itself showed it in %s of its repetitions", s.Smaller(), s.Name, s.Rate, s.Before.of())
	default:
		text = fmt.Sprintf("Smallest workload so far: %s. It showed %s in %s, by which it was chosen, so that the true rate may be lower; the run itself showed it in %s of its repetitions", s.Smaller(), s.Name, s.Rate, s.Before.of())
	}
	how := s.Text
	if s.Runs > 0 {
		how = fmt.Sprintf("%s and %s; %s", count(s.Runs, "run"), s.Took.Round(time.Second), s.Text)
	}
	return text + " (" + how + ")."
}

func (r Rate) of() string { return fmt.Sprintf("%d of %d", r.K, r.N) }

// Command is isohound run with the smallest workload, as far as it is known.
func (s *Shrunk) Command() string {
	if s.Best == nil {
		return ""
	}
	return s.Best.Command
}

// keepScenarios copies the scenarios of the violations that nobody expects into one folder: that of the smallest workload, or
// else that of the smallest run which showed the anomaly before anything else. One that an earlier night has made smaller is not
// replaced by one that was not.
func (m *Morning) keepScenarios(dir string) error {
	written := map[string]bool{}
	for _, shrunk := range []bool{true, false} {
		for _, g := range m.Fresh() {
			from, level := g.first, g.firstLevel
			if small := g.Shrunk != nil && g.Shrunk.Listed != nil; small != shrunk {
				continue
			} else if small {
				from, level = g.Shrunk.Listed, g.Shrunk.Level
			}
			if from == nil || from.scenario == "" {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(from.scenario)))
			if err != nil {
				return errors.WithStack(err)
			}
			if text = expecting(text, level, g.Name); text == nil {
				continue
			}
			name := "found-" + strings.Trim(improper.ReplaceAllString(strings.ToLower(g.Target+"-"+g.Isolation+"-"+g.Name), "-"), "-")
			g.Scenario = ScenarioFolder + "/" + name + ".yaml"
			path := filepath.Join(dir, ScenarioFolder, name+".yaml")
			if _, err := os.Stat(path); written[name] || err == nil && !shrunk {
				continue
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return errors.WithStack(err)
			}
			if err := replace(path, renamed(text, name)); err != nil {
				return err
			}
			written[name] = true
		}
	}
	return nil
}

// expecting is a scenario that expects an anomaly at a level, where it expected the one that its run showed first. It returns nil
// if the scenario expects nothing at that level, as of an invariant.
func expecting(text []byte, level, name string) []byte {
	at := regexp.MustCompile(`(?m)^( *- level: ` + regexp.QuoteMeta(level) + `\n +verdict: violated\n +anomaly: )(.*)$`).FindSubmatchIndex(text)
	if at == nil {
		return nil
	}
	was, after := string(text[at[4]:at[5]]), text[at[5]:]
	head := strings.Replace(string(text[:at[4]]), was+" on ", name+" on ", 1) // in the title
	return slices.Concat([]byte(head), []byte(name), after)
}

var (
	improper = regexp.MustCompile(`[^a-z0-9]+`)
	nameLine = regexp.MustCompile(`(?m)^name: .*$`)
)

// renamed gives a scenario another name, which is that of its file.
func renamed(text []byte, name string) []byte {
	return nameLine.ReplaceAllLiteral(text, []byte("name: "+name))
}
