package chart

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
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
	e := png.Encoder{CompressionLevel: png.BestCompression}
	if err := e.Encode(&b, paletted(img)); err != nil {
		return nil, err
	}
	if b.Len() >= len(file) {
		return file, nil
	}
	return b.Bytes(), nil
}

// paletted is an image in its most frequent colours.
func paletted(img image.Image) *image.Paletted {
	bounds := img.Bounds()
	each := func(do func(x, y int, c color.RGBA)) {
		for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
			for x := bounds.Min.X; x < bounds.Max.X; x++ {
				r, g, b, a := img.At(x, y).RGBA()
				do(x, y, color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), uint8(a >> 8)})
			}
		}
	}
	count := map[color.RGBA]int{}
	each(func(_, _ int, c color.RGBA) { count[c]++ })
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
	each(func(x, y int, c color.RGBA) { out.SetColorIndex(x, y, index[c]) })
	return out
}

func value(c color.RGBA) uint32 {
	return uint32(c.R)<<24 | uint32(c.G)<<16 | uint32(c.B)<<8 | uint32(c.A)
}
