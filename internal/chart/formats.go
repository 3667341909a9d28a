package chart

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"image"
	"image/color"
	imagedraw "image/draw"
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

// CompactPNG encodes the PNG file of a chart again, with a palette of at most 256 colours. Where the result is larger, CompactPNG
// returns file itself.
func CompactPNG(file []byte) ([]byte, error) {
	img, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := compact(&b, img); err != nil {
		return nil, err
	}
	if b.Len() > len(file) {
		return file, nil
	}
	return b.Bytes(), nil
}

// CompactPNG is PNG with the best compression, which takes longer.
func (f *Figure) CompactPNG(w io.Writer, dpi int) error {
	return compact(w, f.image(dpi).Image())
}

func compact(w io.Writer, img image.Image) error {
	return (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(w, paletted(img))
}

// paletted is an image in its 256 most frequent colours. A chart has few; the many shades at edges become the nearest of them.
func paletted(img image.Image) *image.Paletted {
	bounds := img.Bounds()
	if few, ok := img.(*image.Paletted); ok {
		return few
	}
	plain, ok := img.(*image.RGBA)
	if !ok || plain.Stride != 4*bounds.Dx() {
		plain = image.NewRGBA(bounds)
		imagedraw.Draw(plain, bounds, img, bounds.Min, imagedraw.Src)
	}
	// Neighbours mostly have one colour: runs of it are counted, and found in the palette, at once.
	at := func(pixel int) uint32 { return binary.BigEndian.Uint32(plain.Pix[4*pixel:]) }
	runs := func(do func(colour uint32, from, to int)) {
		n := len(plain.Pix) / 4
		for from, i := 0, 1; i <= n; i++ {
			if i == n || at(i) != at(from) {
				do(at(from), from, i)
				from = i
			}
		}
	}
	count := map[uint32]int{}
	runs(func(c uint32, from, to int) { count[c] += to - from })
	// By count, and then by value, so that one image always gives the same palette.
	colours := slices.SortedFunc(maps.Keys(count), func(a, b uint32) int { return cmp.Or(count[b]-count[a], cmp.Compare(a, b)) })
	var palette color.Palette
	index := make(map[uint32]uint8, len(colours))
	for i, c := range colours {
		of := color.RGBA{uint8(c >> 24), uint8(c >> 16), uint8(c >> 8), uint8(c)}
		if i < 256 {
			palette = append(palette, of)
		}
		index[c] = uint8(palette.Index(of))
	}
	out := image.NewPaletted(bounds, palette)
	runs(func(c uint32, from, to int) {
		run, colour := out.Pix[from:to], index[c]
		for i := range run {
			run[i] = colour
		}
	})
	return out
}
