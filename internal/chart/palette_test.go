package chart

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// A chart with few colours keeps all of them; with many shades, each becomes a near one, and the file becomes smaller.
func TestCompactPNG(t *testing.T) {
	for _, c := range []struct {
		name     string
		shades   int
		farthest int // of a channel
	}{{"few colours", 5, 0}, {"many shades", 2000, 60}} {
		r := rand.New(rand.NewPCG(1, 2))
		img := image.NewRGBA(image.Rect(0, 0, 200, 100))
		for i := range 200 * 100 {
			shade := 0 // most of a chart is background
			if i%5 == 0 {
				shade = r.IntN(c.shades)
			}
			img.SetRGBA(i%200, i/200, color.RGBA{uint8(shade / 8), uint8(shade % 8 * 3), 200, 255})
		}
		var file bytes.Buffer
		must.Do(t, png.Encode(&file, img))
		small := must.Get(CompactPNG(file.Bytes()))(t)
		if len(small) >= file.Len() {
			t.Errorf("%s: %d bytes, before %d", c.name, len(small), file.Len())
		}
		got, err := png.Decode(bytes.NewReader(small))
		if err != nil || got.Bounds() != img.Bounds() {
			t.Fatalf("%s: %v, error %v", c.name, got, err)
		}
		for i := range 200 * 100 {
			a, b := img.RGBAAt(i%200, i/200), color.RGBAModel.Convert(got.At(i%200, i/200)).(color.RGBA)
			if d := max(int(a.R)-int(b.R), int(b.R)-int(a.R), int(a.G)-int(b.G), int(b.G)-int(a.G)); d > c.farthest {
				t.Fatalf("%s: pixel %d is %v, was %v", c.name, i, b, a)
			}
		}
	}
	// What a figure draws at once is what its PNG file becomes.
	var file, once bytes.Buffer
	f := Figure{Title: "a figure", Panels: []*Panel{NewPanel("a panel", "x", "y")}, Columns: 1, Width: 200, Height: 150}
	must.Do(t, errors.Join(f.PNG(&file, 100), f.CompactPNG(&once, 100)))
	if again, err := CompactPNG(file.Bytes()); err != nil || !bytes.Equal(again, once.Bytes()) {
		t.Errorf("%d bytes at once, %d from the file, error %v", once.Len(), len(again), err)
	}
	if _, err := CompactPNG([]byte("no PNG")); err == nil {
		t.Error("a file that is no PNG was taken")
	}
}
