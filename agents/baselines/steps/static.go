package steps

import (
	"context"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/frontier"
	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/internal/reuse"
)

// graph is the order of a workflow's steps. Steps are numbered as the workflow's nodes.
type graph struct {
	next, prev [][]int
	leaves     []bool // per step: a branch from it ends the request
	order      []int  // topological
}

func newGraph(w *workflow.Workflow) graph {
	n := w.NumNodes()
	g := graph{next: make([][]int, n), prev: make([][]int, n), leaves: make([]bool, n), order: w.Order()}
	number := make(map[string]int, n)
	for i := range n {
		number[w.NodeName(i)] = i
	}
	for _, e := range w.Graph().Edges {
		from, ok := number[e.From]
		to, also := number[e.To]
		if ok && also {
			g.next[from], g.prev[to] = append(g.next[from], to), append(g.prev[to], from)
		}
		if ok && e.To == workflow.End && e.Kind == workflow.Branch {
			g.leaves[from] = true
		}
	}
	return g
}

// fork is the first step at which paths part or meet, -1 in a chain.
func (g *graph) fork() int {
	for i := range g.next {
		if len(g.next[i]) > 1 || len(g.prev[i]) > 1 || g.leaves[i] {
			return i
		}
	}
	return -1
}

// after writes for each step the time of the longest path from its start to the end, and returns the longest one.
func (g *graph) after(dst, times []float64) float64 {
	longest := 0.0
	for _, v := range slices.Backward(g.order) {
		rest := 0.0
		for _, w := range g.next[v] {
			rest = max(rest, dst[w])
		}
		dst[v] = times[v] + rest
		longest = max(longest, dst[v])
	}
	return longest
}

// plans knows the cheapest plans of a whole workflow. Where its paths cross, a front of all of them takes too long:
// single plans are searched for instead, exactly.
type plans struct {
	menus   []menu
	problem frontier.Problem
	front   frontier.Front // nil where paths cross
}

// menusAt returns the menu of each step, with times at a quantile.
func menusAt(m *steps.Model, quantile float64) []menu {
	out := make([]menu, m.NumSteps())
	for v := range out {
		out[v] = newMenu(m, v, Parallelism{}, quantile)
	}
	return out
}

// newPlans returns the plans of menus. Every plan of its front is within a gap of the exact front.
func newPlans(m *steps.Model, menus []menu, gap float64) *plans {
	p := &plans{menus: menus, problem: frontier.Problem{Flow: m.Flow, Options: make([][]frontier.Option, len(menus))}}
	for v, l := range menus {
		for _, o := range l {
			p.problem.Options[v] = append(p.problem.Options[v], frontier.Option{Seconds: o.seconds, USD: o.option.USD})
		}
	}
	// The problem is well formed, so that nothing but the context could fail.
	if tree, err := p.problem.Tree(); err == nil && tree {
		p.front, _ = frontier.Within(context.Background(), p.problem, gap)
	}
	return p
}

// cheapest returns the cheapest plan of which every path ends within so many seconds, and false where there is none.
func (p *plans) cheapest(seconds float64) (frontier.Point, bool) {
	if p.front != nil {
		return p.front.Cheapest(seconds)
	}
	a, err := frontier.Cheapest(context.Background(), p.problem, seconds)
	return a.Point, err == nil
}

// crossing is how many limits plans are searched for where paths cross.
const crossing = 64

// some returns plans from the fastest to the cheapest one: the front, or that at some limits, denser towards the fastest.
func (p *plans) some(g graph) frontier.Front {
	if p.front != nil {
		return p.front
	}
	fast, slow := make([]float64, len(p.menus)), make([]float64, len(p.menus))
	for v, l := range p.menus {
		fast[v], slow[v] = l[0].seconds, l[len(l)-1].seconds
	}
	after := make([]float64, len(p.menus))
	first, last := g.after(after, fast), g.after(after, slow)
	var out frontier.Front
	for k := range crossing + 1 {
		part := float64(k) / crossing
		limit := first * math.Pow(last/first, part*part)
		x, ok := p.cheapest(limit * (1 + 1e-12))
		if n := len(out); ok && (n == 0 || x.USD < out[n-1].USD) {
			out = append(out, x)
		}
	}
	return out
}

// static plays a plan that is made before the first step and is never revised.
type static struct {
	plan   func(m *steps.Model, slo float64, choice []int)
	choice []int
	model  *steps.Model // that it was made for last
	slo    float64
}

// Begin implements [steps.Decider].
func (s *static) Begin(m *steps.Model, slo, _ float64) {
	if m == s.model && slo == s.slo {
		return
	}
	s.model, s.slo = m, slo
	s.choice = reuse.Slice(s.choice, m.NumSteps())
	s.plan(m, slo, s.choice)
}

// Decide implements [steps.Decider].
func (s *static) Decide(_ *steps.Moment, step int) int { return s.choice[step] }

// VanillaConfig configures [NewVanilla].
type VanillaConfig struct {
	// Quantile is that of the predicted times.
	Quantile float64 `yaml:"quantile" json:"quantile" range:"(0,1)"`
	// Instances is the number of instances of every step, which the paper does not say.
	Instances int `yaml:"instances" json:"instances" range:"[1,1000]"`
}

// DefaultVanilla has 16 instances a step.
func DefaultVanilla() VanillaConfig { return VanillaConfig{Quantile: 0.9, Instances: 16} }

// NewVanilla returns the critical path method: before the first step, the limit is shared among the steps of the critical
// path by their times in a configuration of one core, and each step takes the cheapest memory below its share; side
// branches are treated the same way. One process an instance and a fixed number of instances. Where no memory is fast
// enough it takes the fastest.
func NewVanilla(c VanillaConfig) (steps.Decider, error) {
	if err := bounds.Check(&c); err != nil {
		return nil, err
	}
	config := StepConfConfig{Quantile: c.Quantile, Joins: Before, Instances: c.Instances, Processes: 1}
	s := &StepConf{config: config}
	s.tables.make = func(m *steps.Model) *critical { return newCritical(m, &config, oneCore) }
	return &static{plan: func(m *steps.Model, slo float64, choice []int) {
		s.Begin(m, slo, 0)
		s.onSchedule(choice)
	}}, nil
}

// oneCore returns a step's time with the first memory size that has a core.
func oneCore(m *steps.Model, step int, l menu) float64 {
	best := l.fastest()
	for _, o := range l {
		if float64(o.option.MB) >= 0.95*m.Platform.SingleCore && o.option.MB < best.option.MB {
			best = o
		}
	}
	return best.seconds
}

// onSchedule decides all steps, where each begins when the sub-SLOs of those before it have passed.
func (s *StepConf) onSchedule(choice []int) {
	ends := reuse.Slice(s.ends, len(choice))
	s.ends = ends
	for _, v := range s.order {
		begin := 0.0
		for _, u := range s.prev[v] {
			begin = max(begin, ends[u])
		}
		choice[v] = s.menus[v].within(s.divide(v, begin)).code
		ends[v] = s.due
	}
}

// OracleConfig configures [NewOracle].
type OracleConfig struct {
	// Quantile is that of the predicted times.
	Quantile float64 `yaml:"quantile" json:"quantile" range:"(0,1)"`
}

// DefaultOracle plans by 90th percentiles.
func DefaultOracle() OracleConfig { return OracleConfig{Quantile: 0.9} }

// NewOracle returns the cheapest plan of which every path ends within the limit by the predicted times: exact where paths
// cross, else from the workflow's front thinned to 0.1 %. It is made before the first step. Where there is none, every
// step takes its fastest option.
func NewOracle(c OracleConfig) (steps.Decider, error) {
	if err := bounds.Check(&c); err != nil {
		return nil, err
	}
	fronts := tables[*steps.Model, *plans]{make: func(m *steps.Model) *plans { return newPlans(m, menusAt(m, c.Quantile), 1e-3) }}
	return &static{plan: func(m *steps.Model, slo float64, choice []int) {
		t := fronts.of(m)
		p, ok := t.cheapest(slo)
		for v, l := range t.menus {
			choice[v] = l.fastest().code
			if ok {
				choice[v] = l[p.Choice[v]].code
			}
		}
	}}, nil
}

// HindsightConfig configures [Hindsight].
type HindsightConfig struct {
	// Miss is the price of a miss as a multiple of the request's own.
	Miss float64 `yaml:"miss" json:"miss" range:"(0,1e9]"`
}

// DefaultHindsight takes the request's price of a miss.
func DefaultHindsight() HindsightConfig { return HindsightConfig{Miss: 1} }

// Hindsight knows beforehand what every option of every step will take and cost, and plays the cheapest plan of which
// every path ends within the limit; where a miss is cheaper, all of the cheapest. Nobody can decide like this: it is a
// bound on what deciders can reach with the options on the steps' fronts, to 0.2 % of price.
type Hindsight struct {
	config HindsightConfig
	static
	draw func(step, option int) (seconds, usd float64)
}

// NewHindsight returns the decider. [Hindsight.Foresee] comes before each request.
func NewHindsight(c HindsightConfig) (*Hindsight, error) {
	if err := bounds.Check(&c); err != nil {
		return nil, err
	}
	return &Hindsight{config: c}, nil
}

// Foresee tells what options will take and cost in the request that begins next.
func (h *Hindsight) Foresee(draw func(step, option int) (seconds, usd float64)) { h.draw = draw }

// Begin implements [steps.Decider].
func (h *Hindsight) Begin(m *steps.Model, slo, miss float64) {
	n := m.NumSteps()
	h.choice = reuse.Slice(h.choice, n)
	menus := make([]menu, n)
	cheapest := 0.0
	for v := range menus {
		var all []choice
		for i := range m.Options[v] {
			o := choice{code: i}
			if !m.Free(v) {
				o.seconds, o.option.USD = h.draw(v, i)
			}
			all = append(all, o)
		}
		menus[v] = staircase(all)
		cheapest += float64(m.Runs[v] * menus[v][len(menus[v])-1].option.USD)
	}
	t := newPlans(m, menus, 2e-3)
	p, ok := t.cheapest(slo)
	ok = ok && p.USD <= cheapest+float64(h.config.Miss*miss)
	for v, l := range menus {
		if ok {
			h.choice[v] = l[p.Choice[v]].code
		} else {
			h.choice[v] = l[len(l)-1].code
		}
	}
}
