package choose

import (
	"context"
	"testing"

	"github.com/isohound/isohound/accel"
)

// TestInPlaceOfGPU: the fallback of the device computes the closure of the same graph, or none.
func TestInPlaceOfGPU(t *testing.T) {
	g := accel.NewGraph(2000, []accel.Edge{{From: 0, To: 1}})
	w := Wishes{Choice: CUDA, Machine: Here(), Memory: 1000, Instead: func() *accel.Graph {
		t.Error("another graph was asked for")
		return accel.NewGraph(1, nil)
	}}
	if c, err := (&others{w}).Closure(context.Background(), g, accel.Options{}); c != nil || err == nil {
		t.Errorf("closure %v, error %v", c, err)
	}
	w.Memory = 0
	c, err := (&others{w}).Closure(context.Background(), g, accel.Options{})
	if err != nil || !c.Reaches(0, 1) || c.Reaches(1, 1999) {
		t.Errorf("%v", err)
	}
}
