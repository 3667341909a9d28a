package sizing

import (
	"cmp"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
)

// lookahead holds the copies and buffers of a planner's search.
type lookahead struct {
	// states are the copies at the beginning of each window of the plan, by window and sample. try is the copy that a
	// trial steps, stage the one of a rehearsal.
	states [][]*sizing.Env
	try    *sizing.Env
	stage  *sizing.Env
	order  []int // of the samples: those first that ended the last trials
	qos    sizing.QoS
	obs    *envs.Observation
	act    *envs.Action
	out    *envs.Outcome
	info   struct{ latency, successes, failed, refused, violated int }

	trial, best []sizing.Resources // of one window
	value       float64            // what the best costs from its window on, the mean over the samples
	planned     float64            // what the whole plan costs
	held        bool               // a trial holds its configuration to the end of the plan
	trials      int
}

func (s *lookahead) init(p *Oracle, e *sizing.Env) error {
	newEnv := func(to **sizing.Env) error {
		var err error
		*to, err = e.NewEnv()
		return err
	}
	if err := newEnv(&s.try); err != nil {
		return err
	}
	if err := newEnv(&s.stage); err != nil {
		return err
	}
	for range p.config.Horizon {
		row := make([]*sizing.Env, p.config.Samples)
		for k := range row {
			if err := newEnv(&row[k]); err != nil {
				return err
			}
		}
		s.states = append(s.states, row)
		p.plan = append(p.plan, make([]sizing.Resources, p.n))
	}
	for k := range p.config.Samples {
		s.order = append(s.order, k)
	}
	s.obs, s.act, s.out = envs.NewObservation(p.spec), envs.NewAction(p.spec), envs.NewOutcome(p.spec)
	for name, at := range map[string]*int{
		"latency": &s.info.latency, "successes": &s.info.successes, "failed": &s.info.failed,
		"refused": &s.info.refused, "violated": &s.info.violated,
	} {
		var err error
		if *at, err = p.spec.InfoIndex(name); err != nil {
			return err
		}
	}
	s.trial, s.best = make([]sizing.Resources, p.n), make([]sizing.Resources, p.n)
	return nil
}

// extend completes the plan up to the horizon or to the episode's end.
func (p *Oracle) extend() error {
	for h := range p.config.Horizon {
		ended, err := p.arrive(h)
		if err != nil {
			return err
		}
		if ended {
			return nil
		}
		if h < p.depth {
			continue
		}
		p.depth = h + 1
		p.value = math.Inf(1)
		if h > 0 {
			copy(p.trial, p.plan[h-1])
			if err := p.test(h); err != nil {
				return err
			}
		}
		if err := p.recall(h); err != nil {
			return err
		}
		copy(p.plan[h], p.best)
	}
	return nil
}

// arrive makes the copies at the beginning of window h from those before. It reports whether the episode ends there.
func (p *Oracle) arrive(h int) (bool, error) {
	if h == 0 {
		return false, nil
	}
	for k, s := range p.states[h] {
		if err := s.CopyFrom(p.states[h-1][k]); err != nil {
			return false, err
		}
		if err := p.step(s, p.plan[h-1]); err != nil {
			return false, err
		}
	}
	return p.out.Truncated, nil
}

// improve searches window h's configuration, step by step or, where recall is set, among those remembered: in this window
// alone, and held from it to the end of the plan. After a window that could not be kept the latter finds the way back,
// which no change of one window does.
func (p *Oracle) improve(h int, recall bool) error {
	if _, err := p.arrive(h); err != nil {
		return err
	}
	p.value = math.Inf(1)
	copy(p.trial, p.plan[h])
	if err := p.test(h); err != nil {
		return err
	}
	before := p.value
	if h == 0 {
		p.planned = p.value
	}
	one := p.sweep
	if recall {
		one = p.recall
	}
	if err := one(h); err != nil {
		return err
	}
	alone := p.value
	if recall && h+1 < p.depth {
		p.held = true
		err := p.recall(h)
		p.held = false
		if err != nil {
			return err
		}
	}
	if p.value < before {
		copy(p.plan[h], p.best)
	}
	if p.value < alone {
		for j := h + 1; j < p.depth; j++ {
			copy(p.plan[j], p.best)
		}
	}
	p.planned -= before - p.value
	return nil
}

// recall tries the remembered configurations in window h.
func (p *Oracle) recall(h int) error {
	for i := range p.memory {
		copy(p.trial, p.memory[i].resources)
		if err := p.test(h); err != nil {
			return err
		}
	}
	return nil
}

// test simulates the windows from h on with the trial configuration in h, and makes it the best where it costs less.
func (p *Oracle) test(h int) error {
	if p.trials >= p.config.Budget && !math.IsInf(p.value, 1) {
		return nil
	}
	samples := float64(len(p.order))
	sum := p.try.Hourly(p.trial)
	for j := h + 1; j < p.depth; j++ {
		sum += p.try.Hourly(p.after(j))
	}
	sum *= samples
	limit := p.value * samples
	for i, k := range p.order {
		if sum >= limit {
			return nil
		}
		missed, err := p.run(h, k, limit-sum)
		if err != nil {
			return err
		}
		if sum += missed; sum >= limit {
			// The next trial fails soonest where this one did.
			copy(p.order[1:i+1], p.order[:i])
			p.order[0] = k
			return nil
		}
	}
	p.value = sum / samples
	copy(p.best, p.trial)
	return nil
}

// after is the configuration of a trial in a later window.
func (p *Oracle) after(j int) []sizing.Resources {
	if p.held {
		return p.trial
	}
	return p.plan[j]
}

// run simulates a trial in one sample and returns what its missed windows cost. It stops where they reach the limit.
func (p *Oracle) run(h, k int, limit float64) (float64, error) {
	if err := p.try.CopyFrom(p.states[h][k]); err != nil {
		return 0, err
	}
	var sum float64
	var w window
	rs := p.trial
	for j := h; j < p.depth; j++ {
		if j > h {
			rs = p.after(j)
		}
		if err := p.step(p.try, rs); err != nil {
			return 0, err
		}
		w = window{}
		p.add(&w)
		sum += float64(p.weight * p.loss(&w))
		if sum >= limit || p.out.Truncated || p.fresh {
			return sum, nil
		}
	}
	// Requests in progress at the plan's end show their result later: otherwise the cheapest plan would be the one that
	// leaves most work.
	p.try.Mute()
	if err := p.step(p.try, rs); err != nil {
		return 0, err
	}
	p.add(&w)
	return sum + float64(p.weight*p.loss(&w)), nil
}

// step steps a copy.
func (p *Oracle) step(e *sizing.Env, rs []sizing.Resources) error {
	for f, r := range rs {
		p.rng.Encode(r, p.action(p.act, f))
	}
	p.trials++
	return e.Step(p.act, p.obs, p.out)
}

// remembered is a configuration from which searches start.
type remembered struct {
	price     float64
	resources []sizing.Resources
}

// menu returns configurations that give functions CPU in proportion to their work in a request, with several sums of
// CPU, limits of CPU and concurrency limits.
func (w *world) menu(e *sizing.Env) []remembered {
	r, platform, demand := &w.rng, e.Config().Platform, e.Demand()
	var total float64
	for _, d := range demand {
		total += d
	}
	limits := []int{r.Low.Concurrency}
	if r.Concurrency {
		limits = []int{r.High.Concurrency, (r.Low.Concurrency + r.High.Concurrency) / 2, r.Low.Concurrency + 1}
	}
	least := float64(w.n*r.Low.CPU*r.Low.Replicas) / 1000
	most := min(float64(w.n*r.High.CPU*r.High.Replicas), float64(e.Machines()*platform.CPU)) / 1000
	var out []remembered
	for cores := most; cores > least; cores /= math.Sqrt2 {
		for _, part := range [...]float64{1, 0.75, 0.5} {
			for _, limit := range limits {
				rs := make([]sizing.Resources, w.n)
				for f, d := range demand {
					cpu := scaled(r.High.CPU, part, r.Low.CPU, r.High.CPU)
					n := cores * d / total * 1000 / float64(cpu)
					replicas := scaled(1, n, r.Low.Replicas, r.High.Replicas)
					rs[f] = sizing.Resources{
						CPU: scaled(cpu, min(1, n/float64(replicas)), r.Low.CPU, r.High.CPU), Memory: (r.Low.Memory + r.High.Memory) / 2,
						Replicas: replicas, Concurrency: limit,
					}
				}
				out = append(out, remembered{e.Hourly(rs), rs})
			}
		}
	}
	return out
}

// scaled is x times a factor, rounded and within limits.
func scaled(x int, by float64, low, high int) int {
	return int(min(max(math.Round(float64(x)*by), float64(low)), float64(high)))
}

// remember stores a configuration for later searches, in the order of prices. A full memory loses the entry nearest in
// price: prices spread the memory over the range, so that one is missed least.
func (p *Oracle) remember(rs []sizing.Resources) {
	price := p.try.Hourly(rs)
	at, near := 0, 0
	for i := range p.memory {
		m := &p.memory[i]
		if slices.Equal(m.resources, rs) {
			return
		}
		if m.price <= price {
			at = i + 1
		}
		if math.Abs(m.price-price) < math.Abs(p.memory[near].price-price) {
			near = i
		}
	}
	if len(p.memory) < p.config.Memory {
		p.memory = slices.Insert(p.memory, at, remembered{price, slices.Clone(rs)})
		return
	}
	p.memory[near].price = price
	copy(p.memory[near].resources, rs)
	slices.SortStableFunc(p.memory, cheaper)
}

func cheaper(a, b remembered) int { return cmp.Compare(a.price, b.price) }

// sweep tries steps up and down of every component of every function of window h.
func (p *Oracle) sweep(h int) error {
	for i := range p.n {
		f := (i + int(p.decision)) % p.n // a budget must not always end before the same functions
		for _, change := range moves {
			copy(p.trial, p.best)
			r := &p.trial[f]
			change(r, &p.rng)
			if *r == p.best[f] {
				continue
			}
			if err := p.test(h); err != nil {
				return err
			}
		}
	}
	return nil
}

// moves are the changes of a function's configuration that a search tries.
var moves = func() []func(r *sizing.Resources, in *sizing.Range) {
	var out []func(r *sizing.Resources, in *sizing.Range)
	for _, by := range [...]float64{0.7, 0.85, 0.95, 1.1, 1.3} {
		out = append(out, func(r *sizing.Resources, in *sizing.Range) {
			r.CPU = scaled(r.CPU, by, in.Low.CPU, in.High.CPU)
		})
	}
	for _, by := range [...]float64{0.5, 0.8, 1.25, 2} {
		out = append(out, func(r *sizing.Resources, in *sizing.Range) {
			r.Memory = scaled(r.Memory, by, in.Low.Memory, in.High.Memory)
		})
	}
	for _, by := range [...]int{-2, -1, 1, 2} {
		out = append(out, func(r *sizing.Resources, in *sizing.Range) {
			r.Replicas = within(r.Replicas+by, in.Low.Replicas, in.High.Replicas)
		}, func(r *sizing.Resources, in *sizing.Range) {
			if in.Concurrency {
				r.Concurrency = within(r.Concurrency+by, in.Low.Concurrency, in.High.Concurrency)
			}
		})
	}
	// One replica fewer with more CPU each, and the reverse.
	for _, by := range [...]int{-1, 1} {
		out = append(out, func(r *sizing.Resources, in *sizing.Range) {
			n := within(r.Replicas+by, in.Low.Replicas, in.High.Replicas)
			r.CPU = scaled(r.CPU, float64(r.Replicas)/float64(n), in.Low.CPU, in.High.CPU)
			r.Replicas = n
		})
	}
	return out
}()

func within(x, low, high int) int { return min(max(x, low), high) }
