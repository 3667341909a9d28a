package classic

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng/portable"
)

// PendulumConfig configures [Pendulum]. Its physics have no switches: they are what v1 means.
type PendulumConfig struct {
	// MaxSteps is the length at which an episode is cut; Gymnasium's v1 has 200.
	MaxSteps int `yaml:"max_steps" json:"max_steps" range:"[1,2147483647]"`
}

// DefaultPendulum returns Pendulum-v1.
func DefaultPendulum() PendulumConfig { return PendulumConfig{MaxSteps: 200} }

// Validate names the first field that is wrong.
func (c *PendulumConfig) Validate() error { return bounds.Check(c) }

// Pendulum is Gymnasium's Pendulum-v1: swing a rod up with a torque too weak to lift it at once, and hold it there. Its
// constants, its order of operations, semi-implicit Euler steps of 0.05 s; what Gymnasium computes in float32, because
// the torque is one, is rounded to float32 here.
//
// State: the angle from upright (rad, not wrapped) and the angular velocity (rad/s), seen as cosine, sine and velocity in
// float32. Action: a torque of ±2 N·m. Reward: −(θ² + 0.1·ω² + 0.001·u²) of the state before the step, θ within ±π. Never
// terminated, truncated after 200 steps. Reset draws the angle from ±π and the velocity from ±1; the options x_init and
// y_init (float64) change these bounds.
type Pendulum struct{ world }

// Gymnasium's constants; the rod's mass and length are 1.
const (
	pendulumGravity = 10.0
	pendulumStep    = 0.05
	fastest         = 8.0
	strongest       = 2.0
)

// NewPendulum returns the environment, which wants Reset.
func NewPendulum(c PendulumConfig) (*Pendulum, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	high := []float32{1, 1, fastest}
	return &Pendulum{newWorld(2, &envs.Spec{
		ID: "stoker/Pendulum-v1", Doc: "Turn a rod by a torque, 20 times a second, so that it swings up and stays upright.",
		Kinds: []envs.Kind{{
			Name: "pendulum", Agents: 1, Observation: envs.Box{Low: []float32{-1, -1, -fastest}, High: high},
			Action:   envs.NewBox(1, -strongest, strongest),
			Features: []string{"cos angle", "sin angle", "angular velocity"}, Actions: []string{"torque"},
			FeatureUnits: []string{"", "", "rad/s"}, ActionUnits: []string{"N·m"},
			FeatureDocs: []string{"1 upright, −1 hanging", "1 a quarter turn from upright, counter-clockwise",
				"positive counter-clockwise, within ±8"},
			ActionDocs: []string{"positive counter-clockwise; ±2 cannot lift the rod at once"},
		}},
		Step: envs.Timing{Unit: "step", Fixed: 50_000}, MaxSteps: c.MaxSteps,
	})}, nil
}

// Reset implements [envs.Env].
func (p *Pendulum) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	high := [...]float64{math.Pi, 1}
	if len(options) > 0 {
		var err error
		if high, err = p.bounds(options, high); err != nil {
			return err
		}
	}
	p.begin(seed)
	for i := range p.x {
		p.x[i] = p.uniform("start", uint64(i), 0, -high[i], high[i])
	}
	p.see(obs)
	return nil
}

// bounds reads the options x_init and y_init.
func (p *Pendulum) bounds(options envs.Options, high [2]float64) ([2]float64, error) {
	if err := p.refuse(options, "x_init", "y_init"); err != nil {
		return high, err
	}
	for i, name := range [...]string{"x_init", "y_init"} {
		v, ok := options[name]
		if !ok {
			continue
		}
		if high[i], ok = v.(float64); !ok || !(high[i] >= 0 && high[i] <= 1e6) {
			return high, fmt.Errorf("%s: option %s is %v, want a float64 from 0 to 1e6", p.spec.ID, name, v)
		}
	}
	return high, nil
}

func (p *Pendulum) see(obs *envs.Observation) {
	k := &obs.Kinds[0]
	sin, cos := portable.Sincos(p.x[0])
	k.Values[0], k.Values[1], k.Values[2] = float32(cos), float32(sin), float32(p.x[1])
	k.Active[0] = true
}

// Step implements [envs.Env].
func (p *Pendulum) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if err := p.admit(act); err != nil {
		return err
	}
	u, theta, omega := act.Kinds[0][0], p.x[0], p.x[1]
	effort, push := float32(0.001)*float32(u*u), 3*u // in float32, as NumPy multiplies
	angle := wrapped(theta)
	cost := float64(angle*angle) + float64(0.1*float64(omega*omega)) + float64(effort)
	sin := portable.Sin(theta)
	omega += float64((float64(3*pendulumGravity/2*sin) + float64(push)) * pendulumStep)
	omega = min(max(omega, -fastest), fastest)
	p.x[0], p.x[1] = theta+float64(omega*pendulumStep), omega
	out.Rewards[0][0] = float32(-cost)
	p.finish(out, false)
	p.see(obs)
	return nil
}

// wrapped is an angle within [−π, π), as Python's remainder computes it.
func wrapped(x float64) float64 {
	r := math.Mod(x+pi(), 2*pi())
	if r < 0 {
		r += 2 * pi()
	}
	return r - pi()
}
