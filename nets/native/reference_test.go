package native_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
)

// reference computes a network's output for one sample from the definitions in package nets, one number at a time.
type reference struct {
	arch   nets.Arch
	params []float64
}

// weight returns a parameter of an agent's group by name.
func (r reference) weight(agent int, name string) []float64 {
	slots, size := nets.Layout(r.arch)
	if r.arch.Groups() == 1 {
		agent = 0
	}
	i := slices.IndexFunc(slots, func(s nets.Slot) bool { return s.Name == name })
	return r.params[agent*size+slots[i].Offset:][:slots[i].Size()]
}

// times is x·W with W [len(x), out].
func times(x, w []float64) []float64 {
	out := make([]float64, len(w)/len(x))
	for i := range x {
		for j := range out {
			out[j] += x[i] * w[i*len(out)+j]
		}
	}
	return out
}

func (r reference) mlp(m nets.MLP, agent int, x []float64) []float64 {
	for l := range len(m.Hidden) + 1 {
		name := "layer" + string(rune('0'+l)) + "."
		x = times(x, r.weight(agent, name+"weight"))
		f := m.Activation
		if l == len(m.Hidden) {
			f = m.Final
		}
		for j, b := range r.weight(agent, name+"bias") {
			switch x[j] += b; f {
			case nets.ReLU:
				x[j] = max(x[j], 0)
			case nets.Tanh:
				x[j] = math.Tanh(x[j])
			case nets.Sigmoid:
				x[j] = 1 / (1 + math.Exp(-x[j]))
			}
		}
		if l < len(m.Hidden) && m.Norm == nets.LayerNorm {
			var mean, square float64
			for _, v := range x {
				mean += v / float64(len(x))
			}
			for _, v := range x {
				square += (v - mean) * (v - mean) / float64(len(x))
			}
			gain, offset := r.weight(agent, name+"gain"), r.weight(agent, name+"offset")
			for j, v := range x {
				x[j] = gain[j]*(v-mean)/math.Sqrt(square+1e-5) + offset[j]
			}
		}
	}
	return x
}

// field is the output of agent i; ports[p][j] are agent j's features of port p.
func (r reference) field(m nets.MeanField, i int, ports [][][]float64) []float64 {
	features := func(j int) []float64 { // agent j's features as agent i sees them
		var x []float64
		for p := range m.In {
			if m.Others && j != i && p == len(m.In)-1 {
				p++
			}
			x = append(x, ports[p][j]...)
		}
		return x
	}
	if m.Mix == nets.Joint {
		var all []float64
		for j := range m.Agents {
			all = append(all, features(j)...)
		}
		return r.mlp(m.MLP, i, all)
	}
	weights := make([]float64, len(m.Neighbours[i]))
	sum := 0.0
	for n, j := range m.Neighbours[i] {
		switch {
		case m.Mix == nets.Mean:
			weights[n] = 1
		default:
			q, k := times(features(i), r.weight(i, "query.weight")), times(features(j), r.weight(j, "key.weight"))
			for l := range q {
				weights[n] += q[l] * k[l]
			}
			if m.Score == nets.Exp {
				weights[n] = math.Exp(weights[n] / math.Sqrt(float64(m.Keys)))
			} else {
				weights[n] *= weights[n]
			}
		}
		sum += weights[n]
	}
	if m.Score == nets.Squared {
		sum += 0.001
	}
	mixture := make([]float64, m.OwnWidth())
	for n, j := range m.Neighbours[i] {
		for l, v := range features(j) {
			mixture[l] += weights[n] / sum * v
		}
	}
	return r.mlp(m.MLP, i, append(features(i), mixture...))
}

func (r reference) gumbel(g nets.GumbelSoftmax, logits, noise []float64) []float64 {
	y := make([]float64, len(logits))
	at := 0
	for _, n := range g.Segments {
		sum := 0.0
		for j := at; j < at+n; j++ {
			y[j] = math.Exp((logits[j] + noise[j]) / g.Temperature)
			sum += y[j]
		}
		for j := at; j < at+n; j++ {
			y[j] /= sum
		}
		at += n
	}
	return y
}

func (reference) squashed(g nets.SquashedGaussian, moments, noise []float64) []float64 {
	var actions []float64
	logProb := 0.0
	for j, e := range noise {
		std := math.Exp(-5 + 3.5*(1+math.Tanh(moments[g.Actions+j])))
		u := moments[j] + std*e
		actions = append(actions, math.Tanh(u))
		// 1 − tanh² is 1/cosh².
		logProb += -e*e/2 - math.Log(std) - math.Log(2*math.Pi)/2 + 2*math.Log(math.Cosh(u))
	}
	if g.LogProb {
		return []float64{logProb}
	}
	return actions
}

// Forward agrees with the definitions.
func TestForward(t *testing.T) { onBackends(t, checkForward) }

func checkForward(t *testing.T, o native.Options, tol float64) {
	const batch = 4
	for name, a := range archs() {
		e := native.New(o)
		x := newSubject(t, e, a, batch, 3)
		got := x.forward()
		noError(t, e)
		r := reference{a, values(x.net.Params())}
		out := a.Output().Width
		for b := range batch {
			ports := make([][][]float64, len(x.in))
			for p, in := range x.in {
				w := a.Inputs()[p].Width
				for i := range a.AgentCount() {
					ports[p] = append(ports[p], values(in)[(i*batch+b)*w:][:w])
				}
			}
			for i := range a.AgentCount() {
				var want []float64
				switch a := a.(type) {
				case nets.MLP:
					var all []float64
					for p := range ports {
						all = append(all, ports[p][i]...)
					}
					want = r.mlp(a, i, all)
				case nets.MeanField:
					want = r.field(a, i, ports)
				case nets.GumbelSoftmax:
					want = r.gumbel(a, ports[0][i], ports[1][i])
				case nets.SquashedGaussian:
					want = r.squashed(a, ports[0][i], ports[1][i])
				case nets.SoftValue:
					want = []float64{min(ports[0][i][0], ports[1][i][0]) - math.Exp(ports[3][i][0])*ports[2][i][0]}
				}
				near(t, name, got[(i*batch+b)*out:][:out], want, tol)
			}
		}
	}
}
