package maddpg

import (
	"math"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// noise draws standard Gumbel noise, −ln(−ln u), with the engine's kernel where it has one.
type noise struct {
	s      *rng.Stream
	words  []uint32
	kernel func(dst []float32, words []uint32)
}

// gumbelEngine is an engine with a kernel for Gumbel noise.
type gumbelEngine interface {
	Gumbel(dst []float32, words []uint32)
}

func newNoise(s *rng.Stream, e nets.Engine) *noise {
	n := &noise{s: s, kernel: gumbels}
	if k, ok := e.(gumbelEngine); ok {
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

// begin draws the key of a stream of random words for part.
func (n *noise) begin() uint64 { return n.s.Uint64() }

// part draws the noise from number at on of the stream x, which begin returned; words is scratch of dst's length. All
// parts together are what fill draws, in any order and in parallel.
func (n *noise) part(x uint64, at int, dst []float32, words []uint32) {
	words = words[:len(dst)]
	rng.WordsFrom(x, at, words)
	n.kernel(dst, words)
}

// gumbels is fill's arithmetic for engines without a kernel.
func gumbels(dst []float32, words []uint32) {
	for i, w := range words {
		dst[i] = float32(-math.Log(-math.Log((float64(w>>9) + 0.5) / (1 << 23))))
	}
}

// gumbel draws from the standard Gumbel distribution, −ln(−ln u).
func gumbel(s *rng.Stream) float32 { return float32(-math.Log(s.Exp())) }
