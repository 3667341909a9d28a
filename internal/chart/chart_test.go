package chart

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/stoker-rl/stoker/internal/golden"
	"github.com/stoker-rl/stoker/internal/must"
)

func labels(ticks []plot.Tick) []string {
	var out []string
	for _, t := range ticks {
		if t.Label != "" {
			out = append(out, t.Label)
		}
	}
	return out
}

// Ticks are round numbers with as many decimals as their step needs; thousands and millions are abbreviated.
func TestLinear(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   string
	}{
		{0, 1, "0.0 0.2 0.4 0.6 0.8 1.0"}, {0.283, 0.747, "0.3 0.4 0.5 0.6 0.7"}, {-102, -36, "-100 -90 -80 -70 -60 -50 -40"},
		{0, 50_000, "0 10k 20k 30k 40k 50k"}, {61_000, 83_000, "65k 70k 75k 80k"}, {0, 2.5e6, "0.0 0.5M 1.0M 1.5M 2.0M 2.5M"},
		{-0.05, 0.05, "-0.04 -0.02 0.00 0.02 0.04"}, {0, 4e-7, "0 1e-07 2e-07 3e-07 4e-07"},
		{9_990, 10_010, "9.990k 9.995k 10.000k 10.005k 10.010k"},
		{1e17, 1.2e17, "1e+17 1.05e+17 1.1e+17 1.15e+17 1.2e+17"}, {1, 1, ""}, {2, 1, ""}, {math.NaN(), 1, ""},
		{0, math.Inf(1), ""},
	} {
		if got := strings.Join(labels(linear{Want: 6}.Ticks(c.lo, c.hi)), " "); got != c.want {
			t.Errorf("%g to %g: %q, want %q", c.lo, c.hi, got, c.want)
		}
	}
	if got := labels(linear{Want: 8, Whole: true}.Ticks(0, 3)); !slices.Equal(got, []string{"0", "1", "2", "3"}) {
		t.Errorf("whole numbers: %v", got)
	}
}

func TestDecades(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   string
	}{
		{0.05, 15, "0.1 1 10"}, {0.3, 4, "0.5 1 2"}, {1, 1000, "1 2 5 10 20 50 100 200 500 1000"},
		{4000, 3e4, "5000 10k 20k"}, {21, 37, "25 30 35"}, {21, 70, "30 40 50 60 70"}, {1e-9, 1e9, "1e-09 1e-07 1e-05 0.001 0.1 10 1000 100k 10M 1000M"},
		{0, 1, ""}, {1, 1, ""}, {1, math.Inf(1), ""}, {math.NaN(), 1, ""},
	} {
		if got := strings.Join(labels(decades{}.Ticks(c.lo, c.hi)), " "); got != c.want {
			t.Errorf("%g to %g: %q, want %q", c.lo, c.hi, got, c.want)
		}
	}
}

// For every range the axis is finite and wider than rounding errors.
func TestFit(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct{ lo, hi, wantLo, wantHi float64 }{
		{0, 10, -1, 11}, {5, 5, 4.45, 5.55}, {0, 0, -0.1, 1.1}, {inf, -inf, 0, 1}, {math.NaN(), 1, 0, 1}, {-inf, 1, 0, 1},
		{1e17, 1e17, 0.89e17, 1.11e17},
	} {
		a := plot.Axis{Min: c.lo, Max: c.hi, Scale: plot.LinearScale{}}
		fit(&a, 0.1)
		if math.Abs(a.Min-c.wantLo) > 1e-9*math.Abs(c.wantHi) || math.Abs(a.Max-c.wantHi) > 1e-9*math.Abs(c.wantHi) {
			t.Errorf("%g to %g becomes %g to %g, want %g to %g", c.lo, c.hi, a.Min, a.Max, c.wantLo, c.wantHi)
		}
	}
	a := plot.Axis{Min: 1, Max: 100, Scale: plot.LogScale{}}
	fit(&a, 0.5)
	if math.Abs(a.Min-0.1) > 1e-12 || math.Abs(a.Max-1000) > 1e-9 {
		t.Errorf("a logarithmic axis from 1 to 100 widened by half becomes %g to %g", a.Min, a.Max)
	}
	a = plot.Axis{Min: inf, Max: -inf, Scale: plot.LogScale{}}
	if fit(&a, 0.1); a.Min != 1 || a.Max != 10 {
		t.Errorf("an empty logarithmic axis becomes %g to %g", a.Min, a.Max)
	}
}

// Lines break at missing values, on a logarithmic axis also at values that are not positive.
func TestSegments(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	x, y := []float64{-1, 0, 1, 2, 3, 4, 5, 6}, []float64{1, 1, nan, 2, 3, inf, -1, 5}
	p := NewPanel("", "", "")
	if got := lengths(p.segments(x, y)); !slices.Equal(got, []int{2, 2, 2}) {
		t.Errorf("segments of %v points", got)
	}
	p.LogX()
	p.LogY()
	if got := lengths(p.segments(x, y)); !slices.Equal(got, []int{2, 1}) {
		t.Errorf("logarithmic: segments of %v points", got)
	}
	if got := p.segments([]float64{1, 2}, []float64{1}); len(got) != 1 || len(got[0]) != 1 {
		t.Errorf("of two lengths: %v", got)
	}
}

func lengths(segs []plotter.XYs) []int {
	var out []int
	for _, s := range segs {
		out = append(out, len(s))
	}
	return out
}

// everything is a figure with everything that can be drawn, including gaps, single points and missing bounds.
func everything() *Figure {
	nan := math.NaN()
	lines := NewPanel("lines, a step, a gap, a point", "x", "y")
	lines.Band(Styles(0), []float64{0, 1, 2, 3, 4, 5, 6}, []float64{1, 2, nan, 1, 2, 3, 3}, []float64{2, 3, 3, 2, 4, 4, 5})
	lines.Line(Styles(0), []float64{0, 1, 2, 3, 4, 5, 6}, []float64{1.5, 2.5, nan, 1.5, 3, 3.5, 4}, false)
	lines.Line(Styles(7), []float64{0, 2, 4, 6}, []float64{0, 1, 0, 1}, true)
	lines.Line(Styles(2), []float64{0, 1, 2}, []float64{5, nan, 5}, false)
	logs := NewPanel("both axes logarithmic", "x", "")
	logs.LogX()
	logs.LogY()
	logs.Line(Bound(), []float64{0, 0.1, 1, 10, 100}, []float64{1, 1000, 100, 0, 1}, false)
	logs.Line(Styles(1), []float64{0.1, 100}, []float64{1, 1000}, false)
	names := NewPanel("intervals by name", "", "")
	names.Names([]string{"first", "second", "third"}, false)
	names.Rule(2)
	for i, r := range []Range{{1, 0.5, 2.5}, {2, nan, 3}, {nan, 1, 2}} {
		names.Interval(Styles(i), i, r)
	}
	hidden := NewPanel("a title that is far too long for the panel that it stands over, so smaller", "", "")
	hidden.Names([]string{"first", "second", "third"}, true)
	hidden.Interval(Bound(), 1, Range{1e-9, 0.9e-9, 1.1e-9})
	if names.LevelX(2.2) != true || names.LevelX(9) || names.LevelX(nan) || logs.LevelY(0) {
		panic("a level near the data is drawn, another is not")
	}
	points := NewPanel("", "the one", "the other")
	points.Cross(Styles(3), Range{1, 0.5, 2}, Range{10, 5, 15})
	points.Cross(Styles(4), Range{2, 2, 2}, Range{20, 10, nan})
	points.Cross(Styles(5), Range{1.5, 1, 2}, Range{nan, 1, 2})
	points.LevelY(16)
	f := &Figure{Title: "Everything", Under: "with arrows ↓ ↑ and signs ≤ − × µ", Columns: 2, Width: 230, Height: 120,
		Panels: []*Panel{lines, logs, names, hidden, points}}
	for i := range 8 {
		f.Key = append(f.Key, Entry{Text: strings.Repeat("entry ", 1+i%3), Style: Styles(i), Line: i%2 == 0, Dot: i%3 == 0,
			Band: i == 0})
	}
	return f
}

func TestFigure(t *testing.T) {
	var first, second bytes.Buffer
	f := everything()
	must.Do(t, errors.Join(f.PNG(&first, 60), f.PNG(&second, 60)))
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("drawn twice, the figure differs")
	}
	golden.Image(t, "everything.png", first.Bytes())
}

func TestSave(t *testing.T) {
	dir := t.TempDir()
	files, err := everything().Save(dir, "all")
	if err != nil || !slices.Equal(files, []string{"all.png", "all.svg", "all.pdf"}) {
		t.Fatalf("%v, %v", files, err)
	}
	b := must.Get(os.ReadFile(filepath.Join(dir, "all.png")))(t)
	img := must.Get(png.Decode(bytes.NewReader(b)))(t)
	if w := img.Bounds().Dx(); w != 1017 { // 488 points at 150 dots per inch
		t.Errorf("%d pixels wide", w)
	}
	if svg, err := os.ReadFile(filepath.Join(dir, "all.svg")); err != nil ||
		!strings.Contains(string(svg), "Everything") || !strings.Contains(string(svg), "Sans,Arial,") {
		t.Errorf("SVG without its title or without fonts to fall back on: %v", err)
	}
	pdf, err := os.ReadFile(filepath.Join(dir, "all.pdf"))
	if err != nil || !bytes.HasPrefix(pdf, []byte("%PDF-")) || !bytes.Contains(pdf, []byte("%%EOF")) {
		t.Errorf("the PDF begins with %q (%v)", pdf[:min(8, len(pdf))], err)
	}
	var again bytes.Buffer
	if err := everything().PDF(&again); err != nil || !bytes.Equal(again.Bytes(), pdf) {
		t.Errorf("drawn again, the PDF differs (%v)", err)
	}
	if _, err := everything().Save(filepath.Join(dir, "nowhere"), "all"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("into a folder that is not there: %v", err)
	}
	var out bytes.Buffer
	if err := (&Figure{Title: "nothing"}).PNG(&out, 60); err != nil {
		t.Error(err)
	}
}

// A writer that fails midway leaves the old file, and no other.
func TestWriteFile(t *testing.T) {
	path, full := filepath.Join(t.TempDir(), "all.png"), errors.New("the disk is full")
	for _, fails := range []error{nil, full} {
		err := WriteFile(path, func(w io.Writer) error {
			_, err := io.WriteString(w, "of "+fmt.Sprint(fails))
			return errors.Join(err, fails)
		})
		if !errors.Is(err, fails) {
			t.Errorf("error is %v, want %v", err, fails)
		}
		b, err := os.ReadFile(path)
		if list, _ := os.ReadDir(filepath.Dir(path)); string(b) != "of <nil>" || len(list) != 1 {
			t.Errorf("the file has %q (%v) beside %v, want the first text alone", b, err, list)
		}
	}
}

// The first 24 styles differ from each other and from the bound's.
func TestStylesDiffer(t *testing.T) {
	type look struct {
		c      color.RGBA
		dashes int
		second float64
	}
	seen := map[look]bool{}
	of := func(s Style) look {
		l := look{s.Colour, len(s.Dashes), 0}
		if len(s.Dashes) > 0 {
			l.second = float64(s.Dashes[0])
		}
		return l
	}
	seen[of(Bound())], seen[of(Common())] = true, true
	for i := range 24 {
		if l := of(Styles(i)); seen[l] {
			t.Errorf("style %d looks like another: %v", i, l)
		} else {
			seen[l] = true
		}
	}
}
