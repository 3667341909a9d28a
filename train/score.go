package train

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/rng"
)

// ErrStep marks the failure of a step of training, as where training has diverged: the same run fails at the same step
// again, unlike one whose disk was full.
var ErrStep = errors.New("a step of training failed")

// stepError is ErrStep to errors.Is, and shows and unwraps to its cause.
type stepError struct{ error }

func (e stepError) Unwrap() error        { return e.error }
func (e stepError) Is(target error) bool { return target == ErrStep }

// Score plays the policy of checkpoint c of experiment x in the training's part of the workload, an episode for each
// workload seed, and returns the mean of each metric: Return, or a quantity of the environment.
func Score(c *checkpoints.Checkpoint, x *configs.Experiment, seeds []uint64, metrics ...string) (means []float64, err error) {
	env, err := NewEnv(x, trainSplit(x.Workload))
	if err != nil {
		return nil, err
	}
	at := make([]int, len(metrics))
	for i, m := range metrics {
		if at[i] = -1; m != Return {
			if at[i], err = env.Spec().InfoIndex(m); err != nil {
				return nil, err
			}
		}
	}
	file, err := ReadPolicy(c)
	if err != nil {
		return nil, err
	}
	a, err := catalog.Of(x).Learner(file.Agent)
	if err != nil {
		return nil, err
	}
	act, err := engines.Open(engines.Native, engines.Options{Device: "cpu"})
	if err != nil {
		return nil, err
	}
	defer func() { _ = act.Close() }() // it frees memory: there is nothing left to lose
	p, err := a.Open(file, env.Spec(), act)
	if err != nil {
		return nil, err
	}
	runner := rollout.NewRunner(env)
	means = make([]float64, len(metrics))
	for _, seed := range seeds {
		ep, err := runner.Episode(rollout.Actor{Policy: p}, seed)
		if err != nil {
			return nil, fmt.Errorf("%s: workload seed %d: %w", c.Dir(), seed, err)
		}
		for i, k := range at {
			y := ep.Return
			if k >= 0 {
				y = ep.Info[k]
			}
			means[i] += y / float64(len(seeds))
		}
	}
	return means, nil
}

// Trial is the score of a checkpoint over episodes that are the same for every training seed, unlike those of the
// evaluations during training, by what these look at, with the sign with which more is better.
func Trial(c *checkpoints.Checkpoint, x *configs.Experiment, episodes int) (mean float64, err error) {
	seeds, key := make([]uint64, episodes), rng.New(0, "trial of trained policies")
	for i := range seeds {
		seeds[i] = key.With(uint64(i)).Uint64()
	}
	means, err := Score(c, x, seeds, x.Train.Evaluate.Metric)
	if err != nil {
		return 0, err
	}
	env, err := NewEnv(x, trainSplit(x.Workload))
	if err != nil {
		return 0, err
	}
	info := env.Spec().Info
	if i := slices.IndexFunc(info, func(q envs.Quantity) bool { return q.Name == x.Train.Evaluate.Metric }); i >= 0 &&
		info[i].Better == envs.Lower {
		return -means[0], nil
	}
	return means[0], nil
}
