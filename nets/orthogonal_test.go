package nets_test

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/nets"

	"github.com/stoker-rl/stoker/rng"
)

// Orthogonal weights: the vectors along the shorter dimension are orthonormal up to the layer's gain, biases are 0, and
// the numbers vary as normal ones do.
func TestOrthogonalWeights(t *testing.T) {
	for _, hidden := range [][]int{{3, 40}, {40, 3}, {16, 16}, {1}} {
		m := nets.MLP{Agents: 2, In: []nets.Port{{"x", 7}}, Hidden: hidden, Out: 5, Activation: nets.Tanh, OrthogonalGain: 0.01}
		params := nets.InitialParams(m, rng.New(1, "test"))
		slots, size := nets.Layout(m)
		for g := range m.Groups() {
			for i, s := range slots {
				p := params[g*size+s.Offset:][:s.Size()]
				if len(s.Shape) == 1 {
					for _, b := range p {
						if b != 0 {
							t.Fatalf("%s is %g, want 0", s.Name, b)
						}
					}
					continue
				}
				gain := math.Sqrt2
				if i == len(slots)-2 {
					gain = 0.01
				}
				checkOrthonormal(t, p, s.Shape[0], s.Shape[1], gain)
			}
		}
		if params[0] == params[size] {
			t.Error("two agents have the same weights")
		}
	}
}

func checkOrthonormal(t *testing.T, p []float32, rows, columns int, gain float64) {
	t.Helper()
	n := min(rows, columns)
	for i := range n {
		for j := range n {
			sum, want := 0.0, 0.0
			if i == j {
				want = 1
			}
			for k := range max(rows, columns) {
				if rows <= columns {
					sum += float64(p[i*columns+k]) * float64(p[j*columns+k])
				} else {
					sum += float64(p[k*columns+i]) * float64(p[k*columns+j])
				}
			}
			if math.Abs(sum/(gain*gain)-want) > 1e-5 {
				t.Fatalf("[%d, %d]: vectors %d and %d have the product %g, want %g", rows, columns, i, j, sum/(gain*gain), want)
			}
		}
	}
}

func TestOrthogonalGainIsChecked(t *testing.T) {
	m := nets.MLP{Agents: 1, In: []nets.Port{{"x", 1}}, Out: 1, Activation: nets.Tanh, OrthogonalGain: math.NaN()}
	if err := m.Validate(); err == nil {
		t.Error("NaN is accepted")
	}
}
