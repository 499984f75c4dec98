package polygraph_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history/file"
)

// BenchmarkCorpus checks the benchmarks of the VeriStrong paper, in memory, if they are in a
// directory beside the project.
func BenchmarkCorpus(b *testing.B) {
	for _, name := range []string{"RH-10k.bincode", "BL-10k.bincode", "HD-10k.bincode", "BlindW-RW-4k.bincode", "G-RUBiS-10k", "G-TPCC-10k", "G-Twitter-10k"} {
		h, err := file.Load(context.Background(), filepath.Join("../../../shared/corpus", name), file.Auto, nil)
		if err != nil {
			b.Skip("no public histories here:", err)
		}
		for _, lvl := range []level.Level{level.SER, level.SI} {
			b.Run(name+"/"+lvl.String(), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					r, err := polygraph.Engine{}.Judge(context.Background(), h, lvl, engine.Options{})
					if err != nil || r.Verdict != verdict.Satisfied {
						b.Fatal(r, err)
					}
				}
			})
		}
	}
}
