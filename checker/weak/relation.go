package weak

import (
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
)

// relation is a level's visibility relation R as an automaton over paths of session order (SO) and reads
// (WR). Transaction t3 must see t2 if a path from t2 to t3 is accepted. SO is transitive, so no path has
// two SO edges in a row, except where that is no matter.
type relation struct {
	next   [][2]int8 // by state: the state after an SO edge and after a WR edge, or dead
	accept []bool
}

const dead = int8(-1)

// relations has every level here but RC and RU. At RC a path is one WR edge, and the order of the reader's
// operations matters, too. RU has no visibility.
var relations = map[level.Level]relation{
	level.RC:  {[][2]int8{{dead, 1}, {dead, dead}}, []bool{false, true}},
	level.RA:  {[][2]int8{{1, 1}, {dead, dead}}, []bool{false, true}},
	level.CC:  {[][2]int8{{1, 1}, {1, 1}}, []bool{false, true}},
	level.RYW: {[][2]int8{{1, dead}, {dead, dead}}, []bool{false, true}},
	level.MR:  {[][2]int8{{dead, 1}, {2, dead}, {dead, dead}}, []bool{false, false, true}},
	level.MW:  {[][2]int8{{1, dead}, {dead, 2}, {dead, dead}}, []bool{false, false, true}},
	level.WFR: {[][2]int8{{dead, 1}, {2, 3}, {dead, 3}, {dead, dead}}, []bool{false, false, false, true}},
	// State 1 is after SO, 2 after WR, 3 after WR SO, 4 after all longer paths.
	level.Session: {[][2]int8{{1, 2}, {dead, 4}, {3, 4}, {dead, 4}, {dead, dead}}, []bool{false, true, false, true, true}},
}

// step returns the state after an edge, and whether there is one.
func (r *relation) step(state int8, kind verdict.EdgeKind) (int8, bool) {
	n := 0
	if kind == verdict.WR {
		n = 1
	}
	to := r.next[state][n]
	return to, to != dead
}
