//go:build libtorch

package torch

import (
	"math"

	"github.com/stoker-rl/stoker/nets"
)

var minusInf = math.Inf(-1)

// attentionScale is 1/√d for Exp.
func attentionScale(m nets.MeanField) float64 { return 1 / math.Sqrt(float64(m.Keys)) }

// attention is m_i = Σ_j w_ij x_j over the neighbours, with weights from the products of queries and keys (FaaSConf,
// eqs. 8–10). The batch is the first dimension: products are [batch, agents, agents].
func (f *meanField) attention(s *scope, v scene, batch int) handle {
	q := s.transpose(f.project(s, v.x, f.query, batch), 0, 1)
	k := s.transpose(f.project(s, v.seen, f.key, batch), 0, 1)
	var w handle
	if f.apart {
		w = f.weights(s, f.withSelf(s, q, k, v, batch))
	} else if f.m.Score == nets.Exp {
		// One operation computes the product, the factor and the mask.
		w = s.softmax(s.baddbmm(f.barred, q, s.transpose(k, 1, 2), f.scale))
	} else {
		w = f.weights(s, s.bmm(q, s.transpose(k, 1, 2)))
	}
	var mixture handle
	seen := s.transpose(v.seen, 0, 1)
	if f.apart {
		mixture = s.bmm(s.mul(w, f.others), seen)
		mine := s.sum(s.mul(w, f.self)) // [batch, agents, 1]
		mixture = s.add(mixture, s.mul(mine, s.transpose(v.x, 0, 1)))
	} else {
		mixture = s.bmm(w, seen)
	}
	mixture = s.transpose(mixture, 0, 1)
	if f.alone != nil { // without neighbours the softmax is not zero
		mixture = s.mul(mixture, f.alone)
	}
	return mixture
}

// project is xW for each agent, by its own group's weights.
func (f *meanField) project(s *scope, x, weight handle, batch int) handle {
	n := f.m.Agents
	if f.layers.groups > 1 {
		return s.bmm(x, weight)
	}
	return s.reshape(s.bmm(s.reshape(x, 1, n*batch, f.own), weight), n, batch, f.m.Keys)
}

// withSelf is q_i·k_j, where k_i for agent i's own query is computed from the features that it sees of itself.
func (f *meanField) withSelf(s *scope, q, k handle, v scene, batch int) handle {
	r := s.bmm(q, s.transpose(k, 1, 2))
	own := s.transpose(f.project(s, v.x, f.key, batch), 0, 1)
	return s.where(f.same, s.sum(s.mul(q, own)), r)
}

// weights turns products into weights: exp(r/√d) or r², over the neighbours, normalised.
func (f *meanField) weights(s *scope, r handle) handle {
	if f.m.Score == nets.Exp {
		return s.softmax(s.add(s.scale(r, f.scale), f.barred))
	}
	r = s.mul(r, f.adjacent)
	square := s.mul(r, r)
	return s.div(square, s.plus(s.sum(square), f.offset))
}
