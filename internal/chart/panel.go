package chart

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Panel is one pair of axes with what is drawn on it.
type Panel struct {
	plot *plot.Plot
	// MarginX and MarginY are the free space beside the data, as fractions of the axes' lengths.
	MarginX, MarginY float64
}

// NewPanel returns an empty panel. Empty texts take no space.
func NewPanel(title, x, y string) *Panel {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = x, y
	if title != "" {
		p.Title.Text = " " // keeps the room
		p.Title.TextStyle.Font = sans(labelSize)
		p.Title.Padding = titleGap
		p.Add(heading(title))
	}
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font = sans(labelSize)
		a.Label.Padding = vg.Points(3)
		a.Tick.Label.Font = sans(tickSize)
		a.Tick.Length = vg.Points(3)
		a.Tick.LineStyle.Color, a.LineStyle.Color = axisColour, axisColour
		a.Padding = 0
		a.Tick.Marker = linear{Want: 6}
	}
	g := plotter.NewGrid()
	g.Vertical.Color, g.Horizontal.Color = gridColour, gridColour
	g.Vertical.Width, g.Horizontal.Width = vg.Points(0.6), vg.Points(0.6)
	p.Add(g)
	return &Panel{plot: p, MarginX: 0.02, MarginY: 0.05}
}

const titleGap = vg.Length(4)

// heading writes a panel's title, starting at the left end of the data, where it has most space; gonum would centre it
// over data and labels.
type heading string

// Plot implements [plot.Plotter].
func (h heading) Plot(c draw.Canvas, _ *plot.Plot) {
	s := writing(labelSize)
	if w := s.Width(string(h)); w > c.Size().X { // shrink it rather than write into the next panel
		s = writing(max(6, labelSize*c.Size().X/w))
	}
	c.FillText(s, vg.Point{X: c.Min.X, Y: c.Max.Y + titleGap}, string(h))
}

// TicksX sets about how many numbers the horizontal axis has.
func (p *Panel) TicksX(n int) { p.plot.X.Tick.Marker = linear{Want: n} }

// TicksY is TicksX for the vertical axis.
func (p *Panel) TicksY(n int) { p.plot.Y.Tick.Marker = linear{Want: n} }

// WholeX keeps the numbers along the horizontal axis whole.
func (p *Panel) WholeX() { p.plot.X.Tick.Marker = linear{Want: 8, Whole: true} }

// LogX makes the horizontal axis logarithmic; values that are not positive are left out. Call it before adding data.
func (p *Panel) LogX() { p.plot.X.Scale, p.plot.X.Tick.Marker = plot.LogScale{}, decades{} }

// LogY is LogX for the vertical axis.
func (p *Panel) LogY() { p.plot.Y.Scale, p.plot.Y.Tick.Marker = plot.LogScale{}, decades{} }

// RangeX makes sure that the horizontal axis shows lo to hi.
func (p *Panel) RangeX(lo, hi float64) {
	p.plot.X.Min, p.plot.X.Max = min(p.plot.X.Min, lo), max(p.plot.X.Max, hi)
}

// RangeY is RangeX for the vertical axis.
func (p *Panel) RangeY(lo, hi float64) {
	p.plot.Y.Min, p.plot.Y.Max = min(p.plot.Y.Min, lo), max(p.plot.Y.Max, hi)
}

// Names makes the vertical axis one of names, from the top down at 0, −1, −2…; hidden ones only keep their place.
func (p *Panel) Names(names []string, hidden bool) {
	if hidden {
		names = make([]string, len(names))
	}
	p.plot.Y.Tick.Marker = named(names)
	p.plot.Y.Tick.Length = 0
	p.RangeY(0.5-float64(len(names)), 0.5)
	p.MarginY = 0
}

// Rule draws a thin vertical line at x.
func (p *Panel) Rule(x float64) {
	l := &plotter.Line{XYs: plotter.XYs{{X: x, Y: p.plot.Y.Min}, {X: x, Y: p.plot.Y.Max}}}
	l.LineStyle = draw.LineStyle{Color: axisColour, Width: vg.Points(0.8)}
	p.plot.Add(l)
}

// Line draws a line through points; it is broken where a point is missing, and a point between gaps is a dot. Step
// makes each y hold from the point before to its own.
func (p *Panel) Line(s Style, x, y []float64, step bool) {
	for _, seg := range p.segments(x, y) {
		if len(seg) == 1 {
			p.plot.Add(&plotter.Scatter{XYs: seg,
				GlyphStyle: draw.GlyphStyle{Color: s.Colour, Radius: lineWidth, Shape: draw.CircleGlyph{}}})
			continue
		}
		l := &plotter.Line{XYs: seg, LineStyle: s.line()}
		if step {
			l.StepStyle = plotter.PreStep
		}
		p.plot.Add(l)
	}
}

// Band fills the area between lo and hi.
func (p *Panel) Band(s Style, x, lo, hi []float64) {
	var over, under plotter.XYs
	flush := func() {
		if len(over) > 0 {
			slices.Reverse(under)
			p.plot.Add(&plotter.Polygon{XYs: []plotter.XYs{append(over, under...)}, Color: faint(s.Colour)})
		}
		over, under = nil, nil
	}
	for i := range min(len(x), len(lo), len(hi)) {
		if !p.drawable(x[i], lo[i]) || !p.drawable(x[i], hi[i]) {
			flush()
			continue
		}
		over, under = append(over, plotter.XY{X: x[i], Y: hi[i]}), append(under, plotter.XY{X: x[i], Y: lo[i]})
	}
	flush()
}

// Range is a value and the bounds of its interval.
type Range struct{ At, Low, High float64 }

// Exactly is a value without an interval.
func Exactly(x float64) Range { return Range{x, x, x} }

// Interval draws a value on a line of a panel with Names.
func (p *Panel) Interval(s Style, line int, r Range) { p.Cross(s, r, Exactly(-float64(line))) }

// Cross draws a point with its intervals in both directions. A bound that is missing is the point itself.
func (p *Panel) Cross(s Style, x, y Range) {
	if !p.drawable(x.At, y.At) {
		return
	}
	bar := draw.LineStyle{Color: s.Colour, Width: lineWidth}
	for _, end := range []plotter.XYs{
		{{X: p.orX(x.Low, x.At, y.At), Y: y.At}, {X: p.orX(x.High, x.At, y.At), Y: y.At}},
		{{X: x.At, Y: p.orY(y.Low, y.At, x.At)}, {X: x.At, Y: p.orY(y.High, y.At, x.At)}},
	} {
		if end[0] != end[1] {
			p.plot.Add(&plotter.Line{XYs: end, LineStyle: bar})
		}
	}
	p.plot.Add(&plotter.Scatter{XYs: plotter.XYs{{X: x.At, Y: y.At}}, GlyphStyle: s.dot()})
}

// orX is x where it can be drawn at y, else instead.
func (p *Panel) orX(x, instead, y float64) float64 {
	if p.drawable(x, y) {
		return x
	}
	return instead
}

func (p *Panel) orY(y, instead, x float64) float64 {
	if p.drawable(x, y) {
		return y
	}
	return instead
}

// segments splits a line at the points that cannot be drawn.
func (p *Panel) segments(x, y []float64) []plotter.XYs {
	var out []plotter.XYs
	open := false
	for i := range min(len(x), len(y)) {
		if !p.drawable(x[i], y[i]) {
			open = false
			continue
		}
		if !open {
			out, open = append(out, nil), true
		}
		last := &out[len(out)-1]
		*last = append(*last, plotter.XY{X: x[i], Y: y[i]})
	}
	return out
}

func (p *Panel) drawable(x, y float64) bool {
	return finite(x) && finite(y) && (x > 0 || !logarithmic(&p.plot.X)) && (y > 0 || !logarithmic(&p.plot.Y))
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func logarithmic(a *plot.Axis) bool {
	_, ok := a.Scale.(plot.LogScale)
	return ok
}

// level is a line across a panel.
type level struct {
	at       float64
	vertical bool
}

// Plot implements [plot.Plotter].
func (l level) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	s := draw.LineStyle{Color: Limit().Colour, Width: vg.Points(1.1), Dashes: Limit().Dashes}
	if l.vertical {
		c.StrokeLine2(s, x(l.at), c.Min.Y, x(l.at), c.Max.Y)
	} else {
		c.StrokeLine2(s, c.Min.X, y(l.at), c.Max.X, y(l.at))
	}
}

// LevelX draws a vertical line across the panel, in the style of [Limit], where x lies within the data or so near that
// the axis can be extended to it without more than doubling. It reports whether it did. Call it after adding data.
func (p *Panel) LevelX(x float64) bool {
	if !near(&p.plot.X, x) {
		return false
	}
	p.RangeX(x, x)
	p.plot.Add(level{x, true})
	return true
}

// LevelY is LevelX for a horizontal line.
func (p *Panel) LevelY(y float64) bool {
	if !near(&p.plot.Y, y) {
		return false
	}
	p.RangeY(y, y)
	p.plot.Add(level{y, false})
	return true
}

// near reports whether an axis with data can show x.
func near(a *plot.Axis, x float64) bool {
	if !finite(x) || !(a.Min <= a.Max) || logarithmic(a) && x <= 0 {
		return false
	}
	if logarithmic(a) {
		return x >= a.Min*a.Min/a.Max && x <= a.Max*a.Max/a.Min
	}
	width := max(a.Max-a.Min, 0.1*max(a.Max, -a.Min))
	return x >= a.Min-width && x <= a.Max+width
}

// Style is how one policy looks in every figure.
type Style struct {
	Colour color.RGBA
	Dashes []vg.Length
	Glyph  draw.GlyphDrawer
}

func (s Style) line() draw.LineStyle {
	return draw.LineStyle{Color: s.Colour, Width: lineWidth, Dashes: s.Dashes}
}

func (s Style) dot() draw.GlyphStyle {
	return draw.GlyphStyle{Color: s.Colour, Radius: dotRadius, Shape: s.Glyph}
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

// Limit is the style of a level that is known beforehand: what a service promises, or the best that is possible.
func Limit() Style {
	return Style{color.RGBA{20, 20, 20, 255}, []vg.Length{1.5, 2}, draw.CircleGlyph{}}
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
