package scans

import (
	"fmt"
	"testing"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// heard notes what a Follower is told.
type heard struct{ what string }

func (h *heard) Follow(part *verdict.Witness) {
	h.what += fmt.Sprintf("%d ", len(part.Order)+len(part.Points))
}
func (h *heard) End()  { h.what += "end " }
func (h *heard) Stop() { h.what += "stop " }

// TestFollower: a follower stays behind, and stops when the guess goes back to what was told.
func TestFollower(t *testing.T) {
	order := make([]int32, 10*leastBack)
	for name, c := range map[string]struct {
		lvl  level.Level
		do   func(*follower)
		want string
	}{
		"too few": {level.SER, func(f *follower) { f.follow(order[:2*leastBack-1]); f.rewind(0); f.stop() }, "stop "},
		"behind": {level.SER, func(f *follower) {
			f.follow(order[:2*leastBack])
			f.rewind(leastBack)
			f.complete(&verdict.Witness{Order: order})
		}, "64 576 end "},
		"back": {level.SER, func(f *follower) {
			f.follow(order)
			f.rewind(9*leastBack - 1)
			f.follow(order)
			f.complete(&verdict.Witness{Order: order})
		}, "576 stop "},
		"starts, commits": {level.SI, func(f *follower) { f.follow(order); f.complete(&verdict.Witness{Order: order}); f.stop() }, "1152 128 end "},
		"nothing":         {level.SER, func(f *follower) { f.complete(&verdict.Witness{}); f.rewind(0) }, "0 end "},
		"weak":            {level.CC, func(f *follower) { f.follow(order); f.rewind(0); f.complete(&verdict.Witness{Order: order}); f.stop() }, ""},
	} {
		h := &heard{}
		c.do(newFollower(nil, []level.Level{c.lvl}, func(*history.History, level.Level) Follower { return h }))
		if h.what != c.want {
			t.Errorf("%s: told %q, want %q", name, h.what, c.want)
		}
	}
}
