package file_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/isohound/isohound/history/file"
)

// BenchmarkCorpus reads public histories next to the project, if they are there.
func BenchmarkCorpus(b *testing.B) {
	for _, name := range []string{"RH-10k.bincode", "BlindW-RW-4k.bincode", "G-RUBiS-10k", "G-TPCC-10k", "G-Twitter-10k"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := file.Load(context.Background(), filepath.Join("../../../shared/corpus", name), file.Auto, nil); err != nil {
					b.Skip("no public histories here:", err)
				}
			}
		})
	}
}
