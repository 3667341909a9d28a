package chart

import (
	"image/color"
	"io"
	"sync"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgpdf"
)

// undated makes PDFs of equal figures equal: they carry no time of their own.
var undated = sync.OnceFunc(func() {
	start := time.Unix(0, 0).UTC()
	fpdf.SetDefaultCreationDate(start)
	fpdf.SetDefaultModificationDate(start)
	fpdf.SetDefaultCatalogSort(true)
})

// PDF draws the figure as a page of its size, for papers.
func (f *Figure) PDF(w io.Writer) error {
	undated()
	c := vgpdf.New(f.size())
	f.draw(draw.New(outlined{Canvas: c, buffer: &sfnt.Buffer{}}))
	_, err := c.WriteTo(w)
	return err
}

// outlined draws text as the outlines of its letters. The fonts of a PDF of package vgpdf have Western letters only:
// arrows and signs such as ≤ would be lost.
type outlined struct {
	*vgpdf.Canvas
	buffer *sfnt.Buffer
}

// SetColor implements [vg.Canvas].
func (c outlined) SetColor(x color.Color) {
	if n, ok := x.(color.NRGBA); ok && n.A < 255 {
		x = straight(n)
	}
	c.Canvas.SetColor(x)
}

// straight is a colour as package vgpdf takes it: next to its opacity, not multiplied with it.
type straight color.NRGBA

// RGBA implements [color.Color].
func (s straight) RGBA() (r, g, b, a uint32) {
	return uint32(s.R) * 0x101, uint32(s.G) * 0x101, uint32(s.B) * 0x101, uint32(s.A) * 0x101
}

// FillString implements [vg.Canvas].
func (c outlined) FillString(face font.Face, at vg.Point, text string) {
	f := face.Face
	// A unit of the outlines is 1/64 of this many to the font's size, fine enough for any zoom.
	const em = 1024
	scale := face.Font.Size / em
	x, before := fixed.Int26_6(0), sfnt.GlyphIndex(0)
	for i, r := range text {
		glyph, err := f.GlyphIndex(c.buffer, r)
		if err != nil {
			continue
		}
		if i > 0 {
			if kern, err := f.Kern(c.buffer, before, glyph, fixed.I(em), 0); err == nil {
				x += kern
			}
		}
		if segments, err := f.LoadGlyph(c.buffer, glyph, fixed.I(em), nil); err == nil {
			c.fillGlyph(segments, at, x, scale)
		}
		if advance, err := f.GlyphAdvance(c.buffer, glyph, fixed.I(em), 0); err == nil {
			x += advance
		}
		before = glyph
	}
}

// fillGlyph fills the outline of a letter that begins x to the right of a point.
func (c outlined) fillGlyph(segments sfnt.Segments, at vg.Point, x fixed.Int26_6, scale vg.Length) {
	point := func(p fixed.Point26_6) vg.Point {
		return vg.Point{X: at.X + vg.Length(p.X+x)/64*scale, Y: at.Y - vg.Length(p.Y)/64*scale}
	}
	var path vg.Path
	for _, s := range segments {
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			if len(path) > 0 {
				path.Close()
			}
			path.Move(point(s.Args[0]))
		case sfnt.SegmentOpLineTo:
			path.Line(point(s.Args[0]))
		case sfnt.SegmentOpQuadTo:
			path.QuadTo(point(s.Args[0]), point(s.Args[1]))
		case sfnt.SegmentOpCubeTo:
			path.CubeTo(point(s.Args[0]), point(s.Args[1]), point(s.Args[2]))
		}
	}
	if len(path) > 0 {
		path.Close()
		c.Fill(path)
	}
}
