package reinforce

// metrics are sums since [Learner.Metrics] was last called.
type metrics struct {
	policyLoss, valueLoss, policyNorm, valueNorm, explained, weight float64
	negLogProb, actions                                             float64 // Σ −ln π of choices, and their number
	rows, updates, valueUpdates                                     float64
}

// Metrics implements [agents.Learner]. Means are over the updates since the last call, and are left out where there
// were none:
//
//	train/policy_loss       −J: the mean of −A·ln π(a) less the entropy bonus
//	train/value_loss        the mean of (V − G)², of scaled rewards, over the value's gradient steps
//	train/policy_grad_norm, train/value_grad_norm   before clipping
//	train/explained         the share of the returns' variance that the value explained before the update
//	train/entropy           of the policy as it acted: the mean of −ln π(a)
//	train/rows              steps that an update learned from
//	train/weight            mean importance weight of replayed trajectories, where there is replay
//	train/n_updates         of the policy since the beginning
func (l *Learner) Metrics(f func(name string, value float64)) {
	m := &l.sums
	if m.updates > 0 {
		f("train/policy_loss", m.policyLoss/m.updates)
		f("train/policy_grad_norm", m.policyNorm/m.updates)
		if l.c.Baseline == Value {
			f("train/value_loss", m.valueLoss/m.valueUpdates)
			f("train/value_grad_norm", m.valueNorm/m.valueUpdates)
			f("train/explained", m.explained/m.updates)
		}
		f("train/rows", m.rows/m.updates)
		if l.c.Replay.Trajectories > 0 {
			f("train/weight", m.weight/m.updates)
		}
	}
	if m.actions > 0 {
		f("train/entropy", m.negLogProb/m.actions)
	}
	policy, _ := l.m.optimisers()
	f("train/n_updates", float64(policy.Steps()))
	*m = metrics{}
}
