package reinforce

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/internal/learning"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// learn is one update from the finished trajectories. Equations: Williams (1992); Sutton and Barto (2018), ch. 12 and
// 13.
//
//	G_t = r_t + γ_t·((1−λ)·V'(s_{t+1}) + λ·G_{t+1})     the λ-return (12.15); λ = 1 is the Monte Carlo return
//	A_t = w·(G_t − b(s_t))                              the advantage; w is 1, or a replayed trajectory's weight
//	∇J  = E[A·∇ ln π(a|s)] + Entropy·∇E[H(π(s))]        (13.11), and the entropy bonus
//	∇ℓ  = ∇E[(V(s) − G)²]
//
// Expectations are means over all steps of the batch. The factor γ^t before ∇ ln π is left out, as usual.
func (l *Learner) learn() error {
	b, m := &l.batch, &l.sums
	l.setRates()
	if err := l.prepare(); err != nil { // G and A
		return err
	}
	if l.c.Standardise {
		b.standardise()
	}
	adams := l.m.Optimisers()
	epochs := 1
	if l.imitating() {
		epochs = max(1, l.c.Imitate.Epochs)
	}
	for range epochs {
		loss, err := l.m.policyGradient(b) // ∇J
		if err != nil {
			return fmt.Errorf("update %d: %w", adams[0].Steps()+1, err)
		}
		m.policyLoss += loss
		m.policyNorm += learning.Step(adams[0])
		m.updates++
		m.rows += float64(b.rows())
	}
	if l.c.Baseline == Value {
		m.explained += b.explained()
		for range l.c.ValueUpdates {
			loss, err := l.m.valueGradient(b) // ∇ℓ
			if err != nil {
				return fmt.Errorf("update %d of the value: %w", adams[1].Steps()+1, err)
			}
			m.valueLoss += loss
			m.valueNorm += learning.Step(adams[1])
			m.valueUpdates++
		}
		l.m.UpdateTarget(l.c.TargetTau) // θ' ← θ' + τ(θ − θ')
	}
	return l.m.Err()
}

// prepare fills the batch from what has finished: values, returns, weights and advantages, not standardised.
func (l *Learner) prepare() error {
	b := &l.batch
	b.begin(l.store.done, l.store.old, l.c.Replay.Draw, l.replayed)
	if l.c.Baseline == Value {
		if err := l.values(); err != nil {
			return err
		}
	}
	b.returns(l.c.Lambda)
	if len(b.trajectories) > b.fresh {
		logp := make([]float32, b.rows())
		if err := l.m.logProbs(b, logp); err != nil {
			return err
		}
		b.weigh(logp, l.c.Replay.Cap)
		for _, w := range b.weights[b.fresh:] {
			l.sums.weight += w / float64(len(b.weights)-b.fresh)
		}
	}
	b.advantages(l.c.Baseline)
	return nil
}

// values fills in V of every step's state and V' of the next one.
func (l *Learner) values() error {
	b := &l.batch
	if err := l.m.values(false, b.refs, b.value); err != nil {
		return err
	}
	after := b.value
	if l.c.TargetTau > 0 {
		after = make([]float32, b.rows())
		if err := l.m.values(true, b.refs, after); err != nil {
			return err
		}
	}
	var lasts []stepRef
	for _, t := range b.trajectories {
		if t.bootstrap {
			lasts = append(lasts, stepRef{t, t.steps})
		}
	}
	ends := make([]float32, len(lasts))
	if err := l.m.values(true, lasts, ends); err != nil {
		return err
	}
	row := 0
	for _, t := range b.trajectories {
		copy(b.next[row:row+t.steps-1], after[row+1:])
		if t.bootstrap {
			b.next[row+t.steps-1], ends = ends[0], ends[1:]
		}
		row += t.steps
	}
	return nil
}

// setRates sets both learning rates for the present step.
func (l *Learner) setRates() {
	rate := l.c.Rate
	if l.imitating() && l.c.Imitate.Rate > 0 {
		rate = l.c.Imitate.Rate
	}
	left := 1 - l.c.Anneal*min(1, float64(l.steps)/float64(max(1, l.ctx.Steps)))
	rates := [2]float64{rate, l.c.ValueRate}
	for i, o := range l.m.Optimisers() {
		o.SetRate(left * rates[i])
	}
}

// update computes the gradients of [Learner.learn] over vectors:
//
//	∇J = E[A·∇ ln π(a|s)] + Entropy·∇E[H(π(s))]
//	∇ℓ = ∇E[(V(s) − G)²]
//
// Batches differ in length, but a recorded update reads a fixed number of rows. So gradients are summed over parts of
// rows steps. The last part is padded with rows that have no legal choice and no return; these add nothing.
type update struct {
	e             nets.Engine
	rows, obs, n  int
	policy, value learning.Pass
	target        *learning.Pass   // V', nil where the value itself is used
	adams         []nets.Optimizer // of the policy and, where there is one, of the value
	entropy       float64

	// A part of the batch, on the device.
	s, mask                nets.Tensor // [1, rows, obs], [1, rows, choices]
	choice, advantage      nets.Tensor // [1, rows, 1]
	on, ret                nets.Tensor // [1, rows, 1]: 1 where the value learns, and the return there (else 0)
	zero, zeroOne          nets.Tensor
	scale, scaleOne        nets.Tensor // rows over the batch's steps: the engine's losses are means over a part
	dmean, dlogits         nets.Tensor // [1, rows, choices]
	masked, dvmean, dvalue nets.Tensor // [1, rows, 1]
	loss                   nets.Tensor // [1], of a part
	args                   [4]nets.Tensor

	policyPart, valuePart nets.Recorded
	// The same on the host, padded.
	hostObs, hostMask, hostColumn []float32
}

// newUpdate builds networks, optimisers and memory on an engine. Initial weights follow from key alone; the target
// network begins as a copy of the value.
func newUpdate(c *Config, policy, value nets.Arch, e nets.Engine, key rng.Key) (*update, error) {
	u := &update{e: e, rows: c.Rows, obs: policy.Inputs()[0].Width, n: policy.Output().Width, entropy: c.Entropy}
	b := learning.Builder{Engine: e, Agents: 1, Batch: c.Rows}
	u.policy = b.Pass(b.Drawn(policy, key.With(0)))
	u.adams = append(u.adams, b.Adam(u.policy.Net, nets.Adam{Rate: c.Rate, Clip: c.Clip}))
	if c.Baseline == Value {
		u.value = b.Pass(b.Drawn(value, key.With(1)))
		u.adams = append(u.adams, b.Adam(u.value.Net, nets.Adam{Rate: c.ValueRate, Clip: c.Clip}))
		if c.TargetTau > 0 {
			target := b.Pass(b.Drawn(value, key.With(1)))
			u.target = &target
		}
	}
	if b.Err != nil {
		return nil, b.Err
	}
	u.s = e.NewTensor(1, c.Rows, u.obs)
	for _, t := range []*nets.Tensor{&u.mask, &u.zero, &u.scale, &u.dmean, &u.dlogits} {
		*t = e.NewTensor(1, c.Rows, u.n)
	}
	for _, t := range []*nets.Tensor{&u.choice, &u.advantage, &u.on, &u.ret, &u.zeroOne, &u.scaleOne, &u.masked, &u.dvmean,
		&u.dvalue} {
		*t = e.NewTensor(1, c.Rows, 1)
	}
	u.loss = e.NewTensor(1)
	u.hostObs, u.hostMask, u.hostColumn = make([]float32, c.Rows*u.obs), make([]float32, c.Rows*u.n),
		make([]float32, c.Rows)
	u.policyPart, u.valuePart = e.Record("reinforce: policy", u.learnPolicy), e.Record("reinforce: value", u.learnValue)
	return u, e.Err()
}

// learnPolicy adds one part's gradient of −J.
func (u *update) learnPolicy() {
	logits := u.policy.Forward(u.s)
	u.args = [4]nets.Tensor{logits, u.choice, u.advantage, u.mask}
	u.e.Loss(nets.PolicyGradient{Entropy: u.entropy}, u.loss, u.dmean, u.args[:]...)
	u.e.TDTarget(u.dlogits, u.zero, u.scale, u.dmean) // scale·dmean
	u.policy.Net.Backward(u.policy.Work, u.dlogits, nets.Params)
}

// learnValue adds one part's gradient of ℓ.
func (u *update) learnValue() {
	u.e.TDTarget(u.masked, u.zeroOne, u.on, u.value.Forward(u.s)) // 0 where the value doesn't learn
	u.args = [4]nets.Tensor{u.masked, u.ret}
	u.e.Loss(nets.SquaredError{}, u.loss, u.dvmean, u.args[:2]...)
	u.e.TDTarget(u.dvalue, u.zeroOne, u.scaleOne, u.dvmean)
	u.value.Net.Backward(u.value.Work, u.dvalue, nets.Params)
}

// policyGradient leaves the batch's gradient of −J in the policy's Grads and returns −J.
func (u *update) policyGradient(b *batch) (loss float64, err error) {
	u.policy.Net.ZeroGrads()
	factor := u.fillScale(u.scale, b.rows())
	for from := 0; from < b.rows(); from += u.rows {
		u.uploadObservations(b.refs[from:])
		u.uploadMask(b.refs[from:])
		u.upload(u.choice, b.choice, from)
		u.upload(u.advantage, b.advantage, from)
		if err := u.policyPart.Run(); err != nil {
			return 0, err
		}
		loss += factor * scalar(u.loss)
	}
	return loss, nil
}

// valueGradient leaves the batch's gradient of ℓ in the value's Grads and returns ℓ.
func (u *update) valueGradient(b *batch) (loss float64, err error) {
	u.value.Net.ZeroGrads()
	own := b.freshRows()
	factor := u.fillScale(u.scaleOne, own)
	for from := 0; from < own; from += u.rows {
		u.uploadObservations(b.refs[from:own])
		u.upload(u.on, b.own[:own], from)
		u.upload(u.ret, b.ret[:own], from)
		if err := u.valuePart.Run(); err != nil {
			return 0, err
		}
		loss += factor * scalar(u.loss)
	}
	return loss, nil
}

// fillScale fills a tensor with rows over the number of steps of a batch, and returns that factor.
func (u *update) fillScale(t nets.Tensor, steps int) float64 {
	x := make([]float32, nets.Size(t))
	factor := float64(u.rows) / float64(steps)
	for i := range x {
		x[i] = float32(factor)
	}
	t.Set(x)
	return factor
}

// upload uploads a column of a batch from row from on, padded with zeros.
func (u *update) upload(t nets.Tensor, all []float32, from int) {
	n := copy(u.hostColumn, all[from:])
	clear(u.hostColumn[n:])
	t.Set(u.hostColumn)
}

// uploadObservations uploads what was observed at steps, padded with zeros, and returns how many of them it took.
func (u *update) uploadObservations(at []stepRef) int {
	n := min(u.rows, len(at))
	for i, p := range at[:n] {
		p.t.obs.(*vectorObservations).get(p.step, u.hostObs[i*u.obs:(i+1)*u.obs])
	}
	clear(u.hostObs[n*u.obs:])
	u.s.Set(u.hostObs)
	return n
}

// uploadMask uploads the masks of steps; in the padding nothing is legal.
func (u *update) uploadMask(at []stepRef) {
	clear(u.hostMask)
	for i, p := range at[:min(u.rows, len(at))] {
		for j, legal := range p.t.mask[p.step*u.n : (p.step+1)*u.n] {
			if legal {
				u.hostMask[i*u.n+j] = 1
			}
		}
	}
	u.mask.Set(u.hostMask)
}

// forward calls f with a net's output for steps, part by part: [rows, width of the output] from a row on.
func (u *update) forward(p *learning.Pass, at []stepRef, f func(from int, out []float32)) error {
	w := p.Net.Arch().Output().Width
	host := make([]float32, u.rows*w)
	for from := 0; from < len(at); from += u.rows {
		n := u.uploadObservations(at[from:])
		p.Forward(u.s).Get(host)
		f(from, host[:n*w])
	}
	return u.e.Err()
}

// scalar is the number in a tensor that holds one.
func scalar(t nets.Tensor) float64 {
	var x [1]float32
	t.Get(x[:])
	return float64(x[0])
}
