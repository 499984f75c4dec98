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
	buf, err := native.AppendHeader(nil, &h.Header, h.ValueText(h.DefaultInitial))
	if err != nil {
		tb.Fatal(err)
	}
	put := func() {
		if _, err := log.Write(buf); err != nil {
			tb.Fatal(err)
		}
		buf = buf[:0]
	}
	for i := range h.Txns {
		rec := h.Record(i)
		writes := false
		for _, op := range rec.Ops {
			writes = writes || op.Kind == history.Write
		}
		if writes {
			buf = native.BeginIntent(buf, &rec)
			for _, op := range rec.Ops {
				buf = native.EndOp(h.AppendValue(native.AppendOp(buf, op.Kind, h.KeyName(op.Key)), op.Value))
			}
			buf = native.EndLine(buf)
		}
		buf = native.AppendRecord(buf, &rec, h.Symbols)
		if i%20 == 0 {
			put()
		}
	}
	if buf, err = native.AppendEnding(buf, native.Ending{Reason: "complete", Txns: int64(len(h.Txns))}); err != nil {
		tb.Fatal(err)
	}
	put()
	if err := log.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}
