package firm

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/agents/internal/check"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
)

// culprits finds in each window the functions that move, and keeps the configuration of the others.
type culprits struct {
	move int
	// Of the environment: agents, the width of an observation, and its columns of the 95th percentile and of the last
	// action.
	agents, width, p95 int
	held               []int
	// next lists which agents follow each; order has each agent before those that follow it; roots follow none.
	next         [][]int
	order, roots []int

	// before is the percentile of each agent one window ago, [environments, agents]; 0 in an episode's first window.
	before []float64

	// Of the last window: the longest way from each agent on, the agent after it on that way, the way, and who moves.
	length []float64
	after  []int
	way    []int
	moves  []bool
}

// newCulprits reads from the spec which numbers of an observation are needed, for a number of environments.
func newCulprits(s *envs.Spec, move, environments int) (*culprits, error) {
	k, err := check.Vector(s)
	if err != nil {
		return nil, err
	}
	n := k.Agents
	c := &culprits{
		move: move, agents: n, width: k.Observation.Width(), next: k.Next, before: make([]float64, environments*n),
		length: make([]float64, n), after: make([]int, n), way: make([]int, 0, n), moves: make([]bool, n),
	}
	column := func(name string) (int, error) {
		if i := slices.Index(k.Features, name); i >= 0 {
			return i, nil
		}
		return 0, fmt.Errorf("%s: %s sees no %q, want it: who moves follows from it; it sees %q", s.ID, k.Name, name,
			k.Features)
	}
	if c.p95, err = column("p95"); err != nil {
		return nil, err
	}
	for _, a := range k.Actions {
		i, err := column("last " + a)
		if err != nil {
			return nil, err
		}
		c.held = append(c.held, i)
	}
	// A percentile is never negative; standardised ones lie between −clip and clip.
	if b, ok := k.Observation.(envs.Box); ok && b.Low[c.p95] < 0 && !math.IsInf(float64(b.Low[c.p95]), -1) {
		return nil, fmt.Errorf("%s: what %s sees is normalised, want it as it is: drop wrappers.normalize_observation; firm "+
			"standardises for its networks alone", s.ID, k.Name)
	}
	if c.next == nil {
		return nil, fmt.Errorf("%s: there is no order of the agents, want a workflow: a critical path needs one", s.ID)
	}
	c.order, c.roots = Order(c.next)
	return c, nil
}

// Order lists the agents of a workflow, each before those that follow it, and those that follow none, given who follows
// each. Agents of a cycle, and those after it, are not listed.
func Order(next [][]int) (order, roots []int) {
	before := make([]int, len(next))
	for _, ns := range next {
		for _, n := range ns {
			before[n]++
		}
	}
	for i, n := range before {
		if n == 0 {
			roots = append(roots, i)
		}
	}
	order = slices.Clone(roots)
	for at := 0; at < len(order); at++ {
		for _, n := range next[order[at]] {
			if before[n]--; before[n] == 0 {
				order = append(order, n)
			}
		}
	}
	return order, roots
}

// Filter implements [maddpg.Filter].
func (c *culprits) Filter(i int, o *envs.KindObservation, act []float32) error {
	before := c.before[i*c.agents : (i+1)*c.agents]
	c.find(o.Values, before)
	k := len(c.held)
	for j, moves := range c.moves {
		before[j] = float64(o.Values[j*c.width+c.p95])
		if moves {
			continue
		}
		for m, column := range c.held {
			act[j*k+m] = o.Values[j*c.width+column]
		}
	}
	return nil
}

// find marks who moves: on the critical path from each root, those whose percentile grew most. Of equals the earlier on
// the path moves.
func (c *culprits) find(values []float32, before []float64) {
	p95 := func(j int) float64 { return float64(values[j*c.width+c.p95]) }
	for _, j := range slices.Backward(c.order) {
		c.length[j], c.after[j] = p95(j), -1
		var most float64
		for _, n := range c.next[j] {
			if c.after[j] < 0 || c.length[n] > most {
				most, c.after[j] = c.length[n], n
			}
		}
		c.length[j] += most
	}
	clear(c.moves)
	for _, root := range c.roots {
		c.way = c.way[:0]
		for j := root; j >= 0; j = c.after[j] {
			c.way = append(c.way, j)
		}
		for range c.move {
			worst, growth := -1, 0.0
			for _, j := range c.way {
				if g := p95(j) - before[j]; !c.moves[j] && (worst < 0 || g > growth) {
					worst, growth = j, g
				}
			}
			if worst >= 0 {
				c.moves[worst] = true
			}
		}
	}
}

// forget begins an episode of environment i.
func (c *culprits) forget(i int) { clear(c.before[i*c.agents : (i+1)*c.agents]) }

// State implements [state.Stater].
func (c *culprits) State(s *state.Codec) {
	state.Fixed(s, c.before)
	if s.Loaded() {
		if i := slices.IndexFunc(c.before, func(x float64) bool { return x-x != 0 || x < 0 }); i >= 0 {
			s.Fail(fmt.Errorf("a percentile of the window before is %g, want a finite number of 0 or more", c.before[i]))
		}
	}
}
