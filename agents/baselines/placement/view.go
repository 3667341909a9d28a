// Package placement holds the rules that learned schedulers are compared with on stoker/Placement-v2.
//
// [FCFS], [SJF], [Packer] and [Random] are the rules for one machine, extended to unlike nodes; [Tetris] is the
// published rule for several machines. They read the graph, the legality table and the mask, and nothing else. Each has
// a setting for the amount of resources that an invocation gets. [Lookahead] is a planner: it tries several rules'
// choices on copies of the environment.
//
// Not here: policies that learn; the rules for DeepRM's cluster (agents/baselines/deeprm).
package placement

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/baselines/internal/kept"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/placement"
)

// The values of each rule's key amount: how much an invocation gets.
const (
	// Nominal is what the function demands: amount 1.
	Nominal = "nominal"
	// Smallest is the least, which wastes least and takes longest.
	Smallest = "smallest"
	// Largest is the most that fits.
	Largest = "largest"
	// Spread is the largest amount that all waiting invocations could have: what is free on all nodes, divided by their
	// number; at least the smallest amount.
	Spread = "spread"
)

// cluster reads from an observation what a rule needs.
type cluster struct {
	placement.Layout
	rule  func(*envs.KindObservation) pick // decides
	grant string                           // one of the amounts
	seen  *envs.KindObservation
	warm  []bool    // per node: the function of the present invocation is warm there
	local []float32 // per node: the share of its input that lies there
	open  []int     // nodes that have room for any waiting invocation
	next  int       // first allocation edge of the next invocation
	free  [placement.NumResources]float64
	count int // invocations that wait
	// forced is set where a rule would wait but may not: it then takes the smallest amount.
	forced bool
}

// newCluster checks a rule's configuration, its amount and the environment.
func newCluster(name string, c interface{ Validate() error }, amount string, env envs.Env) (cluster, error) {
	if err := c.Validate(); err != nil {
		return cluster{}, err
	}
	e, ok := envs.As[*placement.Env](env)
	if !ok {
		return cluster{}, fmt.Errorf("%s: acts in %s only, not in %s", name, placement.ID, env.Spec().ID)
	}
	l := e.Layout()
	return cluster{Layout: l, grant: amount, warm: make([]bool, l.Nodes), local: make([]float32, l.Nodes),
		open: make([]int, 0, l.Nodes)}, nil
}

// stateless is a rule that reads the present observation only.
type stateless struct {
	kept.Stateless
	cluster
}

func newStateless(name string, c interface{ Validate() error }, amount string, env envs.Env) (stateless, error) {
	v, err := newCluster(name, c, amount, env)
	return stateless{kept.Stateless(name), v}, err
}

// look reads an observation and returns the number of waiting invocations.
func (c *cluster) look(o *envs.KindObservation) int {
	g := o.Graphs[0]
	c.next = 0
	c.seen = o
	c.count = c.Waiting(g)
	c.open = c.open[:0]
	// The last part of the mask marks nodes with room for the smallest amount of any waiting invocation.
	for n, ok := range o.Mask[len(o.Mask)-c.Nodes:] {
		if ok {
			c.open = append(c.open, n)
		}
	}
	if c.grant == Spread {
		clear(c.free[:])
		for n := range c.Nodes {
			node := c.Node(g, n)
			for r := range c.free {
				c.free[r] += float64(c.Free(node, r))
			}
		}
	}
	return c.count
}

// near reads warm and local of waiting invocation i. Calls must be in ascending order of i.
func (c *cluster) near(g *envs.GraphValue, i int) { c.next = c.Near(g, c.next, i, c.warm, c.local) }

// wants is the amount that an invocation asks for; with Largest and Spread it gets less where a node has less.
func (c *cluster) wants(v []float32) int {
	if c.forced {
		return 0
	}
	switch c.grant {
	case Smallest:
		return 0
	case Largest:
		return len(c.Amounts) - 1
	case Spread:
		a := len(c.Amounts) - 1
		for ; a > 0; a-- {
			if c.enough(v, a) {
				break
			}
		}
		return a
	}
	return c.Nominal
}

// enough reports whether all waiting invocations could have what this one would have with an amount.
func (c *cluster) enough(v []float32, amount int) bool {
	for _, r := range [...]int{placement.CPU, placement.Network, placement.GPU} {
		if d := c.Demand(v, r, amount); d > 0 && float64(d)*float64(c.count) > c.free[r] {
			return false
		}
	}
	return true
}

// fits is the amount that invocation i gets on node n, −1 where it does not fit.
func (c *cluster) fits(i, n, amount int) int {
	count := c.Fits(c.seen, i, n)
	if amount < count {
		return amount
	}
	if c.grant == Largest || c.grant == Spread {
		return count - 1
	}
	return -1
}

// pick is a choice of invocation, amount and node; none means waiting.
type pick struct{ invocation, amount, node int }

// Act implements [envs.Policy]: it writes the rule's choice. Where the rule would wait but may not, it decides a second
// time, with forced set.
func (c *cluster) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	o := &obs.Kinds[0]
	best := c.rule(o)
	if c.again(o, best) {
		best = c.rule(o)
		c.forced = false
	}
	c.choose(act, best)
	return nil
}

// again reports whether a rule must decide a second time: it would wait, which the mask forbids (hold: false).
func (c *cluster) again(o *envs.KindObservation, p pick) bool {
	c.forced = !c.forced && p == none && !o.Mask[c.Wait()]
	return c.forced
}

// choose writes an action.
func (c *cluster) choose(act *envs.Action, p pick) {
	a := act.Kinds[0]
	if p.invocation < 0 {
		a[0], a[1], a[2] = float32(c.Wait()), 0, 0
		return
	}
	a[0], a[1], a[2] = float32(p.invocation), float32(p.amount), float32(p.node)
}

var none = pick{invocation: -1}

// quickest is the node on which an invocation is expected to end first, cold starts and remote input included; the
// first of several.
func (c *cluster) quickest(g *envs.GraphValue, i int) pick {
	v := c.Invocation(g, i)
	amount := c.wants(v)
	best, least := none, 0.0
	for _, n := range c.open {
		a := c.fits(i, n, amount)
		if a < 0 {
			continue
		}
		if t := c.Runs(v, c.Node(g, n), a, c.warm[n], c.local[n]); best.invocation < 0 || t < least {
			best, least = pick{i, a, n}, t
		}
	}
	return best
}

// alignment is Σ_r free_r·demand_r, as shares of the largest node or of this node's capacity. The memory of idle
// instances counts as free.
func (c *cluster) alignment(v, node []float32, amount int, own bool) float64 {
	s := 0.0
	for r := range placement.NumResources {
		free := float64(c.Free(node, r))
		if r == placement.Memory {
			free += float64(c.WarmMemory(node))
		}
		x := float64(free * float64(c.Demand(v, r, amount)))
		if own {
			of := float64(c.Capacity(node, r))
			if of == 0 {
				continue
			}
			x /= of * of
		}
		s += x
	}
	return s
}
