package eval

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// gain is the policy u = −k·x on the LQR, with noise where it may draw.
type gain struct {
	k, noise float64
	draws    *rng.Stream
	// each, where set, is called before every action.
	each func(step int) error
	step int
}

func (g *gain) Name() string { return "gain" }

func (g *gain) Reset(seed uint64) error {
	g.draws, g.step = rng.NewStream(seed, "gain"), 0
	return nil
}

func (g *gain) Act(obs *envs.Observation, act *envs.Action, deterministic bool) error {
	if g.each != nil {
		if err := g.each(g.step); err != nil {
			return err
		}
	}
	g.step++
	u := -g.k * float64(obs.Kinds[0].Values[0])
	if !deterministic {
		u += g.noise * g.draws.Norm()
	}
	act.Kinds[0][0] = float32(min(max(u, -2), 2))
	return nil
}

func (g *gain) CopyFrom(envs.Policy) error            { return errors.New("not needed here") }
func (g *gain) AppendBinary(b []byte) ([]byte, error) { return b, nil }
func (g *gain) UnmarshalBinary([]byte) error          { return nil }

// tuner tries gains and keeps the better; what it has seen it forgets at Reset.
type tuner struct {
	gain
	tried int
	best  float64
}

func (t *tuner) Reset(seed uint64) error {
	t.k, t.tried, t.best = 0, 0, -1e9
	return t.gain.Reset(seed)
}

func (t *tuner) Propose(obs *envs.Observation, act *envs.Action) error {
	t.k = 0.1 * float64(t.tried)
	return t.Act(obs, act, true)
}

func (t *tuner) Observe(_ *envs.Action, out *envs.Outcome) error {
	if r := float64(out.Rewards[0][0]); r > t.best {
		t.best = r
		t.tried++
	}
	return nil
}

// planner asks a copy of the environment what each control would cost.
type planner struct {
	copy envs.Env
	obs  *envs.Observation
	out  *envs.Outcome
}

func (*planner) Name() string       { return "planner" }
func (*planner) Reset(uint64) error { return nil }
func newPlanner(e envs.Env) *planner {
	return &planner{nil, envs.NewObservation(e.Spec()), envs.NewOutcome(e.Spec())}
}

func (p *planner) Plan(env envs.Env, _ *envs.Observation, act *envs.Action) error {
	best, least := float32(0), 1e9
	for u := float32(-1); u <= 1; u += 0.5 {
		if p.copy == nil {
			p.copy = lqr()
		}
		if err := p.copy.CopyFrom(env); err != nil {
			return err
		}
		act.Kinds[0][0] = u
		if err := p.copy.Step(act, p.obs, p.out); err != nil {
			return err
		}
		x := float64(p.obs.Kinds[0].Values[0])
		if c := x*x + float64(u*u); c < least {
			best, least = u, c
		}
	}
	act.Kinds[0][0] = best
	return nil
}

func lqr() *classic.LQR {
	e, err := classic.NewLQR(classic.DefaultLQR())
	if err != nil {
		panic(err) // the default configuration is valid
	}
	return e
}

func newLQR() (envs.Env, error) { return lqr(), nil }

func policy(make func() *gain) []Version {
	return []Version{{New: func(envs.Env) (rollout.Actor, error) { return rollout.Actor{Policy: make()}, nil }}}
}

func versions(n int, k float64) []Version {
	var out []Version
	for i := range n {
		out = append(out, Version{TrainingSeed: uint64(i + 1), Source: fmt.Sprint("checkpoint ", i+1),
			New: policy(func() *gain { return &gain{k: k + 0.05*float64(i), noise: 0.1} })[0].New})
	}
	return out
}

// field is one contestant of every sort.
func field() []Contestant {
	return []Contestant{
		{Name: "learned", Kind: catalog.Learned, Versions: versions(3, 0.5)},
		{Name: "idle", Kind: catalog.Heuristic, Versions: policy(func() *gain { return &gain{} })},
		{Name: "tuner", Kind: catalog.Heuristic,
			Versions: []Version{{New: func(envs.Env) (rollout.Actor, error) { return rollout.Actor{Tuner: &tuner{}}, nil }}}},
		{Name: "planner", Kind: catalog.Oracle,
			Versions: []Version{{New: func(e envs.Env) (rollout.Actor, error) { return rollout.Actor{Planner: newPlanner(e)}, nil }}}},
	}
}

func seeds(n int) []uint64 {
	var out []uint64
	for s := range n {
		out = append(out, uint64(s+1))
	}
	return out
}

func request() Request {
	return Request{NewEnv: newLQR, Contestants: field(), Seeds: seeds(10), Workers: 1, Traced: 2}
}

func run(t *testing.T, r Request) *Played {
	t.Helper()
	p := must.Get(Run(t.Context(), r))(t)
	return p
}
