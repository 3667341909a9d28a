package maddpg

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// insight gives a policy's outputs, their derivatives and its attention weights. Outputs are continuous actions in the
// environment's units, or the logits of choices.
type insight struct {
	p    *TrainedPolicy
	e    nets.Engine
	act  *acting
	grad nets.Tensor // gradient with respect to the actor's output
	raw  []float32   // last observations [agents, rows, obs], before standardisation
	dy   []float32   // gradient of the output in the network's layout, [agents, rows, act]
	dx   []float32   // gradient of the input in the network's layout, [agents, rows, obs]
	by   []float32   // dx as the caller gets it, [rows, agents, obs]
	out  []float32   // outputs, [rows, agents, act]
	mix  *mixing     // nil without attention
}

var _ agents.Transparent = (*TrainedPolicy)(nil)

// Insight implements [agents.Transparent].
func (p *TrainedPolicy) Insight(act nets.Engine, rows int) (agents.Insight, error) {
	if rows < 1 {
		return nil, fmt.Errorf("maddpg: insight: %d rows, want at least 1", rows)
	}
	net, err := act.NewNet(p.acting.net.Arch())
	if err != nil {
		return nil, err
	}
	if err := agents.GetTensor(p.File.Arrays, arrayActor, net.Params()); err != nil {
		return nil, err
	}
	x := &insight{p: p, e: act}
	if x.act, err = newActing(&p.prob, act, net, rows); err != nil {
		return nil, err
	}
	x.grad = act.NewTensor(p.prob.agents, rows, p.prob.act)
	x.raw, x.dx, x.by = make([]float32, len(x.act.x)), make([]float32, len(x.act.x)), make([]float32, len(x.act.x))
	x.dy, x.out = make([]float32, len(x.act.y)), make([]float32, len(x.act.out))
	if m, ok := net.Arch().(nets.MeanField); ok && m.Mix == nets.Attention {
		x.mix = newMixing(m, p.File.Arrays[arrayActor].Data)
	}
	return x, nil
}

// Outputs implements [agents.Insight].
func (x *insight) Outputs() []agents.Output {
	var out []agents.Output
	c := &x.p.prob.actionCodec
	if !c.discrete() {
		for i := range c.Low {
			out = append(out, agents.Output{Component: i, Choice: -1})
		}
	}
	for i, n := range c.Choices {
		for k := range n {
			out = append(out, agents.Output{Component: i, Choice: k})
		}
	}
	return out
}

// load checks observations [rows, agents, obs] and writes them into the network's input, standardised.
func (x *insight) load(seen []float32) error {
	if len(seen) != len(x.act.x) {
		return fmt.Errorf("maddpg: insight: the observations have %d numbers, want %d rows × %d agents × %d",
			len(seen), x.act.rows, x.p.prob.agents, x.p.prob.obs)
	}
	x.act.see(seen)
	copy(x.raw, x.act.x)
	x.eachFeature(func(i, k int) { x.act.x[i] = min(max(x.scaled(i, k), -x.p.clip), x.p.clip) })
	return nil
}

// eachFeature calls f for each number of the input with its index i and the index k of its statistics. It does nothing
// where observations are not standardised.
func (x *insight) eachFeature(f func(i, k int)) {
	if x.p.shift == nil {
		return
	}
	n, w := x.act.rows, x.p.prob.obs
	for i := range x.raw {
		f(i, i/(n*w)*w+i%w)
	}
}

// scaled is number i of the input, standardised but not clipped.
func (x *insight) scaled(i, k int) float32 { return float32((x.raw[i] - x.p.shift[k]) * x.p.scale[k]) }

// Forward implements [agents.Insight].
func (x *insight) Forward(seen []float32) ([]float32, error) {
	if err := x.load(seen); err != nil {
		return nil, err
	}
	x.act.run()
	if err := x.e.Err(); err != nil {
		return nil, err
	}
	copy(x.out, x.act.out)
	c := &x.p.prob.actionCodec
	if !c.discrete() {
		n := len(c.Low)
		for i, u := range x.out {
			x.out[i] = c.Low[i%n] + float32(u*(c.High[i%n]-c.Low[i%n]))
		}
	}
	return x.out, nil
}

// Gradient implements [agents.Insight].
func (x *insight) Gradient(weights []float32) ([]float32, error) {
	if len(weights) != len(x.out) {
		return nil, fmt.Errorf("maddpg: insight: %d weights, want %d, one for each output", len(weights), len(x.out))
	}
	p := &x.p.prob
	transpose(x.dy, weights, x.act.rows, p.agents, p.act)
	if !p.discrete() {
		n := len(p.Low) // with single a row holds the components of all agents, one after the other
		for i := range x.dy {
			m := i % p.act % n
			x.dy[i] *= p.High[m] - p.Low[m]
		}
	}
	x.grad.Set(x.dy)
	x.act.net.Backward(x.act.work, x.grad, nets.Inputs)
	x.act.work.GradIn(0).Get(x.dx)
	if err := x.e.Err(); err != nil {
		return nil, err
	}
	x.eachFeature(func(i, k int) {
		if s := x.scaled(i, k); s < -x.p.clip || s > x.p.clip {
			x.dx[i] = 0
		} else {
			x.dx[i] *= x.p.scale[k]
		}
	})
	transpose(x.by, x.dx, p.agents, x.act.rows, p.obs)
	return x.by, nil
}

// Attention implements [agents.Insight].
func (x *insight) Attention(seen []float32) ([]float32, error) {
	if x.mix == nil {
		return nil, nil
	}
	if err := x.load(seen); err != nil {
		return nil, err
	}
	return x.mix.weights(x.act.x, x.act.rows)
}

// mixing computes the attention weights of eqs. 8 and 9 from the actor's parameters, because networks do not return
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
		return nil, errors.New("maddpg: insight: the actor has no query.weight and key.weight")
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

var _ agents.Attentive = (*TrainedPolicy)(nil)

// Uniform implements [agents.Attentive]: the actor's layers over the plain mean of the neighbours. It was not trained
// for that.
func (p *TrainedPolicy) Uniform(spec *envs.Spec, act nets.Engine) (agents.Policy, error) {
	m, ok := p.acting.net.Arch().(nets.MeanField)
	if !ok || m.Mix != nets.Attention {
		return nil, nil
	}
	mean := m
	mean.Mix, mean.Score, mean.Keys = nets.Mean, "", 0
	f := p.File
	var d description
	if err := json.Unmarshal(f.Description, &d); err != nil {
		return nil, err
	}
	var err error
	if d.Actor, err = nets.EncodeArch(mean); err != nil {
		return nil, err
	}
	d.Name += ", equal weights"
	out := &agents.PolicyFile{Agent: f.Agent, EnvID: f.EnvID, Arrays: map[string]agents.Array{}}
	if out.Description, err = json.Marshal(d); err != nil {
		return nil, err
	}
	for name, a := range f.Arrays {
		out.Arrays[name] = a
	}
	before, size := nets.Layout(m)
	after, less := nets.Layout(mean)
	from := f.Arrays[arrayActor].Data
	kept := agents.Array{Shape: []int{mean.Groups() * less}, Data: make([]float32, mean.Groups()*less)}
	for g := range mean.Groups() {
		for _, to := range after {
			for _, s := range before {
				if s.Name == to.Name {
					copy(kept.Data[g*less+to.Offset:][:to.Size()], from[g*size+s.Offset:])
				}
			}
		}
	}
	if shape := f.Arrays[arrayActor].Shape; len(shape) == 2 {
		kept.Shape = []int{mean.Groups(), less}
	}
	out.Arrays[arrayActor] = kept
	return OpenPolicy(out, spec, act)
}
