package plain

import (
	"math"

	"github.com/stoker-rl/stoker/nets/native/core"
)

// adam does the steps of [nets.Adam], group by group.
type adam[T core.Number] struct {
	net *net[T]
	*core.Adam[*Tensor[T]]
}

// NewAdam implements [core.Learner].
func (n *net[T]) NewAdam(a *core.Adam[*Tensor[T]]) core.Stepper { return &adam[T]{n, a} }

// Step implements [core.Stepper].
func (a *adam[T]) Step() {
	f := a.Now
	c := adamFactors[T]{T(f.Beta1), T(f.Rest1), T(f.Beta2), T(f.Rest2), T(f.Rate), T(f.Scale), T(f.Epsilon), 1}
	n := a.net.v.Size
	for g := range a.net.v.Groups {
		from, to := g*n, (g+1)*n
		grads := a.net.grads[from:to]
		length := euclidean(grads)
		a.GroupNorms.data[g] = length
		c.clip = clipFactor(T(a.Clip), length)
		adamStep(&c, a.net.params[from:to], grads, a.First.data[from:to], a.Second.data[from:to])
	}
}

// clipFactor is what a group's gradients are multiplied by. A NaN norm makes all NaN.
func clipFactor[T core.Number](clip, norm T) T {
	if clip <= 0 {
		return 1
	}
	return min(1, clip/(norm+core.ClipEpsilon))
}

// adamFactors are the numbers of one step: βs and 1 − βs, rate/(1 − β₁ᵗ), 1/√(1 − β₂ᵗ), ε and the clipping factor.
type adamFactors[T core.Number] struct{ beta1, rest1, beta2, rest2, rate, scale, eps, clip T }

// adamStep changes parameters and moments of one group by its gradients.
func adamStep[T core.Number](c *adamFactors[T], p, g, m, v []T) {
	g, m, v = g[:len(p)], m[:len(p)], v[:len(p)]
	for i := range p {
		gi := c.clip * g[i]
		m[i] = c.beta1*m[i] + c.rest1*gi
		v[i] = c.beta2*v[i] + c.rest2*gi*gi
		p[i] -= c.rate * m[i] / (sqrt(v[i])*c.scale + c.eps)
	}
}

// euclidean is the norm √Σg², summed in float64 so that float32's range is enough.
func euclidean[T core.Number](g []T) T {
	var sum float64
	for _, v := range g {
		sum += float64(v) * float64(v)
	}
	return T(math.Sqrt(sum))
}
