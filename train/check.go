package train

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
)

// checker evaluates the policy during training: without exploration, always on the same seeds of the training split,
// so that the test split stays unseen.
type checker struct {
	runner *rollout.Runner
	spec   *envs.Spec
	seeds  []uint64
	metric int // index of Spec.Info, -1 for the return
	higher bool
	means  []float64 // of Spec.Info in the last evaluation, nil before the first
	ret    float64   // its mean return
}

// Return is the name of the episode's return where a quantity is asked for.
const Return = "return"

func newChecker(x *configs.Experiment) (*checker, error) {
	env, err := NewEnv(x, trainSplit(x.Workload))
	if err != nil {
		return nil, err
	}
	c := &checker{runner: rollout.NewRunner(env), spec: env.Spec(), metric: -1, higher: true}
	if m := x.Train.Evaluate.Metric; m != Return {
		if c.metric, err = c.spec.InfoIndex(m); err != nil {
			return nil, fmt.Errorf("train.evaluate.metric: %w; want %q or one of %v", err, Return, names(c.spec.Info))
		}
		switch c.spec.Info[c.metric].Better {
		case envs.Neither:
			return nil, fmt.Errorf("train.evaluate.metric: neither direction of %q is better", m)
		case envs.Lower:
			c.higher = false
		}
	}
	key := rng.New(x.Seed, "evaluation during training")
	for i := range x.Train.Evaluate.Episodes {
		c.seeds = append(c.seeds, key.With(uint64(i)).Uint64())
	}
	return c, nil
}

func names(q []envs.Quantity) []string {
	out := make([]string, len(q))
	for i := range q {
		out[i] = q[i].Name
	}
	return out
}

// EvalMetric is the name in metrics.jsonl of what train.evaluate.metric names.
func EvalMetric(metric string) string {
	if metric == Return {
		return "eval/mean_reward"
	}
	return "eval/" + metric
}

// run evaluates the learner's present policy, reports each mean and returns the deciding one. When ctx ends, so does
// the episode under way; nothing has been reported then, and the error is errInterrupted.
func (c *checker) run(ctx context.Context, l agents.Learner, report func(name string, value float64)) (float64, error) {
	p, err := l.Policy()
	if err != nil {
		return 0, err
	}
	actor := rollout.Actor{Policy: interruptible{p, ctx.Done()}}
	var ret, length float64
	info := make([]float64, len(c.spec.Info))
	for _, s := range c.seeds {
		e, err := c.runner.Episode(actor, s)
		if err != nil {
			return 0, err
		}
		ret += e.Return
		length += float64(e.Length)
		for i, x := range e.Info {
			info[i] += x
		}
	}
	n := float64(len(c.seeds))
	report("eval/mean_reward", ret/n)
	report("eval/mean_ep_length", length/n)
	for i, q := range c.spec.Info {
		info[i] /= n
		report("eval/"+q.Name, info[i])
	}
	c.means, c.ret = info, ret/n
	if c.metric < 0 {
		return ret / n, nil
	}
	return info[c.metric], nil
}

var errInterrupted = errors.New("the evaluation was interrupted")

// interruptible is a policy that refuses to act once done is closed: an evaluation can take minutes, and who stops a
// run should not wait for its end.
type interruptible struct {
	envs.Policy
	done <-chan struct{}
}

func (p interruptible) Act(obs *envs.Observation, act *envs.Action, deterministic bool) error {
	select {
	case <-p.done:
		return errInterrupted
	default:
		return p.Policy.Act(obs, act, deterministic)
	}
}

// better reports whether x beats the best so far, nil for none yet. What is not a finite number is never best.
func (c *checker) better(x float64, best *float64) bool {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return false
	case best == nil:
		return true
	case c.higher:
		return x > *best
	}
	return x < *best
}
