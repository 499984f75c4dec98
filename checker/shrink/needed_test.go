package shrink_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/shrink"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// trial tries every execution. It says Never if never is set, and counts.
func trial(lvl level.Level, never bool, count *int) shrink.Judge {
	return func(_ context.Context, sub *history.History) (shrink.Judgement, error) {
		*count++
		allowed, decided := certify.Judge(sub, lvl, 1_000_000)
		return shrink.Judgement{Violated: decided && !allowed, Never: never && decided && allowed}, nil
	}
}

// minimal makes a whole history minimal.
func minimal(t *testing.T, h *history.History, lvl level.Level, judge shrink.Judge) *shrink.Part {
	p := shrink.New(h, shrink.Rules{Level: lvl})
	for i := range h.Txns {
		p.Add(int32(i))
		p.AddAll(int32(i))
	}
	p.Close()
	if err := p.Minimize(t.Context(), judge, shrink.Judgement{Violated: true}); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestManyNeeded: at first, a read needs very many writes, all of its value or all of other values. They are not tried one by one, nor is
// what stands between them.
func TestManyNeeded(t *testing.T) {
	const n = 3_000
	var same, others strings.Builder
	for i := range n {
		fmt.Fprintf(&same, " w(x,%d)", 1+i%3)
		fmt.Fprintf(&others, " w(x,%d)", i+10)
	}
	for text, kept := range map[string]int{
		"s1:" + same.String() + "\ns2: r(y,0) r(x,1) w(y,1) r(x,0)":       n/3 + 4,
		"s1:" + others.String() + " w(y,1)\ns2: r(y,1) n(x,0) r(x,0)":     0,
		"s1: w(x,0)" + others.String() + "\ns2: r(y,0) n(x,0) r(x,10010)": 0,
	} {
		count := 0
		p := minimal(t, dsl.MustParse(text), level.SER, trial(level.SER, true, &count))
		if count > 150 {
			t.Errorf("%.20s: %d judgements", text, count)
		}
		if kept > 0 && p.Size() != kept {
			t.Errorf("%.20s: size %d", text, p.Size())
		}
	}
}

// TestNever compares the parts that are found with a judge that says Never with those with one that does not.
func TestNever(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 8))
	found, fewer, more := 0, 0, 0
	for range randhist.Count(t, 3_000) {
		h := dsl.MustParse(wide(rng))
		lvl := []level.Level{level.SER, level.SI, level.RC, level.MR}[rng.IntN(4)]
		if allowed, decided := certify.Judge(h, lvl, 1_000_000); allowed || !decided {
			continue
		}
		found++
		plain, quick := 0, 0
		want := shown(minimal(t, h, lvl, trial(lvl, false, &plain)).Parts())
		if got := shown(minimal(t, h, lvl, trial(lvl, true, &quick)).Parts()); got != want {
			t.Errorf("seed %d, %s: %s, not %s\n%s", seed, lvl, got, want, dsl.Format(h))
		}
		if quick < plain {
			fewer++
		} else if quick > plain {
			more++
		}
	}
	t.Logf("%d parts, %d with fewer judgements, %d with more", found, fewer, more)
	if (found < 20 || fewer == 0) && !randhist.Few(t) {
		t.Error("too few")
	}
}

// wide is a history of a few transactions, some of up to 80 operations, on one or two keys with few values.
func wide(rng *rand.Rand) string {
	var b strings.Builder
	values := 2 + rng.IntN(20)
	for range 2 + rng.IntN(3) {
		fmt.Fprintf(&b, "s%d:", 1+rng.IntN(3))
		ops := 1 + rng.IntN(5)
		if rng.IntN(2) == 0 {
			ops = 20 + rng.IntN(60)
		}
		now := map[string]int{}
		for range ops {
			k := []string{"x", "y"}[rng.IntN(2)]
			v, known := now[k]
			switch {
			case rng.IntN(2) == 0:
				now[k] = 1 + rng.IntN(values)
				fmt.Fprintf(&b, " w(%s,%d)", k, now[k])
			case rng.IntN(8) == 0:
				fmt.Fprintf(&b, " n(%s,%d)", k, rng.IntN(values))
			default:
				if !known || rng.IntN(60) == 0 {
					v = rng.IntN(values)
					now[k] = v
				}
				fmt.Fprintf(&b, " r(%s,%d)", k, v)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
