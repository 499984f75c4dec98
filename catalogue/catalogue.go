package catalogue

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/internal/infile"
	"github.com/isohound/isohound/internal/yamldoc"
)

// historyTime is how long judging a recorded history may take.
const historyTime = time.Second

// Catalogue is a set of scenarios, by name.
type Catalogue struct{ Scenarios []*Scenario }

// readFile reads a file, up to infile.MaxText. The read of a pipe might wait for ever.
func readFile(files fs.FS, file string) ([]byte, error) {
	info, err := fs.Stat(files, file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.Errorf("%s is not a regular file", file)
	}
	r, err := files.Open(file)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return infile.ReadAll(r, file)
}

// Load reads every scenario (*.yaml, *.yml) and every recorded history (*.txt) below the root of
// files. The error is a *yamldoc.Error with all problems of all files, or an error of reading.
func Load(files fs.FS) (*Catalogue, error) {
	c := &Catalogue{}
	var problems []yamldoc.Problem
	twins := map[*Scenario]*document{}
	err := fs.WalkDir(files, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		ext := path.Ext(file)
		if ext != ".yaml" && ext != ".yml" && ext != ".txt" {
			return nil
		}
		text, err := readFile(files, file)
		if err != nil {
			return err
		}
		if ext == ".txt" {
			s, wrong := recorded(file, string(text))
			c.Scenarios, problems = append(c.Scenarios, s), append(problems, wrong...)
			return nil
		}
		s, doc := read(file, text)
		if doc.Root != nil {
			doc.validate(s)
		}
		c.Scenarios, problems = append(c.Scenarios, s), append(problems, doc.Problems...)
		if s.Twin != "" {
			twins[s] = doc
		}
		return nil
	})
	if err != nil {
		return nil, errors.Wrap(err, "scenarios")
	}
	slices.SortStableFunc(c.Scenarios, func(a, b *Scenario) int { return strings.Compare(a.Name, b.Name) })
	for i, s := range c.Scenarios {
		if i > 0 && c.Scenarios[i-1].Name == s.Name {
			problems = append(problems, yamldoc.Problem{File: s.File, Text: "scenario " + s.Name + " is in " + c.Scenarios[i-1].File + ", too"})
		}
		if doc := twins[s]; doc != nil {
			if twin := c.find(s.Twin); twin == nil || twin.Target.Kind != Embedded {
				problems = append(problems, yamldoc.Problem{File: s.File, Line: doc.Line("twin"), Text: "twin: there is no embedded scenario " + s.Twin})
			}
		}
	}
	if len(problems) > 0 {
		return nil, &yamldoc.Error{Problems: problems}
	}
	if len(c.Scenarios) == 0 {
		return nil, errors.New("there are no scenarios: no file ends in .yaml or .txt")
	}
	return c, nil
}

func (c *Catalogue) find(name string) *Scenario {
	for _, s := range c.Scenarios {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Find returns the scenario called name.
func (c *Catalogue) Find(name string) (*Scenario, error) {
	if s := c.find(name); s != nil {
		return s, nil
	}
	return nil, errors.Errorf("there is no scenario %q; isohound scenarios lists them%s", name, c.similar(name))
}

// similar suggests a similar name.
func (c *Catalogue) similar(name string) string {
	var near []string
	for _, s := range c.Scenarios {
		if strings.Contains(s.Name, name) && len(near) < 5 {
			near = append(near, s.Name)
		}
	}
	if len(near) == 0 {
		return ""
	}
	return "; similar: " + strings.Join(near, ", ")
}

// Select returns the scenarios that match the given names or patterns (see path.Match), in their
// order; "all" matches every one. Each pattern must match at least one. If kinds are given, only
// scenarios of these kinds are returned.
func (c *Catalogue) Select(names []string, kinds ...Kind) ([]*Scenario, error) {
	var out []*Scenario
	take := func(s *Scenario) {
		if (len(kinds) == 0 || slices.Contains(kinds, s.Target.Kind)) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, name := range names {
		found := false
		for _, s := range c.Scenarios {
			match, err := path.Match(name, s.Name)
			if err != nil {
				return nil, errors.Errorf("%q is no pattern", name)
			}
			if match || name == "all" {
				found = true
				take(s)
			}
		}
		if !found {
			_, err := c.Find(name)
			return nil, err
		}
	}
	return out, nil
}
