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

// trainee is a policy that the suite trains in the simulator for the 85 minutes.
type trainee struct {
	name, config string
	sets         []string
	// shipped is the zoo's policy of this configuration, which a quick run plays; empty where there is none.
	shipped string
	// own says that sets say how long it is trained, and not size.traceSteps.
	own bool
	// dials says that the policy sees the worth of a kept window, so that it has one for every dial.
	dials bool
}

// ppoName is the shipped configuration.
const ppoName = "faasconf"

var trainees = []trainee{
	// A quarter of its configuration's length: nearer to what the others have.
	{name: ppoName, config: "sizing/faasconf", own: true, shipped: "faasconf", dials: true,
		sets: []string{"train.steps=800000", "train.evaluate.every=50000"}},
	{name: oursName, config: "sizing/faasconf-attmf", dials: true, sets: []string{"agent.replay=40000"}},
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
		if o.Quick && t.shipped != "" {
			p, err := eval.Shipped(t.shipped)
			if err != nil {
				return nil, err
			}
			if p == nil {
				return nil, fmt.Errorf("this program's zoo has no %s", t.shipped)
			}
			if err := add(&out[i], x, p, zoo.Prefix+t.shipped); err != nil {
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

// experiment is a trainee's configuration for a training seed.
func (t *trainee) experiment(s size, seed int) (*configs.Experiment, error) {
	sets := append([]string{fmt.Sprintf("seed=%d", seed), "engine.threads=1"}, t.sets...)
	if steps := s.traceSteps; !t.own {
		sets = append(sets, fmt.Sprintf("train.steps=%d", steps), fmt.Sprintf("train.evaluate.every=%d", steps/3))
	}
	x, err := configs.Load(t.config+".yaml", sets, catalog.Default())
	if err != nil {
		return nil, fmt.Errorf("configuration of %s: %w", t.name, err)
	}
	return x, nil
}

// add adds a trained policy to a contestant as a version.
func add(c *eval.Contestant, x *configs.Experiment, p *eval.Trained, source string) error {
	own, ok := p.Experiment.Env.Config.(*sizing.Config)
	if !ok {
		return fmt.Errorf("%s: it was trained in %s, want one of %v", source, p.Experiment.Env.Name, sizing.IDs())
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
