package faasconf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/online"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/agents/safe"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/sizing/library"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/search"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/train"
)

// learner is a method of the paper that learns: first from an application's library alone, then while it serves.
type learner struct {
	// config is a shipped experiment, faasconf/NAME.yaml, with what its tuning gave. decide replaces what it decides,
	// if it is not empty.
	config, decide string
	x              *configs.Experiment
	row            catalog.Learner
	states         map[string][]*agents.State // what was learned, by application and version
	only           []string                   // the applications; empty is all
}

// newLearner reads a method's configuration, with tuned settings over it.
func newLearner(config, decide string, tuned ...string) (*learner, error) {
	l := &learner{config: config, decide: decide, states: map[string][]*agents.State{}}
	x, err := load(config, decide, tuned...)
	if err != nil {
		return nil, err
	}
	l.x = x
	l.row, err = catalog.Default().Learner(x.Agent.Name)
	return l, err
}

// load reads a shipped experiment of the paper's.
func load(config, decide string, sets ...string) (*configs.Experiment, error) {
	if decide != "" {
		sets = append(sets, "env.decide="+decide)
	}
	x, err := configs.Load("faasconf/"+config+".yaml", sets, catalog.Default())
	if err != nil {
		return nil, fmt.Errorf("configuration of %s: %w", config, err)
	}
	return x, nil
}

// newEngine opens an engine for one learner: several learners at a time must not share one.
func newEngine() (nets.Engine, error) {
	return engines.Open(engines.Native, engines.Options{Device: "cpu", Threads: 1})
}

// open makes a learner for an environment.
func (l *learner) open(engine nets.Engine, spec *envs.Spec, seed uint64, steps int64) (agents.Offline, error) {
	made, err := l.row.New(l.x.Agent.Config, agents.Context{
		Spec: spec, NumEnvs: 1, Train: engine, Act: engine, Seed: seed, Steps: steps,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.config, err)
	}
	o, ok := made.(agents.Offline)
	if !ok {
		return nil, fmt.Errorf("%s: agent %s cannot learn from a library", l.config, l.x.Agent.Name)
	}
	return o, nil
}

// train learns from the libraries of all applications, once for each version; version v has training seed v + 1.
func (l *learner) train(ctx context.Context, o *suite.Options, apps []*app, s size) error {
	apps = slices.DeleteFunc(slices.Clone(apps), func(a *app) bool {
		return len(l.only) > 0 && !slices.Contains(l.only, a.name)
	})
	for _, a := range apps {
		l.states[a.name] = make([]*agents.State, s.trainings)
	}
	return o.Each(ctx, "training "+l.config, len(apps)*s.trainings, func(i int) error {
		a, v := apps[i/s.trainings], i%s.trainings
		key := fmt.Sprintf("training %s %s %s %d, %+v", l.config, l.decides(), a.name, v, s)
		state, err := suite.Memo(o, key, func() (*agents.State, error) { return l.learn(ctx, a, uint64(v+1), s) })
		l.states[a.name][v] = state
		return err
	})
}

// learn is one training.
func (l *learner) learn(ctx context.Context, a *app, seed uint64, s size) (*agents.State, error) {
	env, err := newEnv(a.name, l.decides(), s.users)
	if err != nil {
		return nil, err
	}
	engine, err := newEngine()
	if err != nil {
		return nil, err
	}
	o, err := l.open(engine, env.Spec(), seed, s.updates)
	if err != nil {
		return nil, err
	}
	all, err := train.Transitions(a.libraries[l.decides()], env)
	if err != nil {
		return nil, fmt.Errorf("%s: library of %s: %w", l.config, a.name, err)
	}
	for i := range all {
		if err := o.Take(&all[i]); err != nil {
			return nil, err
		}
	}
	for n := range s.updates {
		if n%256 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := o.Learn(); err != nil {
			return nil, err
		}
	}
	state := agents.NewState()
	return state, errors.Join(o.Save(state), engine.Close())
}

func (l *learner) decides() string { return l.x.Env.Config.(*sizing.Config).Decide }

// Rows in the replay at the beginning of serving, as FaaSConf's code has them.
const serveRows = 300

// method is the learner as it serves, with safe exploration or without.
func (l *learner) method(name string, safely bool, saving float64, s size) method {
	return method{
		name: name, decide: l.decides(), saving: saving, only: l.only, versions: s.trainings,
		actor: func(a *app, env envs.Env, version int) (rollout.Actor, error) {
			e := env.(*sizing.Env)
			rows, err := a.libraries[l.decides()].Fit(e)
			if err != nil {
				return rollout.Actor{}, err
			}
			engine, err := newEngine()
			if err != nil {
				return rollout.Actor{}, err
			}
			setup := online.Setup{Name: name, Env: env, Learner: l.serving(engine, a, e, rows, version)}
			if safely {
				setup.Guard = guard(e, rows)
			}
			t, err := online.New(online.Default(), setup)
			return rollout.Actor{Tuner: t}, err
		},
	}
}

// serving makes the trained learner anew for each search, with rows of the scenario's users in its replay.
func (l *learner) serving(engine nets.Engine, a *app, e *sizing.Env, rows []library.Row,
	version int) func(uint64) (agents.Offline, error) {
	return func(seed uint64) (agents.Offline, error) {
		o, err := l.open(engine, e.Spec(), seed, math.MaxInt32)
		if err != nil {
			return nil, err
		}
		if err := o.Adopt(l.states[a.name][version]); err != nil {
			return nil, err
		}
		own := library.Users(rows, e.Config().Users[0])
		fill, err := train.RowTransitions(library.Pick(own, serveRows, seed), e)
		if err != nil {
			return nil, err
		}
		for i := range fill {
			if err := o.Take(&fill[i]); err != nil {
				return nil, err
			}
		}
		return o, nil
	}
}

// guard makes safe exploration whose history is the library, with a band for each number of users.
func guard(e *sizing.Env, rows []library.Row) func(uint64) (*safe.Guard, error) {
	return func(seed uint64) (*safe.Guard, error) {
		rule := safe.Default()
		rule.History, rule.MinHistory, rule.LoadStep = len(rows)+1000, 10, 1
		return search.Guarded(rule, e.Spec(), rows, rng.NewStream(seed, "suite/faasconf/safe"))
	}
}

// tunedLearner is a method that learns from the libraries, with what its tuning gave. All had the same budget: six
// trainings from 3,000 rows of Parallel (seed 4001), 6,000 updates each, agent.logit_penalty of 0.2, 0.4 and 0.8 times
// agent.critic_rate of 1e-4 and 1e-3, ranked by return in 20 episodes. docs/faasconf.md has the table.
type tunedLearner struct {
	config, decide, name string
	tuned                []string
	only                 []string // the applications in which the paper has it; empty is all
	saving               float64
	// safely says that it serves with safe exploration; bold adds the same without.
	safely, bold bool
}

// meanField are the batch and the noise of AttMF and MF on libraries. Their files have what a search in the simulator found.
var meanField = []string{"agent.batch=64", "agent.noise=0.1"}

var tunedLearners = []tunedLearner{
	{config: "attmf", name: oursName, safely: true, bold: true, tuned: settings(0.9, 1e-4, 0.4, 1e-3, meanField...)},
	{config: "firm", decide: sizing.Hardware, name: firmName, saving: paperFirm, tuned: settings(0.95, 1e-3, 0.4, 1e-4)},
	{config: "firm", decide: sizing.Hybrid, name: firmName + withLimit, tuned: settings(0.95, 1e-3, 0.4, 1e-3),
		only: []string{sizing.Sequential, sizing.Parallel}},
	{config: "mf", name: mfName, only: machineLearn, tuned: settings(0.9, 1e-4, 0.4, 1e-3, meanField...)},
	{config: "maddpg", name: maddpgName, only: machineLearn, tuned: settings(0.5, 3e-4, 0.2, 1e-4)},
	{config: "ddpg", name: ddpgName, only: machineLearn, tuned: settings(0.5, 1e-3, 0.4, 1e-4)},
}

// settings are those under which a learner was tuned, discount and rate of the actor, and what was best.
func settings(gamma, actor, penalty, critic float64, more ...string) []string {
	return append([]string{
		fmt.Sprintf("agent.gamma=%g", gamma), fmt.Sprintf("agent.actor_rate=%g", actor),
		fmt.Sprintf("agent.logit_penalty=%g", penalty), fmt.Sprintf("agent.critic_rate=%g", critic),
	}, more...)
}

// trainee is a learned policy of the 85 minutes.
type trainee struct {
	name string
	// config and sets are what the suite trains, all for size.traceSteps.
	config string
	sets   []string
	// shipped is a policy of the zoo, which is played instead.
	shipped string
	// dials says that the policy sees the worth of a kept window, so that it has one for every dial.
	dials bool
}

// The learner of the shipped configuration, and the shipped policy itself, trained for longer.
const (
	ppoName     = "ppo"
	shippedName = zoo.Prefix + "faasconf"
)

var trainees = []trainee{
	{name: shippedName, shipped: "faasconf", dials: true},
	{name: ppoName, config: "sizing/faasconf", dials: true},
	{name: oursName, config: "sizing/faasconf-attmf", dials: true, sets: []string{"agent.replay=200000"}}, // all its steps
	{name: firmName, config: "faasconf/trace-firm"},
	{name: simppoName, config: "faasconf/trace-simppo", dials: true},
}

// trainAll trains every trainee once for each training seed and returns them as contestants, with their environments of
// the 85 minutes: x with what the trainee sees and decides.
func trainAll(ctx context.Context, o *suite.Options, x *configs.Experiment, s size) ([]eval.Contestant, error) {
	out := make([]eval.Contestant, len(trainees))
	var trainings []suite.Training
	var of []int // the contestant of each training
	for i := range trainees {
		t := &trainees[i]
		out[i] = eval.Contestant{Name: t.name, Kind: catalog.Learned}
		if t.shipped != "" {
			p, err := t.open()
			if err != nil {
				return nil, err
			}
			if err := add(&out[i], x, p, t.name); err != nil {
				return nil, err
			}
			continue
		}
		for seed := range s.trainings {
			y, err := t.experiment(s, seed+1)
			if err != nil {
				return nil, err
			}
			name := "suite-faasconf-"
			if o.Quick {
				name += "quick-"
			}
			trainings = append(trainings, suite.Training{Name: fmt.Sprintf("%s%s-s%d", name, t.name, seed+1), Experiment: y})
			of = append(of, i)
		}
	}
	dirs, err := o.Train(ctx, "training for Figs. 9 and 10", trainings)
	if err != nil {
		return nil, err
	}
	for k, dir := range dirs {
		p, err := eval.OpenTrained(catalog.Default(), dir, nil)
		if err != nil {
			return nil, err
		}
		if err := add(&out[of[k]], x, p, trainings[k].Name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// open opens a shipped policy.
func (t *trainee) open() (*eval.Trained, error) {
	p, err := eval.Shipped(t.shipped)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, fmt.Errorf("this program's zoo has no %s", t.shipped)
	}
	return p, nil
}

// env is the environment in which a trainee learns.
func (t *trainee) env() (*sizing.Config, error) {
	var x *configs.Experiment
	if t.shipped != "" {
		p, err := t.open()
		if err != nil {
			return nil, err
		}
		x = p.Experiment
	} else {
		var err error
		if x, err = t.experiment(sizeOf(false), 1); err != nil {
			return nil, err
		}
	}
	return sizingOf(t.name, x)
}

// sizingOf is the environment in which what is named was trained.
func sizingOf(name string, x *configs.Experiment) (*sizing.Config, error) {
	own, ok := x.Env.Config.(*sizing.Config)
	if !ok {
		return nil, fmt.Errorf("%s: it was trained in %s, want one of %v", name, x.Env.Name, sizing.IDs())
	}
	return own, nil
}

// experiment is a trainee's configuration for a training seed.
func (t *trainee) experiment(s size, seed int) (*configs.Experiment, error) {
	sets := []string{fmt.Sprintf("seed=%d", seed), "engine.threads=1", fmt.Sprintf("train.steps=%d", s.traceSteps),
		fmt.Sprintf("train.evaluate.every=%d", s.traceSteps/5)}
	sets = append(append(sets, t.sets...), s.settings...)
	x, err := configs.Load(t.config+".yaml", sets, catalog.Default())
	if err != nil {
		return nil, fmt.Errorf("configuration of %s: %w", t.name, err)
	}
	return x, nil
}

// add adds a trained policy to a contestant as a version.
func add(c *eval.Contestant, x *configs.Experiment, p *eval.Trained, source string) error {
	own, err := sizingOf(source, p.Experiment)
	if err != nil {
		return err
	}
	p.Threads = 1
	c.Versions = append(c.Versions, p.Version(source))
	c.NewEnv = newTrace(x, own, x.Env.Config.(*sizing.Config).Reward.QoS)
	return nil
}

// newTrace makes the environment of the 85 minutes as a policy with the configuration own sees it, at a dial.
func newTrace(x *configs.Experiment, own *sizing.Config, dial float64) func() (envs.Env, error) {
	y, c := *x, *x.Env.Config.(*sizing.Config)
	c.Features, c.Reward, c.LoadKnown, c.Decide = own.Features, own.Reward, own.LoadKnown, own.Decide
	if len(c.Reward.Dial) > 1 {
		c.Reward.Dial = []float64{dial}
	}
	y.Env.Config = &c
	return func() (envs.Env, error) { return train.NewEnv(&y, "test") }
}
