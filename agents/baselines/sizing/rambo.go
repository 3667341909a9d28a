package sizing

import (
	"math"

	"github.com/stoker-rl/stoker/agents/baselines/internal/kept"
	"github.com/stoker-rl/stoker/agents/internal/gp"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
)

// RAMBOConfig configures [RAMBO].
type RAMBOConfig struct {
	SearchConfig `yaml:",inline"`
	// Acquisition is ei (expected improvement of one weighted objective, as FaaSConf ran it) or ehvi (expected
	// hypervolume improvement of latency and price within the QoS, after RAMBO's authors).
	Acquisition string `yaml:"acquisition" json:"acquisition" oneof:"ei|ehvi"`
	// Xi is what an improvement must exceed, in standard deviations of the objective.
	Xi float64 `yaml:"xi" json:"xi" range:"[0,100]"`
	// Price is the price P in USD/h to which the objective relates others; 0 stands for the mean of the rows at the first
	// proposal by the model, which are the library's where there is one.
	Price float64 `yaml:"price" json:"price" range:"[0,1e9]"`
	// Noise is the variance of observations, as a share of the objective's.
	Noise float64 `yaml:"noise" json:"noise" range:"[1e-10,10]"`
	// Restarts is the number of further starts of each fit.
	Restarts int `yaml:"restarts" json:"restarts" range:"[0,1000]"`
	// Samples is the number of random points of which the best Refine are improved by their gradients.
	Samples int `yaml:"samples" json:"samples" range:"[1,1e6]"`
	Refine  int `yaml:"refine" json:"refine" range:"[0,1000]"`
}

// Acquisitions of [RAMBO].
const (
	acquisitionEI   = "ei"
	acquisitionEHVI = "ehvi"
)

// DefaultRAMBO returns what FaaSConf ran: bayes_opt's process with noise 1e-5 and EI with ξ 0.
func DefaultRAMBO() RAMBOConfig {
	return RAMBOConfig{
		SearchConfig: defaultSearch(), Acquisition: acquisitionEI, Noise: 1e-5, Restarts: 2, Samples: 1000, Refine: 5,
	}
}

// Validate reports the first wrong number.
func (c *RAMBOConfig) Validate() error {
	if err := bounds.Check(c); err != nil {
		return err
	}
	return c.check()
}

// RAMBO searches as FaaSConf runs RAMBO (Li et al., 2021): a Gaussian process (Matérn 5/2, one length scale, variance 1
// of the standardised objective) is fitted to 2(L − latency)/L + (P − price)/P of all rows, and the point of the
// largest expected improvement is tried. With ehvi two processes stand for latency and price, and the point is tried at
// which the area that they dominate is expected to grow most.
type RAMBO struct {
	kept.Saved
	bayes
	config    RAMBOConfig
	reference float64 // P, 0 until the first proposal by the model
}

// NewRAMBO returns a tuner for environments such as env.
func NewRAMBO(c RAMBOConfig, env envs.Env) (*RAMBO, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	p := &RAMBO{config: c}
	p.Saved = kept.Save("rambo", p)
	var err error
	if p.bayes, err = newBayes("rambo", c.SearchConfig, env); err != nil {
		return nil, err
	}
	return p, p.Reset(0)
}

// Reset implements [envs.Tuner].
func (p *RAMBO) Reset(seed uint64) error {
	p.restart(seed, "rambo")
	p.reference = 0
	return nil
}

// Propose implements [envs.Tuner].
func (p *RAMBO) Propose(_ *envs.Observation, act *envs.Action) error {
	if p.holds(act) || p.begins(act) {
		return nil
	}
	if p.reference == 0 {
		p.reference = p.config.Price
		if p.reference == 0 {
			for _, r := range p.rows {
				p.reference += r.Price / float64(len(p.rows))
			}
		}
	}
	value, err := p.acquisition()
	if err != nil {
		return err
	}
	point, _ := gp.Maximize(value, p.box, p.uniform(p.config.Samples), p.config.Refine)
	p.write(point, act)
	return nil
}

// model returns a process fitted to standardised outputs.
func (p *RAMBO) model(z []float64) (*gp.Model, error) {
	m, err := gp.New(gp.Config{
		Kernel: gp.Matern52, Signal: gp.Fixed(1), Length: gp.Range(1, 1e-5, 1e5), Noise: gp.Fixed(p.config.Noise),
		Restarts: p.config.Restarts,
	}, len(p.columns))
	if err != nil {
		return nil, err
	}
	return m, m.Fit(p.x, z, p.stream)
}

func (p *RAMBO) acquisition() (gp.Acquisition, error) {
	l := p.qos().Latency
	latency := func(r row) float64 { return (l - r.Latency) / l }
	price := func(r row) float64 { return (p.reference - r.Price) / max(p.reference, math.SmallestNonzeroFloat64) }
	if p.config.Acquisition == acquisitionEHVI {
		return p.hypervolume(p.each(latency), p.each(price))
	}
	z, _, _ := standardise(p.each(func(r row) float64 { return 2*latency(r) + price(r) }))
	m, err := p.model(z)
	if err != nil {
		return nil, err
	}
	best := math.Inf(-1)
	for _, v := range z {
		best = max(best, v)
	}
	best += p.config.Xi
	q := m.Query()
	return func(x, g []float64) float64 {
		q.At(x)
		v, byMean, bySD := gp.Expected(q.Mean, q.SD, best)
		if g != nil {
			q.Gradient(byMean, bySD, g)
		}
		return v
	}, nil
}

// hypervolume is the growth of the area that the rows dominate within the QoS and above the worst price: a is 0 at the
// latency that the QoS allows.
func (p *RAMBO) hypervolume(a, b []float64) (gp.Acquisition, error) {
	var models [2]*gp.Query
	pairs := make([]gp.Pair, len(a))
	reference := gp.Pair{math.Inf(1), math.Inf(1)}
	for k, y := range [][]float64{a, b} {
		z, mean, sd := standardise(y)
		m, err := p.model(z)
		if err != nil {
			return nil, err
		}
		models[k] = m.Query()
		for i, v := range z {
			pairs[i][k] = v
			reference[k] = min(reference[k], v)
		}
		if k == 0 {
			reference[k] = -mean / sd
		}
	}
	front := gp.Front(pairs, reference)
	u, v := models[0], models[1]
	return func(x, g []float64) float64 {
		u.At(x)
		v.At(x)
		value, by := gp.Hypervolume(front, reference, gp.Normal{Mean: u.Mean, SD: u.SD}, gp.Normal{Mean: v.Mean, SD: v.SD})
		if g != nil {
			u.Gradient(by[0][0], by[0][1], g)
			v.Gradient(by[1][0], by[1][1], g)
		}
		return value
	}, nil
}

// State implements [state.Stater].
func (p *RAMBO) State(c *state.Codec) {
	p.bayes.State(c)
	state.Value(c, &p.reference)
	c.Check(p.reference >= 0 && p.reference <= math.MaxFloat32, "the reference price is %g, want a finite number",
		p.reference)
}
