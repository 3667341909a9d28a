package sweep

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// Laws are read, written and drawn from within their bounds, evenly; whole numbers are whole.
func TestLaw(t *testing.T) {
	for _, c := range []struct {
		text   string
		lo, hi float64
		middle float64 // of the law
	}{
		{"uniform(0.9,0.99)", 0.9, 0.99, 0.945},
		{"uniform(-3,5)", -3, 5, 1},
		{"log(1e-5,0.1)", 1e-5, 0.1, 1e-3},
		{"int(2,4)", 2, 4, 3},
		{"choice(1,2,3)", 1, 3, 2},
	} {
		l := must.Get(ParseLaw(c.text))(t)
		if l.String() != c.text {
			t.Errorf("%s is written %s", c.text, l)
		}
		var x []float64
		for i := range 400 {
			text := l.draw(rng.New(1, "test").With(uint64(i)))
			v, err := strconv.ParseFloat(text, 64)
			if err != nil || v < c.lo || v > c.hi || len(text) > 9 {
				t.Fatalf("%s drew %q", c.text, text)
			}
			if l.kind == intLaw && v != math.Trunc(v) {
				t.Errorf("%s drew %s", c.text, text)
			}
			x = append(x, v)
		}
		slices.Sort(x)
		below, _ := slices.BinarySearch(x, c.middle)
		above, _ := slices.BinarySearch(x, math.Nextafter(c.middle, math.Inf(1)))
		if below > 240 || above < 160 { // 4 deviations of a half of 400
			t.Errorf("%s: %d of 400 draws below %g, %d up to it", c.text, below, c.middle, above)
		}
		if l.kind != choiceLaw && x[len(x)-1]-x[0] < 0.9*(c.hi-c.lo) {
			t.Errorf("%s drew from %g to %g", c.text, x[0], x[len(x)-1])
		}
	}
	l, err := ParseLaw("choice([64,64],\"a,b\", relu)")
	if want := []string{"[64,64]", `"a,b"`, "relu"}; err != nil || !slices.Equal(l.words, want) {
		t.Errorf("%q, %v, want %q", l.words, err, want)
	}
}

// Draws are the same on every machine and in every version.
func TestDrawsStay(t *testing.T) {
	var got []string
	for _, text := range []string{"uniform(0,1)", "log(1e-6,1)", "int(-5,5)", "choice(a,b,c)"} {
		l := must.Get(ParseLaw(text))(t)
		for i := range 3 {
			got = append(got, l.draw(rng.New(1, "sweep agent.rate").With(uint64(i))))
		}
	}
	want := strings.Fields("0.787 0.325 0.732 0.05308 8.887e-5 0.02458 3 -2 3 c a c")
	if !slices.Equal(got, want) {
		t.Errorf("draws are %q, want %q", got, want)
	}
}

func TestLawErrors(t *testing.T) {
	for text, want := range map[string]string{
		"0.1":           "want uniform(a,b), log(a,b), int(a,b) or choice(x,y,…)",
		"unifrom(1,2)":  "did you mean uniform?",
		"uniform(1)":    "want two numbers, as in uniform(1,10)",
		"uniform(1,a)":  `"a" is not a number`,
		"uniform(2,1)":  "want the smaller number first",
		"log(0,1)":      "want positive numbers for log",
		"int(1,2.5)":    "want whole numbers",
		"choice(a)":     "want at least two values",
		"choice(a,,b)":  "where a value is empty",
		"choice([1,2)":  "where a bracket or quote is not closed",
		"uniform(1,2":   "want uniform(a,b)",
		"log(1e-3,NaN)": `"NaN" is not a number`,
	} {
		if _, err := ParseLaw(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
