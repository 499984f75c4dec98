package explain

import "math"

type point struct{ x, y float64 }

// rect is a rectangle, by its centre and its size.
type rect struct{ x, y, w, h float64 }

func (r rect) holds(p point, margin float64) bool {
	return math.Abs(p.x-r.x) < r.w/2+margin && math.Abs(p.y-r.y) < r.h/2+margin
}

func (r rect) meets(o rect, margin float64) bool {
	return math.Abs(o.x-r.x) < (r.w+o.w)/2+margin && math.Abs(o.y-r.y) < (r.h+o.h)/2+margin
}

// border returns the point where the line from the centre of r to c leaves r, with a little room.
func (r rect) border(c point, room float64) point {
	dx, dy := c.x-r.x, c.y-r.y
	scale := math.Inf(1)
	if dx != 0 {
		scale = math.Abs((r.w/2 + room) / dx)
	}
	if dy != 0 {
		scale = math.Min(scale, math.Abs((r.h/2+room)/dy))
	}
	if math.IsInf(scale, 1) {
		return point{r.x, r.y}
	}
	return point{r.x + dx*scale, r.y + dy*scale}
}

// curve is a quadratic Bézier curve from p to q.
type curve struct{ p, c, q point }

func (k curve) at(t float64) point {
	u := 1 - t
	return point{u*u*k.p.x + 2*u*t*k.c.x + t*t*k.q.x, u*u*k.p.y + 2*u*t*k.c.y + t*t*k.q.y}
}

// curveSteps is at how many points a curve is tested.
const curveSteps = 40

// crosses reports whether the curve comes near r.
func (k curve) crosses(r rect, margin float64) bool {
	for n := 0; n <= curveSteps; n++ {
		if r.holds(k.at(float64(n)/curveSteps), margin) {
			return true
		}
	}
	return false
}

// bent returns a curve between two boxes that leaves the straight line to its
// left by a share of the distance.
func bent(from, to rect, share float64) curve {
	dx, dy := to.x-from.x, to.y-from.y
	c := point{(from.x+to.x)/2 + dy*share, (from.y+to.y)/2 - dx*share}
	return curve{from.border(c, 2), c, to.border(c, 4)}
}
