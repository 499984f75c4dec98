package polygraph

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/single"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/internal/randhist"
)

// TestVersions compares the writes and reads of a model with maps, on histories so large that
// several goroutines build it, with one goroutine and with three.
func TestVersions(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var histories []*history.History
	for n := 0; n < 4; {
		if h := randhist.Of(rng, 100, 12_000, 30); len(h.Txns) > 6_000 {
			histories = append(histories, h)
			n++
		}
	}
	for _, ops := range []int{short, short + 1, 30} {
		histories = append(histories, synth.General(synth.GeneralConfig{Sessions: 20, Txns: 5_000, Ops: ops, Keys: 400,
			Reads: 0.5, Duplicates: 0.5, Values: 20, Seed: 1}))
	}
	several, internal := 0, 0
	for n, h := range histories {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			m := modelBy(t, h, 1)
			if again := modelBy(t, h, 3); !reflect.DeepEqual(m, again) {
				t.Error("three goroutines make another model than one")
			}
			s, i := compareVersions(t, m)
			several += s
			internal += i
		})
	}
	if several == 0 || internal == 0 {
		t.Errorf("one-sided: %d reads of values with several writers, %d of what their transactions did", several, internal)
	}
}

// modelBy builds a model with the given number of goroutines.
func modelBy(t *testing.T, h *history.History, workers int) *model {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(workers))
	m := newModel(h, level.SER, single.NewCollector(h), true)
	if m.workers() != workers {
		t.Fatalf("%d transactions are no work for %d goroutines", len(m.txns), workers)
	}
	return m
}

// compareVersions returns how many reads had several writers, and how many
// operations read what their own transaction had read or written.
func compareVersions(t *testing.T, m *model) (several, internal int) {
	type version struct {
		key   history.Key
		value history.Value
	}
	writers := map[version][]int32{}
	list := make([][]int32, m.h.KeyCount()) // by key: its writers
	value := map[[2]int32]history.Value{}   // by transaction and key
	for _, x := range m.chains.members.items {
		var keys []history.Key
		for _, op := range m.h.Ops(m.txn(x)) {
			at := [2]int32{x, int32(op.Key)}
			if op.Kind == history.Write {
				if _, known := value[at]; !known {
					keys = append(keys, op.Key)
				}
				value[at] = op.Value
			}
		}
		for _, k := range keys {
			v := version{k, value[[2]int32{x, int32(k)}]}
			writers[v] = append(writers[v], x)
			list[k] = append(list[k], x)
		}
	}
	class := map[version]int32{}
	met := map[int32]version{}
	for k := range list {
		if got := m.writer[m.keyFrom[k]:m.keyFrom[k+1]]; !reflect.DeepEqual(append([]int32{}, got...), append([]int32{}, list[k]...)) {
			t.Fatalf("key %d is written by %v, want %v", k, got, list[k])
		}
		for w := m.keyFrom[k]; w < m.keyFrom[k+1]; w++ {
			v, c := version{history.Key(k), value[[2]int32{m.writer[w], int32(k)}]}, m.class[w]
			if have, known := class[v]; known && have != c {
				t.Fatalf("writes of %v have classes %d and %d", v, have, c)
			}
			if have, known := met[c]; known && have != v {
				t.Fatalf("class %d is of %v and %v", c, have, v)
			}
			if m.initially(c) != (v.value == m.h.Initial(v.key)) || m.initially(c) && c != int32(k) {
				t.Fatalf("%v has class %d", v, c)
			}
			class[v], met[c] = c, v
			if members := m.classFrom.of(c); len(members) != len(writers[v]) {
				t.Fatalf("%v has %d writers, want %d", v, len(members), len(writers[v]))
			}
		}
	}
	for x := range int32(len(m.txns)) {
		own := map[history.Key]bool{}
		r := m.readFrom[x]
		for _, op := range m.h.Ops(m.txn(x)) {
			before := own[op.Key]
			own[op.Key] = true
			if op.Kind != history.Read {
				continue
			}
			if before {
				internal++
				continue
			}
			rd := &m.reads[r]
			r++
			v := version{op.Key, op.Value}
			want, written := class[v]
			if !written {
				want = none
				if op.Value == m.h.Initial(op.Key) {
					want = int32(op.Key)
				}
			}
			if rd.txn != x || rd.key != op.Key || rd.class != want {
				t.Fatalf("a read of %v by %d became %+v, want class %d", v, x, *rd, want)
			}
			only := len(writers[v]) == 1 && !m.initially(want) && !m.optional[x] && !m.optional[writers[v][0]]
			if only != (rd.source >= 0) || only && m.writer[rd.source] != writers[v][0] {
				t.Fatalf("a read of %v, by %v, has source %d", v, writers[v], rd.source)
			}
			if len(writers[v]) > 1 {
				several++
			}
		}
		if r != m.readFrom[x+1] {
			t.Fatalf("transaction %d has reads up to %d, want %d", x, m.readFrom[x+1], r)
		}
	}
	return several, internal
}
