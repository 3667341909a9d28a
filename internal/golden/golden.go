// Package golden compares the output of tests with files under testdata. The flag -update writes these files again;
// look at an image before committing it.
package golden

import (
	"bytes"
	"flag"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write golden files again")

// Updating reports whether files are to be written again, for tests that write their own.
func Updating() bool { return *update }

// Text compares a text with testdata/name.
func Text(t *testing.T, name, got string) {
	t.Helper()
	b, ok := read(t, name, []byte(got))
	if !ok || got == string(b) {
		return
	}
	made, want := strings.Split(got, "\n"), strings.Split(string(b), "\n")
	n := 0
	for n < min(len(made), len(want)) && made[n] == want[n] {
		n++
	}
	at := func(lines []string) string {
		if n < len(lines) {
			return lines[n]
		}
		return "(no such line)"
	}
	t.Errorf("%s:%d (of %d lines; the output has %d; write it again with -update):\n%s\nthe output is\n%s",
		filepath.Join("testdata", name), n+1, len(want), len(made), at(want), at(made))
}

const (
	// pixelThreshold is the difference in one channel from which a pixel counts as different.
	pixelThreshold = 64
	// maxDifferent is the allowed fraction of different pixels: another architecture may smooth edges differently, while a
	// moved line or word changes more pixels.
	maxDifferent = 0.0005
)

// Image compares a PNG with testdata/name: the same size, and all but a few pixels about equal. Where it differs, the
// output is written to a temporary folder that the failure names.
func Image(t *testing.T, name string, got []byte) {
	t.Helper()
	want, ok := read(t, name, got)
	if !ok {
		return
	}
	a, b := decode(t, got), decode(t, want)
	share := 1.0
	if a.Bounds() == b.Bounds() {
		share = different(a, b)
	}
	if share <= maxDifferent {
		return
	}
	dir, err := os.MkdirTemp("", "golden")
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(dir, filepath.Base(name))
	if err := os.WriteFile(left, got, 0o666); err != nil {
		t.Fatal(err)
	}
	t.Errorf("%s is %v, the output is %v, %.2f %% of pixels differ: look at %s, and write it again with -update",
		filepath.Join("testdata", name), b.Bounds().Size(), a.Bounds().Size(), 100*share, left)
}

// read returns the golden file; with -update it writes got instead and returns false.
func read(t *testing.T, name string, got []byte) ([]byte, bool) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return nil, false
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Errorf("%v: write it with -update", err)
		return nil, false
	}
	return want, true
}

func decode(t *testing.T, b []byte) image.Image {
	t.Helper()
	m, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// different is the fraction of pixels in which two images of one size differ.
func different(a, b image.Image) float64 {
	n := 0
	r := a.Bounds()
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			p, q := color.RGBAModel.Convert(a.At(x, y)).(color.RGBA), color.RGBAModel.Convert(b.At(x, y)).(color.RGBA)
			if apart(p.R, q.R) || apart(p.G, q.G) || apart(p.B, q.B) {
				n++
			}
		}
	}
	return float64(n) / float64(r.Dx()*r.Dy())
}

func apart(x, y uint8) bool { return max(x, y)-min(x, y) >= pixelThreshold }
