package native_test

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/native"
)

// BenchmarkReadFile reads the file that the environment variable ISOHOUND_HISTORY names, from
// memory.
func BenchmarkReadFile(b *testing.B) {
	path := os.Getenv("ISOHOUND_HISTORY")
	if path == "" {
		b.Skip("ISOHOUND_HISTORY names no file")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	txns := 0
	for b.Loop() {
		r, err := native.NewReader(bytes.NewReader(data), path, int64(len(data)))
		if err != nil {
			b.Fatal(err)
		}
		h, err := history.Load(context.Background(), r)
		if err != nil {
			b.Fatal(err)
		}
		r.Close()
		txns = len(h.Txns)
	}
	b.ReportMetric(float64(txns), "txns")
}
