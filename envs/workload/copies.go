package workload

import (
	"fmt"
	"hash/fnv"

	"github.com/stoker-rl/stoker/rng"
)

// maxStreams bounds Copies.
const maxStreams = 1 << 24

// Copies returns a source of n streams for a larger load of the same shape: stream i has the law of this source's
// stream i mod Streams() and draws of its own. The first Streams() streams are this source's own, arrival by arrival.
// What the laws hold is shared, so that memory does not grow with n but by the arrivals of a minute.
func (s *Source) Copies(n int) (*Source, error) {
	if s.law == nil {
		return nil, fmt.Errorf("workload: copies of kind %s, want one that arrives in open loop", s.config.Kind)
	}
	if n < 1 || n > maxStreams {
		return nil, fmt.Errorf("workload: %d copied streams, want 1 to %d", n, maxStreams)
	}
	c := *s
	c.law = &copiedLaw{s.law, n}
	h := fnv.New64a()
	fmt.Fprintf(h, "copies %x %d", s.fingerprint, n)
	c.fingerprint = h.Sum64()
	return &c, nil
}

// copiedLaw repeats another's streams.
type copiedLaw struct {
	law
	n int
}

func (l *copiedLaw) streams() int { return l.n }

func (l *copiedLaw) expected(stream, minute int) float64 {
	return l.law.expected(stream%l.law.streams(), minute)
}

func (l *copiedLaw) draw(dst []int32, k rng.Key, stream, minute int) []int32 {
	own := l.law.streams()
	if c := stream / own; c > 0 {
		k = k.With(1 << 41).With(uint64(c)) // no stream has so high a number
	}
	return l.law.draw(dst, k, stream%own, minute)
}
