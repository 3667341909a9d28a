package plain

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/nets/native/core"
)

// policyLoss is the policy gradient (Williams, 1992) or, clipped, the surrogate of Schulman et al. (2017). With
// π = softmax(z) over the legal choices, ℓ = ln π(a), H = −Σ π ln π, and B the batch:
//
//	plain:    L = −mean(Aℓ) − entropy·mean(H)
//	clipped:  L = −mean(min(rA, clip(r, 1−c, 1+c)A)) − entropy·mean(H),  r = e^(ℓ−ℓ_old)
//
//	∂L/∂z_k = (−s([k = a] − π_k) + entropy·π_k(ln π_k + H))/B
//
// where the slope s is A, or for the clipped loss rA while that is the smaller and else 0.
//
// Illegal choices have π = 0 and no gradient, whatever their logits hold. A sample without a legal choice adds nothing.
type policyLoss[T core.Number] struct {
	entropy T
	clipped bool
	clip    T
}

// objective is what the loss makes large for the choice taken, and its slope by ℓ.
func (l *policyLoss[T]) objective(logp, old, advantage T) (value, slope T) {
	if !l.clipped {
		return advantage * logp, advantage
	}
	r := exp(logp - old)
	free := r * advantage
	if held := min(max(r, 1-l.clip), 1+l.clip) * advantage; held < free {
		return held, 0
	}
	return free, free
}

// policy computes the loss from logits, choices, advantages, mask and, where clipped, ℓ_old.
func (o *Operands[T]) policy(l policyLoss[T]) error {
	batch, n := o.shapes[0][1], o.shapes[0][2]
	z, choice, advantage, mask := o.args[0], o.args[1], o.args[2], o.args[3]
	for i := range o.agents {
		sum := 0.0
		for row := i * batch; row < (i+1)*batch; row++ {
			g, legal := o.grad[row*n:][:n], mask[row*n:][:n]
			logits := z[row*n:][:n]
			logsum, found := legalSoftmax(logits, legal, g)
			if !found {
				continue
			}
			a := int(choice[row])
			if a < 0 || a >= n || T(a) != choice[row] || legal[a] == 0 {
				return fmt.Errorf("the choice of agent %d in sample %d is %v, want the number of a legal one below %d",
					i, row%batch, choice[row], n)
			}
			var old T
			if l.clipped {
				old = o.args[4][row]
			}
			value, slope := l.objective(logits[a]-logsum, old, advantage[row])
			h := entropy(logits, g, logsum)
			l.gradient(g, logits, logsum, h, slope, a, 1/T(batch))
			sum -= float64(value) + float64(l.entropy)*float64(h)
		}
		o.value[i] = T(sum / float64(batch))
	}
	return nil
}

// gradient replaces π in g by ∂L/∂z.
func (l *policyLoss[T]) gradient(g, z []T, logsum, h, slope T, a int, scale T) {
	for k, p := range g {
		if p == 0 && k != a { // illegal, or too unlikely for a number: p ln p is 0
			continue
		}
		d := slope * p
		if k == a {
			d -= slope
		}
		if p != 0 {
			d += l.entropy * p * (z[k] - logsum + h)
		}
		g[k] = scale * d
	}
}

// legalSoftmax sets p to the softmax of z over the legal choices, 0 elsewhere, and returns ln Σ exp(z) and
// whether any is legal.
func legalSoftmax[T core.Number](z, legal, p []T) (logsum T, found bool) {
	var top T
	for k, v := range z {
		if legal[k] != 0 && (!found || v > top) {
			top, found = v, true
		}
	}
	clear(p)
	if !found {
		return 0, false
	}
	var sum T
	for k, v := range z {
		if legal[k] != 0 {
			p[k] = exp(v - top)
			sum += p[k]
		}
	}
	for k := range p {
		p[k] /= sum
	}
	return top + T(math.Log(float64(sum))), true
}

// entropy is H = −Σ π ln π.
func entropy[T core.Number](z, p []T, logsum T) T {
	var h T
	for k, v := range p {
		if v != 0 {
			h -= v * (z[k] - logsum)
		}
	}
	return h
}
