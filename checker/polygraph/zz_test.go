package polygraph_test

import (
	"context"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/history/file"
	"os"
	"runtime/debug"
	"testing"
)

func BenchmarkZZ(b *testing.B) {
	h, err := file.Load(context.Background(), "/tmp/hist/"+os.Getenv("F")+".bincode", file.Auto, nil)
	if err != nil {
		b.Fatal(err)
	}
	debug.SetGCPercent(50)
	l, _ := level.Parse(os.Getenv("L"))
	for b.Loop() {
		r, err := polygraph.Check(context.Background(), h, l, polygraph.Options{})
		if err != nil {
			b.Fatal(err)
		}
		for _, s := range r.Stages {
			b.ReportMetric(s.Took.Seconds(), s.Name+"-s")
		}
	}
}
