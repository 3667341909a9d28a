package sizing

import (
	"slices"

	"github.com/stoker-rl/stoker/agents/crossentropy"
	"github.com/stoker-rl/stoker/envs"
)

// components names what is decided, as the spec does.
var components = [...]string{"cpu", "memory", "replicas", "concurrency"}

// RuleSpace is what a search varies in a [Rule]: for each function the base of every component and the slope of
// replicas, and one slope for all functions of each other component; 33 numbers for six functions. It starts from the
// middle of every range, with more replicas at higher loads.
func RuleSpace(_ RuleConfig, env envs.Env) (*crossentropy.Space, error) {
	e, w, err := newWorld("rule", env)
	if err != nil {
		return nil, err
	}
	k, names, load := w.rng.Components(), w.spec.Kinds[0].Names, e.Workload().Mean
	s := &crossentropy.Space{}
	add := func(name string, start, spread, low, high float64) {
		s.Names, s.Start, s.Spread = append(s.Names, name), append(s.Start, start), append(s.Spread, spread)
		s.Low, s.High = append(s.Low, low), append(s.High, high)
	}
	for _, f := range names {
		for _, c := range components[:k] {
			add(f+" "+c, 0.5, 0.25, -0.5, 1.5)
		}
		add(f+" replicas slope", 0.2, 0.2, -1, 1)
	}
	for _, c := range components[:k] {
		if c != "replicas" {
			add(c+" slope", 0, 0.1, -1, 1)
		}
	}
	s.Config = func(x []float64) any {
		c := &RuleConfig{Load: load}
		shared := x[len(names)*(k+1):]
		for i, f := range names {
			own := x[i*(k+1) : (i+1)*(k+1)]
			slope := slices.Insert(slices.Clone(shared), 2, own[k])
			c.Functions = append(c.Functions, FunctionRule{Function: f, Base: slices.Clone(own[:k]), Slope: slope})
		}
		return c
	}
	return s, nil
}

// AutoscalerSpace is what a search varies in an [Autoscaler]: the base of each function, 24 numbers for six functions.
// Targets and times stay as they are configured.
func AutoscalerSpace(c AutoscalerConfig, env envs.Env) (*crossentropy.Space, error) {
	p, err := NewAutoscaler(c, env)
	if err != nil {
		return nil, err
	}
	c = p.config // that of the file, where there is one
	k, names := p.rng.Components(), p.spec.Kinds[0].Names
	s := &crossentropy.Space{}
	row := make([]float32, 4)
	for f, name := range names {
		p.rng.Encode(p.bases[f], row)
		for i, component := range components[:k] {
			s.Names, s.Start, s.Spread = append(s.Names, name+" "+component), append(s.Start, float64(row[i])), append(s.Spread, 0.25)
			s.Low, s.High = append(s.Low, 0), append(s.High, 1)
		}
	}
	s.Config = func(x []float64) any {
		out := c
		out.Functions = nil
		for i, name := range names {
			out.Functions = append(out.Functions, FunctionBase{name, slices.Clone(x[i*k : (i+1)*k])})
		}
		return &out
	}
	return s, nil
}
