package workload

import (
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/stoker-rl/stoker/rng"
)

// Repeat returns a source of so many minutes: those of this source, which follow one another again and again. The first
// time the arrivals are those of this source; every later time has independent draws.
func (s *Source) Repeat(minutes int) (*Source, error) {
	if s.Closed() {
		return nil, fmt.Errorf("workload: kind %s has no minutes to repeat, want an open-loop kind", s.config.Kind)
	}
	if minutes < 1 {
		return nil, fmt.Errorf("workload: Repeat is asked for %d minutes, want at least 1", minutes)
	}
	return s.changed(fmt.Sprintf("repeat %x %d", s.fingerprint, minutes), func(p process) process {
		return &repeatedProcess{p, minutes}
	}), nil
}

// changed is the source with other processes. as tells it from others.
func (s *Source) changed(as string, f func(process) process) *Source {
	c := *s
	c.loads = slices.Clone(s.loads)
	for i := range c.loads {
		c.loads[i].process = f(c.loads[i].process)
	}
	h := fnv.New64a()
	h.Write([]byte(as))
	c.fingerprint = h.Sum64()
	return &c
}

// repeatedProcess has n minutes, which repeat those of process.
type repeatedProcess struct {
	process
	n int
}

func (p *repeatedProcess) minutes() int { return p.n }

func (p *repeatedProcess) expected(stream, minute int) float64 {
	return p.process.expected(stream, minute%p.process.minutes())
}

func (p *repeatedProcess) draw(dst []int32, k rng.Key, stream, minute int, scale float64) []int32 {
	own := p.process.minutes()
	if c := minute / own; c > 0 {
		k = k.With(1 << 42).With(uint64(c)) // other than every stream's number and the keys of copies
	}
	return p.process.draw(dst, k, stream, minute%own, scale)
}
