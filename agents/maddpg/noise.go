package maddpg

import (
	"math"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// noise draws standard Gumbel noise, −ln(−ln u), in numbers, by an engine's kernels where it has some.
type noise struct {
	s      *rng.Stream
	words  []uint32
	kernel func(dst []float32, words []uint32)
}

// noisy is what an engine may offer: see [noise].
type noisy interface {
	Gumbel(dst []float32, words []uint32)
}

func newNoise(s *rng.Stream, e nets.Engine) *noise {
	n := &noise{s: s, kernel: gumbels}
	if k, ok := e.(noisy); ok {
		n.kernel = k.Gumbel
	}
	return n
}

// fill draws noise for all of dst.
func (n *noise) fill(dst []float32) {
	if len(n.words) < len(dst) {
		n.words = make([]uint32, len(dst))
	}
	words := n.words[:len(dst)]
	n.s.Words(words)
	n.kernel(dst, words)
}

// begin draws the number of the stream that a drawing in parts goes on from.
func (n *noise) begin() uint64 { return n.s.Uint64() }

// part makes the numbers of a drawing from the one numbered at on, with room for as many words: all parts are what fill
// makes, and may be made side by side.
func (n *noise) part(x uint64, at int, dst []float32, words []uint32) {
	words = words[:len(dst)]
	rng.WordsFrom(x, at, words)
	n.kernel(dst, words)
}

// gumbels is the kernel where the engine has none.
func gumbels(dst []float32, words []uint32) {
	for i, w := range words {
		dst[i] = float32(-math.Log(-math.Log((float64(w>>9) + 0.5) / (1 << 23))))
	}
}

// gumbel draws from the standard Gumbel law, −ln(−ln u).
func gumbel(s *rng.Stream) float32 { return float32(-math.Log(s.Exp())) }
