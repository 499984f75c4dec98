package generator

import (
	"testing"

	"github.com/isohound/isohound/history"
)

// TestFreshContents: what an attempt wrote is fresh if the last number in each value was drawn during it. Worker 1 of 4 draws
// 9, 13 and 17 here.
func TestFreshContents(t *testing.T) {
	for text, fresh := range map[string]bool{
		"9,": true, "1,2,17,": true, "5,'BARBAR',13": true, "13,'a'": true, "9": true, "-17": true, "0013": true,
		"": false, "none": false, "5,": false, "21,": false, "10,": false, "9,5,": false, "13,'a2'": false, "9,NULL,0": false, "99999999999999999999": false,
	} {
		a := &attempt{values: newValues(1, 4)}
		a.values.fresh()
		a.drawn = a.values.next
		for range 3 {
			a.values.fresh()
		}
		a.ops = []op{{kind: history.Write, isText: true, text: text}, {kind: history.Write, none: true}, {kind: history.Read, isText: true, text: "5"}, {kind: history.Write, value: -9}}
		if got := a.fresh(); got != fresh {
			t.Errorf("%q: %v", text, got)
		}
		a.ops = append(a.ops, op{kind: history.Write, value: 5})
		if a.fresh() {
			t.Errorf("%q, 5: fresh", text)
		}
	}
}
