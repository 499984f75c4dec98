package generator

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/native"
)

// TestSnapshotOnTheWire: the snapshot, the versions of reads and texts that are not UTF-8, which a load generator recorded, arrive in the
// history of its run.
func TestSnapshotOnTheWire(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.jsonl")
	w, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	log, err := native.NewLog(w, false)
	if err != nil {
		t.Fatal(err)
	}
	rec := &Recorder{log: log, start: time.Now()}
	a := &attempt{r: rec, rec: history.Record{ID: 1, Session: 1, Begin: 1, End: 2, Due: history.NoTime, DBTxn: 816, Status: history.Committed,
		Claim: history.Claim{Visible: &history.Visible{Min: 812, Max: 820, Open: []int64{815, 817}}}}}
	a.ops = []op{{kind: history.Read, key: "\xff", isText: true, text: "\x80"}, {kind: history.Read, key: "\xfe", isText: true, text: "\x81"}, {kind: history.Read, key: "x", value: 5, version: 12}, {kind: history.Read, key: "y", value: 6, version: history.Before}, {kind: history.Read, key: "x", value: 5}}
	sent, err := json.Marshal(lineOf(a, true))
	if err != nil {
		t.Fatal(err)
	}
	var l line
	if err := json.Unmarshal(sent, &l); err != nil {
		t.Fatal(err)
	}
	f := &Fleet{r: &Runner{rec: rec, stat: newMeter(rec.Now, 1)}}
	m := &loader{sessions: map[int64]*remoteSession{}, open: map[int64]*attempt{}}
	if err := log.Group(func(g *native.Group) { f.absorbLine(m, &l, g) }); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	for _, want := range []string{"[\"r\",\"\uffffff\",\"\uffff80\"]", "[\"r\",\"\ufffffe\",\"\uffff81\"]", `"visible":[812,820,815,817]`, `["r","x",5,12]`, `["r","y",6,0]`, `["r","x",5]`} {
		if err != nil || !strings.Contains(string(bytes.TrimSpace(got)), want) {
			t.Errorf("%s is not in %s, %v", want, got, err)
		}
	}
}
