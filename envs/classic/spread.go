package classic

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng/portable"
)

// Physics and scales of [SpreadConfig].
const (
	// Legacy moves agents with their new velocity, as OpenAI's particle environments do and PettingZoo did; Current
	// with their old one, as PettingZoo (since its issue 962) and MPE2 do.
	Legacy  = "legacy"
	Current = "current"
	// OpenAI gives every agent the sum of all agents' rewards, each agent's collision with itself counted; PettingZoo
	// (v3, MPE2) gives each a share of the common reward and of its own collisions with others.
	OpenAI     = "openai"
	PettingZoo = "pettingzoo"
)

// SpreadConfig configures [Spread].
type SpreadConfig struct {
	// Agents is the number of agents, and of landmarks.
	Agents int `yaml:"agents" json:"agents" range:"[1,10000]"`
	// Steps is the length of an episode.
	Steps int `yaml:"steps" json:"steps" range:"[1,2147483647]"`
	// Physics is legacy or current.
	Physics string `yaml:"physics" json:"physics" oneof:"legacy|current"`
	// Reward is openai or pettingzoo. Returns of the two are on different scales: say which.
	Reward string `yaml:"reward" json:"reward" oneof:"openai|pettingzoo"`
	// LocalRatio is the weight of an agent's own collisions under pettingzoo, in [0, 1].
	LocalRatio float64 `yaml:"local_ratio" json:"local_ratio" range:"[0,1]"`
}

// DefaultSpread returns three agents for 25 steps on OpenAI's scale per agent, on which random actions return about
// −231.
func DefaultSpread() SpreadConfig {
	return SpreadConfig{Agents: 3, Steps: 25, Physics: Legacy, Reward: OpenAI, LocalRatio: 0.5}
}

// Validate names the first field that is wrong.
func (c *SpreadConfig) Validate() error { return bounds.Check(c) }

// Spread is simple_spread of the multi-agent particle environments (Lowe et al., 2017): agents are to cover all
// landmarks without bumping into one another.
//
// An agent sees its velocity and position, every landmark and every other agent relative to itself, and two zeros for
// each other agent, who is silent. It pushes nowhere (0), left, right, down or up (1 to 4). Episodes are truncated.
type Spread struct {
	world
	c SpreadConfig
	// Parts of x, [agents, 2] each.
	pos, vel, mark []float64
	push           []float64 // of the step at hand
}

// The particle world's constants. A contact's force is a softened penetration: contactForce·k·ln(1 + e^((2·radius −
// distance)/k)).
const (
	interval     = 0.1
	damping      = 0.25
	sensitivity  = 5.0
	agentSize    = 0.15
	contactForce = 100.0
	contactEdge  = 1e-3
	occupied     = 0.1
)

// NewSpread returns the environment, which wants Reset.
func NewSpread(c SpreadConfig) (*Spread, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	n := c.Agents
	sees := []envs.Component{
		{Name: "velocity x", Unit: "length/s", Doc: "of the agent"}, {Name: "velocity y", Unit: "length/s", Doc: "of the agent"},
		{Name: "x", Unit: "length", Doc: "of the agent"}, {Name: "y", Unit: "length", Doc: "of the agent"},
	}
	for _, f := range []struct {
		form, unit, doc string
		count           int
	}{
		{"landmark %d %s", "length", "where the landmark is, seen from the agent", n},
		{"other %d %s", "length", "where the other agent is, seen from this one", n - 1},
		{"word of other %d %s", "", "always 0: agents are silent", n - 1},
	} {
		for i := range f.count {
			for _, axis := range []string{"x", "y"} {
				sees = append(sees, envs.Component{Name: fmt.Sprintf(f.form, i, axis), Unit: f.unit, Doc: f.doc})
			}
		}
	}
	features, units, docs := envs.Columns(sees)
	s := &Spread{c: c, push: make([]float64, 2*n), world: newWorld(6*n, &envs.Spec{
		ID: "stoker/SimpleSpread-v1", Doc: "Agents cover landmarks without bumping into one another.",
		Kinds: []envs.Kind{{
			Name: "agent", Agents: n, Observation: envs.Unbounded(len(features)), Action: envs.Discrete{N: 5},
			Features: features, FeatureUnits: units, FeatureDocs: docs, Actions: []string{"direction"}, ActionUnits: []string{""},
			ActionDocs: []string{"0 pushes nowhere, 1 left, 2 right, 3 down, 4 up"},
		}},
		Step: envs.Timing{Unit: "step", Fixed: 100_000}, MaxSteps: c.Steps,
		Info: []envs.Quantity{
			{Name: "distance", Unit: "length", Better: envs.Lower, Reduce: envs.Mean, Bounds: envs.AtLeast(0),
				Doc: "sum over landmarks of the nearest agent's distance"},
			{Name: "collisions", Unit: "pairs", Better: envs.Lower, Reduce: envs.Sum, Bounds: envs.AtLeast(0),
				Doc: "pairs of agents that overlap"},
			{Name: "occupied", Unit: "landmarks", Better: envs.Higher, Reduce: envs.Last, Bounds: envs.AtLeast(0),
				Doc: "landmarks with an agent within 0.1"},
		},
	})}
	s.pos, s.vel, s.mark = s.x[:2*n], s.x[2*n:4*n], s.x[4*n:]
	return s, nil
}

// Reset implements [envs.Env].
func (s *Spread) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	if err := s.refuse(options); err != nil {
		return err
	}
	s.begin(seed)
	clear(s.vel)
	for i := range s.pos {
		agent, axis := uint64(i/2), uint64(i%2)
		s.pos[i] = s.uniform("agent", agent, axis, -1, 1)
		s.mark[i] = s.uniform("landmark", agent, axis, -1, 1)
	}
	s.see(obs)
	return nil
}

// Step implements [envs.Env].
func (s *Spread) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if err := s.admit(act); err != nil {
		return err
	}
	clear(s.push)
	for i, a := range act.Kinds[0] {
		switch a {
		case 1:
			s.push[2*i] = -sensitivity
		case 2:
			s.push[2*i] = sensitivity
		case 3:
			s.push[2*i+1] = -sensitivity
		case 4:
			s.push[2*i+1] = sensitivity
		}
	}
	s.contacts()
	for i := range s.pos {
		if s.c.Physics == Current {
			s.pos[i] += float64(s.vel[i] * interval)
		}
		s.vel[i] = float64(s.vel[i]*(1-damping)) + float64(s.push[i]*interval)
		if s.c.Physics == Legacy {
			s.pos[i] += float64(s.vel[i] * interval)
		}
	}
	s.judge(out)
	s.finish(out, false)
	s.see(obs)
	return nil
}

// contacts adds the forces between agents to their pushes.
func (s *Spread) contacts() {
	for i := range s.c.Agents {
		for j := i + 1; j < s.c.Agents; j++ {
			dx, dy := s.pos[2*i]-s.pos[2*j], s.pos[2*i+1]-s.pos[2*j+1]
			dist := math.Sqrt(float64(dx*dx) + float64(dy*dy))
			z := -(dist - 2*agentSize) / contactEdge
			// Below e^-50 the force vanishes beside any other; agents at one point have no direction to part in.
			if z < -50 || dist == 0 {
				continue
			}
			softplus := max(z, 0) + portable.Log1p(portable.Exp(-math.Abs(z)))
			f := float64(softplus * contactEdge)
			fx, fy := float64(float64(contactForce*dx)/dist*f), float64(float64(contactForce*dy)/dist*f)
			s.push[2*i] = fx + s.push[2*i]
			s.push[2*i+1] = fy + s.push[2*i+1]
			s.push[2*j] = -fx + s.push[2*j]
			s.push[2*j+1] = -fy + s.push[2*j+1]
		}
	}
}

// judge writes rewards and infos.
func (s *Spread) judge(out *envs.Outcome) {
	n := s.c.Agents
	var distance, held float64
	for l := range n {
		nearest := math.Inf(1)
		for i := range n {
			nearest = min(nearest, apart(s.pos, i, s.mark, l))
		}
		distance += nearest
		if nearest < occupied {
			held++
		}
	}
	rewards, pairs := out.Rewards[0], 0
	clear(rewards)
	for i := range n {
		for j := i + 1; j < n; j++ {
			if apart(s.pos, i, s.pos, j) < 2*agentSize {
				pairs++
				rewards[i]--
				rewards[j]--
			}
		}
	}
	// OpenAI: Σ over agents of (−distance − collisions with all, itself included).
	shared := float32(-float64(float64(n)*distance) - float64(n+2*pairs))
	for i, own := range rewards {
		rewards[i] = shared
		if s.c.Reward == PettingZoo {
			rewards[i] = float32(float64(-distance*(1-s.c.LocalRatio)) + float64(float64(own)*s.c.LocalRatio))
		}
	}
	out.Info[0], out.Info[1], out.Info[2] = distance, float64(pairs), held
}

func apart(a []float64, i int, b []float64, j int) float64 {
	dx, dy := a[2*i]-b[2*j], a[2*i+1]-b[2*j+1]
	return math.Sqrt(float64(dx*dx) + float64(dy*dy))
}

func (s *Spread) see(obs *envs.Observation) {
	k, n := &obs.Kinds[0], s.c.Agents
	row := k.Values
	for i := range n {
		k.Active[i] = true
		x, y := s.pos[2*i], s.pos[2*i+1]
		row[0], row[1], row[2], row[3] = float32(s.vel[2*i]), float32(s.vel[2*i+1]), float32(x), float32(y)
		row = row[4:]
		for l := range n {
			row[2*l], row[2*l+1] = float32(s.mark[2*l]-x), float32(s.mark[2*l+1]-y)
		}
		row = row[2*n:]
		for j := range n {
			if j != i {
				row[0], row[1] = float32(s.pos[2*j]-x), float32(s.pos[2*j+1]-y)
				row = row[2:]
			}
		}
		clear(row[:2*(n-1)])
		row = row[2*(n-1):]
	}
	for i := range k.Mask {
		k.Mask[i] = true
	}
}
