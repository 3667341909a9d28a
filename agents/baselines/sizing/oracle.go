package sizing

import (
	"cmp"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/rng"
)

// OracleConfig is the search budget of [Oracle].
type OracleConfig struct {
	// Memory is the number of earlier windows whose configurations a search starts from.
	Memory int `yaml:"memory" json:"memory" range:"[3,]"`
	// Random is the number of random configurations tried where none of these keeps the QoS.
	Random int `yaml:"random" json:"random" range:"[0,]"`
	// Sweeps is how often every component of every function of the best configuration is tried one step up and down.
	Sweeps int `yaml:"sweeps" json:"sweeps" range:"[0,]"`
	// Samples is the number of copies over which a trial is averaged; in each the gateway chooses other instances.
	Samples int `yaml:"samples" json:"samples" range:"[1,]"`
	// Margin is how far below each threshold a configuration must stay, as a fraction, since the environment has noise
	// and the copy has none.
	Margin float64 `yaml:"margin" json:"margin" range:"[0,1)"`
	Spare  float64 `yaml:"spare" json:"spare" range:"[0,1)"`
}

// DefaultOracle returns a budget of a few hundred trials in each window.
func DefaultOracle() OracleConfig {
	return OracleConfig{Memory: 24, Random: 24, Sweeps: 2, Samples: 4, Margin: 0.2, Spare: 0.8}
}

// Validate reports the first wrong number.
func (c *OracleConfig) Validate() error { return bounds.Check(c) }

// Oracle searches for the cheapest configuration of the coming window that keeps the QoS, on a copy of the environment
// with the same state and the same arrivals but without noise. In each of several samples the copy's gateway chooses
// other instances, so that no configuration wins by the luck of these choices. Where requests carry over, those in
// progress at the window's end are simulated to their end; otherwise the cheapest configuration would be the one that
// leaves most work to the next window.
//
// The search starts from the configurations of earlier windows, the best of them grown and shrunk as a whole, or random
// ones, and continues one component at a time. Where nothing keeps the QoS it takes the configuration that misses it by
// the least.
type Oracle struct {
	world
	config OracleConfig
	copy   *sizing.Env
	qos    sizing.QoS
	obs    *envs.Observation
	act    *envs.Action
	out    *envs.Outcome
	info   struct{ latency, successes, failed, refused int }
	stream *rng.Stream
	memory []remembered
	base   []sizing.Resources
	best   []sizing.Resources
	trial  []sizing.Resources
	score  float64
	missed float64 // by how much the best misses the QoS
	closed bool
	trials int
}

// NewOracle returns a planner for environments such as env.
func NewOracle(c OracleConfig, env envs.Env) (*Oracle, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	p := &Oracle{config: c}
	e, w, err := newWorld("oracle", env)
	if err != nil {
		return nil, err
	}
	p.world = w
	if p.copy, err = e.NewEnv(); err != nil {
		return nil, err
	}
	p.copy.Quiet(true)
	p.closed = e.Closed()
	p.obs, p.act, p.out = envs.NewObservation(p.spec), envs.NewAction(p.spec), envs.NewOutcome(p.spec)
	for name, at := range map[string]*int{
		"latency": &p.info.latency, "successes": &p.info.successes, "failed": &p.info.failed, "refused": &p.info.refused,
	} {
		if *at, err = p.spec.InfoIndex(name); err != nil {
			return nil, err
		}
	}
	p.base = make([]sizing.Resources, p.n)
	p.best, p.trial = slices.Clone(p.base), slices.Clone(p.base)
	return p, p.Reset(0)
}

// Name implements [envs.Planner].
func (*Oracle) Name() string { return "oracle" }

// Reset implements [envs.Planner].
func (p *Oracle) Reset(seed uint64) error {
	p.stream = rng.NewStream(seed, "oracle")
	p.memory = p.memory[:0]
	for _, a := range [...]float64{0.3, 0.5, 0.7} {
		r, err := p.resources("start", []float64{a, a, a, a})
		if err != nil {
			return err
		}
		rs := slices.Repeat([]sizing.Resources{r}, p.n)
		p.memory = append(p.memory, remembered{p.copy.Hourly(rs), rs})
	}
	return nil
}

// Trials is the number of windows that the last Plan simulated.
func (p *Oracle) Trials() int { return p.trials }

// Plan implements [envs.Planner].
func (p *Oracle) Plan(env envs.Env, _ *envs.Observation, act *envs.Action) error {
	e, ok := envs.As[*sizing.Env](env)
	if !ok {
		return elsewhere("oracle", env)
	}
	p.qos, p.score, p.missed, p.trials = e.QoS(), math.Inf(1), math.Inf(1), 0
	if err := p.start(e); err != nil {
		return err
	}
	for range p.config.Sweeps {
		before := p.score
		if err := p.sweep(e); err != nil {
			return err
		}
		if p.score == before {
			break
		}
	}
	p.remember(e.Hourly(p.best))
	for f, r := range p.best {
		p.rng.Encode(r, p.action(act, f))
	}
	return nil
}

// start tries the configurations of earlier windows, the best of them grown and shrunk, and random ones where none
// keeps the QoS.
func (p *Oracle) start(e *sizing.Env) error {
	slices.SortStableFunc(p.memory, func(a, b remembered) int { return cmp.Compare(a.price, b.price) })
	for _, m := range p.memory {
		copy(p.trial, m.resources)
		if err := p.try(e); err != nil {
			return err
		}
	}
	copy(p.base, p.best)
	for _, grow := range [...]struct{ cpu, replicas float64 }{
		{1, 0.7}, {0.7, 1}, {0.85, 1}, {1.25, 1}, {1, 1.5}, {1.25, 1.5}, {1.6, 1.5}, {2, 1}, {1, 2},
	} {
		for f, r := range p.base {
			r.CPU = scaled(r.CPU, grow.cpu, p.rng.Low.CPU, p.rng.High.CPU)
			r.Replicas = scaled(r.Replicas, grow.replicas, p.rng.Low.Replicas, p.rng.High.Replicas)
			p.trial[f] = r
		}
		if err := p.try(e); err != nil {
			return err
		}
	}
	for n := 0; n < p.config.Random && p.score >= infeasible; n++ {
		var a [4]float32
		for f := range p.trial {
			for i := range a {
				a[i] = float32(p.stream.Float64())
			}
			p.trial[f] = p.rng.Decode(a[:p.rng.Components()])
		}
		if err := p.try(e); err != nil {
			return err
		}
	}
	return nil
}

// remembered is a configuration of an earlier window.
type remembered struct {
	price     float64
	resources []sizing.Resources
}

// remember stores the best configuration for later windows to start from; a full memory loses the entry nearest in
// price.
func (p *Oracle) remember(price float64) {
	for i := range p.memory {
		if slices.Equal(p.memory[i].resources, p.best) {
			return
		}
	}
	if len(p.memory) < p.config.Memory {
		p.memory = append(p.memory, remembered{price, slices.Clone(p.best)})
		return
	}
	// Prices spread the memory over the range, so the entry nearest in price is the one missed least.
	near := 0
	for i := range p.memory {
		if math.Abs(p.memory[i].price-price) < math.Abs(p.memory[near].price-price) {
			near = i
		}
	}
	p.memory[near].price = price
	copy(p.memory[near].resources, p.best)
}

func scaled(x int, by float64, low, high int) int {
	return int(min(max(math.Round(float64(x)*by), float64(low)), float64(high)))
}

// sweep tries one step up and down of every component of every function.
func (p *Oracle) sweep(e *sizing.Env) error {
	low, high := p.rng.Low, p.rng.High
	for f := range p.n {
		step := func(change func(r *sizing.Resources)) error {
			copy(p.trial, p.best)
			change(&p.trial[f])
			if p.trial[f] == p.best[f] {
				return nil
			}
			return p.try(e)
		}
		for _, by := range [...]float64{0.7, 0.85, 0.95, 1.1, 1.3} {
			if err := step(func(r *sizing.Resources) { r.CPU = scaled(r.CPU, by, low.CPU, high.CPU) }); err != nil {
				return err
			}
		}
		for _, by := range [...]float64{0.5, 0.8, 1.25, 2} {
			if err := step(func(r *sizing.Resources) { r.Memory = scaled(r.Memory, by, low.Memory, high.Memory) }); err != nil {
				return err
			}
		}
		for _, by := range [...]int{-2, -1, 1, 2} {
			if err := step(func(r *sizing.Resources) {
				r.Replicas = min(max(r.Replicas+by, low.Replicas),
					high.Replicas)
			}); err != nil {
				return err
			}
			if err := step(func(r *sizing.Resources) {
				r.Concurrency = min(max(r.Concurrency+by, low.Concurrency), high.Concurrency)
			}); err != nil {
				return err
			}
		}
		// One replica fewer with more CPU each, and the reverse.
		for _, by := range [...]int{-1, 1} {
			if err := step(func(r *sizing.Resources) {
				n := min(max(r.Replicas+by, low.Replicas), high.Replicas)
				r.CPU = scaled(r.CPU, float64(r.Replicas)/float64(n), low.CPU, high.CPU)
				r.Replicas = n
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// try simulates the window with the trial configuration, and makes it the best where its score is lower.
func (p *Oracle) try(e *sizing.Env) error {
	price := e.Hourly(p.trial)
	if price >= p.score {
		return nil // costs more than one that keeps the QoS
	}
	for f, r := range p.trial {
		p.rng.Encode(r, p.action(p.act, f))
	}
	var now, all window
	for k := range p.config.Samples {
		p.trials++
		if err := p.copy.CopyFrom(e); err != nil {
			return err
		}
		p.copy.Salt(uint64(k))
		if err := p.copy.Step(p.act, p.obs, p.out); err != nil {
			return err
		}
		if p.out.Info[p.info.refused] > 0 {
			return nil
		}
		p.add(&now)
		p.add(&all)
		if !e.Fresh() && !p.out.Truncated {
			// Requests in progress at the end show their result in the next window.
			p.copy.Mute()
			if err := p.copy.Step(p.act, p.obs, p.out); err != nil {
				return err
			}
			p.add(&all)
		}
		if p.miss(&now, k+1)+p.miss(&all, k+1) > p.missed+abandon {
			return nil
		}
	}
	miss := p.miss(&now, p.config.Samples) + p.miss(&all, p.config.Samples)
	s := price
	if miss > 0 {
		s += infeasible * (1 + miss)
	}
	if s < p.score {
		p.score, p.missed = s, miss
		copy(p.best, p.trial)
	}
	return nil
}

// window adds up the outcomes of requests.
type window struct{ successes, failed, latency float64 }

// add adds the copy's last window.
func (p *Oracle) add(w *window) {
	n := p.out.Info[p.info.successes]
	w.successes += n
	w.failed += p.out.Info[p.info.failed]
	w.latency += n * p.out.Info[p.info.latency]
}

// infeasible exceeds any price; abandon is a miss that further samples are not expected to correct.
const (
	infeasible = 1e6
	abandon    = 0.05
)

// miss is by how much the requests of a number of samples miss the QoS with its margins, as shares: 0 where they keep
// it.
func (p *Oracle) miss(w *window, samples int) float64 {
	c := &p.config
	var late, lost float64
	switch {
	case w.successes > 0:
		late = max(0, w.latency/w.successes/(p.qos.Latency*(1-c.Margin))-1)
	case w.failed > 0 || p.closed:
		late = 1
	}
	if p.closed {
		lost = max(0, 1-w.successes/(float64(p.qos.Count*samples)*(1+c.Margin)))
	} else if ended := w.successes + w.failed; ended > 0 {
		lost = max(0, w.failed/ended-(1-p.qos.Success)*(1-c.Spare))
	}
	return late + lost
}
