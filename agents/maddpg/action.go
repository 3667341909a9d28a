package maddpg

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs"
)

// actionCodec translates between the environment's actions and what networks see: u in [0, 1] for intervals, one-hot
// vectors for choices. It works on the numbers of one agent.
type actionCodec struct {
	// Low and High bound each component of a Box; Integer marks whole-numbered ones, nil for none.
	Low     []float32 `json:"low,omitempty"`
	High    []float32 `json:"high,omitempty"`
	Integer []bool    `json:"integer,omitempty"`
	// Choices is the number of choices of each component, nil for a Box.
	Choices []int `json:"choices,omitempty"`
}

func newActionCodec(s envs.Space) (actionCodec, error) {
	switch s := s.(type) {
	case envs.Discrete:
		return actionCodec{Choices: []int{s.N}}, nil
	case envs.MultiDiscrete:
		return actionCodec{Choices: s.N}, nil
	case envs.Box:
		for i := range s.Low {
			if r := float64(s.High[i]) - float64(s.Low[i]); math.IsInf(r, 0) || math.IsNaN(r) || r < 0 {
				return actionCodec{}, fmt.Errorf("action component %d ranges over [%g, %g], want finite bounds", i, s.Low[i],
					s.High[i])
			}
		}
		return actionCodec{Low: s.Low, High: s.High, Integer: s.Integer}, nil
	}
	return actionCodec{}, fmt.Errorf("action space is %v, want Box, Discrete or MultiDiscrete", s)
}

func (c *actionCodec) equal(o actionCodec) bool {
	return slices.Equal(c.Low, o.Low) && slices.Equal(c.High, o.High) && slices.Equal(c.Integer, o.Integer) &&
		slices.Equal(c.Choices, o.Choices)
}

// discrete reports whether the components are choices.
func (c *actionCodec) discrete() bool { return c.Choices != nil }

// width is how many numbers networks see for an action, components how many the environment takes.
func (c *actionCodec) width() int {
	if !c.discrete() {
		return len(c.Low)
	}
	w := 0
	for _, n := range c.Choices {
		w += n
	}
	return w
}

func (c *actionCodec) components() int {
	if c.discrete() {
		return len(c.Choices)
	}
	return len(c.Low)
}

// stretch writes the environment's action for u. Whole-numbered components are rounded to the nearest whole number.
func (c *actionCodec) stretch(u, out []float32) {
	for i, x := range u {
		lo, hi := c.Low[i], c.High[i]
		y := lo + float32(x*(hi-lo))
		if c.Integer != nil && c.Integer[i] {
			y = float32(math.Round(float64(y)))
		}
		out[i] = min(max(y, lo), hi)
	}
}

// squeeze writes u for the environment's action: the inverse of stretch.
func (c *actionCodec) squeeze(a, u []float32) {
	for i, x := range a {
		u[i] = 0.5
		if lo, hi := c.Low[i], c.High[i]; hi > lo {
			u[i] = min(max((x-lo)/(hi-lo), 0), 1)
		}
	}
}

// choose writes, for each component, the index of its largest score (the first of several), and the one-hot form of all
// components.
func (c *actionCodec) choose(scores, hot, out []float32) {
	for i, n := range c.Choices {
		best := 0
		for k, x := range scores[:n] {
			if x > scores[best] {
				best = k
			}
		}
		clear(hot[:n])
		hot[best] = 1
		out[i] = float32(best)
		scores, hot = scores[n:], hot[n:]
	}
}

// illegal is added to the scores of choices that a mask forbids. It is far below any logit, but finite, so that
// differences stay defined where a component has no legal choice.
const illegal = -1e9

// forbid adds illegal to the scores that the mask doesn't allow.
func forbid(scores []float32, mask []bool) {
	for i, ok := range mask {
		if !ok {
			scores[i] += illegal
		}
	}
}

// maskBits is the number of choices that one float32 of a stored mask holds: float32 is exact for whole numbers up to
// 2^24.
const maskBits = 24

func maskWords(choices int) int { return (choices + maskBits - 1) / maskBits }

// packMask stores a mask as whole numbers, maskBits choices in each.
func packMask(mask []bool, words []float32) {
	for w := range words {
		var bits uint32
		for i, ok := range mask[w*maskBits : min((w+1)*maskBits, len(mask))] {
			if ok {
				bits |= 1 << i
			}
		}
		words[w] = float32(bits)
	}
}

// forbidPacked is forbid for a stored mask.
func forbidPacked(scores, words []float32) {
	for w, x := range words {
		bits := uint32(x)
		part := scores[w*maskBits : min((w+1)*maskBits, len(scores))]
		for i := range part {
			if bits>>i&1 == 0 {
				part[i] += illegal
			}
		}
	}
}
