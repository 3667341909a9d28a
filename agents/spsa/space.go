package spsa

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents/check"
	"github.com/stoker-rl/stoker/envs"
)

// space is the environment's action as two blocks of components, with the feasible set.
type space struct {
	spec *envs.Spec
	// names, low and high are per number of the action, [agents × width]; whole says which block each is in.
	names     []string
	low, high []float64
	whole     []bool
	// capacity is the largest sum of the whole-number components, infinite where there is no limit.
	capacity float64
	start    []float64
}

// mostWhole bounds whole-number components.
const mostWhole = 1 << 24

// newSpace finds the blocks in a spec and checks the configuration against them.
func newSpace(c *Config, s *envs.Spec) (*space, error) {
	k, err := check.OneKind(s)
	if err != nil {
		return nil, err
	}
	box, ok := k.Action.(envs.Box)
	if !ok || box.Width() == 0 {
		return nil, fmt.Errorf("%s: the action of %s is %v, want a box: numbers, not choices", s.ID, k.Name, k.Action)
	}
	p := &space{spec: s, capacity: math.Inf(1)}
	widest := math.Inf(-1)
	for agent := range k.Agents {
		for i := range box.Width() {
			name := fmt.Sprintf("action %d", i)
			if i < len(k.Actions) {
				name = k.Actions[i]
			}
			if k.Agents > 1 {
				name = fmt.Sprintf("%s %d %s", k.Name, agent, name)
			}
			p.names = append(p.names, name)
			p.low, p.high = append(p.low, float64(box.Low[i])), append(p.high, float64(box.High[i]))
			p.whole = append(p.whole, box.Integer != nil && box.Integer[i])
			if p.whole[len(p.whole)-1] {
				widest = max(widest, p.high[len(p.high)-1])
			}
		}
	}
	p.start = make([]float64, len(p.names))
	for _, b := range []struct {
		key, what string
		block     *Block
		whole     bool
	}{{"prices", "continuous", &c.Prices, false}, {"baselines", "whole-number", &c.Baselines, true}} {
		if err := p.take(b.key, b.what, b.block, b.whole); err != nil {
			return nil, err
		}
	}
	if !p.has(true) {
		return p, nil
	}
	if p.capacity = widest; c.Capacity > 0 {
		p.capacity = float64(c.Capacity)
	}
	return p, p.checkCapacity()
}

// take copies one block's configured numbers to its components.
func (p *space) take(key, what string, b *Block, whole bool) error {
	n := 0
	for _, w := range p.whole {
		if w == whole {
			n++
		}
	}
	for _, l := range []struct {
		name   string
		values []float64
		needed bool
	}{{"start", b.Start, true}, {"caps", b.Caps, false}, {"floors", b.Floors, false}} {
		if len(l.values) != n && (l.needed || len(l.values) > 0) {
			return fmt.Errorf("%s.%s has %d numbers, want %d: the action of %s has so many %s components", key, l.name,
				len(l.values), n, p.spec.ID, what)
		}
	}
	j := 0
	for i, w := range p.whole {
		if w != whole {
			continue
		}
		if len(b.Caps) > 0 {
			p.high[i] = min(p.high[i], b.Caps[j])
		}
		if len(b.Floors) > 0 {
			p.low[i] = max(p.low[i], b.Floors[j])
		}
		if whole { // and of a size that float32 counts in ones
			p.low[i], p.high[i] = max(math.Ceil(p.low[i]), -mostWhole), min(math.Floor(p.high[i]), mostWhole)
		}
		switch x := b.Start[j]; {
		case p.low[i] > p.high[i]:
			return fmt.Errorf("%s.floors and %s.caps leave nothing for component %d (%s): [%g, %g]", key, key, j, p.names[i],
				p.low[i], p.high[i])
		case !(x >= p.low[i] && x <= p.high[i]):
			return fmt.Errorf("%s.start[%d] is %g, want at least %g and at most %g", key, j, x, p.low[i], p.high[i])
		default:
			p.start[i] = x
		}
		j++
	}
	return nil
}

// checkCapacity reports floors and starts that exceed the capacity.
func (p *space) checkCapacity() error {
	least, start := 0.0, 0.0
	for i, w := range p.whole {
		if w {
			least += p.low[i]
			start += roundHalfUp(p.start[i])
		}
	}
	switch {
	case least > p.capacity:
		return fmt.Errorf("baselines.floors add up to %g, want at most the capacity of %g", least, p.capacity)
	case start > p.capacity:
		return fmt.Errorf("baselines.start adds up to %g, want at most the capacity of %g", start, p.capacity)
	}
	return nil
}

// has reports whether a block has components.
func (p *space) has(whole bool) bool {
	for _, w := range p.whole {
		if w == whole {
			return true
		}
	}
	return false
}

// clip bounds one component.
func (p *space) clip(i int, x float64) float64 { return min(max(x, p.low[i]), p.high[i]) }

// use writes x, whose components are within their bounds, as the environment takes it: whole numbers are rounded half
// up; then, while they sum to more than the capacity, the largest is lowered (the lowest-numbered of several). With
// lower, x itself is lowered by as much, so that the search does not continue where the profit no longer changes.
func (p *space) use(x []float64, act []float32, lower bool) {
	sum := 0.0
	for i, w := range p.whole {
		v := x[i]
		if w {
			v = p.clip(i, roundHalfUp(v))
			sum += v
		}
		act[i] = float32(v)
	}
	for ; sum > p.capacity; sum-- {
		largest := -1
		for i, w := range p.whole {
			if w && float64(act[i]) > p.low[i] && (largest < 0 || act[i] > act[largest]) {
				largest = i
			}
		}
		act[largest]--
		if lower {
			x[largest] = max(x[largest]-1, p.low[largest])
		}
	}
}

func roundHalfUp(x float64) float64 { return math.Floor(x + 0.5) }
