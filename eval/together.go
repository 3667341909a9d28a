package eval

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/foreign"
	"github.com/stoker-rl/stoker/train"
)

// Together acts in all episodes under way at once, as [foreign.Policy] does. A [foreign.Failure] puts its contestant out.
type Together interface {
	Act(ctx context.Context, turns []foreign.Turn) error
	// Note says what a reader must know of the answers; empty where nothing.
	Note() string
}

// Out is a contestant that was trained elsewhere and failed in the middle of the evaluation: it has no scores.
type Out struct {
	Policy string `json:"policy"`
	Source string `json:"source"`
	// Seed and Step are the workload seed and the number of the step at which it failed, and Reason is why.
	Seed   uint64 `json:"workload_seed"`
	Step   int    `json:"step"`
	Reason string `json:"reason"`
}

func (o Out) String() string {
	return fmt.Sprintf("%s is out, from workload seed %d, step %d on: %s", o.Policy, o.Seed, o.Step, o.Reason)
}

// mostTogether is how many episodes of a policy that acts in all at once are under way.
const mostTogether = 64

// place is one for an episode under way.
type place struct {
	job    int // the number of its job, −1 where the place is free
	env    envs.Env
	runner *rollout.Runner
}

// together plays jobs of one version, in as many environments as there are episodes under way: each step is one request
// for all of them, then all environments step. Where the policy fails, o says where.
func (r *Request) together(ctx context.Context, jobs []job, p *Played, traces []trace, done func()) (o *failed, err error) {
	c := jobs[0].contestant
	policy := r.Contestants[c].Versions[jobs[0].version].Together
	places := make([]place, min(mostTogether, len(jobs)))
	for i := range places {
		u := &places[i]
		if u.env, err = r.NewEnv(); err != nil {
			return nil, err
		}
		u.job, u.runner = -1, rollout.NewRunner(u.env)
	}
	if p.specs[c] = places[0].env.Spec(); c == 0 && jobs[0].version == 0 {
		p.drawn(places[0].env)
	}
	next := 0
	var active []*place
	var turns []foreign.Turn
	for {
		active, turns = active[:0], turns[:0]
		for i := range places {
			u := &places[i]
			if u.job < 0 && next < len(jobs) {
				u.job, u.runner.OnStep = next, nil
				next++
				seed := r.Seeds[jobs[u.job].seed]
				if jobs[u.job].version == 0 && jobs[u.job].seed < r.Traced {
					u.runner.OnStep = traces[u.job].follow(seed, u.env)
				}
				if err := u.runner.Begin(seed); err != nil {
					return nil, fmt.Errorf("seed %d: %w", seed, err)
				}
			}
			if u.job >= 0 {
				active = append(active, u)
				turns = append(turns, foreign.Turn{Slot: i, Step: u.runner.Steps(),
					Seen: u.runner.Seen(), Act: u.runner.Action()})
			}
		}
		if len(active) == 0 {
			return nil, nil
		}
		if err = policy.Act(ctx, turns); err == nil {
			err = Each(ctx, r.Workers, len(active), nil, func(_, i int) error {
				if err := active[i].runner.Step(); err != nil {
					return &foreign.Failure{Turn: i, Err: err}
				}
				return nil
			})
		}
		var f *foreign.Failure
		if errors.As(err, &f) {
			return &failed{jobs[active[f.Turn].job], turns[f.Turn].Step, f.Err}, nil
		}
		if err != nil {
			return nil, err
		}
		for _, u := range active {
			if u.runner.Over() {
				j := jobs[u.job]
				p.Episodes[c][j.version][j.seed] = u.runner.Result()
				u.job = -1
				done()
			}
		}
	}
}

// failed is an episode in which a contestant that was trained elsewhere failed.
type failed struct {
	job
	step int
	err  error
}

// before reports whether the failure comes before another in the order of play; every failure comes before none.
func (f *failed) before(o *failed) bool {
	return o == nil || f.version < o.version || f.version == o.version && f.seed < o.seed
}

// withoutFailed takes out the contestants that failed, and says why. It is an error where nobody is left.
func (p *Played) withoutFailed(by []*failed) error {
	for c := len(by) - 1; c >= 0; c-- {
		f := by[c]
		if f == nil {
			continue
		}
		con := &p.Contestants[c]
		p.Out = append(p.Out, Out{con.Name, con.Versions[f.version].Source, p.Seeds[f.seed], f.step, f.err.Error()})
		p.Contestants = slices.Delete(slices.Clone(p.Contestants), c, c+1)
		p.Episodes = slices.Delete(p.Episodes, c, c+1)
		p.Steps = slices.Delete(p.Steps, c, c+1)
		p.Samples = slices.Delete(p.Samples, c, c+1)
		p.specs = slices.Delete(p.specs, c, c+1)
	}
	slices.Reverse(p.Out)
	if len(p.Contestants) == 0 {
		return fmt.Errorf("nobody is left to evaluate: %v", p.Out[0])
	}
	return nil
}

// splits returns a function that gives the time since it was last called, or since now.
func splits() func() time.Duration {
	last := time.Now()
	return func() time.Duration {
		d := time.Since(last)
		last = last.Add(d)
		return d
	}
}

// Elsewhere is a policy that was trained elsewhere, as the caller names it.
type Elsewhere struct {
	// Name is the contestant's; policies of one name are training seeds of one method.
	Name string
	// What is a bundle's file or what [foreign.Open] takes, and Open opens the latter.
	What string
	Open func(spec *envs.Spec) (*foreign.Policy, error)
}

// addElsewhere opens policies and adds them.
func (c *Choice) addElsewhere(all []Elsewhere) error {
	if len(all) == 0 {
		return nil
	}
	probe, err := train.NewEnv(c.Experiment, c.Experiment.Eval.Split)
	if err != nil {
		return err
	}
	at := map[string]int{}
	for _, e := range all {
		v, what, err := c.elsewhere(e, probe.Spec())
		if err != nil {
			return train.Usage("policy %s: %w", e.Name, err)
		}
		i, ok := at[e.Name]
		if !ok {
			i = len(c.Contestants)
			at[e.Name] = i
			c.chosen = append(c.chosen, configs.Choice{})
			c.called = append(c.called, named{base: e.Name, folder: e.Name})
			c.Contestants = append(c.Contestants, Contestant{Name: e.Name, Kind: catalog.Learned, Foreign: true})
		}
		con := &c.Contestants[i]
		v.TrainingSeed, v.Source = uint64(len(con.Versions)+1), e.What
		con.Versions = append(con.Versions, v)
		c.note(i, what)
	}
	return nil
}

// elsewhere opens a policy, and says what it is: a file by its content, all else as the caller names it.
func (c *Choice) elsewhere(e Elsewhere, spec *envs.Spec) (v Version, what string, err error) {
	if form := foreign.FormOf(e.What); form != foreign.Bundle {
		p, err := e.Open(spec)
		if err != nil {
			return v, "", err
		}
		c.opened = append(c.opened, p)
		if what = e.What; form == foreign.Model {
			var b []byte
			b, err = os.ReadFile(what)
			what = fmt.Sprintf("onnx %x", sha256.Sum256(b))
		}
		return Version{Together: p}, what, err
	}
	f, digest, open, err := foreign.OpenBundle(c.names, e.What)
	if err == nil && f.Agent.Env != c.Experiment.Env.Name {
		err = fmt.Errorf("%s acts in %s, the comparison is in %s", e.What, f.Agent.Env, c.Experiment.Env.Name)
	}
	if err == nil {
		_, err = open(spec)
	}
	return Version{New: func(env envs.Env) (rollout.Actor, error) {
		p, err := open(env.Spec())
		return rollout.Actor{Policy: p}, err
	}}, "bundle " + digest, err
}

// Close ends what policies from elsewhere were opened with.
func (c *Choice) Close() {
	for _, p := range c.opened {
		_ = p.Close() // it has answered all that was asked
	}
}

// contestant is the place of the one of a name, −1 where there is none.
func (p *Played) contestant(name string) int {
	return slices.IndexFunc(p.Contestants, func(c Contestant) bool { return c.Name == name })
}
