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
)

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
	e := png.Encoder{CompressionLevel: png.BestCompression}
	return e.Encode(w, paletted(img))
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
