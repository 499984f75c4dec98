package servers

import (
	"slices"
	"testing"
)

// TestGaleraTurn: a node that is named is hit out of turn.
func TestGaleraTurn(t *testing.T) {
	s := &galeraServer{turns: turns{count: galeraNodes}, Galera: &Galera{nodes: make([]*MariaDB, galeraNodes)}}
	var got []int
	for _, aim := range []int{0, 3, 0, 1, 1, 0, 0} {
		s.Aim(aim)
		got = append(got, s.turn())
	}
	if want := []int{0, 2, 1, 0, 0, 2, 0}; !slices.Equal(got, want) {
		t.Errorf("hit %v, want %v", got, want)
	}
}
