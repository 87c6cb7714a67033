package main

import "math"

// A shape is a signed distance: negative inside, in units of the picture's side, which runs from 0 to 1. Distances
// rather than pixels, so that one description serves 16 pixels and 1024, edges are smooth, and a halo is one addition.
type shape func(x, y float64) float64

func disc(cx, cy, r float64) shape {
	return func(x, y float64) float64 { return math.Hypot(x-cx, y-cy) - r }
}

func ring(cx, cy, r, width float64) shape {
	return func(x, y float64) float64 { return math.Abs(math.Hypot(x-cx, y-cy)-r) - width/2 }
}

// arc is a ring from one angle to another, in turns clockwise from twelve o'clock, with round ends.
func arc(cx, cy, r, width, from, to float64) shape {
	end := func(turn float64) (float64, float64) {
		a := turn*2*math.Pi - math.Pi/2
		return cx + r*math.Cos(a), cy + r*math.Sin(a)
	}
	x1, y1 := end(from)
	x2, y2 := end(to)
	whole := ring(cx, cy, r, width)
	return func(x, y float64) float64 {
		turn := math.Mod(math.Atan2(y-cy, x-cx)/(2*math.Pi)+1.25, 1)
		if turn >= from && turn <= to {
			return whole(x, y)
		}
		return math.Min(math.Hypot(x-x1, y-y1), math.Hypot(x-x2, y-y2)) - width/2
	}
}

// line is a stroke through the points with round ends and joints.
func line(width float64, points ...float64) shape {
	return func(x, y float64) float64 {
		best := math.Inf(1)
		for i := 0; i+3 < len(points); i += 2 {
			best = math.Min(best, segment(x, y, points[i], points[i+1], points[i+2], points[i+3]))
		}
		return best - width/2
	}
}

func segment(x, y, ax, ay, bx, by float64) float64 {
	dx, dy := bx-ax, by-ay
	t := ((x-ax)*dx + (y-ay)*dy) / (dx*dx + dy*dy)
	t = math.Max(0, math.Min(1, t))
	return math.Hypot(x-ax-t*dx, y-ay-t*dy)
}

func roundRect(x0, y0, x1, y1, r float64) shape {
	cx, cy, hx, hy := (x0+x1)/2, (y0+y1)/2, (x1-x0)/2-r, (y1-y0)/2-r
	return func(x, y float64) float64 {
		qx, qy := math.Abs(x-cx)-hx, math.Abs(y-cy)-hy
		return math.Hypot(math.Max(qx, 0), math.Max(qy, 0)) + math.Min(math.Max(qx, qy), 0) - r
	}
}

func union(shapes ...shape) shape {
	return func(x, y float64) float64 {
		d := math.Inf(1)
		for _, s := range shapes {
			d = math.Min(d, s(x, y))
		}
		return d
	}
}

func without(a, b shape) shape {
	return func(x, y float64) float64 { return math.Max(a(x, y), -b(x, y)) }
}

// grow widens a shape evenly.
func grow(s shape, by float64) shape {
	return func(x, y float64) float64 { return s(x, y) - by }
}
