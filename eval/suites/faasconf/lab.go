package faasconf

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/workload"
)

// lab measures single windows of a workflow under closed-loop users, each a new deployment, as FaaSConf's testbed does.
type lab struct {
	env *sizing.Env
	rng sizing.Range
	obs *envs.Observation
	act *envs.Action
	out *envs.Outcome
	p75 int // the feature's index
	at  map[string]int
}

// seen is what one window gave.
type seen struct {
	latency, p95 float64 // of successes, in seconds
	successes    float64
	violated     bool      // the thresholds, those that rise with users
	p75          []float64 // of each function, in seconds
}

// newLab returns a lab for one of the paper's workflows.
func newLab(name string) (*lab, error) {
	c := sizing.DefaultCounted()
	c.Workflow, c.Windows, c.Warmup, c.Protocol, c.Features = name, 1, 0, sizing.Fresh, sizing.PaperFeatures
	w := workload.Default()
	w.Kind = workload.ClosedLoop
	env, err := sizing.NewCounted(c, w)
	if err != nil {
		return nil, err
	}
	spec := env.Spec()
	l := &lab{
		env: env, rng: env.Range(), obs: envs.NewObservation(spec), act: envs.NewAction(spec), out: envs.NewOutcome(spec),
		p75: slices.Index(spec.Kinds[0].Features, "p75"), at: map[string]int{},
	}
	for _, name := range []string{"latency", "latency_p95", "successes", "violated"} {
		if l.at[name], err = spec.InfoIndex(name); err != nil {
			return nil, err
		}
	}
	if l.p75 < 0 {
		return nil, fmt.Errorf("%s: no feature p75", spec.ID)
	}
	return l, nil
}

// functions is the number of the workflow's functions.
func (l *lab) functions() int { return l.env.Spec().Kinds[0].Agents }

// all is one configuration for every function.
func (l *lab) all(r sizing.Resources) []sizing.Resources {
	return slices.Repeat([]sizing.Resources{r}, l.functions())
}

func (l *lab) encode(rs []sizing.Resources) {
	n := l.rng.Components()
	for f, r := range rs {
		l.rng.Encode(r, l.act.Kinds[0][f*n:(f+1)*n])
	}
}

// price is what a configuration costs, in USD per hour.
func (l *lab) price(rs []sizing.Resources) (float64, error) {
	l.encode(rs)
	return l.env.PriceOf(l.act)
}

// window measures a configuration under a number of users.
func (l *lab) window(seed uint64, users int, rs []sizing.Resources) (seen, error) {
	if err := l.env.Reset(seed, envs.Options{"users": users}, l.obs); err != nil {
		return seen{}, err
	}
	l.encode(rs)
	if err := l.env.Step(l.act, l.obs, l.out); err != nil {
		return seen{}, err
	}
	s := seen{
		latency: l.out.Info[l.at["latency"]], p95: l.out.Info[l.at["latency_p95"]],
		successes: l.out.Info[l.at["successes"]], violated: l.out.Info[l.at["violated"]] != 0,
	}
	width := len(l.env.Spec().Kinds[0].Features)
	for f := range rs {
		s.p75 = append(s.p75, float64(l.obs.Kinds[0].Values[f*width+l.p75]))
	}
	return s, nil
}
