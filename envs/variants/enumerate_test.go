package variants_test

import (
	"cmp"
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/internal/must"
)

// The fronts of app1 to app4, the last one with fewer sizes, are those of all their configurations, at every accuracy.
func TestFrontsAreEnumerated(t *testing.T) {
	for _, name := range variants.Presets()[:4] {
		a := app(t, name)
		if name == "app4" {
			a = small(t, name) // of 1.5 million configurations
		}
		m := compile(t, a)
		all := outcomes(m)
		levels := map[float64]bool{}
		for _, o := range all {
			levels[o.Accuracy] = true
		}
		for level := range levels {
			got := must.Get(m.Front(context.Background(), level))(t)
			var want []variants.Outcome
			for _, o := range all { // fastest first, of those the cheapest
				if n := len(want); o.Accuracy >= level && (n == 0 || o.USD < want[n-1].USD*(1-1e-12)) {
					want = append(want, o)
				}
			}
			same := func(a variants.Plan, b variants.Outcome) bool {
				return math.Abs(a.Seconds-b.Seconds) <= 1e-9*b.Seconds && math.Abs(a.USD-b.USD) <= 1e-9*b.USD
			}
			if !slices.EqualFunc(got, want, same) {
				t.Errorf("%s, accuracy %g: %d points, want the %d of all configurations", name, level, len(got), len(want))
			}
		}
		t.Logf("%s: %d configurations, %d accuracies: no mismatch", name, len(all), len(levels))
	}
}

// outcomes returns those of all configurations, fastest first.
func outcomes(m *variants.Model) []variants.Outcome {
	var out []variants.Outcome
	s, choice := m.NewScratch(), make([]int, m.NumFunctions())
	for {
		out = append(out, m.EvaluateWith(s, choice))
		f := len(choice) - 1
		for f >= 0 && choice[f] == len(m.Options[f])-1 {
			choice[f] = 0
			f--
		}
		if f < 0 {
			break
		}
		choice[f]++
	}
	slices.SortFunc(out, func(a, b variants.Outcome) int {
		return cmp.Or(cmp.Compare(a.Seconds, b.Seconds), cmp.Compare(a.USD, b.USD))
	})
	return out
}
