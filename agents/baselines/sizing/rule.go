package sizing

import (
	"embed"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/agents/baselines/internal/kept"
	"github.com/stoker-rl/stoker/agents/crossentropy"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/rng/portable"
)

// RuleConfig configures [Rule]. Without Functions and File it has the numbers that come with Stoker for the workflow.
type RuleConfig struct {
	// File is one that stoker search rule wrote; its numbers take the place of load and functions.
	File string `yaml:"file,omitempty" json:"file,omitempty"`
	// Weight chooses among the numbers that come with Stoker: those found where env.reward.qos, the worth of a kept window,
	// was nearest to it. 0 is the environment's own worth: its dial where it has one, else env.reward.qos.
	Weight float64 `yaml:"weight,omitempty" json:"weight,omitempty" range:"[0,1e6]"`
	// Load is the load at which every function has its base, in requests a second or users.
	Load float64 `yaml:"load,omitempty" json:"load,omitempty" range:"[0,1e9]"`
	// Functions are the numbers of each function of the workflow, in any order.
	Functions []FunctionRule `yaml:"functions,omitempty" json:"functions,omitempty"`
}

// FunctionRule holds the numbers of a function, one for each component: cpu, memory, replicas, concurrency (three where
// concurrency is not decided).
type FunctionRule struct {
	// Function is its name in the workflow.
	Function string `yaml:"function" json:"function"`
	// Base is the configuration at the load of the rule, as shares of the ranges. Beyond 0 to 1 they are cut after the
	// slope is added.
	Base []float64 `yaml:"base" json:"base" range:"[-10,10]"`
	// Slope is added for every factor e of the load.
	Slope []float64 `yaml:"slope" json:"slope" range:"[-10,10]"`
}

// DefaultRule returns the numbers that come with Stoker.
func DefaultRule() RuleConfig { return RuleConfig{} }

// Validate reports the first wrong number.
func (c *RuleConfig) Validate() error {
	if err := bounds.Check(c); err != nil {
		return err
	}
	switch {
	case c.File != "" && len(c.Functions) > 0:
		return bounds.Errorf("functions", "has %d entries beside a file, want one of both", len(c.Functions))
	case len(c.Functions) > 0 && c.Load == 0:
		return bounds.Errorf("load", "is 0, want the load at which functions have their base")
	}
	for i := range c.Functions {
		f := &c.Functions[i]
		key := fmt.Sprintf("functions[%d].", i)
		if err := checkShares(key+"base", f.Base); err != nil {
			return err
		}
		if len(f.Slope) != len(f.Base) {
			return bounds.Errorf(key+"slope", "has %d numbers, want %d as base", len(f.Slope), len(f.Base))
		}
	}
	return nil
}

// Rule sets every component of every function by the last window's load alone:
//
//	share = base + slope · ln(last load / load of the rule), cut to 0 to 1
//
// It is what a few numbers can do that cross-entropy search finds ([RuleSpace]). It has no state.
type Rule struct {
	kept.Policy
	world
	load        float64
	base, slope []float64 // functions × components
	seen        int       // the column of the load
	logarithm   bool      // the load is shown as its logarithm
}

// NewRule returns a policy for environments such as env.
func NewRule(c RuleConfig, env envs.Env) (*Rule, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	e, w, err := newWorld("rule", env)
	if err != nil {
		return nil, err
	}
	from := "rule"
	switch {
	case c.File != "":
		from = c.File
		c, err = crossentropy.Read[RuleConfig]("rule", c.File)
	case len(c.Functions) == 0:
		weight := c.Weight
		if weight == 0 {
			r := e.Config().Reward
			weight = worth(&r)
		}
		c, err = shipped[RuleConfig]("rule", weight, e)
	}
	if err != nil {
		return nil, err
	}
	p := &Rule{world: w, load: c.Load}
	p.Policy = kept.As("rule", p)
	if p.seen = p.feature("load"); p.seen < 0 {
		return nil, fmt.Errorf("%s shows no load", p.spec.ID)
	}
	if units := p.spec.Kinds[0].FeatureUnits; units != nil {
		p.logarithm = strings.HasPrefix(units[p.seen], "ln ")
	}
	if len(c.Functions) == 0 {
		return nil, fmt.Errorf("%s: it has no functions", from)
	}
	return p, p.fill(c.Functions, from)
}

// fill puts the numbers of functions in the order of the workflow.
func (p *Rule) fill(functions []FunctionRule, from string) error {
	names, k := p.spec.Kinds[0].Names, p.rng.Components()
	at := map[string]*FunctionRule{}
	for i := range functions {
		at[functions[i].Function] = &functions[i]
	}
	if len(at) != len(names) || len(functions) != len(names) {
		return fmt.Errorf("%s: it has numbers of %d functions, want one entry for each of the workflow's %d: %s", from,
			len(functions), len(names), strings.Join(names, ", "))
	}
	for _, name := range names {
		f := at[name]
		if f == nil {
			return fmt.Errorf("%s: it has no numbers for function %s, want one entry for each of: %s", from, name,
				strings.Join(names, ", "))
		}
		if len(f.Base) < k {
			return fmt.Errorf("%s: function %s has %d numbers, want %d: cpu, memory, replicas, concurrency", from, name,
				len(f.Base), k)
		}
		p.base, p.slope = append(p.base, f.Base[:k]...), append(p.slope, f.Slope[:k]...)
	}
	return nil
}

// furthest bounds how far a load may be from that of the rule, as a factor: a window without requests is not 0 times as
// heavy.
const furthest = 32

// Act implements [envs.Policy].
func (p *Rule) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	load := float64(p.world.seen(obs, 0)[p.seen])
	if p.logarithm {
		load = portable.Exp(load)
	}
	x := portable.Log(min(max(load/p.load, 1.0/furthest), furthest))
	if math.IsNaN(x) {
		return fmt.Errorf("the load seen is %v", load)
	}
	for i, b := range p.base {
		act.Kinds[0][i] = float32(min(max(b+float64(p.slope[i]*x), 0), 1))
	}
	return nil
}

// worth is what a reward pays for a kept window: its dial where it has one, of a range the middle in ratio.
func worth(r *sizing.Reward) float64 {
	switch len(r.Dial) {
	case 0:
		return r.QoS
	case 1:
		return r.Dial[0]
	}
	return math.Sqrt(r.Dial[0] * r.Dial[1])
}

// components names what is decided, as the spec does.
var components = [...]string{"cpu", "memory", "replicas", "concurrency"}

// RuleSpace is what a search varies in a [Rule]: for each function the base of every component and the slope of
// replicas, and one slope for all functions of each other component; 33 numbers for six functions. It starts from the
// middle of every range, with more replicas at higher loads.
func RuleSpace(_ RuleConfig, env envs.Env) (*crossentropy.Space, error) {
	e, w, err := newWorld("rule", env)
	if err != nil {
		return nil, err
	}
	k, names, load := w.rng.Components(), w.spec.Kinds[0].Names, e.Workload().Mean
	s := &crossentropy.Space{}
	add := func(name string, start, spread, low, high float64) {
		s.Names, s.Start, s.Spread = append(s.Names, name), append(s.Start, start), append(s.Spread, spread)
		s.Low, s.High = append(s.Low, low), append(s.High, high)
	}
	for _, f := range names {
		for _, c := range components[:k] {
			add(f+" "+c, 0.5, 0.25, -0.5, 1.5)
		}
		add(f+" replicas slope", 0.2, 0.2, -1, 1)
	}
	for _, c := range components[:k] {
		if c != "replicas" {
			add(c+" slope", 0, 0.1, -1, 1)
		}
	}
	s.Config = func(x []float64) any {
		c := &RuleConfig{Load: load}
		shared := x[len(names)*(k+1):]
		for i, f := range names {
			own := x[i*(k+1) : (i+1)*(k+1)]
			slope := slices.Insert(slices.Clone(shared), 2, own[k])
			c.Functions = append(c.Functions, FunctionRule{Function: f, Base: slices.Clone(own[:k]), Slope: slope})
		}
		return c
	}
	return s, nil
}

// AutoscalerSpace is what a search varies in an [Autoscaler]: the base of each function, 24 numbers for six functions.
// Targets and times stay as they are configured.
func AutoscalerSpace(c AutoscalerConfig, env envs.Env) (*crossentropy.Space, error) {
	p, err := NewAutoscaler(c, env)
	if err != nil {
		return nil, err
	}
	c = p.config // that of the file, where there is one
	k, names := p.rng.Components(), p.spec.Kinds[0].Names
	s := &crossentropy.Space{}
	row := make([]float32, 4)
	for f, name := range names {
		p.rng.Encode(p.bases[f], row)
		for i, component := range components[:k] {
			s.Names, s.Start, s.Spread = append(s.Names, name+" "+component), append(s.Start, float64(row[i])), append(s.Spread, 0.25)
			s.Low, s.High = append(s.Low, 0), append(s.High, 1)
		}
	}
	s.Config = func(x []float64) any {
		out := c
		out.Functions = nil
		for i, name := range names {
			out.Functions = append(out.Functions, FunctionBase{name, slices.Clone(x[i*k : (i+1)*k])})
		}
		return &out
	}
	return s, nil
}

// numbers are those that stoker search found, named by environment, workflow and what they were searched for:
// rules/v3-parallel-2.json is of a kept window worth 2, bases/v3-parallel-0.4.json of a CPU target of 40 %.
// docs/agents/sizing-baselines.md has the commands.
//
//go:embed rules/*.json bases/*.json
var numbers embed.FS

// folders of numbers by the baseline that they are of.
var folders = map[string]string{"rule": "rules", "autoscaler": "bases"}

// shipped returns a baseline's numbers for an environment's workflow that were searched for what is nearest to want, in
// ratio.
func shipped[C any](baseline string, want float64, e *sizing.Env) (c C, err error) {
	_, version, _ := strings.Cut(e.Spec().ID, "-")
	workflow := e.Config().Workflow
	prefix := version + "-" + workflow + "-"
	names, err := fs.Glob(numbers, folders[baseline]+"/*.json")
	if err != nil {
		return c, err
	}
	best, off := "", math.Inf(1)
	for _, name := range names {
		text, ok := strings.CutPrefix(strings.TrimSuffix(path.Base(name), ".json"), prefix)
		x, err := strconv.ParseFloat(text, 64)
		if !ok || err != nil {
			continue
		}
		if d := math.Abs(math.Log(x / max(want, 1e-9))); d < off {
			best, off = name, d
		}
	}
	if best == "" || e.Closed() {
		load := "this workflow"
		if e.Closed() {
			load = "closed-loop users"
		}
		return c, fmt.Errorf("no numbers come with %s (%s, %s); find some with: stoker search %s CONFIG, and name the file: "+
			"{name: %s, file: FILE}", load, e.Spec().ID, workflow, baseline, baseline)
	}
	b, err := numbers.ReadFile(best)
	if err != nil {
		return c, err
	}
	return crossentropy.Parse[C](baseline, best, b)
}
