package envs

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/rng"
)

// Space is the set of values that an observation or an action may take. A value is Width numbers in float32; choices
// are whole numbers from 0.
type Space interface {
	// Width is the number of values.
	Width() int
	// MaskWidth is the number of choices that a mask covers: the sum over Discrete components, 0 where there are none.
	MaskWidth() int
	// Contains returns nil where x is in the space, else an error that names the component and what would be right.
	Contains(x []float32) error
	// Sample draws a value uniformly, among the choices that mask allows (nil allows all), into out. Unbounded components
	// are drawn from the standard normal law, half-bounded ones from the exponential, as in Gymnasium.
	Sample(s *rng.Stream, mask []bool, out []float32)
	fmt.Stringer
}

// Box is a product of intervals, each closed. Components with Integer set take whole numbers only. An infinite bound
// means that there is none; infinity itself is not in the box.
type Box struct {
	Low, High []float32
	// Integer is nil where all components are continuous.
	Integer []bool
}

// NewBox returns a box of n equal intervals.
func NewBox(n int, low, high float32) Box {
	b := Box{Low: make([]float32, n), High: make([]float32, n)}
	for i := range n {
		b.Low[i], b.High[i] = low, high
	}
	return b
}

// Unbounded returns a box of n components without bounds.
func Unbounded(n int) Box { return NewBox(n, float32(math.Inf(-1)), float32(math.Inf(1))) }

// Width implements [Space].
func (b Box) Width() int { return len(b.Low) }

// MaskWidth implements [Space].
func (Box) MaskWidth() int { return 0 }

// Contains implements [Space].
func (b Box) Contains(x []float32) error {
	if len(x) != b.Width() {
		return widthError(b, x)
	}
	for i, v := range x {
		switch {
		case !(v >= b.Low[i] && v <= b.High[i]): // true for NaN
			return fmt.Errorf("component %d is %g, want [%g, %g]", i, v, b.Low[i], b.High[i])
		case v-v != 0:
			return fmt.Errorf("component %d is %g, want a finite number", i, v)
		case b.Integer != nil && b.Integer[i] && v != float32(math.Trunc(float64(v))):
			return fmt.Errorf("component %d is %g, want a whole number in [%g, %g]", i, v, b.Low[i], b.High[i])
		}
	}
	return nil
}

// Sample implements [Space].
func (b Box) Sample(s *rng.Stream, _ []bool, out []float32) {
	for i := range b.Low {
		lo, hi := float64(b.Low[i]), float64(b.High[i])
		below, above := math.IsInf(lo, -1), math.IsInf(hi, 1)
		var x float64
		switch {
		case below && above:
			x = s.Norm()
		case below:
			x = hi - s.Exp()
		case above:
			x = lo + s.Exp()
		case b.Integer != nil && b.Integer[i]:
			x = lo + float64(s.IntN(int(hi-lo)+1))
		default:
			x = lo + float64((hi-lo)*s.Float64())
		}
		if b.Integer != nil && b.Integer[i] {
			x = math.Round(x)
		}
		out[i] = min(max(float32(x), b.Low[i]), b.High[i])
	}
}

func (b Box) String() string {
	if b.Width() == 0 {
		return "Box(0)"
	}
	lo, hi, same := b.Low[0], b.High[0], true
	for i := range b.Low {
		same = same && b.Low[i] == lo && b.High[i] == hi
	}
	if !same {
		return fmt.Sprintf("Box(%d, mixed bounds)", b.Width())
	}
	return fmt.Sprintf("Box(%d, [%g, %g])", b.Width(), lo, hi)
}

// Discrete is one choice among N.
type Discrete struct{ N int }

// Width implements [Space].
func (Discrete) Width() int { return 1 }

// MaskWidth implements [Space].
func (d Discrete) MaskWidth() int { return d.N }

// Contains implements [Space].
func (d Discrete) Contains(x []float32) error {
	if len(x) != 1 {
		return widthError(d, x)
	}
	return checkChoice(0, x[0], d.N)
}

// Sample implements [Space].
func (d Discrete) Sample(s *rng.Stream, mask []bool, out []float32) {
	out[0] = float32(sampleChoice(s, d.N, mask))
}

func (d Discrete) String() string { return fmt.Sprintf("Discrete(%d)", d.N) }

// MultiDiscrete is several choices: component i among N[i]. Its masks are the components' masks one after another.
type MultiDiscrete struct{ N []int }

// Width implements [Space].
func (m MultiDiscrete) Width() int { return len(m.N) }

// MaskWidth implements [Space].
func (m MultiDiscrete) MaskWidth() int {
	w := 0
	for _, n := range m.N {
		w += n
	}
	return w
}

// Contains implements [Space].
func (m MultiDiscrete) Contains(x []float32) error {
	if len(x) != len(m.N) {
		return widthError(m, x)
	}
	for i, v := range x {
		if err := checkChoice(i, v, m.N[i]); err != nil {
			return err
		}
	}
	return nil
}

// isChoice reports whether v is a whole number in [0, n).
func isChoice(v float32, n int) bool { return v >= 0 && v < float32(n) && v == float32(int(v)) }

func checkChoice(i int, v float32, n int) error {
	if !isChoice(v, n) {
		return fmt.Errorf("component %d is %g, want a whole number in [0, %d)", i, v, n)
	}
	return nil
}

// Sample implements [Space].
func (m MultiDiscrete) Sample(s *rng.Stream, mask []bool, out []float32) {
	for i, n := range m.N {
		var part []bool
		if mask != nil {
			part, mask = mask[:n], mask[n:]
		}
		out[i] = float32(sampleChoice(s, n, part))
	}
}

func (m MultiDiscrete) String() string { return fmt.Sprintf("MultiDiscrete(%v)", m.N) }

// sampleChoice draws among the allowed choices, among all where none is allowed.
func sampleChoice(s *rng.Stream, n int, mask []bool) int {
	legal := 0
	for _, ok := range mask {
		if ok {
			legal++
		}
	}
	if legal == 0 {
		return s.IntN(n)
	}
	k := s.IntN(legal)
	for i, ok := range mask {
		if ok {
			if k == 0 {
				return i
			}
			k--
		}
	}
	return 0 // not reached: legal counts the true values of mask
}

// Tuple is several spaces one after another.
type Tuple struct{ Spaces []Space }

// Width implements [Space].
func (t Tuple) Width() int { return sum(t.Spaces, Space.Width) }

// MaskWidth implements [Space].
func (t Tuple) MaskWidth() int { return sum(t.Spaces, Space.MaskWidth) }

// Contains implements [Space].
func (t Tuple) Contains(x []float32) error {
	if len(x) != t.Width() {
		return widthError(t, x)
	}
	for i, s := range t.Spaces {
		if err := s.Contains(x[:s.Width()]); err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
		x = x[s.Width():]
	}
	return nil
}

// Sample implements [Space].
func (t Tuple) Sample(s *rng.Stream, mask []bool, out []float32) {
	for _, sp := range t.Spaces {
		var part []bool
		if mask != nil {
			part, mask = mask[:sp.MaskWidth()], mask[sp.MaskWidth():]
		}
		sp.Sample(s, part, out[:sp.Width()])
		out = out[sp.Width():]
	}
}

func (t Tuple) String() string {
	parts := make([]string, len(t.Spaces))
	for i, s := range t.Spaces {
		parts[i] = s.String()
	}
	return "Tuple(" + strings.Join(parts, ", ") + ")"
}

// Dict is a tuple whose parts have names.
type Dict struct {
	Keys []string
	Tuple
}

// Contains implements [Space].
func (d Dict) Contains(x []float32) error {
	if len(x) != d.Width() {
		return widthError(d, x)
	}
	for i, s := range d.Spaces {
		if err := s.Contains(x[:s.Width()]); err != nil {
			return fmt.Errorf("%s: %w", d.Keys[i], err)
		}
		x = x[s.Width():]
	}
	return nil
}

func (d Dict) String() string {
	parts := make([]string, len(d.Spaces))
	for i, s := range d.Spaces {
		parts[i] = d.Keys[i] + ": " + s.String()
	}
	return "Dict(" + strings.Join(parts, ", ") + ")"
}

func sum(spaces []Space, f func(Space) int) int {
	n := 0
	for _, s := range spaces {
		n += f(s)
	}
	return n
}

// widthError is apart from its callers' checks because turning a space into an interface allocates.
func widthError(s Space, x []float32) error {
	return fmt.Errorf("value has %d components, want %d for %v", len(x), s.Width(), s)
}

// Ranges returns the bounds of the components of a space; those of a choice are its first and last number.
func Ranges(s Space) []Bounds {
	var out []Bounds
	switch s := s.(type) {
	case Box:
		for i := range s.Low {
			out = append(out, Bounds{float64(s.Low[i]), float64(s.High[i])})
		}
	case Dict:
		return Ranges(s.Tuple)
	case Tuple:
		for _, part := range s.Spaces {
			out = append(out, Ranges(part)...)
		}
	default:
		for _, n := range Choices(s) {
			out = append(out, Bounds{0, float64(n - 1)})
		}
	}
	return out
}

// Choices returns the number of choices of each component of a space, 0 for components that are not choices.
func Choices(s Space) []int {
	switch s := s.(type) {
	case Discrete:
		return []int{s.N}
	case MultiDiscrete:
		return slices.Clone(s.N)
	case Dict:
		return Choices(s.Tuple)
	case Tuple:
		var out []int
		for _, part := range s.Spaces {
			out = append(out, Choices(part)...)
		}
		return out
	}
	return make([]int, s.Width())
}
