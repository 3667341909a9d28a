package chart

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"io"
	"maps"
	"slices"
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
	f.draw(draw.New(outlined{Canvas: c, buffer: &sfnt.Buffer{}}), color.White)
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

// CompactPNG encodes the PNG file of a chart again with a palette, in a third to half of the bytes. A chart has few
// colours; the many shades at edges become the nearest of the 256 most frequent colours. Where the result is not
// smaller, CompactPNG returns file itself.
func CompactPNG(file []byte) ([]byte, error) {
	img, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := compact(&b, img); err != nil {
		return nil, err
	}
	if b.Len() >= len(file) {
		return file, nil
	}
	return b.Bytes(), nil
}

// CompactPNG draws the figure as PNG does, and writes what [CompactPNG] makes of that.
func (f *Figure) CompactPNG(w io.Writer, dpi int) error {
	return compact(w, f.image(dpi).Image())
}

func compact(w io.Writer, img image.Image) error {
	return (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(w, paletted(img))
}

// paletted is an image in its most frequent colours.
func paletted(img image.Image) *image.Paletted {
	bounds := img.Bounds()
	plain, isPlain := img.(*image.RGBA)
	each := func(do func(x, y int, c color.RGBA)) {
		for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
			for x := bounds.Min.X; x < bounds.Max.X; x++ {
				if isPlain {
					do(x, y, plain.RGBAAt(x, y))
					continue
				}
				r, g, b, a := img.At(x, y).RGBA()
				do(x, y, color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), uint8(a >> 8)})
			}
		}
	}
	// Neighbours mostly have one colour: runs of it are counted, and found in the palette, at once.
	count := map[color.RGBA]int{}
	var last color.RGBA
	run := 0
	each(func(_, _ int, c color.RGBA) {
		if c != last {
			count[last] += run
			last, run = c, 0
		}
		run++
	})
	count[last] += run
	if count[color.RGBA{}] == 0 {
		delete(count, color.RGBA{}) // the run of none, before the first
	}
	// By count, and then by value, so that one image always gives the same palette.
	colours := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(count[b]-count[a], cmp.Compare(value(a), value(b)))
	})
	var palette color.Palette
	for _, c := range colours[:min(256, len(colours))] {
		palette = append(palette, c)
	}
	index := make(map[color.RGBA]uint8, len(colours))
	for _, c := range colours {
		index[c] = uint8(palette.Index(c))
	}
	out := image.NewPaletted(bounds, palette)
	at := index[last]
	each(func(x, y int, c color.RGBA) {
		if c != last {
			last, at = c, index[c]
		}
		out.Pix[out.PixOffset(x, y)] = at
	})
	return out
}

func value(c color.RGBA) uint32 {
	return uint32(c.R)<<24 | uint32(c.G)<<16 | uint32(c.B)<<8 | uint32(c.A)
}
