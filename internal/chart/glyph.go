package chart

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// polygon is a filled regular polygon; turn is the angle of its first corner from straight up, in turns.
type polygon struct {
	corners int
	turn    float64
}

// DrawGlyph implements [draw.GlyphDrawer]. Every polygon has the area of the circle with the style's radius, so that
// all glyphs look equally large.
func (g polygon) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	n := float64(g.corners)
	r := s.Radius * vg.Length(math.Sqrt(2*math.Pi/(n*math.Sin(2*math.Pi/n))))
	var p vg.Path
	for k := range g.corners {
		sin, cos := math.Sincos(2 * math.Pi * (g.turn + float64(k)/n))
		corner := vg.Point{X: at.X + r*vg.Length(sin), Y: at.Y + r*vg.Length(cos)}
		if k == 0 {
			p.Move(corner)
		} else {
			p.Line(corner)
		}
	}
	p.Close()
	c.SetColor(s.Color)
	c.Fill(p)
}

// hollow is a circle with a white middle.
type hollow struct{}

// DrawGlyph implements [draw.GlyphDrawer].
func (hollow) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	var p vg.Path
	p.Move(vg.Point{X: at.X + s.Radius, Y: at.Y})
	p.Arc(at, s.Radius, 0, 2*math.Pi)
	p.Close()
	c.SetColor(color.White)
	c.Fill(p)
	c.SetLineStyle(draw.LineStyle{Color: s.Color, Width: 1.3})
	c.Stroke(p)
}
