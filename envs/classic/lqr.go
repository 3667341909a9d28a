package classic

import (
	"math"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
)

// LQRID names [LQR].
const LQRID = "stoker/LQR-v1"

// LQRConfig describes a linear system with one state and one control, x' = a·x + b·u + noise·w, w standard normal, and
// its cost q·x² + r·u² per step.
type LQRConfig struct {
	// A and B are the system's coefficients.
	A float64 `yaml:"a" json:"a" range:"[-2,2]"`
	B float64 `yaml:"b" json:"b" range:"[-1e3,1e3]"`
	// Q and R are the costs of state and control.
	Q float64 `yaml:"q" json:"q" range:"[0,1e6]"`
	R float64 `yaml:"r" json:"r" range:"[1e-9,1e6]"`
	// Noise is the deviation of the disturbance, Start that of the first state.
	Noise float64 `yaml:"noise" json:"noise" range:"[0,1e3]"`
	Start float64 `yaml:"start" json:"start" range:"[0,1e3]"`
	// Bound is the largest control in either direction. The closed forms know no bound: keep it beyond what the best
	// gain asks for.
	Bound float64 `yaml:"bound" json:"bound" range:"[1e-9,1e6]"`
	// Steps is the length of an episode.
	Steps int `yaml:"steps" json:"steps" range:"[1,100000]"`
}

// DefaultLQR returns an integrator with moderate noise. Its best gain, 0.62, practically never asks for more than
// Bound.
func DefaultLQR() LQRConfig {
	return LQRConfig{A: 1, B: 1, Q: 1, R: 1, Noise: 0.3, Start: 0.5, Bound: 2, Steps: 50}
}

// Validate names the first field that is wrong.
func (c *LQRConfig) Validate() error {
	if c.B == 0 {
		return bounds.Errorf("b", "is 0, want a system that can be controlled")
	}
	return bounds.Check(c)
}

// Riccati solves p = q + γa²p − (γabp)²/(r + γb²p), the discrete algebraic Riccati equation with a discount γ in (0,
// 1]. The best control is −gain·x, and p·x² the discounted cost of an undisturbed start at x; undiscounted, p·noise² is
// the mean cost per step.
func (c *LQRConfig) Riccati(gamma float64) (p, gain float64) {
	// A discount acts as a system that shrinks by √γ.
	a2, ab, b2 := float64(gamma*c.A*c.A), float64(gamma*c.A*c.B), float64(gamma*c.B*c.B)
	// With one state the equation is quadratic in p: b²p² + (r − a²r − b²q)·p − q·r = 0.
	half := (c.R - float64(a2*c.R) - float64(b2*c.Q)) / (2 * b2)
	p = math.Sqrt(float64(half*half)+float64(c.Q*c.R/b2)) - half
	return p, ab * p / (c.R + float64(b2*p))
}

// Cost is the expected cost of an episode under the control −gain·x, undiscounted and without regard to Bound.
func (c *LQRConfig) Cost(gain float64) float64 {
	closed := c.A - float64(c.B*gain)
	variance, cost := c.Start*c.Start, 0.0
	for range c.Steps {
		cost += float64((c.Q + float64(c.R*gain*gain)) * variance)
		variance = float64(closed*closed*variance) + float64(c.Noise*c.Noise)
	}
	return cost
}

// LQR is the linear-quadratic regulator of its configuration. The reward of a step is minus its cost.
type LQR struct {
	world
	c LQRConfig
}

// NewLQR returns the environment, which wants Reset.
func NewLQR(c LQRConfig) (*LQR, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	b := float32(c.Bound)
	_, gain := c.Riccati(1)
	best := c.Cost(gain)
	return &LQR{c: c, world: newWorld(1, &envs.Spec{
		ID: LQRID, Doc: "Steer a disturbed linear system to zero at the least quadratic cost.",
		Kinds: []envs.Kind{{
			Name: "controller", Agents: 1, Observation: envs.Unbounded(1), Action: envs.NewBox(1, -b, b),
			Features: []string{"state"}, Actions: []string{"control"}, FeatureUnits: []string{""}, ActionUnits: []string{""},
			FeatureDocs: []string{"x, which the next step takes to a·x + b·u + noise"},
			ActionDocs:  []string{"u, within ±bound"},
		}},
		Step: envs.Timing{Unit: "step"}, MaxSteps: c.Steps,
		Info: []envs.Quantity{{Name: "cost", Unit: "cost", Better: envs.Lower, Reduce: envs.Sum,
			Bounds: envs.AtLeast(0), Doc: "q·x² + r·u²"}},
		Levels: []envs.Level{
			{Of: "cost", Value: best, Doc: "best gain (Riccati), on average"},
			{Of: envs.ReturnLevel, Value: -best, Doc: "best gain (Riccati), on average"},
		},
	})}, nil
}

// Config returns the system's configuration.
func (l *LQR) Config() LQRConfig { return l.c }

// Reset implements [envs.Env].
func (l *LQR) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	if err := l.refuse(options); err != nil {
		return err
	}
	l.begin(seed)
	l.x[0] = float64(l.c.Start * l.normal("start", 0, 0))
	l.see(obs)
	return nil
}

func (l *LQR) see(obs *envs.Observation) {
	obs.Kinds[0].Values[0], obs.Kinds[0].Active[0] = float32(l.x[0]), true
}

// Step implements [envs.Env].
func (l *LQR) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if err := l.admit(act); err != nil {
		return err
	}
	x, u := l.x[0], float64(act.Kinds[0][0])
	cost := float64(l.c.Q*float64(x*x)) + float64(l.c.R*float64(u*u))
	w := l.normal("disturbance", uint64(l.steps), 0)
	l.x[0] = float64(l.c.A*x) + float64(l.c.B*u) + float64(l.c.Noise*w)
	out.Rewards[0][0], out.Info[0] = float32(-cost), cost
	l.finish(out, false)
	l.see(obs)
	return nil
}
