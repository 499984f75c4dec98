package native_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/history/native"
)

// BenchmarkRead reads a million mini-transactions of 20 sessions, with their
// intents, from a file, and compares what came out with what went in.
func BenchmarkRead(b *testing.B) {
	h := synth.Mini(synth.MiniConfig{Sessions: 20, Txns: 1_000_000, Keys: 1000, Seed: 1})
	for _, compressed := range []bool{false, true} {
		name := "plain"
		if compressed {
			name = "zstd"
		}
		b.Run(name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "h.jsonl")
			if err := os.WriteFile(path, withIntents(b, h, compressed), 0o644); err != nil {
				b.Fatal(err)
			}
			st, _ := os.Stat(path)
			b.SetBytes(st.Size())
			b.ReportAllocs()
			for b.Loop() {
				got, err := file.Load(context.Background(), path, file.Auto, nil)
				if err != nil {
					b.Fatal(err)
				}
				if len(got.Txns) != len(h.Txns) || len(got.AllOps()) != len(h.AllOps()) || !got.Closed {
					b.Fatalf("read %d transactions with %d operations, closed %v", len(got.Txns), len(got.AllOps()), got.Closed)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/txn")
		})
	}
}

// withIntents writes h as a recorder would: an intent before each transaction
// that writes.
func withIntents(tb testing.TB, h *history.History, compressed bool) []byte {
	tb.Helper()
	var out bytes.Buffer
	log, err := native.NewLog(&out, compressed)
	if err != nil {
		tb.Fatal(err)
	}
	check := func(err error) {
		if err != nil {
			tb.Fatal(err)
		}
	}
	own := func(yield func(string, string) bool) {
		check(h.OwnInitials(func(k history.Key, v history.Value) error {
			yield(h.KeyName(k), h.ValueText(v))
			return nil
		}))
	}
	check(log.Header(&h.Header, h.ValueText(h.DefaultInitial), own))
	for i := range h.Txns {
		rec := h.Record(i)
		ops, writes := spell(h, rec.Ops), false
		for _, op := range rec.Ops {
			writes = writes || op.Kind == history.Write
		}
		if !writes {
			check(log.Txn(&rec, ops, nil, false))
			continue
		}
		check(log.Intent(&rec, ops))
		check(log.Txn(&rec, nil, &rec, true))
	}
	if !h.Closed {
		check(log.Close())
		return out.Bytes()
	}
	check(log.End(native.Ending{Reason: "complete", Txns: int64(len(h.Txns))}))
	return out.Bytes()
}

func spell(h *history.History, ops []history.Op) []native.Op {
	out := make([]native.Op, len(ops))
	for i, op := range ops {
		out[i] = native.Op{Kind: op.Kind, Key: h.KeyName(op.Key), Value: []byte(h.ValueText(op.Value))}
	}
	return out
}
