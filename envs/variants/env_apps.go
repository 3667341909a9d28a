package variants

import (
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
)

// shelf holds the applications that an environment's episodes are of. It makes each when it is first needed, and keeps
// it.
type shelf struct {
	config EnvConfig
	own    *Model // the one application; nil where they are generated
	menus  map[int]*menu
	seen   task // to draw problems with
	blind  bool // nobody asks how far plans are from the ideal
}

func newShelf(c EnvConfig, own *Model) (*shelf, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if (own == nil) != (c.Workflow == Generated) {
		return nil, fmt.Errorf("workflow is %s, want an application with a file's name, and none with %s", c.Workflow, Generated)
	}
	s := &shelf{config: c, menus: map[int]*menu{}}
	if own == nil {
		return s, nil
	}
	s.own = sharedAs(own.fingerprint(), own)
	if n, most := own.NumFunctions(), c.Functions[1]; n > most {
		return nil, fmt.Errorf("%s has %d functions, and env.functions allows %d: a policy sees no more than it was trained with; "+
			"want env.functions=[%d, %d] in its training", c.Workflow, n, most, c.Functions[0], n)
	}
	n, err := newMenu(s.own, c.Options)
	if err == nil {
		err = n.worth(Objective(c.Objective))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Workflow, err)
	}
	return s, nil
}

// fingerprint tells configurations apart. Where a file lies does not matter, what it says does.
func (s *shelf) fingerprint() uint64 {
	h := fnv.New64a()
	c := s.config
	if s.own != nil {
		c.Workflow = s.own.fingerprint()
	}
	fmt.Fprintf(h, "%+v", c)
	return h.Sum64()
}

// functions is the largest number of functions that there can be.
func (s *shelf) functions() int {
	return s.config.Functions[1]
}

// menu returns the application of an episode.
func (s *shelf) menu(seed uint64) (*menu, error) {
	i := int(seed % uint64(s.config.Apps))
	if s.own != nil && s.config.World != Served {
		i = 0
	}
	if n := s.menus[i]; n != nil {
		return n, nil
	}
	number := s.config.First + i
	n, err := s.make(uint64(number))
	if err != nil && s.own != nil {
		return nil, fmt.Errorf("%s on platform %d: %w", s.config.Workflow, number, err)
	}
	if err != nil {
		return nil, fmt.Errorf("generated application %d: %w", number, err)
	}
	s.menus[i] = n
	return n, nil
}

func (s *shelf) make(number uint64) (*menu, error) {
	m, err := s.own, error(nil)
	if m == nil {
		m, err = generated(number, s.config.Functions[0], s.config.Functions[1])
	}
	if err != nil {
		return nil, err
	}
	n, err := newMenu(m, s.config.Options)
	if err != nil || s.config.World != Served {
		return n, err
	}
	if n.service, err = serviceOf(m, number, s.config.Requests); err == nil {
		n.service.known = make([]float64, len(n.combinations))
	}
	return n, err
}

// objective draws what the plan of an episode is to be best at. Option objective chooses it.
func (s *shelf) objective(seed uint64, options envs.Options) (int, error) {
	name := Objective(s.config.Objective)
	if s.config.World == Served {
		name = Cost
	} else if s.config.Objective == mixed {
		all := Objectives()
		if s.own != nil && !s.own.rated() {
			all = []Objective{Time, Cost}
		}
		name = all[rng.New(seed, "variants/objective").IntN(len(all))]
	}
	for option, v := range options {
		text, ok := v.(string)
		if name = Objective(text); option != "objective" || !ok || !slices.Contains(Objectives(), name) {
			return 0, fmt.Errorf("option %s is %v, want objective: time, cost or accuracy", option, v)
		}
	}
	if s.config.World == Served && name != Cost {
		return 0, fmt.Errorf("option objective is %s, want cost with world: served", name)
	}
	return slices.Index(Objectives(), name), nil
}

// problem draws the problem of an episode.
func (s *shelf) problem(n *menu, e *episode) (p Problem, err error) {
	key := rng.New(e.seed, "variants/problem")
	if p = s.seen.draw(n, key, Objectives()[e.objective]); n.service != nil {
		p.Percentile = percentile
		p.Latency, err = n.service.bound(&s.seen, n, p.Accuracy, key.With(5).Float64())
	}
	return p, err
}

// mixed is the objective that is drawn for each episode.
const mixed = "mixed"

// Info of a step, in this order.
const (
	inIdeal = iota
	inNear
	inViolated
	inSeconds
	inUSD
	inAccuracy
	inExcess
	inP95
	inCold
	infos
)

// quantities lists what a step reports. All are of the plan that stands when the episode ends.
func quantities() []envs.Quantity {
	q := func(name, unit string, b envs.Better, in envs.Bounds, doc string) envs.Quantity {
		return envs.Quantity{Name: name, Unit: unit, Better: b, Reduce: envs.Last, Bounds: in, Doc: doc}
	}
	return []envs.Quantity{
		q("ideal", "1", envs.Higher, envs.Share(), "how near the plan comes to the ideal: 1 − |value − ideal| / ideal of the "+
			"objective; 0 where a constraint is missed"),
		q("near", "1", envs.Higher, envs.Share(), "1 where that is at least 0.95 (OptiServe's measure), else 0"),
		q("violated", "1", envs.Lower, envs.Share(), "1 where a constraint is missed, else 0"),
		q("time", "s", envs.Neither, envs.AtLeast(0), "expected response time of a request"),
		q("cost", "USD", envs.Neither, envs.AtLeast(0), "expected cost of a million executions"),
		q("accuracy", "1", envs.Neither, envs.AtLeast(0), "accuracy score"),
		q("excess", "1", envs.Lower, envs.AtLeast(-1), "what the plan loses at the objective against the ideal, as a share; where "+
			"plans are served, its cost above that of the model's plan without a margin"),
		q("p95", "s", envs.Neither, envs.AtLeast(0), "95th percentile of the response time where plans are served, else 0"),
		q("cold", "1", envs.Neither, envs.Share(), "share of requests with a cold start where plans are served, else 0"),
	}
}

// nearly is the share of the ideal from which on a plan counts as near it.
const nearly = 0.95

// report fills a step's quantities with what a plan gives; keeps says that it keeps the constraints.
func report(p *Problem, out, ideal Outcome, keeps bool, info []float64) {
	share := 0.0
	if keeps {
		share = min(max(p.OfIdeal(out, ideal)/100, 0), 1)
	}
	for i := range info {
		info[i] = 0
	}
	info[inExcess] = max(p.loss(out, ideal), -1)
	info[inIdeal], info[inSeconds], info[inUSD], info[inAccuracy] = share, out.Seconds, out.USD, out.Accuracy
	if share >= nearly {
		info[inNear] = 1
	}
	if !keeps {
		info[inViolated] = 1
	}
}
