package level

import (
	"slices"
	"testing"
)

func TestImplies(t *testing.T) {
	for _, tc := range []struct {
		strong, weak Level
		want         bool
	}{
		{SSER, SER, true}, {SSER, StrongSI, true}, {SSER, SINoSO, true}, {SER, SI, true}, {SER, SERNoSO, true},
		{SERNoSO, SINoSO, true}, {StrongSI, SI, true}, {SI, SINoSO, true}, {SI, SI, true},
		{SI, SER, false}, {StrongSI, SER, false}, {SER, StrongSI, false}, {SERNoSO, SI, false}, {SI, SERNoSO, false},
		{LIN, SER, false}, {SSER, LIN, false}, {LIN, SINoSO, false},
	} {
		if got := tc.strong.Implies(tc.weak); got != tc.want {
			t.Errorf("%s implies %s: %v, want %v", tc.strong, tc.weak, got, tc.want)
		}
	}
	// It is a partial order.
	for _, a := range All() {
		for _, b := range All() {
			if a != b && a.Implies(b) && b.Implies(a) {
				t.Errorf("%s and %s imply each other", a, b)
			}
			for _, c := range All() {
				if a.Implies(b) && b.Implies(c) && !a.Implies(c) {
					t.Errorf("%s implies %s and that %s", a, b, c)
				}
			}
		}
	}
}

func TestExtremes(t *testing.T) {
	for _, tc := range []struct{ list, weakest, strongest []Level }{
		{[]Level{SSER, SER}, []Level{SER}, []Level{SSER}},
		{[]Level{SERNoSO, SI, SINoSO, StrongSI}, []Level{SINoSO}, []Level{SERNoSO, StrongSI}},
		{[]Level{SER, StrongSI}, []Level{SER, StrongSI}, []Level{SER, StrongSI}},
		{[]Level{LIN, SSER}, []Level{SSER, LIN}, []Level{SSER, LIN}},
		{nil, nil, nil},
	} {
		if got := Weakest(tc.list); !slices.Equal(got, tc.weakest) {
			t.Errorf("weakest of %v: %v, want %v", tc.list, got, tc.weakest)
		}
		if got := Strongest(tc.list); !slices.Equal(got, tc.strongest) {
			t.Errorf("strongest of %v: %v, want %v", tc.list, got, tc.strongest)
		}
	}
}

func TestDescending(t *testing.T) {
	for _, tc := range []struct{ list, want []Level }{
		{[]Level{SER, SI, SSER}, []Level{SSER, SER, SI}},
		{[]Level{SINoSO, StrongSI, SERNoSO, SER}, []Level{SER, StrongSI, SERNoSO, SINoSO}},
		{[]Level{LIN, SI}, []Level{SI, LIN}},
		{nil, nil},
	} {
		if got := Descending(tc.list); !slices.Equal(got, tc.want) {
			t.Errorf("%v: %v, want %v", tc.list, got, tc.want)
		}
	}
}
