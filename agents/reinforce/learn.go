package reinforce

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/internal/learning"
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
