package bench

import (
	"fmt"
	"slices"
	"time"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/maddpg"
	"github.com/stoker-rl/stoker/catalog"
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
			took, done, err := trainFor(x, e, episodes)
			if err != nil {
				return err
			}
			all = append(all, sample{Operations: int64(done), Nanoseconds: float64(took) / float64(done)})
		}
		s := medianSample(all)
		emit(o.fill(Result{Bench: "spread", Env: x.Env.Name, Agents: 3, Episodes: episodes,
			EpisodesPerSecond: s.perSecond()}.of(i), s))
		return nil
	})
}

// trainFor trains for a number of episodes of 25 steps at least. The copies of the environment end theirs together, so that
// done is a multiple of their number.
func trainFor(x *configs.Experiment, e nets.Engine, episodes int) (took time.Duration, done int, err error) {
	v, err := envs.NewVector(func() (envs.Env, error) { return train.NewEnv(x, "") }, envs.VectorOptions{
		NumEnvs: x.Train.Envs, Workers: 1, Seed: rng.New(x.Seed, "bench episodes").Uint64(),
	})
	if err != nil {
		return 0, 0, err
	}
	a, err := catalog.Default().Learner(x.Agent.Name)
	if err != nil {
		return 0, 0, err
	}
	start := time.Now() // the peer's time includes the allocation of its replay buffer too
	l, err := a.New(x.Agent.Config, agents.Context{Spec: v.Spec(), NumEnvs: x.Train.Envs, Train: e, Act: e,
		Seed: x.Seed, Steps: x.Train.Steps})
	if err != nil {
		return 0, 0, err
	}
	if err := v.Reset(); err != nil {
		return 0, 0, err
	}
	for ; done < episodes; done += len(v.Finished) {
		for _, do := range []func() error{
			func() error { return l.Act(v) }, v.Step, func() error { return l.Observe(v) }, l.Update,
		} {
			if err := do(); err != nil {
				return 0, 0, fmt.Errorf("after %d episodes: %w", done, err)
			}
		}
	}
	return time.Since(start), done, nil
}

// scaleConfig is the training that runScale measures.
const scaleConfig = "configs/sizing/scale.yaml"

// form is a learner that runScale measures: its name in results, and agent.mix.
type form struct{ name, mix string }

var forms = []form{{"attmf", maddpg.Attention}, {"mf", maddpg.Mean}, {"maddpg", maddpg.Joint}}

// Scaled are the figures of a training on a generated workflow beside the update's own.
type Scaled struct {
	// Form is attmf, mf or maddpg.
	Form string `json:"form"`
	// UpdateCPU is the processor time of an update with its minibatch, in nanoseconds: other programs on the machine
	// change it less than the time that passes.
	UpdateCPU float64 `json:"cpu_ns_per_op"`
	// Decision is the time of one decision for all functions, Step that of one environment step, what is seen included.
	Decision    float64 `json:"decision_ns"`
	DecisionCPU float64 `json:"decision_cpu_ns"`
	Step        float64 `json:"step_ns"`
	StepCPU     float64 `json:"step_cpu_ns"`
	// Parameters are those of actor and critic.
	Parameters int64 `json:"parameters"`
	// Needs is the estimate of the learner's memory in MB; NeedsOwn with weights of each function's own.
	Needs    float64 `json:"needs_mb"`
	NeedsOwn float64 `json:"needs_own_mb"`
}

// runScale measures a training on generated workflows: updates, decisions and environment steps, for every number of
// functions and every form of learner in turn. One set of weights serves all functions.
func runScale(o Options, emit func(Result)) error {
	for _, n := range orDefault(o.Agents, 5, 12, 50, 200, 1000) {
		for _, f := range forms {
			if len(o.Forms) > 0 && !slices.Contains(o.Forms, f.name) {
				continue
			}
			err := o.each(func(e nets.Engine, i nets.Info) error {
				r, err := o.scaled(n, f, e)
				if err != nil {
					return fmt.Errorf("%s, %d functions: %w", f.name, n, err)
				}
				emit(r.of(i))
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// timer adds up the time that passes and the processor time of some operations.
type timer struct{ wall, cpu time.Duration }

func (t *timer) run(f func() error) error {
	began, cpu := time.Now(), cpuTime()
	err := f()
	t.add(timer{time.Since(began), cpuTime() - cpu})
	return err
}

func (t *timer) add(u timer) { t.wall, t.cpu = t.wall+u.wall, t.cpu+u.cpu }

// scaled measures one form on a workflow of n functions.
func (o Options) scaled(n int, f form, e nets.Engine) (Result, error) {
	x, err := configs.Load(scaleConfig, []string{fmt.Sprintf("env.generated.functions=%d", n), "agent.mix=" + f.mix,
		"agent.learning_starts=64"}, catalog.Default())
	if err != nil {
		return Result{}, err
	}
	c := *x.Agent.Config.(*maddpg.Config)
	v, err := envs.NewVector(func() (envs.Env, error) { return train.NewEnv(x, "") }, envs.VectorOptions{
		NumEnvs: x.Train.Envs, Workers: 1, Seed: rng.New(x.Seed, "bench episodes").Uint64(),
	})
	if err != nil {
		return Result{}, err
	}
	needs, err := c.Needs(v.Spec(), x.Train.Steps)
	if err != nil {
		return Result{}, err
	}
	separate := c
	separate.Shared = false
	own, err := separate.Needs(v.Spec(), x.Train.Steps)
	if err != nil {
		return Result{}, err
	}
	s := Scaled{Form: f.name, Parameters: needs.Parameters, Needs: float64(needs.Total()) / 1e6,
		NeedsOwn: float64(own.Total()) / 1e6}
	l, err := maddpg.New(c, agents.Context{Spec: v.Spec(), NumEnvs: x.Train.Envs, Train: e, Act: e, Seed: x.Seed,
		Steps: x.Train.Steps})
	if err != nil {
		return Result{}, err
	}
	per := func(t time.Duration, n int) float64 { return float64(t) / float64(n) }
	var update, decision timer
	var steps stepped
	all, decisions := []sample{}, 0
	for range max(1, o.Repeat) {
		learnt, made, err := o.trainScaled(v, l)
		if err != nil {
			return Result{}, err
		}
		decided, n, err := o.decideScaled(v, l)
		if err != nil {
			return Result{}, err
		}
		all = append(all, sample{Operations: int64(made.updates), Nanoseconds: per(learnt.wall, made.updates)})
		update.add(learnt)
		decision.add(decided)
		steps.add(made.timer)
		steps.count, steps.updates, decisions = steps.count+made.count, steps.updates+made.updates, decisions+n
	}
	s.UpdateCPU = per(update.cpu, steps.updates)
	s.Decision, s.DecisionCPU = per(decision.wall, decisions), per(decision.cpu, decisions)
	s.Step, s.StepCPU = per(steps.wall, steps.count), per(steps.cpu, steps.count)
	one := medianSample(all)
	return o.fill(Result{Bench: "scale", Env: x.Env.Name, Agents: n, Batch: c.Batch, UpdatesPerSecond: one.perSecond(),
		Scaled: &s}, one), nil
}

// stepped are the environment steps and the updates that were measured.
type stepped struct {
	timer
	count, updates int
}

// trainScaled trains until the replay buffer has a minibatch, and then measures for the time of a measurement, three
// updates at least.
func (o Options) trainScaled(v *envs.Vector, l *maddpg.Learner) (update timer, steps stepped, err error) {
	if err := v.Reset(); err != nil {
		return update, steps, err
	}
	copies := v.NumEnvs()
	updates := func() (n int) {
		l.Metrics(func(name string, x float64) {
			if name == "train/n_updates" {
				n = int(x)
			}
		})
		return n
	}
	var began time.Time
	for before := 0; ; {
		if err := l.Act(v); err != nil {
			return update, steps, err
		}
		var step, learn timer
		if err := step.run(v.Step); err != nil {
			return update, steps, err
		}
		if err := l.Observe(v); err != nil {
			return update, steps, err
		}
		if err := learn.run(l.Update); err != nil {
			return update, steps, err
		}
		switch done := updates(); {
		case done < 2: // the first ones make the engine's memory
			before = done
			continue
		case began.IsZero():
			began, before = time.Now(), done
			continue
		default:
			update.add(learn)
			steps.add(step)
			steps.count += copies
			steps.updates = done - before
		}
		if steps.updates >= 3 && time.Since(began) >= o.time() {
			return update, steps, nil
		}
	}
}

// decideScaled measures decisions for all functions of one environment.
func (o Options) decideScaled(v *envs.Vector, l *maddpg.Learner) (t timer, n int, err error) {
	p, err := l.Policy()
	if err != nil {
		return t, 0, err
	}
	if err := p.Reset(1); err != nil {
		return t, 0, err
	}
	act := envs.NewAction(v.Spec())
	decide := func() error { return p.Act(v.Obs.Env(0), act, true) }
	if err := decide(); err != nil {
		return t, 0, err
	}
	for n < 3 || t.wall < o.time()/4 {
		if err := t.run(decide); err != nil {
			return t, 0, err
		}
		n++
	}
	return t, n, nil
}
