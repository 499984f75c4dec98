package cli

import (
	"slices"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/internal/mongotest"
	"github.com/isohound/isohound/results"
)

// mongoDSN starts a fake MongoDB server.
func mongoDSN(t *testing.T) string {
	t.Helper()
	s, err := mongotest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s.URI()
}

// TestMongo runs the command on a fake server, because no real one is available. Its intended
// errors must be found.
func TestMongo(t *testing.T) {
	for name, tc := range map[string]struct {
		prepare func(*mongotest.Server)
		code    int
		anomaly string
	}{
		"snapshots":         {func(*mongotest.Server) {}, 0, ""},
		"conflicts ignored": {(*mongotest.Server).IgnoreConflicts, 1, "LostUpdate"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := mongotest.Start()
			if err != nil {
				t.Fatal(err)
			}
			defer s.Stop()
			tc.prepare(s)
			c := isohound(t, "run", "--driver", "mongo", "--dsn", s.URI(), "--check", "claimed", "--sessions", "8", "--keys", "20", "--txns", "200",
				"--out", t.TempDir()+"/run", "--json", "--no-progress")
			if int(c.code) != tc.code {
				t.Errorf("exit code %d\n%s%s", c.code, c.out, c.msg)
			}
			all := c.outcomes(t)
			if len(all) != 1 || all[0].Level != "si" || !all[0].Certified {
				t.Fatalf("%+v", all)
			}
			found := slices.ContainsFunc(all[0].Anomalies, func(a results.Anomaly) bool { return slices.Contains(a.Names, tc.anomaly) })
			if all[0].Verdict == verdict.Satisfied != (tc.anomaly == "") || found != (tc.anomaly != "") {
				t.Errorf("%s, %v", all[0].Verdict, all[0].Anomalies)
			}
			// The times of the commits are an execution of what it promises.
			if claim := all[0].Claim; claim == nil || claim.Fits != (tc.anomaly == "") {
				t.Errorf("the claim is %+v, by %s", claim, all[0].Engine)
			}
			if drops := s.Commands("dropDatabase"); len(drops) != 1 {
				t.Errorf("%d databases were dropped", len(drops))
			}
		})
	}
}
