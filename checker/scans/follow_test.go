package scans_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/internal/randhist"
)

// listener is a Follower that notes what it is told.
type listener struct {
	*certify.Ahead
	lvl            level.Level
	events         []int32
	parts          int
	ended, stopped bool
}

func (l *listener) Follow(part *verdict.Witness) {
	l.events, l.parts = append(append(l.events, part.Points...), part.Order...), l.parts+1
	l.Ahead.Follow(part)
}

func (l *listener) End() { l.ended = true; l.Ahead.End() }

func (l *listener) Stop() { l.stopped = true; l.Ahead.Stop() }

// followed guesses an execution and verifies it while it is guessed. It returns no listener if none was begun.
func followed(t *testing.T, h *history.History, levels []level.Level) (*listener, *scans.Rest) {
	t.Helper()
	var l *listener
	x, rest, err := scans.Execute(t.Context(), h, levels, func(x *history.History, lvl level.Level) scans.Follower {
		l = &listener{Ahead: certify.NewAhead(x, lvl), lvl: lvl}
		return l
	})
	switch {
	case err != nil:
		t.Fatal(err)
	case l == nil:
	case rest == nil && (l.ended || !l.stopped), l.ended && l.stopped, !l.ended && !l.stopped:
		t.Errorf("guessed %v, told of the end %v, of going back %v", rest != nil, l.ended, l.stopped)
	case rest != nil:
		r := rest.Settled(l.lvl)
		if all := append(slices.Clone(r.Witness.Points), r.Witness.Order...); l.ended && !slices.Equal(all, l.events) {
			t.Errorf("%s: told another execution than was guessed", l.lvl)
		}
		if err := l.Result(t.Context(), x, r); err != nil {
			t.Errorf("%s: %v", l.lvl, err)
		}
		for range 2 {
			wrong := *r.Witness
			wrong.Order, wrong.Points = slices.Clone(wrong.Order), slices.Clone(wrong.Points)
			slices.Reverse(wrong.Order)
			slices.Reverse(wrong.Points)
			if l.Result(t.Context(), x, &verdict.Result{Level: l.lvl, Verdict: verdict.Satisfied, Witness: &wrong}) == nil {
				t.Errorf("%s: an execution backwards is verified", l.lvl)
			}
		}
	}
	return l, rest
}

// TestFollow: an execution is told in parts while it is guessed, at the level that is checked first.
func TestFollow(t *testing.T) {
	h := synth.Pred(24, 4000, 1000, 8, 4, 1)
	for _, lvl := range []level.Level{level.SSER, level.SI} {
		if l, rest := followed(t, h, []level.Level{level.CC, lvl}); rest == nil || l.lvl != lvl || !l.ended || l.parts < 3 {
			t.Errorf("%s: %+v", lvl, l)
		}
	}
	if l, _ := followed(t, h, []level.Level{level.CC, level.RC}); l != nil {
		t.Error("an execution is told at a weak level")
	}
}

// TestFollowRepairs: guesses that go back do it behind what was told, or say so.
func TestFollowRepairs(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 23))
	ended, stopped := 0, 0
	for n := range randhist.Count(t, 20_000) / 200 {
		l, rest := followed(t, overlapping(t, rng, 200, n%4 == 0), []level.Level{level.SER})
		switch {
		case rest == nil:
		case l.ended:
			ended++
		case l.stopped:
			stopped++
		}
	}
	t.Logf("seed %d: %d told to their end, %d not", seed, ended, stopped)
	if ended == 0 && !randhist.Few(t) { // the other side is rare; TestFollower has it
		t.Errorf("seed %d: no guess was told to its end", seed)
	}
}
