package results

import (
	"reflect"
	"slices"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// TestSumsOfWindows: a run in windows has the sums of what its windows count, and none of them is changed.
func TestSumsOfWindows(t *testing.T) {
	search := verdict.Search{}
	for v, n := reflect.ValueOf(&search).Elem(), 0; n < v.NumField(); n++ {
		if f := v.Field(n); f.CanInt() {
			f.SetInt(7)
		}
	}
	window := func(scans *history.Scans, vertices int, notes ...string) *Outcome {
		s := search
		return &Outcome{Verdict: verdict.Satisfied, Committed: 1, Stages: map[string]float64{"search": 1}, Predicates: scans, Search: &s,
			Accel: &verdict.Accel{Backend: "chains", Vertices: vertices, Seconds: 2}, ExplainSeconds: 3, Notes: notes}
	}
	windows := []*Outcome{
		window(&history.Scans{Scans: 10, Judged: 10, ClassReads: 3, Instantiated: 4}, 5, "a"),
		window(nil, 9),
		window(&history.Scans{Scans: 20, Judged: 15, ClassReads: 1, Instantiated: 2, Reason: "5 of 20 scans are not judged: so it is"}, 7, "b", "c"),
		window(&history.Scans{Scans: 30, Judged: 29, Reason: "1 of 30 scans are not judged: another reason"}, 1),
	}
	var o Outcome
	for n, w := range windows {
		o.AddWindow(n+1, w)
	}
	want := history.Scans{Scans: 60, Judged: 54, ClassReads: 4, Instantiated: 6, Reason: "6 of 60 scans are not judged: in window 3, so it is"}
	if o.Predicates == nil || !reflect.DeepEqual(*o.Predicates, want) {
		t.Errorf("scans: %+v, want %+v", o.Predicates, want)
	}
	for v, n := reflect.ValueOf(o.Search).Elem(), 0; n < v.NumField(); n++ {
		if f := v.Field(n); f.CanInt() && f.Int() != 28 {
			t.Errorf("search: %s is %d", v.Type().Field(n).Name, f.Int())
		}
	}
	if o.Accel.Vertices != 9 || o.Accel.Seconds != 8 || o.ExplainSeconds != 12 || o.Stages["search"] != 4 {
		t.Errorf("%+v, %+v", o.Accel, o)
	}
	if want := []string{"window 1: a", "window 3: b", "window 3: c"}; !slices.Equal(o.Notes, want) {
		t.Errorf("notes: %q", o.Notes)
	}
	if w := windows[0]; w.Predicates.Scans != 10 || *w.Search != search || w.Accel.Seconds != 2 || w.Stages["search"] != 1 || !slices.Equal(w.Notes, []string{"a"}) {
		t.Errorf("the first window was changed: %+v", w)
	}
}

// TestReasonInFirstWindow: why scans of the first window are not judged is told with the window, and with the numbers of the run.
func TestReasonInFirstWindow(t *testing.T) {
	var o Outcome
	for n, s := range []*history.Scans{{Scans: 2, Reason: "2 of 2 scans are not judged: why"}, {Scans: 3, Judged: 3}} {
		o.AddWindow(n+1, &Outcome{Verdict: verdict.Satisfied, Predicates: s})
	}
	if want := "2 of 5 scans are not judged: in window 1, why"; o.Predicates.Reason != want {
		t.Errorf("%s, want %s", o.Predicates.Reason, want)
	}
}
