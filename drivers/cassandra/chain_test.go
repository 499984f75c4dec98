package cassandra

import (
	"slices"
	"testing"

	"github.com/datastax/go-cassandra-native-protocol/message"
	"github.com/datastax/go-cassandra-native-protocol/primitive"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/internal/cqltest"
	"github.com/isohound/isohound/internal/replay"
	"github.com/isohound/isohound/workloads"
	_ "github.com/isohound/isohound/workloads/lwt"
)

// TestChain tests the whole path from the fake server to a verdict. Errors of the server must be
// found, and correct behaviour must not be reported. "denied" is a server that reports applied
// statements as not applied. A history does not contain what such a statement would have
// written, so the value has no writer.
func TestChain(t *testing.T) {
	timeout := &message.WriteTimeout{Consistency: primitive.ConsistencyLevelSerial, BlockFor: 2, WriteType: primitive.WriteTypeCas}
	for name, tc := range map[string]struct {
		isolation string
		prepare   func(*cqltest.Server)
		unknown   bool
		want      verdict.Verdict
		anomaly   string
	}{
		"linearizable":           {"SERIAL", func(*cqltest.Server) {}, false, verdict.Satisfied, ""},
		"old, but not at SERIAL": {"SERIAL", func(s *cqltest.Server) { s.Lag(5) }, false, verdict.Satisfied, ""},
		"old":                    {"ONE", func(s *cqltest.Server) { s.Lag(5) }, false, verdict.Violated, ""},
		"timeouts": {"SERIAL", func(s *cqltest.Server) {
			s.Inject(cqltest.Fault{Begins: "UPDATE", Times: 8, Error: timeout, Executed: true})
			s.Inject(cqltest.Fault{Begins: "UPDATE", Times: 8, Error: timeout})
			s.Inject(cqltest.Fault{Begins: "UPDATE", Times: 4, Executed: true})
		}, true, verdict.Satisfied, ""},
		"denied": {"SERIAL", func(s *cqltest.Server) {
			s.Inject(cqltest.Fault{Begins: "UPDATE", Times: 40, Executed: true, Deny: true})
		}, false, verdict.Violated, "ThinAirRead"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			tc.prepare(s)
			w, err := replay.New("lwt", workloads.Common{Sessions: 8, Keys: 5})
			if err != nil {
				t.Fatal(err)
			}
			cfg := generator.Config{Sessions: 8, Txns: 120, Seed: 7, CallTimeout: generator.DefaultCallTimeout}
			raw, err := replay.Record(driver{}, drivers.Config{DSN: dsn(s), Isolation: tc.isolation}, w, cfg)
			if err != nil {
				t.Fatal(err)
			}
			h, err := replay.Load(raw)
			if err != nil {
				t.Fatal(err)
			}
			n := h.Count()
			t.Logf("%d statements in %d sessions, %d committed, %d unknown", n.Txns, n.Sessions, n.Committed, n.Unknown)
			if n.Committed < 300 || tc.unknown != (n.Unknown > 0) {
				t.Errorf("%+v", n)
			}
			r, err := checker.Check(ctx, h, level.LIN, checker.Options{Certify: true})
			if err != nil || r.Verdict != tc.want {
				t.Fatalf("%v, %v, want %v", r, err, tc.want)
			}
			if tc.anomaly != "" && !slices.ContainsFunc(r.Anomalies, func(a verdict.Anomaly) bool { return slices.Contains(a.Names, tc.anomaly) }) {
				t.Errorf("no %s among %+v", tc.anomaly, r.Anomalies)
			}
		})
	}
}

// TestAgainstModel runs lightweight transactions serially on the fake server and on a database
// of maps. The histories must be the same.
func TestAgainstModel(t *testing.T) {
	make := func() (generator.Workload, error) {
		return replay.New("lwt", workloads.Common{Sessions: 4, Keys: 10})
	}
	if err := replay.AgainstModel(driver{}, drivers.Config{DSN: dsn(start(t)), Isolation: "SERIAL"}, false, make, 4, 80, 11); err != nil {
		t.Error(err)
	}
}
