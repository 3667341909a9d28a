package bench

import (
	"fmt"
	"time"

	"github.com/stoker-rl/stoker/catalog"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/train"
)

// spreadConfig is the training that runSpread measures.
const spreadConfig = "configs/classic/simple_spread.yaml"

// runSpread measures training on simple_spread from an empty replay buffer: acting, stepping, storing, sampling and
// updating, without evaluation and saving. Updates begin after 1,024 episodes: with fewer, only acting is measured.
func runSpread(o Options, emit func(Result)) error {
	x, err := configs.Load(spreadConfig, nil, catalog.Default())
	if err != nil {
		return err
	}
	episodes := o.Episodes
	if episodes == 0 {
		episodes = 2_500
	}
	return o.each(func(e nets.Engine, i nets.Info) error {
		all := make([]sample, 0, max(1, o.Repeat))
		for len(all) < max(1, o.Repeat) {
			took, err := trainFor(x, e, episodes)
			if err != nil {
				return err
			}
			all = append(all, sample{Operations: int64(episodes), Nanoseconds: float64(took) / float64(episodes)})
		}
		s := medianSample(all)
		emit(o.fill(Result{Bench: "spread", Env: x.Env.Name, Agents: 3, Episodes: episodes,
			EpisodesPerSecond: s.perSecond()}.of(i), s))
		return nil
	})
}

// trainFor trains for a number of episodes of 25 steps.
func trainFor(x *configs.Experiment, e nets.Engine, episodes int) (time.Duration, error) {
	v, err := envs.NewVector(func() (envs.Env, error) { return train.NewEnv(x, "") }, envs.VectorOptions{
		Copies: x.Train.Copies, Workers: 1, Seed: rng.New(x.Seed, "bench episodes").Uint64(),
	})
	if err != nil {
		return 0, err
	}
	defer v.Close()
	a, err := catalog.Default().Learner(x.Agent.Name)
	if err != nil {
		return 0, err
	}
	start := time.Now() // the peer's time includes the allocation of its replay buffer too
	l, err := a.New(x.Agent.Config, agents.Context{Spec: v.Spec(), Copies: x.Train.Copies, Train: e, Act: e,
		Seed: x.Seed, Steps: x.Train.Steps})
	if err != nil {
		return 0, err
	}
	if err := v.Reset(); err != nil {
		return 0, err
	}
	for done := 0; done < episodes; done += len(v.Finished) {
		for _, do := range []func() error{
			func() error { return l.Act(v) }, v.Step, func() error { return l.Observe(v) }, l.Update,
		} {
			if err := do(); err != nil {
				return 0, fmt.Errorf("after %d episodes: %w", done, err)
			}
		}
	}
	return time.Since(start), nil
}
