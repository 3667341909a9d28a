package hops

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/train"
)

// zooPrefix begins the names of the zoo's policies that this suite compares.
const zooPrefix = "hops-"

// learned is a policy of the zoo: a pricer above ARMS, or a scheduler below static prices.
type learned struct {
	name   string
	config pricing.Config // in which it was trained
	seed   uint64
	file   *agents.PolicyFile
}

// schedules reports whether the policy acts in slots; else it prices.
func (l *learned) schedules() bool { return l.file.EnvID == pricing.SlotsID }

// shipped are the zoo's policies for HOPS.
func shipped() ([]*learned, error) {
	var out []*learned
	for _, name := range zoo.Names() {
		if !strings.HasPrefix(name, zooPrefix) {
			continue
		}
		l, err := open(name)
		if err != nil {
			return nil, fmt.Errorf("%s%s: %w", zoo.Prefix, name, err)
		}
		out = append(out, l)
	}
	return out, nil
}

func open(name string) (*learned, error) {
	ck, err := train.OpenCheckpoint(zoo.Prefix + name)
	if err != nil {
		return nil, err
	}
	x, err := train.ReadExperiment(ck, nil)
	if err != nil {
		return nil, err
	}
	c, ok := x.Env.Config.(*pricing.Config)
	if !ok {
		return nil, fmt.Errorf("it was trained in %s, want %s or %s", x.Env.Name, pricing.ID, pricing.SlotsID)
	}
	file, err := train.ReadPolicy(ck)
	return &learned{name: name, config: *c, seed: x.Seed, file: file}, err
}

// fits says why a policy cannot play in a world, empty where it can: a policy knows the sizes that it was trained with, a pricer also the users.
func (l *learned) fits(c *pricing.Config) string {
	switch t := &l.config; {
	case t.Profile != c.Profile && !l.schedules():
		return fmt.Sprintf("it was trained with profile %s, and this is %s", t.Profile, c.Profile)
	case t.VGPUs != c.VGPUs || t.Slots != c.Slots || !reflect.DeepEqual(t.Tiers, c.Tiers):
		return fmt.Sprintf("it was trained with %d vGPUs, %d slots and other tiers, or other numbers of them", t.VGPUs, t.Slots)
	}
	return ""
}

// trained are the zoo's policies that fit a world, schedulers below static prices, with a word on each that doesn't. Pricers set their own.
func trained(all []*learned, w *world, prices []float64) (fit []policy, notes []string) {
	for _, l := range all {
		if why := l.fits(&w.config); why != "" {
			notes = append(notes, fmt.Sprintf("%s%s does not play on %s: %s", zoo.Prefix, l.name, w.name, why))
			continue
		}
		p := policy{name: zoo.Prefix + l.name, scheduler: pricing.ARMSName, learned: l}
		if l.schedules() {
			p.prices, p.baselines = prices, l.config.Baselines
		}
		fit = append(fit, p)
	}
	return fit, notes
}

// schedulers are the zoo's schedulers that fit a world, below static prices.
func schedulers(all []*learned, w *world, prices []float64) []policy {
	fit, _ := trained(all, w, prices)
	return slices.DeleteFunc(fit, func(p policy) bool { return !p.learned.schedules() })
}

// entry is the policy in a world's configuration c, with the pool, the bounds and the kind of action that it was trained with.
func (l *learned) entry(p policy, c pricing.Config, load workload.Config) suite.Entry {
	t, id := &l.config, pricing.ID
	c.Scheduler, c.Pool, c.Load, c.Patience, c.Layout = t.Scheduler, t.Pool, t.Load, t.Patience, t.Layout
	c.PriceMin, c.PriceMax, c.BaselineMax = t.PriceMin, t.PriceMax, t.BaselineMax
	if l.schedules() {
		id, c.Acts, c.Rewards = pricing.SlotsID, t.Acts, t.Rewards
	}
	return suite.Entry{
		Contestant: eval.Contestant{Name: p.name, Kind: catalog.Learned, Versions: []eval.Version{{
			TrainingSeed: l.seed, Source: zoo.Prefix + l.name,
			New: func(env envs.Env) (rollout.Actor, error) {
				policy, err := l.open(env.Spec())
				return rollout.Actor{Policy: policy}, err
			},
		}}},
		NewEnv: func() (envs.Env, error) { return catalog.Default().NewEnv(id, &c, load) },
	}
}

// open makes the policy for an environment's spec, acting on the CPU.
func (l *learned) open(spec *envs.Spec) (envs.Policy, error) {
	a, err := catalog.Default().Learner(l.file.Agent)
	if err != nil {
		return nil, err
	}
	act, err := engines.Open(engines.Native, engines.Options{Device: "cpu"})
	if err != nil {
		return nil, err
	}
	return a.Open(l.file, spec, act)
}
