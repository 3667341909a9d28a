package sizing

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
)

// Resources is the configuration of one function.
type Resources struct {
	// CPU in millicores and Memory in MB of each instance.
	CPU, Memory int
	// Replicas is the number of instances, Concurrency the number of requests that each takes at once.
	Replicas, Concurrency int
}

// Range is the range of a function's resources. It converts between resources and actions in [0, 1].
type Range struct {
	Low, High Resources
	// Concurrency says whether the concurrency limit is part of the action. If not, Low.Concurrency is the limit.
	Concurrency bool
	// Padded says that an action has a fourth component even where the concurrency limit is not decided. It is ignored.
	Padded bool
}

// Components returns the number of components of an action: cpu, memory, replicas and, where it is decided or the
// action is padded, concurrency.
func (r *Range) Components() int {
	if r.Concurrency || r.Padded {
		return 4
	}
	return 3
}

// describe says what the components of an action stand for.
func (r *Range) describe() []envs.Component {
	of := func(name, unit, round string, low, high int) envs.Component {
		return envs.Component{Name: name, Unit: "of its range",
			Doc: fmt.Sprintf("0 stands for %d, 1 for %d %s; rounded%s", low, high, unit, round)}
	}
	out := []envs.Component{
		of("cpu", "millicores an instance", "", r.Low.CPU, r.High.CPU),
		of("memory", "MB an instance", "", r.Low.Memory, r.High.Memory),
		of("replicas", "instances", " down", r.Low.Replicas, r.High.Replicas),
		of("concurrency", "requests at once in an instance", " down", r.Low.Concurrency, r.High.Concurrency),
	}
	if !r.Concurrency {
		out[3].Doc = "ignored: the concurrency limit is not decided"
	}
	return out[:r.Components()]
}

// Decode returns the resources of an action of [Range.Components] numbers in [0, 1], as in FaaSConf's code and data:
// CPU and memory are rounded, replicas and concurrency are rounded down, so that only an action of exactly 1 gives
// their highest values.
func (r *Range) Decode(a []float32) Resources {
	var x [4]float64
	for i, v := range a[:r.Components()] {
		x[i] = float64(v)
	}
	return r.decode(x)
}

func (r *Range) decode(a [4]float64) Resources {
	at := func(a float64, low, high int) float64 { return float64(low) + float64(a*float64(high-low)) }
	out := Resources{
		CPU:         int(math.RoundToEven(at(a[0], r.Low.CPU, r.High.CPU))),
		Memory:      int(math.RoundToEven(at(a[1], r.Low.Memory, r.High.Memory))),
		Replicas:    int(at(a[2], r.Low.Replicas, r.High.Replicas)),
		Concurrency: r.Low.Concurrency,
	}
	if r.Concurrency {
		out.Concurrency = int(at(a[3], r.Low.Concurrency, r.High.Concurrency))
	}
	return out
}

// Encode writes an action that decodes to the wanted resources, clipped to the range.
func (r *Range) Encode(want Resources, a []float32) {
	share := func(x, low, high int, whole bool) float32 {
		x = min(max(x, low), high)
		if whole && x < high {
			return float32((float64(x-low) + 0.5) / float64(high-low)) // the middle of the interval that is rounded down to x
		}
		return float32(float64(x-low) / float64(high-low))
	}
	a[0] = share(want.CPU, r.Low.CPU, r.High.CPU, false)
	a[1] = share(want.Memory, r.Low.Memory, r.High.Memory, false)
	a[2] = share(want.Replicas, r.Low.Replicas, r.High.Replicas, true)
	switch {
	case r.Concurrency:
		a[3] = share(want.Concurrency, r.Low.Concurrency, r.High.Concurrency, true)
	case r.Padded:
		a[3] = 0
	}
}

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
