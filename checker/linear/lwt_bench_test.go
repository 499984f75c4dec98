package linear_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/linear"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
)

// BenchmarkLWT checks lightweight transactions with VL-LWT and with porcupine, both in each
// iteration, as in Figure 9 of the MTC paper: by the number of concurrent sessions, and by the
// number of transactions. It reports the ratio of porcupine's time to VL-LWT's.
func BenchmarkLWT(b *testing.B) {
	for _, tc := range []struct{ sessions, concurrent, each, keys int }{
		{10, 10, 1000, 1}, {20, 20, 1000, 1}, {50, 50, 1000, 1}, {100, 100, 1000, 1}, // all concurrent
		{100, 10, 1000, 1}, {100, 25, 1000, 1}, {100, 50, 1000, 1}, // some of 100
		{100, 100, 250, 1}, {100, 100, 500, 1}, {100, 100, 2000, 1}, // growth
		{100, 100, 1000, 10},
	} {
		name := fmt.Sprintf("sessions=%d/concurrent=%d/txns=%d/keys=%d", tc.sessions, tc.concurrent, tc.sessions*tc.each, tc.keys)
		b.Run(name, func(b *testing.B) {
			h := synth.LWT(synth.LWTConfig{Sessions: tc.sessions, TxnsPerSession: tc.each, Keys: tc.keys, Concurrent: tc.concurrent, Seed: 1})
			ops := operations(h)
			var ours, theirs time.Duration
			for b.Loop() {
				begun := time.Now()
				r, err := linear.Engine{}.Judge(context.Background(), h, level.LIN, engine.Options{})
				ours += time.Since(begun)
				if err != nil || r.Verdict != verdict.Satisfied {
					b.Fatal(err, r)
				}
				begun = time.Now()
				ok := porcupine.CheckOperations(lwtModel, ops)
				theirs += time.Since(begun)
				if !ok {
					b.Fatal("porcupine disagrees")
				}
			}
			b.ReportMetric(float64(theirs)/float64(ours), "porcupine/ours")
			b.ReportMetric(float64(ours.Nanoseconds())/float64(b.N)/float64(len(ops)), "ours-ns/txn")
			b.ReportMetric(float64(theirs.Nanoseconds())/float64(b.N)/float64(len(ops)), "porcupine-ns/txn")
		})
	}
}

// lwtInput is a lightweight transaction in porcupine's model: it reads expected, and then writes
// value if it is not only a read.
type lwtInput struct {
	key             history.Key
	expected, value history.Value
	writes, differs bool
}

var lwtModel = porcupine.Model{
	Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[history.Key][]porcupine.Operation{}
		for _, op := range all {
			k := op.Input.(lwtInput).key
			byKey[k] = append(byKey[k], op)
		}
		var out [][]porcupine.Operation
		for _, ops := range byKey {
			out = append(out, ops)
		}
		return out
	},
	Init: func() any { return history.Absent },
	Step: func(state, input, _ any) (bool, any) {
		in := input.(lwtInput)
		if (state.(history.Value) == in.expected) == in.differs {
			return false, state
		}
		if in.writes {
			return true, in.value
		}
		return true, state
	},
}

func operations(h *history.History) []porcupine.Operation {
	var out []porcupine.Operation
	for i := range h.Txns {
		t := &h.Txns[i]
		ops := h.Ops(t)
		in := lwtInput{key: ops[0].Key, expected: ops[0].Value, differs: ops[0].Kind == history.ReadNot}
		if last := ops[len(ops)-1]; last.Kind == history.Write {
			in.writes, in.value = true, last.Value
			if len(ops) == 1 {
				in.expected = history.Absent
			}
		}
		out = append(out, porcupine.Operation{ClientId: int(t.Session), Input: in, Call: t.Begin, Return: t.End})
	}
	return out
}

// TestLWTAgainstPorcupine compares the two on larger histories, valid ones and
// ones with a stale read or two operations swapped.
func TestLWTAgainstPorcupine(t *testing.T) {
	for seed := range uint64(60) {
		h := synth.LWT(synth.LWTConfig{Sessions: 8, TxnsPerSession: 40, Keys: 3, Concurrent: 2 + int(seed%7), Failures: 40, Seed: seed})
		if seed%3 > 0 {
			h = spoil(h, seed)
		}
		want := porcupine.CheckOperations(lwtModel, operations(h))
		r, err := linear.Engine{}.Judge(context.Background(), h, level.LIN, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Verdict == verdict.Satisfied; got != want {
			t.Errorf("seed %d: %s, porcupine says %v\n%s", seed, r.Verdict, want, describe(r))
		}
	}
}

// spoil moves the interval of one transaction, which may or may not violate linearizability.
func spoil(h *history.History, seed uint64) *history.History {
	b := history.NewBuilder(h.Header, h.Symbols, len(h.Txns))
	at := int(seed*7919) % len(h.Txns)
	for i := range h.Txns {
		rec := h.Record(i)
		rec.Session = int64(i)
		if i == at {
			shift := int64(seed%5)*700 - 1400
			rec.Begin, rec.End = rec.Begin+shift, rec.End+shift
		}
		if err := b.Add(&rec); err != nil {
			panic(err)
		}
	}
	return b.Done(true, nil)
}
