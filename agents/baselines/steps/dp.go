package steps

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/internal/reuse"
)

// DPConfig configures [DP].
type DPConfig struct {
	// Miss is the price of a miss as a multiple of the request's own.
	Miss float64 `yaml:"miss" json:"miss" range:"(0,1e9]"`
	// Bins is the number of times left for which a decision is worked out.
	Bins int `yaml:"bins" json:"bins" range:"[16,65536]"`
}

// DefaultDP takes the request's price of a miss.
func DefaultDP() DPConfig { return DPConfig{Miss: 1, Bins: 1024} }

// DP is the stochastic optimum over step and time left on a chain (Bellman's equation): with a time τ left before step i,
//
//	V_i(τ) = min_θ c_i(θ) + E V_{i+1}(τ − T_i(θ)),
//
// where a request that ends late pays λ: V behind the last step is λ for τ < 0, else 0. Times are those of the model, the
// steps' independent of each other, without warm instances. Between 18 of its quantiles the density of a step's time is
// taken as level; time left is rounded down to a bin.
//
// It plans chains only: elsewhere the state would be the times of all steps that run.
type DP struct {
	config DPConfig
	tables tables[dpKey, *policyTable]
	*policyTable
	slo float64
}

// dpKey is what a table follows from.
type dpKey struct {
	m       *steps.Model
	horizon float64
	miss    float64
}

// policyTable is what to choose.
type policyTable struct {
	bin    float64 // seconds
	option [][]uint8
	value  []float64 // before the first step, by bin
}

// NewDP returns the decider.
func NewDP(c DPConfig) (*DP, error) {
	if err := bounds.Check(&c); err != nil {
		return nil, err
	}
	d := &DP{config: c}
	d.tables.make = d.solve
	return d, nil
}

// Suits says why a workflow cannot be planned.
func (*DP) Suits(m *steps.Model) error {
	g := newGraph(m.Flow)
	if v := g.fork(); v >= 0 {
		return fmt.Errorf("dp: workflow %q is no chain: at step %q paths part or meet; want a chain, or replan for other graphs",
			m.Flow.Name(), m.Flow.NodeName(v))
	}
	return nil
}

// Begin implements [steps.Decider].
func (d *DP) Begin(m *steps.Model, slo, miss float64) {
	// The horizon is the fastest time by a power of √2, so that requests with similar limits share a table.
	horizon := m.Fastest
	for horizon < slo {
		horizon *= math.Sqrt2
	}
	k := dpKey{m, horizon, float64(miss * d.config.Miss)}
	d.slo = slo
	d.policyTable = d.tables.of(k)
}

// Decide implements [steps.Decider].
func (d *DP) Decide(at *steps.Moment, step int) int {
	options := d.option[step]
	left := d.slo - at.Now
	if left < 0 {
		return int(options[len(options)-1])
	}
	return int(options[min(int(left/d.bin), len(options)-2)])
}

// Value returns the expected price of a request of the workflow that is begun, misses included.
func (d *DP) Value() float64 { return d.value[min(int(d.slo/d.bin), len(d.value)-1)] }

// knots are the quantiles between which the density of a step's time is taken as level.
var knots = [...]float64{0.0007, 0.006, 0.023, 0.055, 0.106, 0.171, 0.258, 0.345, 0.448, 0.552, 0.655, 0.742, 0.829, 0.894,
	0.945, 0.977, 0.994, 0.9993}

// masses are the probabilities of the stretches between knots; the first and the last one have the tails.
func masses() (p [len(knots) - 1]float64) {
	for k := range p {
		from, to := knots[k], knots[k+1]
		if k == 0 {
			from = 0
		}
		if k == len(p)-1 {
			to = 1
		}
		p[k] = to - from
	}
	return p
}

// solve works the tables out, from the last step to the first.
func (d *DP) solve(k dpKey) *policyTable {
	m, n := k.m, d.config.Bins
	t := &policyTable{bin: k.horizon / float64(n-1), option: make([][]uint8, m.NumSteps())}
	var times [len(knots)][][]float64
	for j, level := range knots {
		times[j] = m.Times(level)
	}
	p := masses()
	v := onward{value: make([]float64, n), late: k.miss, bin: t.bin}
	for _, step := range slices.Backward(m.Flow.Order()) {
		v.integrate()
		options := m.Options[step]
		cheapest := len(options) - 1
		t.option[step] = make([]uint8, n+1)
		value := make([]float64, n)
		for b := range value {
			value[b] = math.Inf(1)
			for o := range options {
				usd := options[o].USD
				left := float64(b) * t.bin
				if first := times[0][step][o]; first >= left {
					usd += v.late
				} else {
					for j := range p {
						usd += float64(p[j] * v.mean(left-times[j+1][step][o], left-times[j][step][o]))
					}
				}
				if usd < value[b] {
					value[b], t.option[step][b] = usd, uint8(o)
				}
			}
		}
		t.option[step][n] = uint8(cheapest)
		v.value, v.late = value, v.late+options[cheapest].USD
	}
	t.value = v.value
	return t
}

// onward is the expected price of what comes after a step.
type onward struct {
	value []float64 // by time left, in bins
	sum   []float64 // its integral from 0, in bins
	late  float64   // where the limit has passed
	bin   float64   // seconds
}

// integrate adds the values up by the trapezoidal rule.
func (v *onward) integrate() {
	v.sum = reuse.Slice(v.sum, len(v.value))
	v.sum[0] = 0
	for b := 1; b < len(v.value); b++ {
		v.sum[b] = v.sum[b-1] + (v.value[b-1]+v.value[b])/2
	}
}

// integral is that of the value from 0 to a time left, in bins.
func (v *onward) integral(x float64) float64 {
	last := len(v.value) - 1
	switch {
	case x <= 0:
		return float64(x * v.late)
	case x >= float64(last):
		return v.sum[last] + float64((x-float64(last))*v.value[last])
	}
	b := int(x)
	f := x - float64(b)
	return v.sum[b] + float64(f*(v.value[b]+float64(f/2*(v.value[b+1]-v.value[b]))))
}

// mean is the mean value between two times left in seconds.
func (v *onward) mean(from, to float64) float64 {
	a, b := from/v.bin, to/v.bin
	if b-a < 1e-9 {
		// The time is certain, or nearly so.
		b = a + 1e-6
	}
	return (v.integral(b) - v.integral(a)) / (b - a)
}

// LookaheadConfig configures [Lookahead].
type LookaheadConfig struct {
	// Miss multiplies the request's price of a miss.
	Miss float64 `yaml:"miss" json:"miss" range:"(0,1e9]"`
	// Cap says how steps that share a cluster's cores are planned, as of [ReplanConfig].
	Cap string `yaml:"cap" json:"cap" oneof:"none|siblings|schedule|"`
}

// DefaultLookahead takes the request's price of a miss.
func DefaultLookahead() LookaheadConfig { return LookaheadConfig{Miss: 1, Cap: NoCap} }

// Lookahead takes the option with the least expected price of the whole request, a miss included, by the same estimate
// that policies see ([steps.Outlook]): it is what can be had without learning from what they see.
type Lookahead struct {
	config  LookaheadConfig
	outlook steps.Outlook
	model   *steps.Model
	all     []steps.Prospect
	shared  steps.SharedPlanner // with the cap schedule
	aim     steps.Aim
}

// NewLookahead returns the decider.
func NewLookahead(c LookaheadConfig) (*Lookahead, error) {
	if err := bounds.Check(&c); err != nil {
		return nil, err
	}
	return &Lookahead{config: c, aim: expected(c.Miss)}, nil
}

// Begin implements [steps.Decider].
func (l *Lookahead) Begin(m *steps.Model, _, _ float64) {
	l.model = m
	if l.outlook.Begin(m); l.scheduled() {
		l.shared.Begin(m)
	}
}

// scheduled reports whether waits for room are predicted.
func (l *Lookahead) scheduled() bool { return l.config.Cap == Scheduled && l.model.SharesCluster() }

// Decide implements [steps.Decider].
func (l *Lookahead) Decide(at *steps.Moment, step int) int {
	seen := *at
	if l.scheduled() {
		return l.shared.Best(at, step, l.aim)
	}
	seen.Miss = float64(at.Miss * l.config.Miss)
	l.all = l.outlook.Look(l.all[:0], &seen, step)
	cores := math.MaxInt
	if l.config.Cap == Siblings {
		cores = share(l.model, at, step)
	}
	best, over := -1, 0
	for i := range l.all {
		o := &l.model.Options[step][i]
		beyond := max(o.Instances*l.model.Platform.CoresOf(o.MB)-cores, 0)
		if best < 0 || beyond < over || beyond == over && l.all[i].USD < l.all[best].USD {
			best, over = i, beyond
		}
	}
	return best
}
