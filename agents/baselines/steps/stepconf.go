package steps

import (
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/internal/reuse"
)

// Readings of eq. 13.
const (
	Least     = "least"     // the configuration of least c·t
	Published = "published" // that of greatest c/t⁻¹ = c·t, as printed
)

// Readings of Algorithm 1's lines 13 to 15: when a sub-graph G' that leads to v_k must have ended.
const (
	Before = "before" // when v_k is to begin, τ_k − s_k; v_k is no part of G'
	Joined = "joined" // as printed: v_k is part of G', and G' has ended by τ_k − s_k
)

// Where a decision searches.
const (
	OnFront  = "front"
	AmongAll = "all"
)

// StepConfConfig configures [StepConf].
type StepConfConfig struct {
	// Quantile is that of the predicted times (ω).
	Quantile float64 `yaml:"quantile" json:"quantile" range:"(0,1)"`
	// Eq13 says which configuration gives a step its weight: the one of least time times price, or the one that eq. 13
	// prints.
	Eq13 string `yaml:"eq13" json:"eq13" oneof:"least|published"`
	// Joins says when a side branch must have ended: before the step at which it joins the critical path, or as printed.
	Joins string `yaml:"joins" json:"joins" oneof:"before|joined"`
	// Search says among which configurations a decision searches: those on the step's front, which is a record of the best
	// ones (StepConf, §4.3), or anew among all that the platform allows, as Algorithm 1 is printed.
	Search string `yaml:"search" json:"search" oneof:"front|all"`
	// Instances and Processes hold the parallelism between and within functions fixed; 0 decides it for each step.
	Instances int `yaml:"instances" json:"instances" range:"[0,1000]"`
	Processes int `yaml:"processes" json:"processes" range:"[0,64]"`
	// Cap says how steps that share a cluster's cores are planned: none as if each ran alone, as the paper does; siblings with
	// the options that fit into a step's share of the cores. Where cores are not bounded both are none.
	Cap string `yaml:"cap" json:"cap" oneof:"none|siblings|"`
}

// DefaultStepConf decides memory and both kinds of parallelism by 90th percentiles (StepConf).
func DefaultStepConf() StepConfConfig {
	return StepConfConfig{Quantile: 0.9, Eq13: Least, Joins: Before, Search: OnFront, Cap: NoCap}
}

// DefaultInter has one process an instance (StepConf-Inter).
func DefaultInter() StepConfConfig {
	c := DefaultStepConf()
	c.Processes = 1
	return c
}

// DefaultIntra has 16 instances a step (StepConf-Intra); the paper does not say how many.
func DefaultIntra() StepConfConfig {
	c := DefaultStepConf()
	c.Instances = 16
	return c
}

func (c *StepConfConfig) parallelism() Parallelism { return Parallelism{c.Instances, c.Processes} }

// StepConf is the paper's Algorithm 1, the global-cached most cost-effective critical path: the time that is left is
// shared among the steps of the critical path by the times of their most cost-effective configurations, and a step takes
// the cheapest configuration below its share. Side branches must have ended when the step is to begin at which they join
// the path; they are treated the same way when their first step begins. Where no configuration is fast enough, the step
// takes the fastest one: the paper does not say.
//
// A decision takes O(|V| + |E| + log |Θ|): most cost-effective configurations and times are kept for each workflow.
type StepConf struct {
	config StepConfConfig
	tables tables[*steps.Model, *critical]
	*critical
	model *steps.Model
	slo   float64
	// The global cache: of each step the sub-graph that it is in, the time by which that ends, and (where joins are read as
	// printed) the weight of the step that comes after it.
	group []int
	sets  [][]bool // of each sub-graph its steps; a step can be in several
	limit []float64
	tail  []float64
	last  int // the greatest number of a sub-graph, -1 before the first
	// Scratch of one decision.
	inside, onPath []bool
	longest        []float64
	numbers        []int // per place of the path that of the sub-graph which leads to it
	exit           []int // of a step beside the path the place of the first step of the path that it leads to
	path           []int
	share, begin   []float64 // of each step of the path its sub-SLO, and when it is to begin
	ends           []float64
	due            float64 // when the step that was decided last is to end
}

// critical is what the algorithm keeps of a workflow.
type critical struct {
	graph
	platform *steps.Platform
	menus    []menu
	weight   []float64 // t(θ*)
	// Where all is searched: of each step's configurations the times and prices, and what they are.
	seconds, usd [][]float64
	codes        [][]int
}

// NewStepConf returns the decider.
func NewStepConf(c StepConfConfig) (*StepConf, error) {
	if err := bounds.Check(&c); err != nil {
		return nil, err
	}
	s := &StepConf{config: c}
	s.tables.make = func(m *steps.Model) *critical { return newCritical(m, &c, c.effective) }
	return s, nil
}

func newCritical(m *steps.Model, c *StepConfConfig, weigh func(*steps.Model, int, menu) float64) *critical {
	t := &critical{graph: newGraph(m.Flow), platform: &m.Platform}
	for i := range m.Options {
		l := newMenu(m, i, c.parallelism(), c.Quantile)
		t.menus = append(t.menus, l)
		t.weight = append(t.weight, weigh(m, i, l))
		if c.Search == AmongAll {
			t.list(m, i, c)
		}
	}
	return t
}

// list lists all configurations of a step.
func (t *critical) list(m *steps.Model, step int, c *StepConfConfig) {
	var seconds, usd []float64
	var codes []int
	for _, o := range c.all(m, step) {
		seconds = append(seconds, m.Seconds(step, o.code, c.Quantile, 0))
		usd, codes = append(usd, o.option.USD), append(codes, o.code)
	}
	t.seconds, t.usd, t.codes = append(t.seconds, seconds), append(t.usd, usd), append(t.codes, codes)
}

// all are the configurations of a step that the platform allows, with the parallelism that is held fixed.
func (c *StepConfConfig) all(m *steps.Model, step int) []choice {
	if c.parallelism() == (Parallelism{}) {
		return everything(m, step)
	}
	return c.parallelism().allows(m, step)
}

// effective returns t(θ*) of a step (eq. 13). The least product is on the step's front; the greatest is anywhere.
func (c *StepConfConfig) effective(m *steps.Model, step int, l menu) float64 {
	if c.Eq13 == Least {
		best := l[0]
		for _, o := range l[1:] {
			if float64(o.option.USD*o.seconds) < float64(best.option.USD*best.seconds) {
				best = o
			}
		}
		return best.seconds
	}
	var seconds, most float64
	for _, o := range c.all(m, step) {
		t := m.Seconds(step, o.code, c.Quantile, 0)
		if x := float64(o.option.USD * t); x > most {
			seconds, most = t, x
		}
	}
	return seconds
}

// Begin implements [steps.Decider]: the whole workflow and its limit go into the cache.
func (s *StepConf) Begin(m *steps.Model, slo, _ float64) {
	s.critical, s.model, s.slo = s.tables.of(m), m, slo
	n := len(s.weight)
	s.group, s.limit, s.tail = reuse.Slice(s.group, n), reuse.Slice(s.limit, n), reuse.Slice(s.tail, n)
	s.inside, s.onPath, s.longest = reuse.Slice(s.inside, n), reuse.Slice(s.onPath, n), reuse.Slice(s.longest, n)
	s.exit, s.share, s.begin, s.path = reuse.Slice(s.exit, n), reuse.Slice(s.share, n), reuse.Slice(s.begin, n+1), reuse.Slice(s.path, n)[:0]
	s.numbers = reuse.Slice(s.numbers, n+1)
	for i := range n {
		s.group[i], s.limit[i], s.tail[i] = 0, slo, 0
	}
	s.last = -1
	whole := s.sets[s.newSet()]
	for i := range whole {
		whole[i] = true
	}
}

// Decide implements [steps.Decider]. The numbers are the lines of Algorithm 1.
func (s *StepConf) Decide(at *steps.Moment, step int) int {
	limit := s.divide(step, at.Now)
	l := s.menus[step]
	if s.config.Cap == Siblings {
		return l[l.fitting(s.platform, max(0, l.below(limit)), share(s.model, at, step))].code
	}
	if anyWarm(at, step) {
		return l[l.warmed(s.platform, at, step, limit)].code
	}
	if s.codes != nil {
		return s.codes[step][search(s.seconds[step], s.usd[step], limit)]
	}
	return l.within(limit).code // 10
}

// divide returns the sub-SLO of a step that begins now, and brings the cache up to date.
func (s *StepConf) divide(step int, now float64) float64 {
	limit, tail := s.limit[step], s.tail[step] // 2
	left := limit - now                        // 3
	all := s.longestPath(step) + tail          // 4 to 7
	for k, v := range s.path {                 // 8, 9
		s.share[k] = 0
		if all > 0 {
			s.share[k] = float64(s.weight[v] / all * left)
		}
	}
	s.due = now + s.share[0]
	s.side(limit, tail) // 11 to 16
	rest := s.newSet()  // 17 to 19
	for _, v := range s.path[1:] {
		s.sets[rest][v] = true
		s.group[v], s.limit[v], s.tail[v] = rest, limit, tail
	}
	return s.share[0]
}

// newSet adds an empty sub-graph to the cache and returns its number.
func (s *StepConf) newSet() int {
	if s.last++; s.last == len(s.sets) {
		s.sets = append(s.sets, nil)
	}
	s.sets[s.last] = reuse.Slice(s.sets[s.last], len(s.weight))
	clear(s.sets[s.last])
	return s.last
}

// longestPath finds the critical path of the sub-graph that starts at a step, and returns its length.
func (s *StepConf) longestPath(step int) float64 {
	clear(s.inside)
	clear(s.onPath)
	s.inside[step] = true
	set := s.sets[s.group[step]]
	for _, v := range s.order {
		if !s.inside[v] {
			continue
		}
		for _, w := range s.next[v] {
			s.inside[w] = s.inside[w] || set[w]
		}
	}
	for k := len(s.order) - 1; k >= 0; k-- {
		if v := s.order[k]; s.inside[v] {
			if s.codes != nil && s.config.Eq13 == Least {
				s.weight[v] = s.seconds[v][effective(s.seconds[v], s.usd[v])] // 5, 6
			}
			rest := 0.0
			for _, w := range s.next[v] {
				if s.inside[w] {
					rest = max(rest, s.longest[w])
				}
			}
			s.longest[v] = s.weight[v] + rest
		}
	}
	s.path = s.path[:0]
	for v := step; v >= 0; {
		s.path, s.onPath[v] = append(s.path, v), true
		follow := -1
		for _, w := range s.next[v] {
			if s.inside[w] && (follow < 0 || s.longest[w] > s.longest[follow]) {
				follow = w
			}
		}
		v = follow
	}
	return s.longest[step]
}

// side gives the sub-graphs beside the critical path their limits. A step belongs to the first step of the path that it
// leads to, or to the end.
func (s *StepConf) side(limit, tail float64) {
	n := len(s.path)
	for k, v := range s.path {
		s.exit[v] = k
	}
	for k := len(s.order) - 1; k >= 0; k-- {
		v := s.order[k]
		if !s.inside[v] || s.onPath[v] {
			continue
		}
		s.exit[v] = n
		for _, w := range s.next[v] {
			if s.inside[w] {
				s.exit[v] = min(s.exit[v], s.exit[w])
			}
		}
	}
	// A sub-graph that joins at place k must have ended when that step is to begin, the others by the limit.
	begin := limit
	s.begin[n] = limit
	for k := n - 1; k > 0; k-- {
		begin -= s.share[k]
		s.begin[k] = begin
	}
	for k := range s.numbers[:n+1] {
		s.numbers[k] = -1
	}
	for _, v := range s.order {
		if !s.inside[v] || s.onPath[v] {
			continue
		}
		k := s.exit[v]
		if s.numbers[k] < 0 {
			s.numbers[k] = s.newSet()
		}
		s.group[v], s.limit[v], s.tail[v] = s.numbers[k], s.begin[k], 0
		s.sets[s.numbers[k]][v] = true
		switch {
		case k == n:
			s.tail[v] = tail
		case s.config.Joins == Joined:
			s.tail[v] = s.weight[s.path[k]]
		}
	}
}

// search returns the place of the cheapest configuration of less than a limit, of the fastest where there is none.
func search(seconds, usd []float64, limit float64) int {
	best, fastest := -1, 0
	for i, t := range seconds {
		if t < limit && (best < 0 || usd[i] < usd[best]) {
			best = i
		}
		if t < seconds[fastest] {
			fastest = i
		}
	}
	if best < 0 {
		return fastest
	}
	return best
}

// effective returns the place of the configuration with the least product of time and price (eq. 13).
func effective(seconds, usd []float64) int {
	best, least := 0, float64(seconds[0]*usd[0])
	for i, t := range seconds {
		if x := float64(t * usd[i]); x < least {
			best, least = i, x
		}
	}
	return best
}
