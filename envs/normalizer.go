package envs

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs/state"
)

// Normalizer standardises rows of numbers by running means and deviations (Welford, 1962). Its statistics belong to the
// policy: they are saved with it, exported with it and frozen in evaluation.
type Normalizer struct {
	width  int
	clip   float32
	frozen bool
	count  float64
	mean   []float64
	m2     []float64 // sum of squared differences from the mean

	// What Apply uses, made anew where stale.
	shift, scale []float32
	stale        bool
}

// NewNormalizer returns a normalizer of rows of width numbers, whose results are bounded by ±clip. Before the first
// Update it leaves values as they are, apart from the bounds.
func NewNormalizer(width int, clip float64) (*Normalizer, error) {
	if width < 1 {
		return nil, fmt.Errorf("envs: normalizer of width %d, want at least 1", width)
	}
	if !(clip > 0) {
		return nil, fmt.Errorf("envs: normalizer with clip %g, want more than 0", clip)
	}
	return &Normalizer{
		width: width, clip: float32(clip), mean: make([]float64, width), m2: make([]float64, width),
		shift: make([]float32, width), scale: make([]float32, width), stale: true,
	}, nil
}

// Width is the length of a row.
func (n *Normalizer) Width() int { return n.width }

// Count is the number of rows seen.
func (n *Normalizer) Count() float64 { return n.count }

// Freeze stops Update from changing anything: what follows is evaluation.
func (n *Normalizer) Freeze() { n.refresh(); n.frozen = true }

// Update takes in rows, one after another. What is left of a row at the end is not read.
func (n *Normalizer) Update(rows []float32) {
	if n.frozen {
		return
	}
	for ; len(rows) >= n.width; rows = rows[n.width:] {
		n.count++
		inverse := 1 / n.count
		for i, v := range rows[:n.width] {
			x := float64(v)
			d := x - n.mean[i]
			n.mean[i] += float64(d * inverse)
			n.m2[i] += float64(d * (x - n.mean[i]))
		}
		n.stale = true
	}
}

// Adopt takes over what Affine gave of statistics over count rows. A scale of 1 stands for a variance of 1, also where it
// was that of a feature that had not varied. The largest scale is that of the least variance there is.
func (n *Normalizer) Adopt(shift, scale []float32, count float64) error {
	if len(shift) != n.width || len(scale) != n.width || !(count > 0) {
		return fmt.Errorf("envs: %g rows with %d means and %d scales, want %d of each", count, len(shift), len(scale), n.width)
	}
	for i, s := range scale {
		if x := float64(shift[i]); !(s > 0) || math.IsInf(float64(s), 0) || x-x != 0 {
			return fmt.Errorf("envs: feature %d has mean %g and scale %g, want finite numbers and a scale above 0", i, shift[i], s)
		}
	}
	n.count, n.stale = count, true
	for i := range n.mean {
		s := float64(scale[i])
		n.mean[i], n.m2[i] = float64(shift[i]), float64(count*max(leastVariance, 1/(s*s)-varianceFloor))
	}
	return nil
}

// Apply writes (x − mean)/deviation, bounded, of the rows in src to dst, which may be src. Both hold the same number of
// rows.
func (n *Normalizer) Apply(dst, src []float32) {
	n.refresh()
	for ; len(src) >= n.width; dst, src = dst[n.width:], src[n.width:] {
		for i, x := range src[:n.width] {
			y := float32((x - n.shift[i]) * n.scale[i])
			dst[i] = min(max(y, -n.clip), n.clip)
		}
	}
}

// Affine returns what Apply does before it bounds: (x − shift)·scale. A feature that has not varied yet has scale 1.
// The slices belong to the normalizer and change with the next Update.
func (n *Normalizer) Affine() (shift, scale []float32) {
	n.refresh()
	return n.shift, n.scale
}

// varianceFloor bounds the scale of a feature that hardly varies.
const varianceFloor = 1e-8

// leastVariance is more than 0, which would stand for a feature that has not varied, and nothing beside varianceFloor.
const leastVariance = 1e-300

func (n *Normalizer) refresh() {
	if !n.stale {
		return
	}
	n.stale = false
	for i := range n.width {
		variance := 0.0
		if n.count > 0 {
			variance = n.m2[i] / n.count
		}
		n.shift[i], n.scale[i] = float32(n.mean[i]), 1
		if variance > 0 {
			n.scale[i] = float32(1 / math.Sqrt(variance+varianceFloor))
		}
	}
}

// normalizerKind names saved statistics.
const normalizerKind = "normalizer"

// CopyFrom makes the statistics equal to src's, which must be of the same width. Bounds stay as they are.
func (n *Normalizer) CopyFrom(src *Normalizer) error { return state.Copy(n, src) }

// AppendBinary appends the statistics.
func (n *Normalizer) AppendBinary(b []byte) ([]byte, error) {
	return state.Append(b, normalizerKind, n)
}

// UnmarshalBinary restores statistics written by AppendBinary of a normalizer of the same width. Bounds stay as they
// are.
func (n *Normalizer) UnmarshalBinary(b []byte) error { return state.Load(b, normalizerKind, n) }

// State implements [state.Stater].
func (n *Normalizer) State(c *state.Codec) {
	state.Value(c, &n.frozen)
	state.Value(c, &n.count)
	state.Fixed(c, n.mean)
	state.Fixed(c, n.m2)
	if c.Loaded() {
		c.Check(n.count >= 0 && !math.IsInf(n.count, 0), "a count of %g rows", n.count)
	}
	if c.Filled() {
		n.stale = true
	}
}
