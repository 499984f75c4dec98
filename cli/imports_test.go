package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history/file"
)

// ofHistory returns where a file of the folder history is.
func ofHistory(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "history", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestImports: formats that are only read are judged with their claimed order, and are not written.
func TestImports(t *testing.T) {
	for name, says := range map[string]string{
		"etcd/testdata/report":             "the order that the database claims (revisions) is an execution",
		"debezium/testdata/mariadb.jsonl":  "the order that the database claims (commits in Debezium's stream) is an execution",
		"debezium/testdata/postgres.jsonl": "so nothing is read",
	} {
		path := ofHistory(t, name)
		c := isohound(t, "check", path, "--level", "ser,si", "--versions", "assume", "--certify")
		if c.code != 0 || !strings.Contains(c.out, "ser satisfied") || !strings.Contains(c.out, "si satisfied") || strings.Contains(c.out, "no execution") {
			t.Errorf("%s: exit code %d: %s%s", path, c.code, c.out, c.msg)
		}
		if c := isohound(t, "check", path, "--level", "ser"); !strings.Contains(c.out, says) {
			t.Errorf("%s: %s%s", path, c.out, c.msg)
		}
		out := filepath.Join(t.TempDir(), "h.jsonl")
		if c := isohound(t, "convert", path, out); c.code != 0 {
			t.Errorf("%s: exit code %d: %s", path, c.code, c.msg)
		}
		if c := isohound(t, "check", out, "--level", "ser", "--certify", "--json"); c.outcomes(t)[0].Verdict != verdict.Satisfied || c.outcomes(t)[0].Claim == nil {
			t.Errorf("%s: %s%s", path, c.out, c.msg)
		}
	}
	for _, f := range file.Imports {
		if c := isohound(t, "convert", write(t, "h.txt", fine), filepath.Join(t.TempDir(), "x"), "--to", string(f)); c.code != int(exitUsage) || !strings.Contains(c.msg, "does not write it") {
			t.Errorf("%s: exit code %d: %s", f, c.code, c.msg)
		}
	}
}

// TestClaimsFromDebezium: Debezium's change events give a recorded history the order of its commits.
func TestClaimsFromDebezium(t *testing.T) {
	events := ofHistory(t, "debezium/testdata/postgres.jsonl")
	recorded := write(t, "h.jsonl", `{"isohound":1}
{"txn":1,"session":1,"dbtxn":4294968107,"status":"committed","ops":[["r","x",1],["w","x",3],["w","y",null]]}
{"txn":2,"session":2,"dbtxn":4294968108,"status":"unknown","ops":[["w","x",1],["w","y",2]]}
{"txn":3,"session":2,"dbtxn":4294968109,"status":"committed","ops":[["w","z",2]]}
{"closed":{"reason":"complete","txns":3}}
`)
	out := filepath.Join(t.TempDir(), "claimed.jsonl")
	c := isohound(t, "convert", recorded, out, "--claims", events)
	if c.code != 0 || !strings.Contains(c.msg, "the positions of 1 of 2 committed transactions that wrote, and of 1 of unknown outcome") {
		t.Errorf("exit code %d: %s", c.code, c.msg)
	}
	if c := isohound(t, "check", out, "--level", "ser", "--versions", "assume", "--certify", "--json"); c.code != 0 || c.outcomes(t)[0].Assumes.Placed != 4 {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	if c := isohound(t, "convert", recorded, filepath.Join(t.TempDir(), "x.jsonl"), "--claims", write(t, "e.jsonl", `{"before":null,"op":"x"`)); c.code != int(exitData) || !strings.Contains(c.msg, "e.jsonl:1") {
		t.Errorf("exit code %d: %s", c.code, c.msg)
	}
}
