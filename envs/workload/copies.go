package workload

import (
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/stoker-rl/stoker/rng"
)

// maxStreams is the most streams that Copies accepts.
const maxStreams = 1 << 24

// Copies returns a source of n streams, a larger load of the same shape: stream i has the arrival process of this
// source's stream i mod Streams(), with independent draws. The first Streams() streams equal this source's, arrival by
// arrival. The copies share the data of the processes: only the arrivals of one minute take more memory as n grows.
func (s *Source) Copies(n int) (*Source, error) {
	if s.Closed() {
		return nil, fmt.Errorf("workload: kind %s has no streams to copy, want an open-loop kind", s.config.Kind)
	}
	if n < 1 || n > maxStreams {
		return nil, fmt.Errorf("workload: Copies is asked for %d streams, want 1 to %d", n, maxStreams)
	}
	c := *s
	c.loads = slices.Clone(s.loads)
	for i := range c.loads {
		c.loads[i].process = &copiedProcess{s.loads[i].process, n}
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "copies %x %d", s.fingerprint, n)
	c.fingerprint = h.Sum64()
	return &c, nil
}

// copiedProcess has n streams whose processes repeat those of process.
type copiedProcess struct {
	process
	n int
}

func (p *copiedProcess) streams() int { return p.n }

func (p *copiedProcess) expected(stream, minute int) float64 {
	return p.process.expected(stream%p.process.streams(), minute)
}

func (p *copiedProcess) draw(dst []int32, k rng.Key, stream, minute int, scale float64) []int32 {
	own := p.process.streams()
	if c := stream / own; c > 0 {
		k = k.With(1 << 41).With(uint64(c)) // greater than every stream's number
	}
	return p.process.draw(dst, k, stream%own, minute, scale)
}
