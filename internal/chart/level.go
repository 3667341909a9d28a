package chart

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Limit is the style of a level that is known beforehand: what a service promises, or the best that is possible.
func Limit() Style {
	return Style{color.RGBA{20, 20, 20, 255}, []vg.Length{1.5, 2}, draw.CircleGlyph{}}
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
