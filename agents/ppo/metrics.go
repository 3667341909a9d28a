package ppo

// metrics are sums since [Learner.Metrics] was last called.
type metrics struct {
	policyLoss, valueLoss, entropy  float64 // over samples
	kl, clipped, samples            float64
	policyNorm, valueNorm, steps    float64 // over gradient steps
	explained, std, epochs, updates float64
	rate                            float64 // the last
}

// Metrics implements [agents.Learner]. The names are those of Stable-Baselines3. Means are over the gradient steps since
// the last call, and are left out where there were none:
//
//	train/loss                   policy_gradient_loss + entropy·entropy_loss + value_loss
//	train/policy_gradient_loss   the mean of the clipped surrogate, negated
//	train/value_loss             half the mean of (V − R)², of scaled rewards
//	train/entropy_loss           minus the policy's entropy
//	train/approx_kl              the mean of r − 1 − ln r, an estimate of KL(π_old, π)
//	train/clip_fraction          the share of samples whose ratio is beyond 1 ± clip_range
//	train/explained_variance     the share of the returns' variance that the value explained before the update
//	train/policy_grad_norm, train/value_grad_norm   before clipping
//	train/std                    the mean deviation of continuous actions
//	train/epochs                 of an update: fewer than configured where target_kl ended it
//	train/learning_rate          of the last update
//	train/n_updates              gradient steps since the beginning
func (l *Learner) Metrics(f func(name string, value float64)) {
	m := &l.sums
	if m.samples > 0 {
		policy, value, entropy := m.policyLoss/m.samples, m.valueLoss/m.samples, m.entropy/m.samples
		f("train/loss", policy+value-float64(l.c.Entropy*entropy))
		f("train/policy_gradient_loss", policy)
		f("train/value_loss", value)
		f("train/entropy_loss", -entropy)
		f("train/approx_kl", m.kl/m.samples)
		f("train/clip_fraction", m.clipped/m.samples)
		f("train/explained_variance", m.explained/m.updates)
		f("train/policy_grad_norm", m.policyNorm/m.steps)
		f("train/value_grad_norm", m.valueNorm/m.steps)
		if m.std > 0 {
			f("train/std", m.std/m.updates)
		}
		f("train/epochs", m.epochs/m.updates)
		f("train/learning_rate", m.rate)
	}
	f("train/n_updates", float64(l.parts[0].m.optimisers()[0].Steps()))
	*m = metrics{}
}
