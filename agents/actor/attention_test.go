package actor

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
)

// TestAttentionWeights: the weights are those that the network uses: an actor that outputs its mixture alone gives Σ
// w_ij x_j.
func TestAttentionWeights(t *testing.T) {
	for _, score := range []string{nets.Exp, nets.Squared} {
		const rows, own = 6, 3
		m := nets.MeanField{
			MLP: nets.MLP{Agents: 3, In: []nets.Port{{Name: "observation", Width: own}}, Out: own, Activation: nets.ReLU},
			Mix: nets.Attention, Score: score, Keys: 4, Neighbours: [][]int{{1, 2}, {0}, {0, 1}},
		}
		e := native.New(native.Options{DType: nets.Float64})
		n := must.Get(e.NewNet(m))(t)
		params := nets.InitialParams(m, rng.New(7, "attention"))
		slots, size := nets.Layout(m)
		for g := range m.Groups() {
			layer := params[g*size+slots[0].Offset:][:slots[0].Size()] // [own and mixture, out]
			clear(layer)
			for i := range own {
				layer[(own+i)*own+i] = 1
			}
			clear(params[g*size+slots[1].Offset:][:slots[1].Size()])
		}
		n.Params().Set(params)
		x := make([]float32, 3*rows*own)
		s := rng.NewStream(1, "x")
		for i := range x {
			x[i] = float32(2 * s.Norm())
		}
		in := e.NewTensor(3, rows, own)
		in.Set(x)
		seen := get64(n.Forward(n.NewWork(rows), in))
		w := must.Get(newMixing(m, params).weights(x, rows))(t)
		for b := range rows {
			for i := range 3 {
				for k := range own {
					var want float64
					for j := range 3 {
						want += float64(w[(b*3+i)*3+j]) * float64(x[(j*rows+b)*own+k])
					}
					if got := seen[(i*rows+b)*own+k]; math.Abs(got-want) > 1e-6 {
						t.Errorf("%s: agent %d's mixture is %g, the weights give %g", score, i, got, want)
					}
				}
			}
		}
	}
}

func get64(t nets.Tensor) []float64 {
	x := make([]float64, nets.Size(t))
	t.Get64(x)
	return x
}
