package chart

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Style is how one policy looks in every figure.
type Style struct {
	Colour color.RGBA
	Dashes []vg.Length
	Glyph  draw.GlyphDrawer
}

// palette is Okabe and Ito's without yellow and black: readers with any kind of colour vision can tell its colours
// apart.
var palette = []color.RGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255}, {230, 159, 0, 255},
	{86, 180, 233, 255},
}

var dashes = [][]vg.Length{nil, {7, 3}, {2, 2}, {7, 2, 2, 2}}

// Circle, square, triangles on their side and on their tip, diamond, pentagon.
var glyphs = []draw.GlyphDrawer{draw.CircleGlyph{}, polygon{4, 0.125}, polygon{3, 0}, polygon{3, 0.5}, polygon{4, 0},
	polygon{5, 0}}

// Styles returns the i-th style. The first 24 differ in colour or dashes. Glyphs differ between colours too, for black
// and white prints.
func Styles(i int) Style {
	n := len(palette)
	return Style{palette[i%n], dashes[i/n%len(dashes)], glyphs[(i+i/n)%len(glyphs)]}
}

// Bound is the style of a theoretical limit, such as an oracle.
func Bound() Style {
	return Style{color.RGBA{90, 90, 90, 255}, []vg.Length{5, 2.5}, hollow{}}
}

// Common is the style of data shared by all policies, such as the load.
func Common() Style { return Style{color.RGBA{40, 40, 40, 255}, nil, draw.CircleGlyph{}} }

// faint is the colour of bands beneath lines.
func faint(c color.RGBA) color.NRGBA { return color.NRGBA{c.R, c.G, c.B, 45} }

var (
	gridColour = color.Gray{232}
	axisColour = color.Gray{110}
)

// Sizes of text and strokes.
const (
	titleSize = 12
	labelSize = 10.5
	tickSize  = 9
	lineWidth = vg.Length(1.4)
	dotRadius = vg.Length(2.9)
)

func sans(size vg.Length) font.Font {
	return font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size)
}

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
