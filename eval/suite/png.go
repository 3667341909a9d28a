package suite

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"slices"

	"github.com/stoker-rl/stoker/internal/chart"
)

// drawn is a figure as PNG with a palette, a third of the size of one without: a chart has few colours, and its
// edges' many shades are moved to the nearest of the most frequent ones.
func drawn(f *chart.Figure) ([]byte, error) {
	var whole, small bytes.Buffer
	if err := f.PNG(&whole, dpi); err != nil {
		return nil, err
	}
	img, err := png.Decode(&whole)
	if err != nil {
		return nil, fmt.Errorf("reading back what was drawn: %w", err)
	}
	e := png.Encoder{CompressionLevel: png.BestCompression}
	if err := e.Encode(&small, paletted(img)); err != nil {
		return nil, err
	}
	return small.Bytes(), nil
}

const paletteSize = 256

// paletted is img in its most frequent colours.
func paletted(img image.Image) *image.Paletted {
	b := img.Bounds()
	count := map[color.RGBA]int{}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			count[rgba(img.At(x, y))]++
		}
	}
	colours := make([]color.RGBA, 0, len(count))
	for c := range count {
		colours = append(colours, c)
	}
	slices.SortFunc(colours, func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(code(a), code(b)))
	})
	var palette color.Palette
	for _, c := range colours[:min(paletteSize, len(colours))] {
		palette = append(palette, c)
	}
	index := make(map[color.RGBA]uint8, len(colours))
	for _, c := range colours {
		index[c] = uint8(palette.Index(c))
	}
	out := image.NewPaletted(b, palette)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			out.SetColorIndex(x, y, index[rgba(img.At(x, y))])
		}
	}
	return out
}

func rgba(c color.Color) color.RGBA {
	r, g, b, a := c.RGBA()
	return color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), uint8(a >> 8)}
}

func code(c color.RGBA) uint32 {
	return uint32(c.R)<<24 | uint32(c.G)<<16 | uint32(c.B)<<8 | uint32(c.A)
}
