package faasconf

import (
	"context"
	"fmt"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/train"
)

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
