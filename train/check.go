package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets/engines"
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
			return nil, Usage("%s: train.evaluate.metric: %w; want %s", x.Source, err,
				strings.Join(append([]string{Return}, names(c.spec.Info)...), ", "))
		}
		switch c.spec.Info[c.metric].Better {
		case envs.Neither:
			return nil, Usage("%s: train.evaluate.metric: neither direction of %q is better", x.Source, m)
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

// PolicyFile is the file of a checkpoint that says how its weights act. A policy checkpoint holds both.
const PolicyFile = policyFile

// GaveUp says that a policy serves next to nothing, and that this pays: see [catalog.Service].
type GaveUp struct {
	// Quantity is what shows it, Served the last evaluation's mean of it, less than Least.
	Quantity string  `json:"quantity"`
	Served   float64 `json:"served"`
	Least    float64 `json:"least"`
	// Return is the last evaluation's mean, Nothing that of doing as little as can be done, in the same episodes.
	Return  float64 `json:"return"`
	Nothing float64 `json:"return_of_doing_nothing"`
	// Advice says what to change.
	Advice string `json:"advice"`
}

func (g *GaveUp) String() string {
	return fmt.Sprintf("The policy has given up: it serves %.0f %% (%s; less than %.0f %%). Its return is %.4g, that of doing "+
		"nothing %.4g. %s.", 100*g.Served, g.Quantity, 100*g.Least, g.Return, g.Nothing, g.Advice)
}

// gaveUp judges the last evaluation of this process, nil where the policy serves or nobody can say. What fails here fails
// no training.
func (r *run) gaveUp() *GaveUp {
	c := r.world.checker
	if c == nil || c.means == nil {
		return nil
	}
	all := catalog.Of(r.world.x)
	row, err := all.Env(r.world.x.Env.Name)
	if err != nil || row.Service.Quantity == "" {
		return nil
	}
	s := row.Service
	i, err := c.spec.InfoIndex(s.Quantity)
	if err != nil || c.means[i] >= s.Least {
		return nil
	}
	g := &GaveUp{Quantity: s.Quantity, Served: c.means[i], Least: s.Least, Return: c.ret, Advice: s.Advice}
	env, err := NewEnv(r.world.x, trainSplit(r.world.x.Workload))
	if err != nil {
		return nil
	}
	baseline, err := all.Baseline(s.Nothing.Name)
	if err != nil {
		return nil
	}
	actor, err := baseline.New(s.Nothing.Config, env)
	if err != nil {
		return nil
	}
	runner := rollout.NewRunner(env)
	for _, seed := range c.seeds {
		e, err := runner.Episode(actor, seed)
		if err != nil {
			return nil
		}
		g.Nothing += e.Return / float64(len(c.seeds))
	}
	return g
}

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
