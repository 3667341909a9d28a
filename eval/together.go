package eval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/foreign"
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
	if p.specs[c] = places[0].env.Spec(); c == 0 {
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

// contestant is the place of the one of a name, −1 where there is none.
func (p *Played) contestant(name string) int {
	return slices.IndexFunc(p.Contestants, func(c Contestant) bool { return c.Name == name })
}
