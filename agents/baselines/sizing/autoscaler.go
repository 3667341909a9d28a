package sizing

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/agents/baselines/internal/kept"
	"github.com/stoker-rl/stoker/agents/crossentropy"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng/portable"
)

// AutoscalerConfig configures [Autoscaler]. The defaults are those of Kubernetes' HorizontalPodAutoscaler
// (autoscaling/v2), and of Knative for concurrency.
type AutoscalerConfig struct {
	// File is one that stoker search autoscaler wrote; it takes the place of all other keys.
	File string `yaml:"file,omitempty" json:"file,omitempty"`
	// Tuned takes base and functions from numbers that come with Stoker for the workflow, found by search for the cpu target
	// that is nearest to CPU.
	Tuned bool `yaml:"tuned,omitempty" json:"tuned,omitempty"`
	// Base is the first configuration of every function; CPU, memory and concurrency limits stay at it. The default is
	// the middle of each range.
	Base []float64 `yaml:"base" json:"base" range:"[0,1]"`
	// CPU is the target for an instance's used CPU as a share of its limit; 0 turns this target off.
	CPU float64 `yaml:"cpu" json:"cpu" range:"[0,1]"`
	// Concurrency is the target for the requests inside an instance as a share of its concurrency limit (Knative's
	// target utilisation); 0 turns this target off. It needs the extended or the described features.
	Concurrency float64 `yaml:"concurrency" json:"concurrency" range:"[0,1]"`
	// Tolerance is how far the ratio of metric to target may be from 1 without any change.
	Tolerance float64 `yaml:"tolerance" json:"tolerance" range:"[0,1]"`
	// Stabilization is the time in seconds over which the highest recommendation counts before instances are removed.
	Stabilization float64 `yaml:"stabilization" json:"stabilization" range:"[0,86400]"`
	// Functions gives functions a base of their own; the others have Base.
	Functions []FunctionBase `yaml:"functions,omitempty" json:"functions,omitempty"`
}

// FunctionBase is the first configuration of one function.
type FunctionBase struct {
	// Function is its name in the workflow.
	Function string `yaml:"function" json:"function"`
	// Base is as [AutoscalerConfig.Base].
	Base []float64 `yaml:"base" json:"base" range:"[0,1]"`
}

// DefaultAutoscaler returns Kubernetes' defaults: 80 % CPU, tolerance 0.1, 300 s before scaling down. Scaling up is not
// limited: the default policy's 4 pods every 15 s reach the largest number of replicas within one window.
func DefaultAutoscaler() AutoscalerConfig {
	return AutoscalerConfig{Base: middle(), CPU: 0.8, Concurrency: 0.7, Tolerance: 0.1, Stabilization: 300}
}

// Validate reports the first wrong number.
func (c *AutoscalerConfig) Validate() error {
	if err := bounds.Check(c); err != nil {
		return err
	}
	if c.CPU == 0 && c.Concurrency == 0 {
		return bounds.Errorf("cpu", "and concurrency are 0, want a target for one of them at least")
	}
	if c.Tuned && c.CPU == 0 {
		return bounds.Errorf("tuned", "is true where cpu is 0, want a cpu target: the numbers were searched for one")
	}
	for i := range c.Functions {
		if err := checkShares(fmt.Sprintf("functions[%d].base", i), c.Functions[i].Base); err != nil {
			return err
		}
	}
	return checkShares("base", c.Base)
}

// Autoscaler changes the number of replicas of each function separately, so that its metrics return to their targets:
// desired = ⌈replicas · metric/target⌉ where the ratio leaves the tolerance; the largest over the metrics; and at least
// the largest desired number within the stabilisation time. CPU, memory and concurrency limits stay.
type Autoscaler struct {
	kept.Policy
	world
	config       AutoscalerConfig
	bases        []sizing.Resources // of each function
	used, inside int                // features; with the described ones used is a share and inside a logarithm of one
	shares       bool
	history      []int32
	at           int // the next index in every function's history
	windows      int
	started      bool
}

// NewAutoscaler returns a policy for environments such as env.
func NewAutoscaler(c AutoscalerConfig, env envs.Env) (*Autoscaler, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.File != "" {
		var err error
		if c, err = crossentropy.Read[AutoscalerConfig]("autoscaler", c.File); err != nil {
			return nil, err
		}
	}
	p := &Autoscaler{config: c}
	p.Policy = kept.As("autoscaler", p)
	e, w, err := newWorld("autoscaler", env)
	if err != nil {
		return nil, err
	}
	p.world = w
	if c.Tuned && c.File == "" {
		found, err := shipped[AutoscalerConfig]("autoscaler", c.CPU, e)
		if err != nil {
			return nil, err
		}
		p.config.Base, p.config.Functions = found.Base, found.Functions
	}
	if err := p.setBases(); err != nil {
		return nil, err
	}
	p.used, p.inside = p.feature("cpu used"), p.feature("inside")
	if p.shares = p.used < 0; p.shares {
		p.used, p.inside = p.feature("cpu share"), p.feature("places taken")
	}
	if c.CPU == 0 && p.inside < 0 {
		return nil, errors.New("autoscaler: concurrency is the only target, but the environment shows paper features, " +
			"want extended")
	}
	p.windows = max(1, int(math.Ceil(c.Stabilization/sizing.Window.Seconds())))
	p.history = make([]int32, p.n*p.windows)
	return p, nil
}

// setBases gives every function its base.
func (p *Autoscaler) setBases() error {
	common, err := p.resources("base", p.config.Base)
	if err != nil {
		return err
	}
	p.bases = slices.Repeat([]sizing.Resources{common}, p.n)
	names := p.spec.Kinds[0].Names
	for i, b := range p.config.Functions {
		f := slices.Index(names, b.Function)
		if f < 0 {
			return fmt.Errorf("autoscaler: functions[%d].function is %q, want one of the workflow's: %s", i, b.Function,
				strings.Join(names, ", "))
		}
		if p.bases[f], err = p.resources(fmt.Sprintf("functions[%d].base", i), b.Base); err != nil {
			return err
		}
	}
	return nil
}

// Reset implements [envs.Policy].
func (p *Autoscaler) Reset(uint64) error {
	clear(p.history)
	p.at, p.started = 0, false
	return nil
}

// Act implements [envs.Policy].
func (p *Autoscaler) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	k := p.rng.Components()
	for f := range p.n {
		row := p.seen(obs, f)
		// The first deployment is the base; later the count starts from the present replicas.
		now := p.bases[f]
		if p.started {
			now.Replicas = p.rng.Decode(row[:k]).Replicas
			now.Replicas = p.desired(now, row)
		}
		past := p.history[f*p.windows : (f+1)*p.windows]
		past[p.at] = int32(now.Replicas)
		for _, x := range past {
			now.Replicas = max(now.Replicas, int(x))
		}
		p.rng.Encode(now, p.action(act, f))
	}
	p.at = (p.at + 1) % p.windows
	p.started = true
	return nil
}

// desired is the number of replicas that brings the metrics in a function's observation to their targets.
func (p *Autoscaler) desired(now sizing.Resources, row []float32) int {
	want := 0
	consider := func(ratio float64) {
		n := now.Replicas
		if math.Abs(ratio-1) > p.config.Tolerance {
			n = int(math.Ceil(float64(now.Replicas)*ratio - 1e-9)) // 3.0000000000000004 is 3
		}
		want = max(want, n)
	}
	if p.shares {
		if p.config.CPU > 0 {
			consider(float64(row[p.used]) / p.config.CPU)
		}
		if p.config.Concurrency > 0 {
			consider(portable.Exp(float64(row[p.inside])) / p.config.Concurrency)
		}
		return min(max(want, p.rng.Low.Replicas), p.rng.High.Replicas)
	}
	if p.config.CPU > 0 {
		// The feature is in percent of a core, the limit in millicores.
		consider(float64(row[p.used]) * 10 / float64(now.CPU) / p.config.CPU)
	}
	if p.config.Concurrency > 0 && p.inside >= 0 {
		consider(float64(row[p.inside]) / float64(now.Replicas*now.Concurrency) / p.config.Concurrency)
	}
	return min(max(want, p.rng.Low.Replicas), p.rng.High.Replicas)
}

// State implements [state.Stater].
func (p *Autoscaler) State(c *state.Codec) {
	state.Value(c, &p.started)
	state.Value(c, &p.at)
	state.Fixed(c, p.history)
	if c.Loaded() && (p.at < 0 || p.at >= p.windows) {
		c.Fail(fmt.Errorf("window %d of the history, want 0 to %d", p.at, p.windows-1))
	}
}
