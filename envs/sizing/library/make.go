package library

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/rng"
)

// Plan says which runs [Make] does.
type Plan struct {
	// NewEnv makes an environment; it is called once for each worker, and once before.
	NewEnv func() (envs.Env, error)
	// Rows is the number of windows, Seed names all draws.
	Rows int
	Seed uint64
	// Low and High bound every component of a configuration, in [0, 1].
	Low, High float64
	// Policy makes the policy whose configurations are run; nil draws each component uniformly. Noise is the standard
	// deviation of the normal noise that is added to a policy's action.
	Policy func(env envs.Env) (envs.Policy, error)
	Noise  float64
	// Workers is the number of goroutines; rows do not depend on it.
	Workers int
	// Progress, where set, is told how many rows are done, never twice at a time.
	Progress func(done, all int)
}

func (p *Plan) validate() error {
	switch {
	case p.Rows < 1:
		return bounds.Errorf("rows", "is %d, want at least 1", p.Rows)
	case !(p.Low >= 0 && p.Low < p.High && p.High <= 1):
		return bounds.Errorf("clip", "is %g,%g, want two numbers from 0 to 1, the smaller first", p.Low, p.High)
	case !(p.Noise >= 0 && p.Noise <= 1):
		return bounds.Errorf("noise", "is %g, want 0 to 1", p.Noise)
	}
	return nil
}

// Make runs whole episodes, the last one in part, each under its own seed. The result follows from the plan's seed and
// the environment alone. Where ctx ends, so does Make, with ctx's cause.
func Make(ctx context.Context, p Plan) (*Library, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	probe, err := p.NewEnv()
	if err != nil {
		return nil, err
	}
	env, err := One(probe)
	if err != nil {
		return nil, err
	}
	windows := env.Config().Windows
	episodes := (p.Rows + windows - 1) / windows
	out := &Library{Layout: LayoutOf(env), Rows: make([]Row, p.Rows)}
	var (
		wait     sync.WaitGroup
		next     atomic.Int64
		counting sync.Mutex
		done     int
		workers  = min(max(1, p.Workers), episodes)
		errs     = make([]error, workers)
	)
	for w := range workers {
		wait.Go(func() {
			m, err := newMaker(&p)
			for errs[w] = err; errs[w] == nil; {
				k := int(next.Add(1)) - 1
				if k >= episodes {
					return
				}
				rows := out.Rows[k*windows : min((k+1)*windows, p.Rows)]
				errs[w] = m.episode(ctx, rng.New(p.Seed, "library").With(uint64(k)), rows, func() {
					if p.Progress != nil {
						counting.Lock()
						done++
						p.Progress(done, p.Rows)
						counting.Unlock()
					}
				})
			}
		})
	}
	wait.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return out, errors.Join(errs...)
}

// maker runs episodes in an environment of its own.
type maker struct {
	plan   *Plan
	env    envs.Env
	sizing *sizing.Env
	policy envs.Policy
	obs    *envs.Observation
	act    *envs.Action
	out    *envs.Outcome
}

func newMaker(p *Plan) (*maker, error) {
	env, err := p.NewEnv()
	if err != nil {
		return nil, err
	}
	e, err := One(env)
	if err != nil {
		return nil, err
	}
	s := env.Spec()
	m := &maker{p, env, e, nil, envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s)}
	if p.Policy != nil {
		m.policy, err = p.Policy(env)
	}
	return m, err
}

// episode fills rows with the first windows of an episode.
func (m *maker) episode(ctx context.Context, key rng.Key, rows []Row, done func()) error {
	seed := key.Uint64()
	if err := m.env.Reset(seed, nil, m.obs); err != nil {
		return err
	}
	if m.policy != nil {
		if err := m.policy.Reset(key.With(1).Uint64()); err != nil {
			return err
		}
	}
	draws := key.With(2).Stream()
	load, err := m.env.Spec().InfoIndex("load")
	if err != nil {
		return err
	}
	for i := range rows {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := m.choose(draws); err != nil {
			return err
		}
		if err := m.env.Step(m.act, m.obs, m.out); err != nil {
			return fmt.Errorf("seed %d, window %d: %w", seed, i, err)
		}
		rows[i] = Row{
			Workflow: m.sizing.Workflow(), Seed: seed, Window: i, Action: slices.Clone(m.act.Kinds[0]),
			Observation: slices.Clone(m.obs.Kinds[0].Values), Info: slices.Clone(m.out.Info),
		}
		if m.sizing.Closed() {
			rows[i].Users = int(m.out.Info[load])
		}
		done()
	}
	return nil
}

// choose writes the next configuration.
func (m *maker) choose(draws *rng.Stream) error {
	a, p := m.act.Kinds[0], m.plan
	if m.policy == nil {
		for i := range a {
			a[i] = float32(p.Low + float64(draws.Float64()*(p.High-p.Low)))
		}
		return nil
	}
	if err := m.policy.Act(m.obs, m.act, true); err != nil {
		return err
	}
	for i := range a {
		x := float64(a[i])
		if p.Noise > 0 {
			x += float64(p.Noise * draws.Norm())
		}
		a[i] = float32(min(max(x, p.Low), p.High))
	}
	return nil
}
