package scans

import (
	"slices"
	"testing"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

// TestOvertaken: where another write of a row should be the last one before a statement that counts, everything from it on is undone,
// and nothing before it.
func TestOvertaken(t *testing.T) {
	h := dsl.MustParse("s1 T1 [1,2]: w(y,20)\ns1 T2 [3,20]: w(x,5)\ns2 T3 [4,21]: w(x,50)\ns3 T4 [22,30]: pc(v<10; 1)\n")
	s := newSchedule(newRows(h), true, &hasty)
	if s == nil {
		t.Fatal("no schedule")
	}
	for s.feed() && (s.advance(false) || s.advance(true)) {
	}
	if want := []int32{0, 1, 2, 3, 4, 5}; !slices.Equal(s.order, want) {
		t.Fatalf("the order is %v, want %v", s.order, want)
	}
	e := &s.entries[s.pool[0]]
	c := s.newRecount(e)
	if c.missing != 1 || e.wait != waitCount || len(c.events) != 3 {
		t.Fatalf("%d rows are missing, %v, events %v", c.missing, e.wait, c.events)
	}
	list := c.overtaken()
	if len(list) != 1 || list[0].by != 1 || list[0].at != 2 || !slices.Equal(list[0].moves, []move{{1, 2, false}}) {
		t.Errorf("%+v", list)
	}
	for _, w := range s.recounts(e, nil) {
		if w.at != 2 {
			t.Errorf("%+v undoes other events", w)
		}
	}
	if s.values[h.Key("x")] != history.Value(50) {
		t.Error("the state has changed")
	}
}
