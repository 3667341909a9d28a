package ppo

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/internal/saved"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/reuse"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// learn is one update from a whole rollout (Schulman et al., 2016, eq. 16; 2017, eq. 7):
//
//	δ_t = r_t + γ_t·V(s_{t+1}) − V(s_t)                        γ_t is 0 where the episode terminated
//	A_t = δ_t + γ_t·λ·A_{t+1}                                  cut where the episode was truncated, or the rollout ends
//	R_t = A_t + V(s_t)
//	ℓ(θ) = −E[min(r·A, clip(r, 1−ε, 1+ε)·A)] − Entropy·E[H(π(s))],   r = π(a|s)/π_old(a|s)
//	ℓ(φ) = ½·E[(V(s) − R)²]                                    clipped with value_clip, see [valueLoss]
//
// Expectations are means over a minibatch. Policy and value are separate networks.
func (l *Learner) learn() error {
	m := &l.sums
	for _, p := range l.parts {
		if err := p.prepare(l.c.Lambda); err != nil { // A and R
			return err
		}
		m.explained += p.explained() / float64(len(l.parts))
		m.std += p.m.std() / float64(len(l.parts))
	}
	m.rate = l.rate()
	for _, p := range l.parts {
		for _, o := range p.m.Optimisers() {
			o.SetRate(m.rate)
		}
	}
	m.updates++
	for range l.c.Epochs {
		kl, samples := m.kl, m.samples
		for _, p := range l.parts {
			p.shuffle(l.batches)
		}
		for i := range l.c.Minibatches {
			for _, p := range l.parts {
				if err := p.step(i, &l.c, m); err != nil { // along ∇ℓ(θ) and ∇ℓ(φ)
					return err
				}
			}
		}
		m.epochs++
		mean := (m.kl - kl) / max(1, m.samples-samples)
		if mean-mean != 0 || m.valueLoss-m.valueLoss != 0 {
			return fmt.Errorf("KL divergence %g and value loss %g are not finite: training has diverged; a smaller rate helps",
				mean, m.valueLoss)
		}
		if l.c.TargetKL > 0 && mean > l.c.TargetKL {
			break
		}
	}
	return nil
}

// rate is the learning rate at the beginning of the rollout.
func (l *Learner) rate() float64 {
	begun := float64(l.steps - int64(l.c.Rollout*l.ctx.NumEnvs))
	return l.c.Rate * (1 - float64(l.c.Anneal*min(1, begun/float64(max(1, l.ctx.Steps)))))
}

// part is the agents of one kind: their rollout, and what follows from it.
type part struct {
	kind   int
	agents int
	groups int    // 1 where weights are shared, else one for each agent
	held   []bool // by group, whose weights stay as they are; nil where all learn
	m      model
	buf    *buffer
	did    decision

	value, follow  []float32 // V of samples, and of what was seen last
	followRow      []int32
	advantage, ret []float64
	later          []int // by row, the number of the sample after the present one

	order [][]int32 // by group, its samples, shuffled
	batch batch
}

// batch is a minibatch: for each group numbers of samples, and their advantages, standardised where configured.
type batch struct {
	*part
	samples   [][]int32
	advantage [][]float64
}

// model holds the policy and value networks of one kind of agents: over vectors ([vectors]) or over graphs ([graphNets]).
type model interface {
	// act draws the actions of all agents of a kind, for the environment and, in d, for the rollout.
	act(v *envs.Vector, kind int, s *rng.Stream, d *decision) error
	// values writes V of observations by agents with these rows.
	values(obs observations, rows []int32, dst []float32) error
	// step takes a gradient step of policy and value on a minibatch.
	step(b *batch, c *Config, m *metrics) error
	// Optimisers are those of the policy, the value and, where there is one, the deviation.
	Optimisers() []nets.Optimizer
	// std is the mean deviation of continuous actions, 0 for choices.
	std() float64
	// Sync copies what was learned to the network that acts.
	Sync() error
	// part is what acts, as a policy has it.
	part(c *Config) actor.Part
	// Save adds networks and optimisers to a state, with a prefix to their names.
	Save(p *saved.Parts, prefix string)
}

// prepare computes values, advantages and returns.
func (p *part) prepare(lambda float64) error {
	b := p.buf
	n := b.len()
	p.value, p.follow, p.followRow = reuse.Slice(p.value, n), reuse.Slice(p.follow, b.ends.size()), reuse.Slice(p.followRow, b.ends.size())
	p.advantage, p.ret = reuse.Slice(p.advantage, n), reuse.Slice(p.ret, n)
	for i, e := range b.end {
		if e >= 0 {
			p.followRow[e] = b.row[i]
		}
	}
	if err := p.m.values(b.obs, b.row, p.value); err != nil {
		return err
	}
	if err := p.m.values(b.ends, p.followRow, p.follow); err != nil {
		return err
	}
	for _, v := range [2][]float32{p.value, p.follow} {
		if i := envs.NotFinite(v); i >= 0 {
			return fmt.Errorf("the network gives the value %g: training has diverged; a smaller rate, or clip, help", v[i])
		}
	}
	return p.advantages(lambda)
}

// advantages goes backwards through the rollout.
func (p *part) advantages(lambda float64) error {
	b := p.buf
	p.later = reuse.Slice(p.later, b.rows)
	for i := range p.later {
		p.later[i] = -1
	}
	for i := b.len() - 1; i >= 0; i-- {
		var v, a float64 // V and A of what follows
		discount, row := float64(b.discount[i]), b.row[i]
		if e := b.end[i]; e >= 0 {
			v = float64(p.follow[e])
		} else if discount != 0 {
			next := p.later[row]
			if next < 0 {
				return fmt.Errorf("sample %d of the rollout goes on, but nothing follows", i)
			}
			v, a = float64(p.value[next]), p.advantage[next]
		}
		delta := float64(b.reward[i]) + float64(discount*v) - float64(p.value[i])
		p.advantage[i] = delta + float64(discount*lambda*a)
		p.ret[i] = p.advantage[i] + float64(p.value[i])
		p.later[row] = i
	}
	return nil
}

// explained is the explained variance of the returns, 1 − Var(R − V)/Var(R).
func (p *part) explained() float64 {
	_, all := moments(p.ret)
	_, left := moments(p.advantage) // R − V
	if all == 0 {
		return 0
	}
	return 1 - left/all
}

// moments are the mean and the unbiased variance.
func moments(x []float64) (mean, variance float64) {
	for _, v := range x {
		mean += v
	}
	mean /= max(1, float64(len(x)))
	for _, v := range x {
		variance += float64((v - mean) * (v - mean))
	}
	return mean, variance / max(1, float64(len(x)-1))
}

// shuffle orders the samples of each group anew (Fisher and Yates).
func (p *part) shuffle(s *rng.Stream) {
	for g := range p.order {
		p.order[g] = p.order[g][:0]
	}
	for i, row := range p.buf.row {
		g := p.group(row)
		if p.held != nil && p.held[g] {
			continue
		}
		p.order[g] = append(p.order[g], int32(i))
	}
	for _, list := range p.order {
		for i := len(list) - 1; i > 0; i-- {
			j := s.IntN(i + 1)
			list[i], list[j] = list[j], list[i]
		}
	}
}

// group is the number of the weights that an agent uses.
func (p *part) group(row int32) int { return int(row) % p.agents % p.groups }

// step learns from minibatch i. Where all agents of it were absent, it does nothing.
func (p *part) step(i int, c *Config, m *metrics) error {
	any := false
	for g, list := range p.order {
		from, to := i*len(list)/c.Minibatches, (i+1)*len(list)/c.Minibatches
		p.batch.samples[g] = list[from:to]
		p.batch.standardise(g, c.Standardise)
		any = any || to > from
	}
	if !any {
		return nil
	}
	m.steps++
	return p.m.step(&p.batch, c, m)
}

// standardise fills in the advantages of a group, with mean 0 and deviation 1 where on.
func (b *batch) standardise(g int, on bool) {
	list := b.samples[g]
	b.advantage[g] = reuse.Slice(b.advantage[g], len(list))
	a := b.advantage[g]
	for i, s := range list {
		a[i] = b.part.advantage[s]
	}
	if !on || len(list) < 2 {
		return
	}
	mean, variance := moments(a)
	for i := range a {
		a[i] = (a[i] - mean) / (math.Sqrt(variance) + 1e-8)
	}
}

// surrogate is the policy's part of the loss for one sample with r, its logarithm and its advantage (Schulman et al., 2017,
// eq. 7):
//
//	L = −min(r·A, clip(r, 1−ε, 1+ε)·A),   r = π(a|s)/π_old(a|s)
//
// Slope is −∂L/∂ ln π(a|s): r·A or, where the clipped term is the smaller, 0.
func (m *metrics) surrogate(ln, r, advantage, epsilon float64) (loss, slope float64) {
	m.kl += r - 1 - ln // its mean estimates KL(π_old, π), and is never negative (Schulman, 2020)
	m.samples++
	if r < 1-epsilon || r > 1+epsilon {
		m.clipped++
	}
	free := float64(r * advantage)
	if held := float64(min(max(r, 1-epsilon), 1+epsilon) * advantage); held < free {
		return -held, 0
	}
	return -free, free
}

// valueLoss is ½(V − R)² or, clipped, the larger of that and ½(V_old + clip(V − V_old, ±ε) − R)²; slope is ∂/∂V.
func valueLoss(v, old, ret, epsilon float64, clip bool) (loss, slope float64) {
	d := v - ret
	if clip {
		held := old + min(max(v-old, -epsilon), epsilon)
		if h := held - ret; float64(h*h) > float64(d*d) { // then V is beyond the range, and moves nothing
			return float64(h * h / 2), 0
		}
	}
	return float64(d * d / 2), d
}
