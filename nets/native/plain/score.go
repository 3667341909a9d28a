package plain

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/core"
)

// expScore is the softmax of scaled products (FaaSConf, eq. 9; scale is 1/√keys):
//
//	w_j = exp(scale·r_j)/Σ_l exp(scale·r_l),  ∂L/∂r_j = scale·w_j(g_j − Σ_l w_l g_l),  g = ∂L/∂w
type expScore[T core.Number] struct{ scale T }

func (s expScore[T]) forward(r, w []T) T {
	for j, v := range r {
		w[j] = s.scale * v
	}
	return softmax(w)
}

func (s expScore[T]) backward(_, w []T, _ T, g []T) {
	mean := dot(w, g)
	for j := range g {
		g[j] = s.scale * w[j] * (g[j] - mean)
	}
}

// squaredScore is what FaaSConf's code computes:
//
//	S = Σ_l r_l² + 0.001,  w_j = r_j²/S,  ∂L/∂r_j = 2r_j(g_j − Σ_l w_l g_l)/S
type squaredScore[T core.Number] struct{}

func (squaredScore[T]) forward(r, w []T) T {
	sum := dot(r, r) + nets.SquaredOffset
	for j, v := range r {
		w[j] = v * v / sum
	}
	return sum
}

func (squaredScore[T]) backward(r, w []T, sum T, g []T) {
	mean := dot(w, g)
	for j := range g {
		g[j] = 2 * r[j] * (g[j] - mean) / sum
	}
}

// softmax replaces z by exp(z)/Σ exp(z) and returns the sum after the largest was taken off. A NaN makes the
// sum NaN, and with it all.
func softmax[T core.Number](z []T) T {
	if len(z) == 0 {
		return 0
	}
	top := z[0]
	for _, v := range z {
		if v > top {
			top = v
		}
	}
	var sum T
	for j, v := range z {
		z[j] = exp(v - top)
		sum += z[j]
	}
	for j := range z {
		z[j] /= sum
	}
	return sum
}
