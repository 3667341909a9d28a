package ppo

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
