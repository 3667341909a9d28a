package sizing

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
)

// Settings is what a platform gives one function: the decision of an agent in the platform's units.
type Settings struct {
	// Cores and MB are the CPU and the memory limit of each instance.
	Cores float64 `json:"cores" unit:"cores of an instance"`
	MB    int     `json:"mb" unit:"MB of an instance"`
	// Replicas is the number of instances, Concurrency the number of requests that each takes at once.
	Replicas    int `json:"replicas" unit:"instances"`
	Concurrency int `json:"concurrency" unit:"requests that an instance takes at once"`
}

// Settings returns the resources in the platform's units.
func (r Resources) Settings() Settings {
	return Settings{Cores: float64(r.CPU) / 1000, MB: r.Memory, Replicas: r.Replicas, Concurrency: r.Concurrency}
}

// Resources returns the settings with cores rounded to millicores.
func (s Settings) Resources() Resources {
	return Resources{CPU: int(math.RoundToEven(s.Cores * 1000)), Memory: s.MB, Replicas: s.Replicas,
		Concurrency: s.Concurrency}
}

func (s Settings) validate() error {
	for _, n := range [...]measurement{
		{"cores", s.Cores, 1 << 20}, {"mb", float64(s.MB), 1 << 30}, {"replicas", float64(s.Replicas), 1 << 20},
		{"concurrency", float64(s.Concurrency), 1 << 20},
	} {
		if err := n.check(); err != nil {
			return err
		}
	}
	return nil
}

// Settings writes what an action asks for: to[f] is that of agent f. It has one entry for each agent.
func (o *Observer) Settings(act *envs.Action, to []Settings) error {
	if err := envs.CheckAction(o.spec, nil, act); err != nil {
		return err
	}
	if n := o.spec.Kinds[0].Agents; len(to) != n {
		return fmt.Errorf("%s: room for %d settings, want %d, one for each function", o.spec.ID, len(to), n)
	}
	for i, w := range o.flows {
		from, n := o.first[i], w.app.rng.Components()
		for f := from; f < o.first[i+1]; f++ {
			to[f] = w.app.rng.Decode(act.Kinds[0][f*n : (f+1)*n]).Settings()
		}
	}
	return nil
}

// Fits returns an error where a workflow's settings ask for more than all of its machines together have. The platform
// refuses such a decision whole: what was deployed stays.
func (o *Observer) Fits(settings []Settings) error {
	if n := o.spec.Kinds[0].Agents; len(settings) != n {
		return fmt.Errorf("%s: %d settings, want %d, one for each function", o.spec.ID, len(settings), n)
	}
	for i, w := range o.flows {
		var cores, memory float64
		for _, s := range settings[o.first[i]:o.first[i+1]] {
			s.add(&cores, &memory)
		}
		p := &w.cfg.Platform
		if machines := w.app.machines(p); w.app.beyond(p, cores, memory) {
			return fmt.Errorf("%s: workflow %s asks for %g cores and %g MB, its %d machines have %g and %d", o.spec.ID,
				w.cfg.Workflow, cores, memory, machines, float64(machines*p.CPU)/1000, machines*p.Memory)
		}
	}
	return nil
}

// add adds what all instances take.
func (s Settings) add(cores, memory *float64) {
	r := s.Resources()
	*cores += float64(r.CPU*r.Replicas) / 1000
	*memory += float64(r.Memory * r.Replicas)
}
