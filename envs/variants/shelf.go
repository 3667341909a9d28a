package variants

import (
	"crypto/sha256"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/internal/cached"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// FirstUnseen is the number of the first generated application that is kept for tests: nothing is trained or chosen on
// applications from here on.
const FirstUnseen = 5000

// How an episode's ideal is found.
const (
	// Relaxed is the plan of the relaxed problem: near the best, found in a millisecond.
	Relaxed = "relaxed"
	// Best is the best plan of all, certified.
	Best = "exact"
)

// Generated is the [EnvConfig.Workflow] of generated applications.
const Generated = "generated"

// How the agents of [Env] are rewarded.
const (
	Team       = "team"
	Difference = "difference"
)

// EnvConfig configures [Each] and [Env].
type EnvConfig struct {
	// Workflow is what is configured: generated applications, or one application: app1 to app6, or its file, as stoker
	// whatif reads it. A path is relative to the working folder.
	Workflow string `yaml:"workflow" json:"workflow"`
	// Apps is the number of generated applications; the episode with seed s is of application First + s mod Apps. Those
	// with numbers from 5,000 on are kept for tests. Of an application of one's own it numbers the platforms and loads
	// that are drawn where plans are served. Where First is 0, an evaluation with split test plays those that follow, from
	// number Apps on: no training has seen them.
	Apps  int `yaml:"apps" json:"apps" range:"[1,1e6]"`
	First int `yaml:"first" json:"first" range:"[0,1e9]"`
	// Functions is the smallest and the largest number of functions of a generated application. An application of one's
	// own has at most the largest: policies see room for so many.
	Functions []int `yaml:"functions" json:"functions" range:"[3,64]"`
	// Objective is mixed, or the one that all problems have: time, cost or accuracy (OptiServe, eqs. 4.3 to 4.5).
	Objective string `yaml:"objective" json:"objective" oneof:"mixed|time|cost|accuracy"`
	// Options is the most options of a function that an agent sees. Dominated options are left out: those for which
	// another one takes no more time, costs no more and is as accurate.
	Options int `yaml:"options" json:"options" range:"[2,1024]"`
	// World is how plans are judged: means, by the model; or served, by the 95th percentile and the cost of requests that
	// are served with cold starts. Problems are then of the least cost.
	World string `yaml:"world" json:"world" oneof:"means|served"`
	// Requests is about how many requests are served to judge a plan.
	Requests int `yaml:"requests" json:"requests" range:"[100,1e6]"`
	// Load is how requests arrive where plans are served, at the application's mean rate: empty is a Poisson process or one
	// with bursts, as the application draws; azure2019 has the counts per minute of a function of the embedded Azure sample,
	// thinned to the rate.
	Load string `yaml:"load,omitempty" json:"load,omitempty" oneof:"|azure2019"`
	// Penalty is what a missed constraint costs in reward where one can be missed: in [Env] and, the percentile, where
	// plans are served. The larger it is, the more a policy pays for keeping it. 10 is what losing all of the objective
	// costs in [Env], as the measure ideal has it.
	Penalty float64 `yaml:"penalty" json:"penalty" range:"[0,1e6]"`
	// Penalties, the lowest and the highest, make a dial where plans are served: each episode draws its penalty between
	// them by its seed, log-uniformly, and the policy sees it. [5, 5] is 5 in every episode. The reward is divided by the
	// root of the penalty, or episodes of high ones would drown the others: under one penalty the same policy is best.
	// Empty is off: Penalty holds.
	Penalties []float64 `yaml:"penalties,omitempty" json:"penalties,omitempty" range:"(0,1e6]"`
	// Credit is how the agents of [Env] are rewarded: all by what their plan gives (team), or each by how much better the
	// plan is than with the present plan's option in place of its own (difference).
	Credit string `yaml:"credit" json:"credit" oneof:"team|difference"`
	// Ideal is what plans are measured by: exact, or relaxed, which is quicker and at most a few per cent worse. By relaxed a
	// plan that is better counts as farther from the ideal: compare policies that are near it, and exact, by exact.
	Ideal string `yaml:"ideal" json:"ideal" oneof:"relaxed|exact"`
}

// DefaultEnv returns 1,000 generated applications of 3 to 24 functions.
func DefaultEnv() EnvConfig {
	return EnvConfig{Workflow: Generated, Apps: 1000, Functions: []int{3, 24}, Objective: "mixed", Options: 80, World: ByMeans, Requests: 400,
		Penalty: 10, Credit: Team, Ideal: Relaxed}
}

// Files returns the configuration's file, with what f makes of its path.
func (c EnvConfig) Files(f func(path string) (string, error)) (any, error) {
	if c.Workflow == Generated || slices.Contains(presets, c.Workflow) {
		return &c, nil
	}
	var err error
	c.Workflow, err = f(c.Workflow)
	return &c, err
}

// Unseen returns the configuration with the applications that follow those of training, where First is 0 and they are
// generated: a policy is evaluated on others than it learned on.
func (c EnvConfig) Unseen() any {
	if c.Workflow == Generated && c.First == 0 {
		c.First = c.Apps
	}
	return &c
}

// Validate says what is wrong with the configuration, naming the key.
func (c EnvConfig) Validate() error {
	if err := bounds.Check(&c); err != nil {
		return err
	}
	if c.Workflow == "" {
		return bounds.Errorf("workflow", "is empty, want generated, app1 to app6, or an application's file")
	}
	if c.World == Served && c.Objective != string(Cost) && c.Objective != mixed {
		return bounds.Errorf("objective", "is %s with world: served, want cost", c.Objective)
	}
	if n := len(c.Penalties); n != 0 && (n != 2 || c.Penalties[0] > c.Penalties[1]) {
		return bounds.Errorf("penalties", "is %v, want none, or the lowest and the highest, as [2, 50]", c.Penalties)
	}
	if c.Load != "" && c.World != Served {
		return bounds.Errorf("load", "is %s, want none with world: %s", c.Load, c.World)
	}
	if len(c.Penalties) > 0 && c.World != Served {
		return bounds.Errorf("penalties", "is %v, want none with world: %s", c.Penalties, c.World)
	}
	if len(c.Functions) != 2 || c.Functions[0] > c.Functions[1] {
		return bounds.Errorf("functions", "is %v, want the smallest and the largest number, as [3, 24]", c.Functions)
	}
	return nil
}

// What the environments of a process have in common, as far as it was asked for last: an evaluation plays the same
// problems once for each policy, each in environments of its own, and the exact fronts of an application, which belong to
// its model, may take minutes.
var (
	models  = cached.NewCache[any, *Model](4096)        // by what they are drawn from, or their fingerprint
	ideals  = cached.NewCache[question, Outcome](65536) // by question
	bestP95 = cached.NewCache[quickest, float64](65536)
)

// drawnAs is the key of a generated application: its number and the range of functions that it was drawn from.
type drawnAs struct {
	n        uint64
	from, to int
}

// question is the key of the best outcome of a problem of an application.
type question struct {
	model   *Model
	problem Problem
}

// generated returns a generated application. All that ask for it have the same one.
func generated(n uint64, from, to int) (*Model, error) {
	return models.Get(drawnAs{n, from, to}, func(any) (*Model, error) {
		app, err := Generate(n, from, to)
		if err != nil {
			return nil, err
		}
		return app.Compile()
	})
}

// fingerprint tells models apart: by what their application says and by what its files of profiles gave.
func (m *Model) fingerprint() string {
	h, a := sha256.New(), m.App
	fmt.Fprintf(h, "%+v %q %v %v ", a.Workflow, a.Accuracy, a.Weights, a.Normalize)
	fmt.Fprintf(h, "%+v %+v %+v %v %v %v", m.Delays, m.Options, m.Variants, m.Fixed, m.Orchestration, m.Transitions)
	return fmt.Sprintf("%x", h.Sum(nil))
}

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
	var err error
	if s.own, err = models.Get(own.fingerprint(), func(any) (*Model, error) { return own, nil }); err != nil {
		return nil, err
	}
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
	h.Write([]byte(state.Settings(c, DefaultEnv())))
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
	if n.service, err = serviceOf(m, number, s.config.Requests, s.config.Load); err == nil {
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

// dialled is the penalty of an episode that draws its own, else 0.
func (s *shelf) dialled(seed uint64) float64 {
	if len(s.config.Penalties) == 0 {
		return 0
	}
	low, high := s.config.Penalties[0], s.config.Penalties[1]
	u := rng.New(seed, "variants/penalty").Float64()
	return float64(low * portable.Exp(float64(u*portable.Log(high/low))))
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
	clear(info)
	info[inExcess] = max(p.loss(out, ideal), -1)
	info[inIdeal], info[inSeconds], info[inUSD], info[inAccuracy] = share, out.Seconds, out.USD, out.Accuracy
	if share >= nearly {
		info[inNear] = 1
	}
	if !keeps {
		info[inViolated] = 1
	}
}
