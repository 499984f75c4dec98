package hunt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/isohound/isohound/workloads/fromfile"
)

// scenarioOf is a scenario of a run that showed first at si and at ser.
func scenarioOf(si, ser string) string {
	return "name: found-sim-x\ntitle: " + si + " on sim, snapshot isolation\nsessions: 20\nexpect:\n" +
		"  - level: si\n    verdict: violated\n    anomaly: " + si + "\n  - level: ser\n    verdict: violated\n    anomaly: " + ser + "\ntime: 2s\n"
}

// TestKeepScenarios: a scenario expects the anomaly that it is kept for, also where the run with the smallest workload showed
// another one first. A scenario of a smaller workload is not replaced by one that was not made smaller; of an invariant there is none.
func TestKeepScenarios(t *testing.T) {
	dir := t.TempDir()
	listed := func(name, text string) *ListedRun {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return &ListedRun{scenario: name}
	}
	group := func(name, edges string, first, smallest *ListedRun) *Group {
		g := &Group{Target: "a", Isolation: "snapshot isolation", Name: name, Edges: edges, first: first, firstLevel: "si"}
		if smallest != nil {
			g.Shrunk = &Shrunk{Level: "si", Name: name, Listed: smallest}
		}
		return g
	}
	base, small := listed("base", scenarioOf("LostUpdate", "WriteSkew")), listed("small", scenarioOf("LongFork", "WriteSkew"))
	broken := group("on call", "", base, nil)
	broken.firstLevel = invariant
	m := &Morning{Groups: []*Group{
		group("LostUpdate", "RW RW", base, nil), group("LostUpdate", "RW WW", base, small), group("LongFork", "", nil, nil), group("LongFork", "RW", small, nil), broken,
	}}
	kept := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(dir, ScenarioFolder, "found-a-snapshot-isolation-"+name+".yaml"))
		return string(text)
	}
	want := strings.Replace(scenarioOf("LostUpdate", "WriteSkew"), "found-sim-x", "found-a-snapshot-isolation-lostupdate", 1)
	for range 2 {
		if err := m.keepScenarios(dir); err != nil {
			t.Fatal(err)
		}
		if got := kept("lostupdate"); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
		if got := kept("longfork"); !strings.Contains(got, "anomaly: LongFork\n") {
			t.Error(got)
		}
		if all, err := os.ReadDir(filepath.Join(dir, ScenarioFolder)); err != nil || len(all) != 2 || m.Groups[0].Scenario == "" || m.Groups[2].Scenario != "" || broken.Scenario != "" {
			t.Errorf("%v, %v", err, all)
		}
		want = strings.Replace(want, "sessions: 20", "sessions: 3", 1) // of an earlier night
		if err := os.WriteFile(filepath.Join(dir, m.Groups[0].Scenario), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		m.Groups[1].Shrunk = nil
	}
}

// TestShortened: of a list of values the beginning and the end stay.
func TestShortened(t *testing.T) {
	long := `"` + strings.Repeat("1234,", 100) + `99,".`
	if got := shortened("T1 read k = " + long + " Short ones stay."); got != `T1 read k = "1234,1234,1234,1234,1234,1234 … 1234,1234,1234,1234,1234,99,". Short ones stay.` {
		t.Error(got)
	}
}

// TestDigestOfFile: a cell has changed if the file that describes its workload has.
func TestDigestOfFile(t *testing.T) {
	shop, err := os.ReadFile("../examples/workload-file/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "shop.yaml")
	digest := func(text []byte) string {
		t.Helper()
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		_, cells := plan(t, "targets: [{name: a, driver: sim, isolations: [serializable]}]\nworkloads: [{name: shop, workload: \"file="+file+"\"}]\n")
		return cells[0].digest()
	}
	if before := digest(shop); digest(append(shop, "# changed\n"...)) == before || digest(shop) != before {
		t.Error("the digest is not that of the file")
	}
}
