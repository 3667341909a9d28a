package memory

import (
	"cmp"
	"math"
	"slices"
)

// Fitted is a fitted law with its errors.
type Fitted struct {
	Law Law
	// MAPE is the mean over sizes of |predicted - mean| / mean. LeftOut is the same where each size in turn was left out
	// of the fit that predicts it; NaN where too few sizes are left.
	MAPE, LeftOut float64
	// PerSize are the relative errors with sign at each size, of the fit to all.
	PerSize []float64
}

// Choose fits every one of forms, all where there are none, and returns them with the best at left-out sizes first. A
// law that cannot be judged so comes after those that can. Where two are equally good to a thousandth, the one named
// first in [Forms] wins.
func Choose(sizes []Size, o Options, forms ...Form) ([]Fitted, error) {
	if len(forms) == 0 {
		forms = Forms()
	}
	var out []Fitted
	var refused error
	for _, form := range forms {
		l, err := Fit(form, sizes, o)
		if err != nil {
			refused = err
			continue
		}
		f := Fitted{Law: l, LeftOut: leftOut(form, sizes, o)}
		for _, s := range sizes {
			e := l.Seconds(s.MB)/s.Mean - 1
			f.PerSize = append(f.PerSize, e)
			f.MAPE += math.Abs(e) / float64(len(sizes))
		}
		out = append(out, f)
	}
	if len(out) == 0 {
		return nil, refused
	}
	slices.SortStableFunc(out, func(a, b Fitted) int { return cmp.Compare(rank(a), rank(b)) })
	return out, nil
}

func rank(f Fitted) float64 {
	if math.IsNaN(f.LeftOut) {
		return math.Inf(1)
	}
	return math.Round(f.LeftOut*1000) / 1000
}

// leftOut returns the mean relative error at sizes that the fit has not seen.
func leftOut(form Form, sizes []Size, o Options) float64 {
	var sum float64
	rest := make([]Size, 0, len(sizes)-1)
	for i, s := range sizes {
		rest = append(append(rest[:0], sizes[:i]...), sizes[i+1:]...)
		l, err := Fit(form, rest, o)
		if err != nil {
			return math.NaN()
		}
		sum += math.Abs(l.Seconds(s.MB)/s.Mean - 1)
	}
	return sum / float64(len(sizes))
}

// Few returns n of the sizes, spread evenly over them with both ends: what a cheaper measurement would have had.
func Few(sizes []Size, n int) []Size {
	if n >= len(sizes) {
		return sizes
	}
	out := make([]Size, 0, n)
	for i := range n {
		out = append(out, sizes[int(math.Round(float64(i)*float64(len(sizes)-1)/float64(max(1, n-1))))])
	}
	return out
}
