package main

import (
	"image"
	"image/color"
)

// The mark: a seal that is signed across its edge.
var (
	sealRing = arc(0.5, 0.5, 0.285, 0.075, 0.17, 0.985)
	sealTick = line(0.085, 0.36, 0.50, 0.475, 0.615, 0.75, 0.27)

	accent = color.NRGBA{0x2f, 0x5f, 0xd0, 0xff}
	paper  = color.NRGBA{0xfb, 0xfc, 0xfe, 0xff}
	ink    = color.NRGBA{0x14, 0x18, 0x20, 0xff}
	shade  = color.NRGBA{0x14, 0x18, 0x20, 0xb4}
	amber  = color.NRGBA{0xf2, 0xa9, 0x1c, 0xff}
)

func drawApp(size int) *image.NRGBA {
	// Small sizes fill the square; large ones keep the margin that docks and launchers expect.
	margin := 0.06
	if size <= 24 {
		margin = 0
	}
	img := image.NewNRGBA(image.Rect(0, 0, size, size))
	paint(img, roundRect(margin, margin, 1-margin, 1-margin, 0.2), accent)
	mark := union(sealRing, sealTick)
	if size <= 32 {
		mark = grow(mark, 0.012)
	}
	paint(img, mark, paper)
	return img
}

// glyph is a tray picture: its shape, and the colour where the state has one.
type glyph struct {
	form shape
	fill color.NRGBA
}

// The six states of the tray. Panels are light or dark and do not say which, so each form is light with a dark edge.
var trayGlyphs = map[string]glyph{
	"idle": {union(ring(0.5, 0.5, 0.36, 0.1), line(0.11, 0.35, 0.51, 0.46, 0.62, 0.66, 0.39)), paper},
	// Three dots, as for somebody who is typing.
	"working": {union(disc(0.165, 0.5, 0.13), disc(0.5, 0.5, 0.13), disc(0.835, 0.5, 0.13)), paper},
	// A solid disc with an exclamation mark cut out: the only full form.
	"needs-you": {
		without(disc(0.5, 0.5, 0.44), union(line(0.13, 0.5, 0.27, 0.5, 0.54), disc(0.5, 0.735, 0.075))), amber,
	},
	"paused": {union(roundRect(0.2, 0.14, 0.42, 0.86, 0.06), roundRect(0.58, 0.14, 0.8, 0.86, 0.06)), paper},
	"degraded": {
		union(line(0.1, 0.5, 0.13, 0.89, 0.82, 0.11, 0.82, 0.5, 0.13), line(0.1, 0.5, 0.4, 0.5, 0.56), disc(0.5, 0.69, 0.055)),
		paper,
	},
	// A ring struck through.
	"offline": {
		union(
			without(ring(0.5, 0.5, 0.36, 0.1), line(0.24, 0.14, 0.14, 0.86, 0.86)),
			line(0.1, 0.14, 0.14, 0.86, 0.86),
		), paper,
	},
}

func (g glyph) draw(size int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, size, size))
	paint(img, grow(g.form, 0.05), shade)
	paint(img, g.form, g.fill)
	return img
}

// drawTemplate is black on nothing: macOS colours it itself.
func (g glyph) drawTemplate(size int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, size, size))
	paint(img, g.form, ink)
	return img
}

// samples a side of a pixel: enough for smooth edges at 16 pixels.
const samples = 4

// paint lays the shape over what is there.
func paint(img *image.NRGBA, s shape, c color.NRGBA) {
	size := img.Bounds().Dx()
	for y := range size {
		for x := range size {
			if inside := coverage(s, x, y, size); inside > 0 {
				img.SetNRGBA(x, y, over(img.NRGBAAt(x, y), c, inside))
			}
		}
	}
}

// coverage counts the samples of a pixel that the shape holds. Away from the edge the distance answers alone, which
// makes the large pictures quick.
func coverage(s shape, x, y, size int) int {
	pixel := 1 / float64(size)
	switch d := s((float64(x)+0.5)*pixel, (float64(y)+0.5)*pixel); {
	case d > pixel:
		return 0
	case d < -pixel:
		return samples * samples
	}
	inside := 0
	for sy := range samples {
		for sx := range samples {
			px := (float64(x*samples+sx) + 0.5) * pixel / samples
			py := (float64(y*samples+sy) + 0.5) * pixel / samples
			if s(px, py) < 0 {
				inside++
			}
		}
	}
	return inside
}

// over blends c, covering inside of samples² parts, on what is below.
func over(below, c color.NRGBA, inside int) color.NRGBA {
	a := float64(c.A) / 255 * float64(inside) / (samples * samples)
	b := float64(below.A) / 255 * (1 - a)
	sum := a + b
	mix := func(top, bottom uint8) uint8 {
		return uint8((float64(top)*a+float64(bottom)*b)/sum + 0.5)
	}
	return color.NRGBA{mix(c.R, below.R), mix(c.G, below.G), mix(c.B, below.B), uint8(sum*255 + 0.5)}
}
