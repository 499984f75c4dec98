package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// TestTablesInHistories: a recorded history contains the schema of its tables. So do its
// conversion and its counterexample, which keeps predicates too.
func TestTablesInHistories(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	c := isohound(t, "run", "--driver", "sim", "--isolation", "snapshot isolation", "--workload", "skew", "-p", "patterns=oncall", "--txns", "100", "--seed", "5", "--check", "ser", "--plain", "--quiet", "--out", dir)
	if c.code != 1 {
		t.Fatalf("exit code %d: %s", c.code, c.msg)
	}
	recorded, converted := filepath.Join(dir, "history.jsonl"), filepath.Join(dir, "again.jsonl")
	if c := isohound(t, "convert", recorded, converted); c.code != 0 {
		t.Fatal(c.msg)
	}
	whole := load(t, recorded)
	duty, ok := whole.Schema.Table("duty")
	if !ok || len(whole.Schema) != 1 || len(duty.Key) != 2 || duty.Groups[0].Columns[0].Name != "oncall" || !whole.HasPredicates() {
		t.Fatalf("the recorded history has the tables %+v", whole.Schema)
	}
	for _, path := range []string{converted, filepath.Join(dir, "repro", "minimal.jsonl")} {
		h := load(t, path)
		if !reflect.DeepEqual(h.Schema, whole.Schema) || !h.HasPredicates() {
			t.Errorf("%s: predicates %v, tables %+v", path, h.HasPredicates(), h.Schema)
		}
	}
	raw, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	var left [][]byte // what a conversion keeps: everything except intents
	for _, line := range bytes.SplitAfter(raw, []byte("\n")) {
		if !bytes.HasPrefix(line, []byte(`{"intent"`)) {
			left = append(left, line)
		}
	}
	if again, err := os.ReadFile(converted); err != nil || !bytes.Equal(again, bytes.Join(left, nil)) {
		t.Errorf("the conversion differs, %v", err)
	}
}
