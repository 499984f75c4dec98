package results_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/results"
)

// TestRepro: attached files are kept, long ones only their end. A history that the DSL cannot
// hold is in the native format. All this works in another process than that of the run.
func TestRepro(t *testing.T) {
	dir := t.TempDir()
	r := sample(t)
	if err := os.WriteFile(filepath.Join(dir, r.Config.History), []byte("all of it"), 0o644); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "server.log")
	if err := os.WriteFile(log, []byte(strings.Repeat("old line\n", 3<<20)+"the end"), 0o644); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "server.log")
	if err := os.WriteFile(other, []byte("the other"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := &results.Repro{Command: "run --seed 42", DSN: []string{"postgres://me:xxxxx@db/x"}, Attach: []string{log, other, "/nowhere/log"}}
	missing, err := results.SaveRepro(dir, reread(t, r), p)
	if err != nil || len(missing) != 1 || !strings.Contains(missing[0], "/nowhere/log") {
		t.Fatalf("%v, %q", err, missing)
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, results.ReproFolder, name))
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
	if s := read("logs/server.log"); len(s) != 16<<20 || !strings.HasSuffix(s, "the end") {
		t.Errorf("%d bytes of a long log", len(s))
	}
	if read("logs/2-server.log") != "the other" || read(r.Config.History) != "all of it" {
		t.Error("a file is another's")
	}
	readme := read("README.md")
	for _, want := range []string{"## LostUpdate, which snapshot isolation and serializability forbid", "T1 (session 1) and T2 (session 2) both read x = 0",
		"isohound check minimal.txt --level si,ser --certify", "the seed is 42", "`server.log`, `2-server.log`", "ISOHOUND_DSN='…' ./repeat.sh"} {
		if !strings.Contains(readme, want) {
			t.Errorf("README.md lacks %q:\n%s", want, readme)
		}
	}
	for name, want := range map[string]string{"": "isohound", "own": "own", "o$wn": "isohound"} { // a program with a workload of its own
		if _, err := results.SaveRepro(dir, reread(t, r), &results.Repro{Program: name, Command: "run --seed 42"}); err != nil {
			t.Fatal(err)
		}
		if text := read("repeat.sh"); strings.Count(text, "\"${ISOHOUND:-"+want+"}\"") != 2 {
			t.Errorf("%q:\n%s", name, text)
		}
	}
	if s := read("server.txt"); !strings.Contains(s, "server: PostgreSQL <15>\n") {
		t.Errorf("%s", s)
	}

	r.Outcomes[0].Anomalies[0].Counterexample.Sub = withPredicate(t)
	if _, err := results.SaveRepro(dir, reread(t, r), &results.Repro{}); err != nil {
		t.Fatal(err)
	}
	back, err := file.Load(context.Background(), filepath.Join(dir, results.ReproFolder, "minimal.jsonl"), file.Auto, nil)
	if err != nil || len(back.Txns) != 2 || !back.Closed || back.KeyName(0) != "a key" {
		t.Errorf("%v, %+v", err, back)
	}
}

// TestReproLoaders: what repeats a run that load generators joined says that it has none, and the minimal history that its times are of
// several clocks.
func TestReproLoaders(t *testing.T) {
	dir := t.TempDir()
	r := sample(t)
	if err := os.WriteFile(filepath.Join(dir, r.Config.History), []byte("all of it"), 0o644); err != nil {
		t.Fatal(err)
	}
	save := func() (texts map[string]string) {
		if _, err := results.SaveRepro(dir, reread(t, r), &results.Repro{Command: "run --seed 42"}); err != nil {
			t.Fatal(err)
		}
		texts = map[string]string{"summary": results.RunSummary(r, true)}
		for _, name := range []string{"README.md", "repeat.sh", "minimal.txt"} {
			b, err := os.ReadFile(filepath.Join(dir, results.ReproFolder, name))
			if err != nil {
				t.Fatal(err)
			}
			texts[name] = string(b)
		}
		return texts
	}
	for name, text := range save() {
		if strings.Contains(text, "oad generators") || strings.Contains(text, "no_common_clock") {
			t.Errorf("%s of a run by itself:\n%s", name, text)
		}
	}
	r.Config.Loaders, r.Config.Joined = true, 2
	r.Outcomes[0].Anomalies[0].Counterexample.Sub.NoCommonClock = true
	for name, text := range save() {
		want := "Load generators (isohound load) joined this run 2 times, and this command has none"
		if name == "minimal.txt" {
			want = "no_common_clock\n"
		}
		if !strings.Contains(text, want) || name == "README.md" && !strings.Contains(text, "After `no_common_clock`") {
			t.Errorf("%s lacks %q:\n%s", name, want, text)
		}
	}
	r.Config.Joined = 0
	if text := r.Config.Alone(); text != "" {
		t.Errorf("nobody joined: %s", text)
	}
	for _, ended := range []string{results.NotYet, results.Killed} {
		if r.Config.Ended = ended; !strings.Contains(r.Config.Alone(), "may have joined") {
			t.Errorf("a killed run (%s): %s", ended, r.Config.Alone())
		}
	}
}

// reread returns the run as another process reads it.
func reread(t *testing.T, r *results.Run) *results.Run {
	t.Helper()
	b, err := json.Marshal(r)
	back := &results.Run{}
	if err == nil {
		err = json.Unmarshal(b, back)
	}
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// withPredicate returns a history that the DSL cannot hold.
func withPredicate(t *testing.T) *history.History {
	t.Helper()
	path := filepath.Join(t.TempDir(), "h.jsonl")
	text := `{"isohound":1,"initial":0}
{"txn":1,"session":1,"status":"committed","ops":[["r","a key",0],["w","a key",1]],"preds":[{"kind":"read","table":"t","groups":["g"],"ops":[0,1]}]}
{"txn":2,"session":2,"status":"committed","ops":[["r","a key",0],["w","a key",2]]}
`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	h, err := file.Load(context.Background(), path, file.Auto, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.Closed = true
	return h
}
