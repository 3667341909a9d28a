package bench

import (
	"fmt"
	"slices"
	"time"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/rng"
)

// runEnv measures steps with random actions, resets included, of one environment or of all.
func runEnv(o Options, emit func(Result)) error {
	list := catalog.Default().Envs
	if o.EnvID != "" {
		e, err := catalog.Default().Env(o.EnvID)
		if err != nil {
			return err
		}
		list = []catalog.Env{e}
	}
	for _, entry := range list {
		env, err := entry.New(entry.Config(), workload.Default())
		if err != nil {
			return fmt.Errorf("%s: %w", entry.ID, err)
		}
		startMemory()
		s, err := o.stepRate(env)
		if err != nil {
			return fmt.Errorf("%s: %w", entry.ID, err)
		}
		emit(o.fill(Result{Bench: "env", Env: entry.ID, Agents: env.Spec().Agents(), StepsPerSecond: s.perSecond()}, s))
	}
	return nil
}

// episodes is how many workload seeds are played in turn: some environments work something out for each, and keep it.
const episodes = 8

// stepRate steps env with actions sampled beforehand, so that sampling is not measured. Where the environment masks
// actions, the legal ones are known only in each step: sampling is measured too then. Before it measures it plays all
// episodes once, or as many as there is time for.
func (o Options) stepRate(env envs.Env) (sample, error) {
	spec := env.Spec()
	obs, out := envs.NewObservation(spec), envs.NewOutcome(spec)
	stream := rng.NewStream(1, "bench actions")
	sampler, err := envs.NewActionSampler(spec)
	if err != nil {
		return sample{}, err
	}
	played, masked := 0, false
	step := func(act *envs.Action) error {
		if err := env.Step(act, obs, out); err != nil {
			return err
		}
		if out.Terminated || out.Truncated {
			played++
			return env.Reset(1+uint64(played%episodes), nil, obs)
		}
		return nil
	}
	if err := env.Reset(1, nil, obs); err != nil {
		return sample{}, err
	}
	var acts [64]*envs.Action
	for i := range acts {
		for _, k := range obs.Kinds {
			masked = masked || slices.Contains(k.Mask, false)
		}
		acts[i] = envs.NewAction(spec)
		if err := sampler.Sample(stream, obs, acts[i]); err != nil {
			return sample{}, err
		}
		if err := step(acts[i]); err != nil {
			return sample{}, err
		}
	}
	n := 0
	next := func() error {
		n++
		act := acts[n%len(acts)]
		if masked {
			if err := sampler.Sample(stream, obs, act); err != nil {
				return err
			}
		}
		return step(act)
	}
	for began := time.Now(); played < episodes && time.Since(began) < o.time(); {
		if err := next(); err != nil {
			return sample{}, err
		}
	}
	return o.measure(next)
}
