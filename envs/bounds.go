package envs

import (
	"encoding/json"
	"math"
)

// Bounds are the least and the greatest value that a quantity can have, infinite where there is none. The zero value
// stands for no bounds.
type Bounds struct{ Low, High float64 }

// AtLeast are the bounds of a quantity that is never less than low.
func AtLeast(low float64) Bounds { return Bounds{low, math.Inf(1)} }

// Share are the bounds of a share: 0 and 1.
func Share() Bounds { return Bounds{0, 1} }

// Limits are both bounds, infinite where there is none.
func (b Bounds) Limits() (low, high float64) {
	if b == (Bounds{}) {
		return math.Inf(-1), math.Inf(1)
	}
	return b.Low, b.High
}

// Contain reports whether x lies within the bounds, with an allowance for rounding.
func (b Bounds) Contain(x float64) bool {
	const rounding = 1e-9
	low, high := b.Limits()
	return x >= low-rounding && x <= high+rounding
}

// MarshalJSON writes [low, high], null for a bound that is not there, and null alone where there is none.
func (b Bounds) MarshalJSON() ([]byte, error) {
	if b == (Bounds{}) {
		return []byte("null"), nil
	}
	var pair [2]*float64
	for i, x := range []float64{b.Low, b.High} {
		if !math.IsInf(x, 0) {
			pair[i] = &x
		}
	}
	return json.Marshal(pair)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (b *Bounds) UnmarshalJSON(text []byte) error {
	var pair *[2]*float64
	if err := json.Unmarshal(text, &pair); err != nil {
		return err
	}
	if *b = (Bounds{}); pair == nil {
		return nil
	}
	*b = Bounds{math.Inf(-1), math.Inf(1)}
	if pair[0] != nil {
		b.Low = *pair[0]
	}
	if pair[1] != nil {
		b.High = *pair[1]
	}
	return nil
}
