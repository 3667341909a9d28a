package placement

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"

	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/envs/workload"
)

// System is what all episodes share: nodes, functions, workflows and how often each is requested. It does not change
// once made and may be shared.
type System struct {
	config    Config
	nodes     []nodeSpec
	largest   vector // of each resource, the most that a node has
	functions []function
	named     []Function // the functions as they were given, drawn or read
	workflows []workflow
	shares    []float64 // of the workflows among requests
	chances   []float64 // cumulative probabilities of the workflows
	steps     int       // the most of a workflow
	source    *workload.Source

	nominal     int // the amount that is 1
	offered     [NumResources]float64
	able        [NumResources]float64
	scarcity    [NumResources]float64
	total       [NumResources]float64 // what all nodes have
	longest     float64               // the most work of a step
	heaviest    float64               // the largest weight of a priority
	fingerprint uint64                // of all of the above
	chance      []float64             // cumulative probabilities of the priorities
}

// vector is an amount of each resource.
type vector [NumResources]int32

// nodeSpec is a node as it is configured.
type nodeSpec struct {
	capacity     vector
	speed, price float64
}

// function is a function as it is configured or drawn.
type function struct {
	name     string
	class    int
	demand   []vector  // by amount
	stretch  []float64 // time at each amount over that at amount 1
	cost     []float64 // pUSD a second at each amount, at price 1
	idle     float64   // pUSD a second while it is warm
	cold     int64     // µs of a cold start
	parallel float64
	work     float64 // mean of the steps that invoke it
}

// NewSystem draws or reads the system of a configuration. w says which trace, and which part of it, workload azure has.
func NewSystem(c Config, w workload.Config) (*System, error) {
	s, err := newSystem(c, w)
	if err != nil {
		return nil, err
	}
	if err := s.scaled(w); err != nil {
		return nil, err
	}
	if err := s.open(w); err != nil {
		return nil, err
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %+v %+v %v", state.Settings(s.config, Default()), s.functions, s.workflows, s.chances)
	s.fingerprint = h.Sum64()
	return s, nil
}

// newSystem is NewSystem without a source of arrivals.
func newSystem(c Config, w workload.Config) (*System, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s := &System{config: c, nominal: slices.Index(c.Amounts, 1)}
	for _, n := range c.Nodes {
		m := nodeSpec{vector{int32(n.CPU), int32(n.Memory), int32(n.Network), int32(n.GPU)}, n.Speed, n.Price}
		for range n.Count {
			s.nodes = append(s.nodes, m)
		}
		for r := range NumResources {
			s.largest[r] = max(s.largest[r], m.capacity[r])
			s.total[r] += float64(n.Count * int(m.capacity[r]))
			s.able[r] += float64(n.Speed * float64(n.Count*int(m.capacity[r])))
		}
	}
	for _, p := range c.Priorities {
		s.heaviest = max(s.heaviest, p.Weight)
	}
	s.chance = accumulate(len(c.Priorities), func(i int) float64 { return c.Priorities[i].Share })
	var shares []float64
	var err error
	switch {
	case c.Workload == Azure:
		shares, err = s.fromTrace(w)
	case c.Workload == TPCH:
		shares, err = s.fromTPCH()
	case len(c.Functions) > 0:
		shares, err = s.given()
	default:
		shares, err = s.drawn()
	}
	if err != nil {
		return nil, err
	}
	return s, s.finish(shares)
}

// accumulate turns weights into cumulative probabilities; the last is 1.
func accumulate(n int, weight func(int) float64) []float64 {
	out, total := make([]float64, n), 0.0
	for i := range out {
		total += weight(i)
		out[i] = total
	}
	for i := range out {
		out[i] /= total
	}
	return out
}

// pick inverts cumulative probabilities: it returns the index for a uniform number from [0, 1).
func pick(chances []float64, u float64) int {
	i := 0
	for i < len(chances)-1 && u >= chances[i] {
		i++
	}
	return i
}

// addFunction adds a function. It refuses one that no node can hold at amount 1.
func (s *System) addFunction(f Function, class int) error {
	at := fmt.Sprintf("functions[%d] (%s)", len(s.functions), f.Name)
	demand := [NumResources]int{f.CPU, f.Memory, f.Network, f.GPU}
	for r, d := range demand {
		least := 1
		if r == GPU {
			least = 0
		}
		if d < least {
			return fmt.Errorf("%s demands %d of %s, want at least %d", at, d, ResourceNames[r], least)
		}
		if d > int(s.largest[r]) {
			return fmt.Errorf("%s demands %d of %s, more than any node has: the largest has %d", at, d, ResourceNames[r],
				s.largest[r])
		}
	}
	if !(f.Image >= 0 && f.Image <= 1e7) || !(f.Parallel >= 0 && f.Parallel <= 1) {
		return fmt.Errorf("%s has an image of %g MB and a parallel share of %g, want 0 to 1e7 and 0 to 1", at, f.Image,
			f.Parallel)
	}
	for _, g := range s.functions {
		if g.name == f.Name {
			return fmt.Errorf("%s: there is another function of that name", at)
		}
	}
	c := &s.config
	g := function{name: f.Name, class: class, parallel: f.Parallel, cold: micros(c.Cold.Boot + f.Image/c.Cold.Pull)}
	memory := float64(c.Prices.Memory*float64(f.Memory)) / 1000
	for _, a := range c.Amounts {
		var v vector
		for r, d := range demand {
			v[r] = int32(d)
			if r != Memory {
				v[r] = int32(math.Ceil(float64(a * float64(d))))
			}
		}
		g.demand = append(g.demand, v)
		g.stretch = append(g.stretch, 1-f.Parallel+f.Parallel/a)
		hour := memory + float64(c.Prices.CPU*float64(v[CPU]))/1000 + float64(c.Prices.GPU*float64(v[GPU]))
		g.cost = append(g.cost, hour*1e12/3600)
	}
	g.idle = float64(c.Prices.Idle*memory) * 1e12 / 3600
	if !slices.ContainsFunc(s.nodes, func(m nodeSpec) bool { return g.demand[s.nominal].within(m.capacity) }) {
		return fmt.Errorf("%s demands %v of %v together, more than any one node has", at, demand, ResourceNames)
	}
	s.functions, s.named = append(s.functions, g), append(s.named, f)
	return nil
}

// within reports whether every resource is at most that of room.
func (v vector) within(room vector) bool {
	for r, x := range v {
		if x > room[r] {
			return false
		}
	}
	return true
}

// micros turns seconds into whole microseconds, at least one.
func micros(seconds float64) int64 { return max(1, int64(float64(seconds*1e6)+0.5)) }

// finish computes loads and ideal response times.
func (s *System) finish(shares []float64) error {
	total := 0.0
	for _, x := range shares {
		total += x
	}
	if !(total > 0) {
		return fmt.Errorf("workflows have shares of %g in all, want some", total)
	}
	s.shares = shares
	s.chances = accumulate(len(shares), func(i int) float64 { return shares[i] })
	size := (s.config.Size.Low + s.config.Size.High) / 2
	calls := make([]float64, len(s.functions))
	for i := range s.workflows {
		t := &s.workflows[i]
		s.steps = max(s.steps, len(t.steps))
		for _, st := range t.steps {
			f := &s.functions[st.function]
			share := shares[i] / total
			calls[st.function] += share
			f.work += float64(share * st.work)
			s.longest = max(s.longest, st.work)
			for r, d := range f.demand[s.nominal] {
				s.offered[r] += float64(float64(share*size) * float64(st.work*float64(d)))
			}
		}
	}
	for f := range calls {
		if calls[f] > 0 {
			s.functions[f].work /= calls[f]
		}
	}
	all := 0.0
	for r := range NumResources {
		if s.able[r] > 0 {
			s.scarcity[r] = s.offered[r] / s.able[r]
			all += s.scarcity[r]
		}
	}
	for r := range s.scarcity {
		s.scarcity[r] /= all
	}
	return nil
}

// Rate is the requests per second that make a load:
//
//	load / max_r (E[Σ work·size·demand_r] / Σ_nodes speed·capacity_r)
//
// where the inner sum is over a request's invocations, at amount 1. Cold starts, transfers and memory held by warm
// instances are not counted: they depend on the policy.
func (s *System) Rate(load float64) float64 {
	worst := 0.0
	for r := range NumResources {
		if s.able[r] > 0 {
			worst = max(worst, s.offered[r]/s.able[r])
		}
	}
	return load / worst
}

// Nodes is the number of nodes.
func (s *System) Nodes() int { return len(s.nodes) }

// Functions lists the functions' names.
func (s *System) Functions() []string {
	out := make([]string, len(s.functions))
	for i := range out {
		out[i] = s.functions[i].name
	}
	return out
}

// Written returns a configuration that opens no file: it contains the functions and workflows that [Azure] or [TPCH]
// read from files. Observations and legal choices are the same. Arrivals differ: with [Azure] they come at a constant
// rate. With other workloads it is the configuration itself.
func (s *System) Written() Config {
	c := s.config
	if c.Workload != Azure && c.Workload != TPCH {
		return c
	}
	c.Workload, c.TPCH = Poisson, Default().TPCH
	c.Functions, c.Workflows = s.named, nil
	for i := range s.workflows {
		t := &s.workflows[i]
		w := Workflow{Name: t.name, Share: s.shares[i]}
		for j := range t.steps {
			st := &t.steps[j]
			x := Step{Name: strconv.Itoa(j), Function: s.functions[st.function].name, Work: st.work, Output: st.output,
				After: []string{}}
			for _, p := range st.after {
				x.After = append(x.After, strconv.Itoa(int(p)))
			}
			w.Steps = append(w.Steps, x)
		}
		c.Workflows = append(c.Workflows, w)
	}
	return c
}

// Portable is the configuration of an exported policy, [System.Written].
func (e *Env) Portable() any { return e.s.Written() }
