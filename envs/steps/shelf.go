package steps

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/frontier"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/cached"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// EnvConfig configures [Env] and [Flat].
type EnvConfig struct {
	// Workflow is generated, tpch (TPC-H's queries), or one workflow: ml, vp, dag (StepConf, §7.1), tpch-QUERY-SIZE, chain
	// or diamond (small ones), or a file: YAML, or a state machine of AWS Step Functions with its steps beside it
	// (docs/steps.md). A path is relative to the working folder.
	Workflow string `yaml:"workflow" json:"workflow"`
	// Data is the folder with the TPC-H jobs, or their file; empty is the folder in STOKER_DATA.
	Data string `yaml:"data" json:"data"`
	// Apps is the number of generated workflows; the episode with seed s is of workflow First + s mod Apps. Those with
	// numbers from 5,000 on are kept for tests. Where First is 0, an evaluation with split test plays those that follow, from
	// number Apps on: no training has seen them. Of TPC-H's queries it is query First + s mod Apps, counted round.
	Apps  int `yaml:"apps" json:"apps" range:"[1,1e6]"`
	First int `yaml:"first" json:"first" range:"[0,1e9]"`
	// Steps is the smallest and the largest number of steps of a generated workflow, Shape what it is made of: chain,
	// dag, mixed (either) or wide, forks of many steps. Other workflows have at most the largest: policies see room for so many.
	Steps []int  `yaml:"steps" json:"steps" range:"[3,32]"`
	Shape string `yaml:"shape" json:"shape" oneof:"mixed|chain|dag|wide"`
	// Platform is where the steps run, if not where the workflow says: aws or knative.
	Platform string `yaml:"platform" json:"platform" oneof:"|aws|knative"`
	// Workers is the smallest and the largest number of the cluster's workers, drawn for each workflow; zeros leave it as the
	// platform has it.
	Workers []int `yaml:"workers" json:"workers" range:"[0,1000]"`
	// Base is the time that SLO multiplies: alone adds the P90 of the fastest options on the longest path, as if every step ran
	// alone, also where a cluster has no room for that; cluster is the P90 of the whole request with the fastest of 72 plans,
	// by a schedule of all steps on the cluster.
	Base string `yaml:"base" json:"base" oneof:"alone|cluster"`
	// Contention is what policies see of the steps that share a cluster's cores: hidden is nothing; seen is what is free, what
	// each step holds and each option takes, and a schedule of all steps by each option. It wants a platform with workers.
	Contention string `yaml:"contention" json:"contention" oneof:"hidden|seen"`
	// SLO is the least and the greatest limit of a request's time, as a factor on the fastest time at P90; it is
	// drawn for each request, evenly in its logarithm. Miss is the range of the price of a later end (λ), in units of
	// the workflow's price with each step at its least price times time, drawn likewise.
	SLO  []float64 `yaml:"slo" json:"slo" range:"(0,100]"`
	Miss []float64 `yaml:"miss" json:"miss" range:"(0,1e6]"`
	// Mapping says how instances start, if not as the platform says: simulated (one by one), or formula, a curve.
	Mapping string `yaml:"mapping" json:"mapping" oneof:"|simulated|formula"`
	// Billed is the time that instances are billed for, if not as the platform says: mapping is the whole step, mapping
	// included, as StepConf prints it; run is an instance's own time, as clouds do.
	Billed string `yaml:"billed" json:"billed" oneof:"|mapping|run"`
	// Estimates is what is known of the steps' times, by who decides: own is the world's own laws, fitted is StepConf's way,
	// eq. 1 and quantile regressions fitted to profiling runs.
	Estimates string `yaml:"estimates" json:"estimates" oneof:"own|fitted"`
	// Form is what an action says in [Env]: front is one of at most 64 configurations of the step that no other one beats in
	// P90 and price; full is memory, instances and processes.
	Form string `yaml:"form" json:"form" oneof:"front|full"`
	// Requests is the number of requests of an episode. More than one are a stream: they share warm instances, and arrive as
	// workload says, with Rate requests a minute on average; that is drawn from its range for each episode, and the
	// workload's time is stretched to it.
	Requests int       `yaml:"requests" json:"requests" range:"[1,10000]"`
	Rate     []float64 `yaml:"rate" json:"rate" range:"(0,1e6]"`
	// Prewarm is none, or stepconf: dummy calls warm the instances of the next step (StepConf, §5), in the configuration
	// that Algorithm 1 would give it if what runs took as long as it takes with probability PrewarmQuantile.
	Prewarm         string  `yaml:"prewarm" json:"prewarm" oneof:"none|stepconf"`
	PrewarmQuantile float64 `yaml:"prewarm_quantile" json:"prewarm_quantile" range:"(0,1)"`
	// Idle is the price in USD of a GB of an idle prewarmed instance for a second. The default is AWS Lambda's price of
	// provisioned concurrency in us-east-1; what it keeps warm by itself it does not bill, which is 0.
	Idle float64 `yaml:"idle" json:"idle" range:"[0,1]"`
	// Oracle is what prices are compared with: exact is the cheapest configuration of all that keeps the SLO at P90, which
	// takes up to seconds a request; relaxed is within about 1 % of it on chains and at most some 20 % dearer where paths
	// cross, and is found at once.
	Oracle string `yaml:"oracle" json:"oracle" oneof:"relaxed|exact"`
}

// Given is what an environment is given beside its configuration.
type Given struct {
	// Own is the workflow where the configuration names a file, else nil.
	Own *App
	// Load says when the requests of a stream arrive.
	Load workload.Config
	// Prewarm makes a decider that predicts the next step's configuration; nil where nothing is prewarmed.
	Prewarm func() (Decider, error)
}

// Values of EnvConfig's keys.
const (
	AllGenerated = "generated"
	AllTPCH      = "tpch"
	FrontForm    = "front"
	FullForm     = "full"
	OwnLaws      = "own"
	FittedLaws   = "fitted"
	Relaxed      = "relaxed"
	Exact        = "exact"
	ByFormula    = "formula"
	Simulated    = "simulated"
	WholeStep    = "mapping"
	OwnRun       = "run"
	NoPrewarm    = "none"
	ByStepConf   = "stepconf"
	Alone        = "alone"
	OnCluster    = "cluster"
)

// DefaultEnv returns 1,000 generated workflows of 3 to 16 steps.
func DefaultEnv() EnvConfig {
	return EnvConfig{Workflow: AllGenerated, Apps: 1000, Steps: []int{3, 16}, Shape: AnyShape, Workers: []int{0, 0}, Base: Alone, SLO: []float64{1.2, 3},
		Miss: []float64{1, 20}, Estimates: OwnLaws, Form: FrontForm, Contention: Hidden, Requests: 1, Rate: []float64{0.5, 6}, Prewarm: NoPrewarm, PrewarmQuantile: 0.5,
		Idle: 4.1667e-6, Oracle: Relaxed}
}

// Validate says what is wrong with the configuration, naming the key.
func (c EnvConfig) Validate() error {
	if err := bounds.Check(&c); err != nil {
		return err
	}
	if len(c.Steps) != 2 || c.Steps[0] > c.Steps[1] {
		return bounds.Errorf("steps", "is %v, want the smallest and the largest number, as [3, 16]", c.Steps)
	}
	if len(c.Workers) != 2 || c.Workers[0] > c.Workers[1] || (c.Workers[0] == 0) != (c.Workers[1] == 0) {
		return bounds.Errorf("workers", "is %v, want the smallest and the largest number, as [2, 6], or [0, 0]", c.Workers)
	}
	for key, r := range map[string][]float64{"slo": c.SLO, "miss": c.Miss, "rate": c.Rate} {
		if len(r) != 2 || r[0] > r[1] {
			return bounds.Errorf(key, "is %v, want the smallest and the largest value, as [1.2, 3]", r)
		}
	}
	if f := c.SLO[0]; f < 1 {
		return bounds.Errorf("slo", "is %v: %.3g times the time of the fastest configurations, which take %.3g %% longer; want "+
			"factors from 1", c.SLO, f, 100*(1/f-1))
	}
	return nil
}

// Files returns the configuration with what f makes of the paths of its files.
func (c EnvConfig) Files(f func(path string) (string, error)) (any, error) {
	var err error
	if c.File() {
		if c.Workflow, err = f(c.Workflow); err != nil {
			return nil, err
		}
	}
	if c.Data != "" {
		c.Data, err = f(c.Data)
	}
	return &c, err
}

// Unseen returns the configuration with the workflows that follow those of training, where First is 0 and they are
// generated: a policy is evaluated on others than it learned on.
func (c EnvConfig) Unseen() any {
	if c.Workflow == AllGenerated && c.First == 0 {
		c.First = c.Apps
	}
	return &c
}

// File reports whether the workflow is a file's.
func (c *EnvConfig) File() bool {
	return c.Workflow != AllGenerated && c.Workflow != AllTPCH && !strings.HasPrefix(c.Workflow, AllTPCH+"-") &&
		!slices.Contains(presets, c.Workflow)
}

// shelf has the workflows that environments of one configuration have episodes of. It makes each when it is first needed.
type shelf struct {
	config EnvConfig
	own    *App   // that of a file
	tpch   []App  // where the workflow is one or all of these
	says   string // the configuration, and what the workflow's file says
	making func(numbered) (*entry, error)
}

// numbered is the key of an entry: which of the workflows of a configuration.
type numbered struct {
	says string
	i    int
}

// entry is a workflow on the shelf.
type entry struct {
	known, truth *Model
	ahead        *ahead // by what is known
	cheapest     *ahead // as it is

	solving sync.Mutex
	solved  map[float64]float64 // answers of the exact oracle, by SLO
}

// mostEntries is more than the 2,000 workflows of the configurations that come with the program, so that none is made
// twice in a training. Of 3 to 16 steps one takes about 100 kB, with fitted estimates 340 kB.
const mostEntries = 2048

// entries are those that the environments of this process asked for last, which share them: making a workflow takes a
// thousand times as long as a decision.
var entries = cached.NewCache[numbered, *entry](mostEntries)

func newShelf(c EnvConfig, own *App) (*shelf, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if (own != nil) != c.File() {
		return nil, fmt.Errorf("workflow is %s, want a workflow with a file's name, and none with another", c.Workflow)
	}
	var tpch []App
	if strings.HasPrefix(c.Workflow, AllTPCH) && own == nil {
		var err error
		if tpch, err = ReadTPCH(c.Data); err != nil {
			return nil, err
		}
	}
	s := &shelf{config: c, own: own, tpch: tpch, says: state.Settings(c, DefaultEnv())}
	if own != nil { // where a file lies does not matter, what it says does
		c.Workflow = "own"
		s.says = state.Settings(c, DefaultEnv()) + state.Settings(own, App{})
	}
	s.making = s.make
	if c.Workflow == AllGenerated {
		return s, nil
	}
	if c.Workflow == AllTPCH {
		for i := range tpch {
			if err := s.fits(&tpch[i]); err != nil {
				return nil, fmt.Errorf("workflow %s: %w", tpch[i].Name, err)
			}
		}
	}
	_, err := s.entry(0) // errors of the workflow are to show at once
	return s, err
}

// fits says that a workflow has more steps than policies see.
func (s *shelf) fits(a *App) error {
	if n, most := len(a.Workflow.Nodes), s.config.Steps[1]; n > most {
		return fmt.Errorf("it has %d steps, and env.steps has room for %d: a policy sees no more than it was trained "+
			"with; want env.steps=[%d, %d] in its training", n, most, s.config.Steps[0], n)
	}
	return nil
}

// fingerprint tells configurations apart.
func (s *shelf) fingerprint() uint64 {
	h := fnv.New64a()
	h.Write([]byte(s.says))
	return h.Sum64()
}

// most is the largest number of steps that there can be.
func (s *shelf) most() int { return s.config.Steps[1] }

// entry returns the workflow of an episode.
func (s *shelf) entry(seed uint64) (*entry, error) {
	i := 0
	if s.config.Workflow == AllGenerated || s.config.Workflow == AllTPCH {
		i = int(seed % uint64(s.config.Apps))
	}
	return entries.Get(numbered{s.says, i}, s.making)
}

// make works a workflow out.
func (s *shelf) make(at numbered) (*entry, error) {
	number := uint64(s.config.First + at.i)
	app, err := s.app(number)
	if err != nil {
		return nil, err
	}
	m, err := app.compile(func(p *Platform) { s.config.apply(p, number) })
	if err == nil {
		err = s.fits(&app)
	}
	if err == nil {
		err = s.config.setCluster(m)
	}
	if err != nil {
		return nil, fmt.Errorf("workflow %s: %w", app.Name, err)
	}
	n := &entry{known: m, truth: m, cheapest: m.lookAhead()}
	if n.ahead = n.cheapest; s.config.Estimates == FittedLaws {
		if n.known, err = m.Fitted(number); err != nil {
			return nil, err
		}
		n.ahead = n.known.lookAhead()
	}
	return n, nil
}

// app returns the description of a workflow.
func (s *shelf) app(number uint64) (App, error) {
	c := &s.config
	a, err := App{}, error(nil)
	switch {
	case c.Workflow == AllGenerated:
		a, err = Generate(number, Generated{Steps: c.Steps, Shape: c.Shape, Platform: AWS})
	case c.Workflow == AllTPCH:
		a = s.tpch[number%uint64(len(s.tpch))]
	case s.tpch != nil:
		a, err = TPCH(s.tpch, c.Workflow)
	case s.own != nil:
		a = *s.own
	default:
		a, err = Preset(c.Workflow)
	}
	if c.Platform != "" {
		a.Platform = c.Platform
	}
	return a, err
}

// apply changes a platform as the configuration says of a workflow by its number.
func (c *EnvConfig) apply(p *Platform, number uint64) {
	if p.Workers > 0 && c.Workers[0] > 0 {
		p.Workers = c.Workers[0] + rng.New(number, "steps/workers").IntN(c.Workers[1]-c.Workers[0]+1)
	}
	if c.Mapping != "" {
		p.Formula = c.Mapping == ByFormula
	}
	if c.Billed != "" {
		p.BillMapping = c.Billed == WholeStep
	}
}

// setCluster sees to what a configuration says of a cluster.
func (c *EnvConfig) setCluster(m *Model) error {
	asked := []bool{c.Contention == Seen, c.Workers[0] > 0, c.Base == OnCluster}
	if k := slices.Index(asked, true); k >= 0 && !m.SharesCluster() {
		return bounds.Errorf([]string{"contention", "workers", "base"}[k], "is of a cluster, but the platform of %s has no "+
			"workers: want platform: knative", m.App.Name)
	}
	if c.Base == OnCluster {
		m.Fastest = m.fastestShared()
	}
	return nil
}

// oracle returns the price that a request's is compared with.
func (s *shelf) oracle(n *entry, slo float64) (float64, error) {
	if s.config.Oracle == Relaxed {
		return n.cheapest.relaxed(slo), nil
	}
	n.solving.Lock()
	defer n.solving.Unlock()
	if usd, ok := n.solved[slo]; ok {
		return usd, nil
	}
	usd, err := n.least(slo)
	if err != nil {
		return 0, err
	}
	if n.solved == nil || len(n.solved) >= mostSolved {
		n.solved = map[float64]float64{}
	}
	n.solved[slo] = usd
	return usd, nil
}

// mostSolved is how many answers of the exact oracle a workflow keeps.
const mostSolved = 4096

// least returns the least price at which a request keeps an SLO at P90; that of the fastest options where none does.
func (n *entry) least(slo float64) (float64, error) {
	p := frontier.Problem{Flow: n.truth.Flow}
	var quickest float64
	for s, options := range n.truth.Options {
		var list []frontier.Option
		for _, o := range options {
			list = append(list, frontier.Option{Seconds: o.P90, USD: o.USD})
		}
		p.Options = append(p.Options, list)
		quickest += float64(n.truth.Runs[s] * options[0].USD)
	}
	answer, err := frontier.Cheapest(context.Background(), p, slo)
	if errors.Is(err, frontier.ErrNone) {
		return quickest, nil
	}
	return answer.USD, err
}

// drawn returns a value of a range, evenly in its logarithm.
func drawn(r []float64, k rng.Key) float64 {
	if r[0] == r[1] {
		return r[0]
	}
	return min(max(float64(r[0]*portable.Pow(r[1]/r[0], k.Float64())), r[0]), r[1])
}

// unitOf is the price of a workflow that rewards are in, positive also where nothing is to decide.
func unitOf(m *Model) float64 { return math.Max(m.Unit, 1e-12) }
