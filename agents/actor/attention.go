package actor

import (
	"errors"
	"maps"
	"math"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// mixing computes the attention weights of eqs. 8 and 9 from the network's parameters, because networks do not return
// them.
type mixing struct {
	m          nets.MeanField
	query, key []([]float32) // of each agent: [own, keys]
	q, k       []float64
	out        []float32
}

func newMixing(m nets.MeanField, params []float32) *mixing {
	x := &mixing{m: m, q: make([]float64, m.Keys), k: make([]float64, m.Keys)}
	slots, size := nets.Layout(m)
	for i := range m.Agents {
		group := params[i%m.Groups()*size:][:size]
		for _, s := range slots {
			switch s.Name {
			case "query.weight":
				x.query = append(x.query, group[s.Offset:][:s.Size()])
			case "key.weight":
				x.key = append(x.key, group[s.Offset:][:s.Size()])
			}
		}
	}
	return x
}

// weights returns w_ij, [rows, agents, agents], for inputs [agents, rows, own].
func (x *mixing) weights(in []float32, rows int) ([]float32, error) {
	n, own := x.m.Agents, x.m.OwnWidth()
	if len(x.query) != n || len(x.key) != n {
		return nil, errors.New("insight: the network has no query.weight and key.weight")
	}
	x.out = append(x.out[:0], make([]float32, rows*n*n)...)
	scores := make([]float64, n)
	for b := range rows {
		for i, list := range x.m.Neighbours {
			project(x.q, in[(i*rows+b)*own:][:own], x.query[i])
			for l, j := range list {
				project(x.k, in[(j*rows+b)*own:][:own], x.key[j])
				scores[l] = 0
				for d, q := range x.q {
					scores[l] += q * x.k[d]
				}
			}
			x.normalise(scores[:len(list)])
			for l, j := range list {
				x.out[(b*n+i)*n+j] = float32(scores[l])
			}
		}
	}
	return x.out, nil
}

// project writes the row vector x times a matrix [len(x), len(out)].
func project(out []float64, x, matrix []float32) {
	clear(out)
	for i, v := range x {
		for d := range out {
			out[d] += float64(v) * float64(matrix[i*len(out)+d])
		}
	}
}

// normalise turns scores into weights: eq. 9 with the usual 1/√d, or the squares of FaaSConf's code.
func (x *mixing) normalise(r []float64) {
	sum, most := 0.0, math.Inf(-1)
	for _, v := range r {
		most = max(most, v)
	}
	for i, v := range r {
		if x.m.Score == nets.Squared {
			r[i] = v * v
		} else {
			r[i] = math.Exp((v - most) / math.Sqrt(float64(x.m.Keys)))
		}
		sum += r[i]
	}
	if x.m.Score == nets.Squared {
		sum += nets.SquaredOffset
	}
	for i := range r {
		r[i] /= sum
	}
}

// Ways in which an agent sees the others.
const (
	// Mean: the mean of what the others see that are present (mean-field PPO).
	Mean = "mean"
)

// Field is the mean field: what the virtual agent of each agent sees, the mean over the others that are present.
type Field struct {
	width int
	sum   []float64 // of what all that are present see
	n     float64   // how many these are
}

// NewField returns the field of a kind of agents.
func NewField(k *envs.Kind) *Field {
	return &Field{width: k.Observation.Width(), sum: make([]float64, k.Observation.Width())}
}

// Begin takes in what the agents of one environment see.
func (f *Field) Begin(o *envs.KindObservation) {
	clear(f.sum)
	f.n = 0
	for j, here := range o.Active {
		if !here {
			continue
		}
		f.n++
		for i, x := range o.Values[j*f.width : (j+1)*f.width] {
			f.sum[i] += float64(x)
		}
	}
}

// See writes to dst an agent's observation, then the mean observation of the other agents; zeros where the agent is
// alone or absent.
func (f *Field) See(o *envs.KindObservation, agent int, dst []float32) {
	own, others := o.Values[agent*f.width:(agent+1)*f.width], dst[f.width:]
	copy(dst, own)
	if clear(others); f.n < 2 || !o.Active[agent] {
		return
	}
	for i, x := range own {
		others[i] = float32((f.sum[i] - float64(x)) / (f.n - 1))
	}
}

var _ agents.Attentive = (*Policy)(nil)

// Uniform implements [agents.Attentive]: the network's layers over the plain mean of the neighbours. It was not trained
// for that.
func (p *Policy) Uniform(spec *envs.Spec, act nets.Engine) (agents.Policy, error) {
	m, ok := p.kinds[0].net.Net.Arch().(nets.MeanField)
	if !ok || m.Mix != nets.Attention {
		return nil, nil
	}
	d, err := Read(p.File, spec)
	if err != nil {
		return nil, err
	}
	mean := m
	mean.Mix, mean.Score, mean.Keys = nets.Mean, "", 0
	d.Kinds[0].Network.Arch = mean
	d.Name = p.Name() + ", equal weights"
	f := &agents.PolicyFile{Agent: p.File.Agent, EnvID: p.File.EnvID, Arrays: maps.Clone(p.File.Arrays)}
	if err := d.write(f); err != nil {
		return nil, err
	}
	before, size := nets.Layout(m)
	after, less := nets.Layout(mean)
	name := d.Kinds[0].Array(network)
	from := f.Arrays[name]
	kept := agents.Array{Shape: []int{mean.Groups() * less}, Data: make([]float32, mean.Groups()*less)}
	for g := range mean.Groups() {
		for _, to := range after {
			for _, s := range before {
				if s.Name == to.Name {
					copy(kept.Data[g*less+to.Offset:][:to.Size()], from.Data[g*size+s.Offset:])
				}
			}
		}
	}
	if len(from.Shape) == 2 {
		kept.Shape = []int{mean.Groups(), less}
	}
	f.Arrays[name] = kept
	return Open(f, spec, act)
}
