package envs

import "math"

// Feature is a component of what agents see beside its value: X is what a row shows. One table of features makes the
// spec's list, the rows written, and what explanations and served policies call them.
type Feature[X any] struct {
	Name, Unit, Doc string
	Of              func(x *X) float32
}

// NewFeature returns a feature.
func NewFeature[X any](name, unit, doc string, of func(x *X) float32) Feature[X] {
	return Feature[X]{name, unit, doc, of}
}

// Components are the names, units and docs of features.
func Components[X any](all []Feature[X]) []Component {
	out := make([]Component, len(all))
	for i, f := range all {
		out[i] = Component{f.Name, f.Unit, f.Doc}
	}
	return out
}

// WriteRow writes the values of features. x leaves the stack: keep it from row to row.
func WriteRow[X any](all []Feature[X], x *X, row []float32) {
	row = row[:len(all)]
	for i := range all {
		row[i] = all[i].Of(x)
	}
}

// Tight maps small relative differences to −1 to 1: 0.05 is a half.
func Tight(x float64) float32 { return float32(x / (math.Abs(x) + 0.05)) }

// Wide maps ratios from 0 on to 0 to 1: 1 is a half.
func Wide(x float64) float32 { return float32(x / (float64(x) + 1)) }

// Flag is 1 for true, 0 for false.
func Flag(b bool) float32 {
	if b {
		return 1
	}
	return 0
}
