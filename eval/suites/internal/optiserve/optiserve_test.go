package optiserve

import (
	"context"
	"flag"
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/suite/suitetest"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/internal/realdata"
)

var long = flag.Bool("long", false, "run the suite as stoker suite optiserve --quick does")

// small plays few problems.
func small(ctx context.Context, o suite.Options, r *suite.Report) error {
	return play(ctx, &o, r, size{per: 3, points: 7, sweep: 1, swept: []float64{1, 1000}, tails: []int{1}})
}

// A result does not depend on the workers, nothing in it is missing, and the exact optimum bounds what heuristics reach.
func TestSuite(t *testing.T) {
	s := Suite()
	s.Run = small
	res := suitetest.Same(t, s, 3, 1, 2)
	if text := suite.Text(res); strings.Contains(text, "NaN") {
		t.Errorf("something could not be computed:\n%s", text)
	}
	for _, row := range res.Rows {
		if row.Unit == "%" && !(row.Ours >= 0 && row.Ours <= 100) {
			t.Errorf("%s: %v %%", row.Quantity, row.Ours)
		}
	}
	verdicts := map[string]int{}
	for _, c := range res.Claims {
		verdicts[c.Verdict]++
	}
	if len(res.Claims) != len(claims) || verdicts[suite.Unknown] != len(claims)-1 {
		t.Errorf("without data: %d claims, verdicts %v, want all but one undecided", len(res.Claims), verdicts)
	}
}

// Laws of other families take as long at the smallest and the largest size of each variant, and lie between elsewhere.
func TestFamilies(t *testing.T) {
	models := must.Get(presets())(t)
	for _, m := range models {
		for _, family := range families {
			other := must.Get(inFamily(m, family))(t)
			for f := range m.Options {
				for v := range m.Variants[f] {
					from, to := m.VariantOptions(f, v)
					first, last := m.Options[f][from].Seconds, m.Options[f][to-1].Seconds
					for c := from; c < to; c++ {
						s := other.Options[f][c].Seconds
						ends := c == from || c == to-1
						if ends && math.Abs(s-m.Options[f][c].Seconds) > 1e-12 || s > first+1e-12 || s < last-1e-12 {
							t.Errorf("%s, %s, function %d, option %d: %g s, from %g to %g", m.App.Name, family, f, c, s, first, last)
						}
					}
				}
			}
			if a, b := best(m), best(other); math.Abs(a-b) > 1e-12 {
				t.Errorf("%s, %s: the best accuracy is %g, was %g", m.App.Name, family, b, a)
			}
		}
	}
}

func best(m *variants.Model) float64 {
	_, high := m.AccuracyRange()
	return high
}

// With the published files all but the thesis' share of near answers and its laws' errors is decided, and the curves and
// golden figures hold.
func TestData(t *testing.T) {
	data := realdata.Dir(t)
	s := Suite()
	s.Run = small
	res := must.Get(suite.Run(t.Context(), s, suite.Options{Seeds: []uint64{1, 2}, Data: data}, t.TempDir(), suite.Made{}))(t)
	for _, c := range res.Claims {
		if c.Verdict == suite.Unknown && !strings.Contains(c.Claim, "89.64") {
			t.Errorf("%s: %s, %s", c.Claim, c.Verdict, c.Found)
		}
		if strings.Contains(c.Claim, "come out") && c.Verdict != suite.Holds {
			t.Errorf("%s: %s, %s", c.Claim, c.Verdict, c.Found)
		}
	}
	if _, err := suite.Run(t.Context(), s, suite.Options{Seeds: []uint64{1}, Data: t.TempDir()}, t.TempDir(),
		suite.Made{}); err == nil || !strings.Contains(err.Error(), "lacks a file") {
		t.Errorf("an empty folder: %v", err)
	}
}
