package spsa

import (
	"errors"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// Pricer is Algorithm 1: the present action and its moves. It allocates nothing after NewPricer.
type Pricer struct {
	c      Config
	space  *space
	trials *trials

	x      []float64 // s_t = (p_t, n_t), whole numbers kept as reals
	window int64     // t
	stream *rng.Stream
	// first and second are Adam's running means; estimate sums ∇̂Φ_t over environments and pairs.
	first, second []float64
	estimate      []float64
	worlds        int // the number of environments in estimate

	searched       [][2]bool // the blocks (prices, baselines) of each pair
	phase          int64     // windows since the last move, where the environment runs perturbed actions
	plus           float64   // Φ⁺ of a pair whose Φ⁻ is not known yet
	delta          []float64 // Δ_t
	at             []float64 // a perturbed action
	above, below   []float64 // s⁺ and s⁻ as the environment takes them, before the capacity
	gradient, step float64   // norm of the last estimate in units, e_t of the last move
}

// NewPricer returns a pricer for environments such as spare, on which it tries actions.
func NewPricer(c Config, spare envs.Env, seed uint64) (*Pricer, error) {
	return makePricer(c, spare.Spec(), spare, seed)
}

func makePricer(c Config, spec *envs.Spec, spare envs.Env, seed uint64) (*Pricer, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("spsa: %w", err)
	}
	s, err := newSpace(&c, spec)
	if err != nil {
		return nil, fmt.Errorf("spsa: %w", err)
	}
	t, err := newTrials(&c, spec, spare)
	if err != nil {
		return nil, fmt.Errorf("spsa: %w", err)
	}
	n := len(s.names)
	p := &Pricer{c: c, space: s, trials: t}
	prices, baselines := s.has(false) && c.Prices.Step > 0, s.has(true) && c.Baselines.Step > 0
	switch {
	case !prices && !baselines:
		return nil, errors.New("spsa: prices.step and baselines.step leave nothing to search, want one above 0 whose " +
			"block the action has")
	case c.Joint:
		p.searched = [][2]bool{{prices, baselines}}
	default:
		if prices {
			p.searched = append(p.searched, [2]bool{true, false})
		}
		if baselines {
			p.searched = append(p.searched, [2]bool{false, true})
		}
	}
	for _, v := range []*[]float64{&p.x, &p.first, &p.second, &p.estimate, &p.delta, &p.at, &p.above, &p.below} {
		*v = make([]float64, n)
	}
	p.Reset(seed)
	return p, nil
}

// begin sets the action from which the search continues.
func (p *Pricer) begin(x []float64) {
	copy(p.x, x)
	p.space.use(p.x, p.trials.act.Kinds[0], true)
}

// Reset starts the search again at the configured start.
func (p *Pricer) Reset(seed uint64) {
	copy(p.x, p.space.start)
	clear(p.first)
	clear(p.second)
	clear(p.estimate)
	clear(p.delta)
	p.window, p.worlds, p.gradient, p.step, p.phase, p.plus = 0, 0, 0, 0, 0, 0
	p.stream = rng.NewStream(seed, "spsa: perturbations")
}

// Action writes the action of the present window.
func (p *Pricer) Action(act []float32) { p.space.use(p.x, act, false) }

// Windows is the number of moves so far.
func (p *Pricer) Windows() int64 { return p.window }

// Names are the names of the action's components.
func (p *Pricer) Names() []string { return p.space.names }

// Estimate adds an estimate of the profit's slope in the window that world is about to run (lines 2 to 5). It does not
// change world.
func (p *Pricer) Estimate(world envs.Env) error {
	for range p.c.Pairs {
		for _, blocks := range p.searched {
			p.draw(blocks)
			if err := p.along(world); err != nil {
				return err
			}
		}
	}
	p.worlds++
	return nil
}

// draw is line 2: Δ_t, zero outside the blocks.
func (p *Pricer) draw(blocks [2]bool) {
	for i, whole := range p.space.whole {
		p.delta[i] = 0
		if (whole && blocks[1]) || (!whole && blocks[0]) {
			p.delta[i] = 1 - 2*float64(p.stream.Uint64()>>63)
		}
	}
}

// along tries the two actions along Δ (lines 3 and 4) and adds the slope between them.
func (p *Pricer) along(world envs.Env) error {
	above, err := p.try(world, 1, p.above)
	if err != nil {
		return err
	}
	below, err := p.try(world, -1, p.below)
	if err != nil {
		return err
	}
	p.add(above - below)
	return nil
}

// add is line 5, eq. 12: Δ(Φ⁺ − Φ⁻)/2c. Bounds and rounding may shorten the distance 2cΔ; the true distance is used.
func (p *Pricer) add(difference float64) {
	for i := range p.x {
		if d := p.above[i] - p.below[i]; p.delta[i] != 0 && d != 0 {
			p.estimate[i] += difference / d
		}
	}
}

// try evaluates s + sign·cΔ.
func (p *Pricer) try(world envs.Env, sign float64, where []float64) (float64, error) {
	p.perturbed(sign, where, p.trials.act.Kinds[0])
	x, err := p.trials.profit(world)
	if err != nil {
		return 0, fmt.Errorf("spsa: trying an action in window %d: %w", p.window, err)
	}
	return x, nil
}

// perturbed writes s + sign·cΔ as the environment takes it to act, and its value before the capacity is applied to
// where.
func (p *Pricer) perturbed(sign float64, where []float64, act []float32) {
	for i, d := range p.delta {
		p.at[i] = p.space.clip(i, p.x[i]+float64(sign*float64(p.perturbation(p.space.whole[i])*d)))
		if where[i] = float64(float32(p.at[i])); p.space.whole[i] {
			where[i] = p.space.clip(i, roundHalfUp(p.at[i]))
		}
	}
	p.space.use(p.at, act, false)
}

// perturbation is c_t.
func (p *Pricer) perturbation(whole bool) float64 {
	switch {
	case whole:
		return p.c.Baselines.Perturbation
	case p.c.PerturbationDecay == 0:
		return p.c.Prices.Perturbation
	}
	return p.c.Prices.Perturbation / portable.Pow(float64(p.window+1), p.c.PerturbationDecay)
}

// Move takes the projected step (line 6, eq. 13) along the mean of the estimates since the last move, and starts the
// next window.
func (p *Pricer) Move() {
	n := float64(max(p.worlds, 1)) * float64(p.c.Pairs)
	e := 1.0
	if p.c.Decay > 0 {
		e = portable.Pow((p.c.Offset+1)/(p.c.Offset+float64(p.window)+1), p.c.Decay)
	}
	squares := 0.0
	for i := range p.x {
		b := &p.c.Prices
		if p.space.whole[i] {
			b = &p.c.Baselines
		}
		g := p.estimate[i] / n / b.Unit
		squares += float64(g * g)
		move := float64(b.Step*e) * p.scaled(i, g)
		if b.Most > 0 {
			move = min(max(move, -b.Most), b.Most)
		}
		p.x[i] = p.space.clip(i, p.x[i]+float64(move))
	}
	p.space.use(p.x, p.trials.act.Kinds[0], true)
	p.gradient, p.step = math.Sqrt(squares), e
	clear(p.estimate)
	p.worlds = 0
	p.window++
}

// scaled is component i's estimate g, divided by its running size where Adam is on.
func (p *Pricer) scaled(i int, g float64) float64 {
	a := &p.c.Adam
	if !a.On {
		return g
	}
	p.first[i] = float64(a.Beta1*p.first[i]) + float64((1-a.Beta1)*g)
	p.second[i] = float64(a.Beta2*p.second[i]) + float64((1-a.Beta2)*float64(g*g))
	t := float64(p.window + 1)
	mean := p.first[i] / (1 - portable.Pow(a.Beta1, t))
	size := math.Sqrt(p.second[i] / (1 - portable.Pow(a.Beta2, t)))
	return mean / (size + a.Epsilon)
}
