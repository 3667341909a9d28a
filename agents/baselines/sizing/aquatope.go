package sizing

import (
	"math"

	"github.com/stoker-rl/stoker/agents/baselines/internal/kept"
	"github.com/stoker-rl/stoker/agents/internal/gp"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng/portable"
)

// AquatopeConfig configures [Aquatope].
type AquatopeConfig struct {
	SearchConfig `yaml:",inline"`
	// Constraint is latency (the mean latency less the QoS, as FaaSConf ran it) or qos (the worst of latency, share and
	// number of successes, each relative to its threshold).
	Constraint string `yaml:"constraint" json:"constraint" oneof:"latency|qos"`
	// Draws is the number of Sobol points in the joint posterior of the rows over which noisy expected improvement is the
	// mean.
	Draws int `yaml:"draws" json:"draws" range:"[1,65536]"`
	// Raw is the number of points of which the best Starts are improved by their gradients.
	Raw    int `yaml:"raw" json:"raw" range:"[1,65536]"`
	Starts int `yaml:"starts" json:"starts" range:"[0,1000]"`
	// Outliers says which rows the models do not see: deviation (those outside the Confidence interval that the other
	// rows give), variance (as deviation, but with the variance in the place of the standard deviation, as Aquatope's
	// code has it) or keep (none is left out).
	Outliers string `yaml:"outliers" json:"outliers" oneof:"deviation|variance|keep"`
	// Confidence is that of the interval.
	Confidence float64 `yaml:"confidence" json:"confidence" range:"(0,1)"`
	// Lengths is each (a length scale per input, with BoTorch's priors) or one (one length scale, without priors).
	Lengths string `yaml:"lengths" json:"lengths" oneof:"each|one"`
}

// Values of [AquatopeConfig].
const (
	latencyConstraint = "latency"
	qosConstraint     = "qos"
	byDeviation       = "deviation"
	byVariance        = "variance"
	keepOutliers      = "keep"
	eachLength        = "each"
	oneLength         = "one"
)

// DefaultAquatope returns what FaaSConf ran, with Aquatope's outliers by the standard deviation.
func DefaultAquatope() AquatopeConfig {
	return AquatopeConfig{
		SearchConfig: defaultSearch(), Constraint: latencyConstraint, Draws: 32, Raw: 32, Starts: 10,
		Outliers: byDeviation, Confidence: 0.95, Lengths: eachLength,
	}
}

// Validate reports the first wrong number.
func (c *AquatopeConfig) Validate() error {
	if err := bounds.Check(c); err != nil {
		return err
	}
	return c.check()
}

// Aquatope searches as FaaSConf runs Aquatope's resource manager (Zhou, Zhang and Delimitrou, 2023): one Gaussian
// process stands for −price and one for latency − QoS, both with fitted noise; the point of the largest noisy expected
// improvement, weighted with the probability that the constraint is kept, is tried. Where no draw of the posterior has
// a feasible row, the point that is most likely to be feasible is tried.
type Aquatope struct {
	kept.Saved
	bayes
	config  AquatopeConfig
	dropped int
}

// NewAquatope returns a tuner for environments such as env.
func NewAquatope(c AquatopeConfig, env envs.Env) (*Aquatope, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	p := &Aquatope{config: c}
	p.Saved = kept.Save("aquatope", p)
	var err error
	if p.bayes, err = newBayes("aquatope", c.SearchConfig, env); err != nil {
		return nil, err
	}
	return p, p.Reset(0)
}

// Reset implements [envs.Tuner].
func (p *Aquatope) Reset(seed uint64) error {
	p.restart(seed, "aquatope")
	p.dropped = 0
	return nil
}

// Propose implements [envs.Tuner].
func (p *Aquatope) Propose(_ *envs.Observation, act *envs.Action) error {
	if p.holds(act) || p.begins(act) {
		return nil
	}
	objective, constraint, err := p.models()
	if err != nil {
		return err
	}
	noisy, err := gp.NewNoisyEI(objective, []gp.Constraint{constraint}, p.config.Draws, p.stream)
	if err != nil {
		return err
	}
	value := noisy.At
	if noisy.Draws() == 0 {
		q := constraint.Query()
		value = func(x, g []float64) float64 {
			q.At(x)
			v, byMean, bySD := gp.Feasible(q.Mean-constraint.Limit, q.SD)
			if g != nil {
				q.Gradient(byMean, bySD, g)
			}
			return v
		}
	}
	raw := gp.Scrambled(p.config.Raw, len(p.columns), p.stream)
	for i, u := range raw {
		raw[i] = p.search.Low + u*(p.search.High-p.search.Low)
	}
	point, _ := gp.Maximize(value, p.box, raw, p.config.Starts)
	p.write(point, act)
	return nil
}

// models returns the two processes, without the rows that are outliers in one of them.
func (p *Aquatope) models() (objective *gp.Model, constraint gp.Constraint, err error) {
	q := p.qos()
	x := p.x
	price := p.each(func(r row) float64 { return -r.Price })
	excess := p.each(func(r row) float64 { return r.Latency - q.Latency })
	if p.config.Constraint == qosConstraint {
		excess = p.each(func(r row) float64 {
			worst := r.Latency/q.Latency - 1
			if q.Success > 0 {
				worst = max(worst, 1-r.Success/q.Success)
			}
			if q.Count > 0 && p.env.Closed() {
				worst = max(worst, 1-r.Successes/float64(q.Count))
			}
			return worst
		})
	}
	for again := true; ; again = false {
		if objective, _, err = p.fit(x, price); err != nil {
			return nil, constraint, err
		}
		if constraint.Model, constraint.Limit, err = p.fit(x, excess); err != nil {
			return nil, constraint, err
		}
		if !again || p.config.Outliers == keepOutliers {
			return objective, constraint, nil
		}
		kx, ky, kc := p.kept(objective, constraint.Model, price, excess)
		if p.dropped = len(price) - len(ky); p.dropped == 0 || len(ky) < p.search.First {
			p.dropped = 0
			return objective, constraint, nil
		}
		x, price, excess = kx, ky, kc
	}
}

// fit returns a process fitted to standardised outputs, and where 0 lies among these.
func (p *Aquatope) fit(x, y []float64) (m *gp.Model, zero float64, err error) {
	z, mean, sd := standardise(y)
	c := gp.Config{
		Kernel: gp.Matern52, Each: true,
		Signal: gp.Range(1, 1e-2, 1e2).With(gp.Gamma{Shape: 2, Rate: 0.15}),
		Length: gp.Range(0.7, 1e-2, 1e2).With(gp.Gamma{Shape: 3, Rate: 6}),
		Noise:  gp.Range(0.1, 1e-4, 10).With(gp.Gamma{Shape: 1.1, Rate: 0.05}),
	}
	if p.config.Lengths == oneLength {
		c.Each = false
		c.Signal.Prior, c.Length.Prior, c.Noise.Prior = gp.Gamma{}, gp.Gamma{}, gp.Gamma{}
	}
	if m, err = gp.New(c, len(p.columns)); err != nil {
		return nil, 0, err
	}
	return m, -mean / sd, m.Fit(x, z, p.stream)
}

// kept returns the rows that the others expect, by both processes.
func (p *Aquatope) kept(objective, constraint *gp.Model, price, excess []float64) (x, y, c []float64) {
	k := len(p.columns)
	outside := make([]bool, len(price))
	limit := portable.NormQuantile((1 + p.config.Confidence) / 2)
	for _, m := range []*gp.Model{objective, constraint} {
		errors, sd := m.LeaveOneOut()
		for i, e := range errors {
			band := sd[i]
			if p.config.Outliers == byVariance {
				band *= band
			}
			outside[i] = outside[i] || math.Abs(e) > limit*band
		}
	}
	for i, out := range outside {
		if !out {
			x = append(x, p.x[i*k:(i+1)*k]...)
			y, c = append(y, price[i]), append(c, excess[i])
		}
	}
	return x, y, c
}

// Dropped is the number of rows that the last proposal left out.
func (p *Aquatope) Dropped() int { return p.dropped }

// State implements [state.Stater].
func (p *Aquatope) State(c *state.Codec) {
	p.bayes.State(c)
	state.Value(c, &p.dropped)
	c.Check(p.dropped >= 0 && p.dropped <= len(p.rows), "%d of %d rows dropped", p.dropped, len(p.rows))
}
