package classic

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng/portable"
)

// CartPoleConfig configures [CartPole]. Its physics have no switches: they are what v1 means.
type CartPoleConfig struct {
	// MaxSteps is the length at which an episode is cut; Gymnasium's v1 has 500, v0 had 200.
	MaxSteps int `yaml:"max_steps" json:"max_steps" range:"[1,2147483647]"`
}

// DefaultCartPole returns CartPole-v1.
func DefaultCartPole() CartPoleConfig { return CartPoleConfig{MaxSteps: 500} }

// Validate names the first field that is wrong.
func (c *CartPoleConfig) Validate() error { return bounds.Check(c) }

// CartPole is the cart with a pole of Barto, Sutton and Anderson (IEEE Transactions on Systems, Man and Cybernetics 13,
// 1983) as Gymnasium's CartPole-v1 has it: its constants, its order of operations in float64, explicit Euler steps of
// 0.02 s, a reward of 1 for every step.
//
// State: position (m), velocity (m/s), angle (rad), angular velocity (rad/s), seen as float32. Actions: push left (0)
// or right (1). Terminated beyond 2.4 m or 12°, truncated after 500 steps. Reset draws all four from ±0.05; the options
// low and high (float64) move these bounds.
type CartPole struct{ world }

// Gymnasium's constants; length is half the pole's.
const (
	gravity    = 9.8
	massCart   = 1.0
	massPole   = 0.1
	poleLength = 0.5
	force      = 10.0
	tau        = 0.02
	farthest   = 2.4

	totalMass  = massPole + massCart
	poleMoment = massPole * poleLength
)

// steepest is 12°, rounded after each operation as Python rounds; a constant of Go, rounded once, is another number.
var steepest = 24 * pi() / 360

func pi() float64 { return math.Pi }

// NewCartPole returns the environment, which wants Reset.
func NewCartPole(c CartPoleConfig) (*CartPole, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	inf := float32(math.Inf(1))
	high := []float32{2 * farthest, inf, float32(2 * steepest), inf}
	low := make([]float32, len(high))
	for i, h := range high {
		low[i] = -h
	}
	return &CartPole{newWorld(4, &envs.Spec{
		ID: "stoker/CartPole-v1", Doc: "Push a cart left or right, 50 times a second, so that the pole on it stays upright.",
		Kinds: []envs.Kind{{
			Name: "cart", Agents: 1, Observation: envs.Box{Low: low, High: high}, Action: envs.Discrete{N: 2},
			Features: []string{"position", "velocity", "angle", "angular velocity"}, Actions: []string{"direction"},
			FeatureUnits: []string{"m", "m/s", "rad", "rad/s"}, ActionUnits: []string{""},
			FeatureDocs: []string{"of the cart, 0 in the middle of the track; the episode ends beyond ±2.4", "of the cart",
				"of the pole, 0 upright; the episode ends beyond ±0.21", "of the pole"},
			ActionDocs: []string{"0 pushes to the left, 1 to the right, with 10 N"},
		}},
		Step: envs.Timing{Unit: "step", Fixed: 20_000}, MaxSteps: c.MaxSteps,
		Levels: []envs.Level{{Of: envs.ReturnLevel, Value: float64(c.MaxSteps), Doc: "upright to the end,"}},
	})}, nil
}

// Reset implements [envs.Env].
func (c *CartPole) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	lo, hi := -0.05, 0.05
	if len(options) > 0 {
		var err error
		if lo, hi, err = c.bounds(options, lo, hi); err != nil {
			return err
		}
	}
	c.begin(seed)
	for i := range c.x {
		c.x[i] = c.uniform("start", uint64(i), 0, lo, hi)
	}
	c.see(obs)
	return nil
}

// bounds reads the options low and high.
func (c *CartPole) bounds(options envs.Options, lo, hi float64) (low, high float64, err error) {
	if err := c.refuse(options, "low", "high"); err != nil {
		return 0, 0, err
	}
	for name, p := range map[string]*float64{"low": &lo, "high": &hi} {
		v, ok := options[name]
		if !ok {
			continue
		}
		if *p, ok = v.(float64); !ok || math.IsNaN(*p) || math.IsInf(*p, 0) {
			return 0, 0, fmt.Errorf("%s: option %s is %v, want a finite float64", c.spec.ID, name, v)
		}
	}
	if lo > hi {
		return 0, 0, fmt.Errorf("%s: options low %g and high %g, want low at most high", c.spec.ID, lo, hi)
	}
	return lo, hi, nil
}

func (c *CartPole) see(obs *envs.Observation) {
	k := &obs.Kinds[0]
	for i, x := range c.x {
		k.Values[i] = float32(x)
	}
	k.Active[0], k.Mask[0], k.Mask[1] = true, true, true
}

// Step implements [envs.Env].
func (c *CartPole) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if err := c.admit(act); err != nil {
		return err
	}
	push := -force
	if act.Kinds[0][0] == 1 {
		push = force
	}
	x, v, theta, omega := c.x[0], c.x[1], c.x[2], c.x[3]
	sin, cos := portable.Sincos(theta)
	// The equations are Florian's (Correct equations for the dynamics of the cart-pole system, 2007) without friction.
	temp := (push + float64(float64(poleMoment*float64(omega*omega))*sin)) / totalMass
	swing := (float64(gravity*sin) - float64(cos*temp)) /
		float64(poleLength*(4.0/3.0-float64(massPole*float64(cos*cos))/totalMass))
	pull := temp - float64(float64(poleMoment*swing)*cos)/totalMass
	x += float64(tau * v)
	v += float64(tau * pull)
	theta += float64(tau * omega)
	omega += float64(tau * swing)
	c.x[0], c.x[1], c.x[2], c.x[3] = x, v, theta, omega
	out.Rewards[0][0] = 1
	c.finish(out, x < -farthest || x > farthest || theta < -steepest || theta > steepest)
	c.see(obs)
	return nil
}
