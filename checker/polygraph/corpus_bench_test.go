package polygraph_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history/file"
)

// BenchmarkCorpus checks the benchmarks of the VeriStrong paper, in memory,
// where they lie beside the project.
func BenchmarkCorpus(b *testing.B) {
	for _, name := range []string{"RH-10k", "BL-10k", "HD-10k", "BlindW-RW-4k"} {
		h, err := file.Load(context.Background(), filepath.Join("../../../shared/corpus", name+".bincode"), file.Auto, nil)
		if err != nil {
			b.Skip("no public histories here:", err)
		}
		for _, lvl := range []level.Level{level.SER, level.SI} {
			b.Run(name+"/"+lvl.String(), func(b *testing.B) {
				for b.Loop() {
					r, err := polygraph.Check(context.Background(), h, lvl, polygraph.Options{})
					if err != nil || r.Verdict != verdict.Satisfied {
						b.Fatal(r, err)
					}
				}
			})
		}
	}
}
