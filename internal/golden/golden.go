// Package golden compares what tests make with files under testdata, which -update writes anew. Look at an image before
// committing it.
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

var update = flag.Bool("update", false, "write golden files anew")

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
	t.Errorf("%s:%d (of %d lines, made %d; write it anew with -update):\n%s\nmade is\n%s",
		filepath.Join("testdata", name), n+1, len(want), len(made), at(want), at(made))
}

const (
	// far is the difference in one channel from which a pixel counts as another.
	far = 64
	// most is the share of other pixels that is allowed: edges may be smoothed differently on another architecture,
	// while a line or a word elsewhere changes more.
	most = 0.0005
)

// Image compares a PNG with testdata/name: the same size, and all but a few pixels about equal. Where it differs,
// what was made is left in a folder that the failure names.
func Image(t *testing.T, name string, got []byte) {
	t.Helper()
	want, ok := read(t, name, got)
	if !ok {
		return
	}
	a, b := decode(t, got), decode(t, want)
	other := 1.0
	if a.Bounds() == b.Bounds() {
		other = different(a, b)
	}
	if other <= most {
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
	t.Errorf("%s is %v, what was made %v, %.2f %% of pixels differ: look at %s, and write it anew with -update",
		filepath.Join("testdata", name), b.Bounds().Size(), a.Bounds().Size(), 100*other, left)
}

// read returns the golden file, or writes it and says that there is nothing to compare.
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

// different is the share of pixels in which two images of one size differ.
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

func apart(x, y uint8) bool { return max(x, y)-min(x, y) >= far }
