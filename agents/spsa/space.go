package spsa

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents/internal/check"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
)

// Config configures the pricer. A window is one step of the environment.
type Config struct {
	// Objective names the quantity of the environment's info that is maximised (or minimised, where lower is better).
	// Empty means the step's reward, as a mean over agents. Quantities are float64, rewards float32.
	Objective string `yaml:"objective" json:"objective"`
	// Prices are the continuous components of the action, Baselines the whole-number ones, each in the order of the
	// action. A baseline's perturbation must be at least 0.5: a smaller one rounds to no change.
	Prices    Block `yaml:"prices" json:"prices" range:"(0,1e6]"`
	Baselines Block `yaml:"baselines" json:"baselines" range:"[0.5,1e6]"`
	// Capacity is the largest sum of the baselines (N_t, eq. 4). 0 takes the largest upper bound of a baseline in the
	// environment, and sets no limit where that is infinite.
	Capacity int `yaml:"capacity" json:"capacity" range:"[0,2^24]"`
	// Realised says which windows the environment itself runs: unperturbed ones, with perturbed actions tried on
	// copies, or the perturbed ones, one after the other and without copies. The paper does not say.
	Realised string `yaml:"realised" json:"realised" oneof:"unperturbed|perturbed"`
	// Joint perturbs both blocks at once, as eq. 12 is printed. It halves the number of trials, but the prices' effect
	// on the profit then hides the baselines'.
	Joint bool `yaml:"joint" json:"joint"`
	// Pairs is the number of pairs of trials that an estimate is the mean of, for each block.
	Pairs int `yaml:"pairs" json:"pairs" range:"[1,2^20]"`
	// Offset is A and Decay the exponent in the step's decay, e_t = ((A+1)/(A+t+1))^decay in window t = 0, 1, ….
	// Theorem 1 needs 0.5 < decay ≤ 1; 0 keeps steps constant.
	Offset float64 `yaml:"offset" json:"offset" range:"[0,1e12]"`
	Decay  float64 `yaml:"decay" json:"decay" range:"[0,1]"`
	// PerturbationDecay is γ in the decay of the prices' perturbation, c_t = c/(t+1)^γ. 0 keeps it constant (the
	// paper), 0.101 is Spall's. The baselines' perturbation is constant: less than a whole vGPU can't be tried.
	PerturbationDecay float64 `yaml:"perturbation_decay" json:"perturbation_decay" range:"[0,1]"`
	// Adam divides each component's steps by the running size of its estimates.
	Adam Adam `yaml:"adam" json:"adam"`
}

// Which windows the environment runs: the values of [Config.Realised].
const (
	Unperturbed = "unperturbed"
	Perturbed   = "perturbed"
)

// Block configures one block of components. Start, Caps and Floors have a number for each component of the block.
type Block struct {
	// Start is the first action of the search.
	Start []float64 `yaml:"start,flow" json:"start" range:"[-1e12,1e12]"`
	// Perturbation is c, in the components' own units.
	Perturbation float64 `yaml:"perturbation" json:"perturbation"`
	// Step is a: components move by a·e_t times the estimate over Unit, with Adam by at most about a·e_t. 0 keeps the
	// block at its start and runs no trials for it.
	Step float64 `yaml:"step" json:"step" range:"[0,1e12]"`
	// Unit is the slope that counts as 1: Λ·H·U for HOPS's prices (potential jobs in a slot, slots, billing units of a
	// job), H·c_gpu for its baselines.
	Unit float64 `yaml:"unit" json:"unit" range:"(0,1e300]"`
	// Most is the largest move of a component in a window; 0 sets no limit.
	Most float64 `yaml:"most" json:"most" range:"[0,1e12]"`
	// Caps and Floors, where given, are upper and lower bounds within those of the environment.
	Caps   []float64 `yaml:"caps,flow" json:"caps" range:"[-1e12,1e12]"`
	Floors []float64 `yaml:"floors,flow" json:"floors" range:"[-1e12,1e12]"`
}

// Adam is the scaling of Kingma and Ba (2015) in place of Unit.
type Adam struct {
	// On turns the scaling on.
	On bool `yaml:"on" json:"on"`
	// Beta1 and Beta2 are the decay rates of the running means of the estimates and of their squares.
	Beta1 float64 `yaml:"beta1" json:"beta1" range:"[0,0.999999999]"`
	Beta2 float64 `yaml:"beta2" json:"beta2" range:"[0,0.999999999]"`
	// Epsilon is added to the square root of the second mean, in units of Unit.
	Epsilon float64 `yaml:"epsilon" json:"epsilon" range:"[0,1e6]"`
}

// Default returns what docs/agents/spsa.md recommends for HOPS as published: three tiers, 64 vGPUs, 60 slots, 45
// potential jobs a slot.
func Default() Config {
	return Config{
		Prices:    Block{Start: []float64{1, 1, 1}, Perturbation: 0.05, Step: 0.05, Unit: 45 * 60 * 5.7},
		Baselines: Block{Start: []float64{5, 8, 10}, Perturbation: 1, Step: 1, Unit: 60, Most: 2},
		Realised:  Unperturbed, Pairs: 1, Offset: 10, Decay: 1,
		Adam: Adam{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8},
	}
}

// Validate reports the first wrong value, by its key.
func (c Config) Validate() error {
	if err := bounds.Check(&c); err != nil {
		return err
	}
	if c.Adam.On && c.Adam.Epsilon == 0 {
		return bounds.Errorf("adam.epsilon", "is 0, want more than 0 with adam.on")
	}
	return nil
}

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
