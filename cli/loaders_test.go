//go:build !front

package cli

import (
	"testing"

	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/workloads"
)

// TestLoadersShareNumbers: a workload is made for the sessions of the run and of the load generators that it waits
// for, so that their sessions do not insert the same rows.
func TestLoadersShareNumbers(t *testing.T) {
	for text, want := range map[string]int{"": 5, "0": 5, "1": 10, "3": 20} {
		loaders, err := parseLoaders(text)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		spec := workloads.Spec{New: func(c workloads.Common, _ workloads.Values) (generator.Workload, error) {
			got = c.Sessions
			return nil, nil
		}}
		s := &settings{sessions: 5, loaders: loaders}
		if err := s.makeWork(spec); err != nil || got != want {
			t.Errorf("--loaders %q: %d sessions, not %d: %v", text, got, want, err)
		}
	}
}
