package steps

import (
	"math"
	"slices"

	"github.com/stoker-rl/stoker/agents/internal/gp"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// COSEConfig configures [NewCOSE].
type COSEConfig struct {
	// Quantile is that of the times planned with: the fitted law, by the spread of the samples around it.
	Quantile float64 `yaml:"quantile" json:"quantile" range:"(0,1)"`
	// Instances is the number of instances of every step.
	Instances int `yaml:"instances" json:"instances" range:"[1,1000]"`
	// Samples is the most runs that are sampled of a step; four of them come first, at sizes evenly spaced.
	Samples int `yaml:"samples" json:"samples" range:"[4,100]"`
	// Stop ends the sampling where the greatest expected improvement is below this part of the best sample.
	Stop float64 `yaml:"stop" json:"stop" range:"[0,1]"`
}

// DefaultCOSE has 16 instances a step and samples as COSE does.
func DefaultCOSE() COSEConfig {
	return COSEConfig{Quantile: 0.9, Instances: 16, Samples: 15, Stop: 0.05}
}

// NewCOSE returns COSE (INFOCOM 2020): memory alone is chosen, with one process an instance and a fixed number of
// instances. For each step, expected improvement of a Gaussian process (time times price) chooses the sizes to sample.
// An exponential law of time over memory is fitted to the samples. Before every step it computes the cheapest sizes
// with which all remaining paths end within the limit. The samples are drawn from the model's laws, the same for every
// request of a workflow, because a request runs each step once and measures nothing about its other steps.
func NewCOSE(c COSEConfig) (steps.Decider, error) {
	if err := bounds.Check(&c); err != nil {
		return nil, err
	}
	r := &Replan{config: ReplanConfig{Quantile: c.Quantile, Risk: Added}}
	r.tables.make = func(m *steps.Model) *fronts {
		menus := make([]menu, m.NumSteps())
		for v := range menus {
			menus[v] = c.learn(m, v)
		}
		return r.newFronts(m, menus)
	}
	return r, nil
}

// learn returns the menu of a step as the samples have it.
func (c *COSEConfig) learn(m *steps.Model, v int) menu {
	l := Parallelism{c.Instances, 1}.allows(m, v)
	if len(l) < 4 {
		return newMenu(m, v, Parallelism{c.Instances, 1}, c.Quantile)
	}
	samples := c.sample(m, v, l)
	sizes, err := memory.Sizes(samples)
	if err != nil {
		return newMenu(m, v, Parallelism{c.Instances, 1}, c.Quantile)
	}
	law, err := memory.Fit(memory.Exponential, sizes, memory.Options{})
	if err != nil {
		law, _ = memory.Fit(memory.Table, sizes, memory.Options{})
	}
	var squares float64
	for _, s := range samples {
		e := math.Log(s.Seconds / law.Seconds(s.MB))
		squares += float64(e * e)
	}
	spread := math.Exp(portable.NormQuantile(c.Quantile) * math.Sqrt(squares/float64(len(samples))))
	for i := range l {
		o := &l[i]
		mean := law.Seconds(float64(o.option.MB))
		o.seconds = float64(mean * spread)
		o.option.Mean = mean
		o.option.USD = float64(o.option.Instances) * (float64(float64(o.option.MB)/1024*m.Platform.USDPerGBSecond*mean) +
			m.Platform.USDPerRun + m.Platform.USDPerTransition)
	}
	return staircase(l)
}

// sample measures sizes of a step.
func (c *COSEConfig) sample(m *steps.Model, v int, l []choice) []memory.Sample {
	stream := rng.New(uint64(v), "cose").Stream()
	var out []memory.Sample
	var x, y []float64
	low, high := float64(l[0].option.MB), float64(l[len(l)-1].option.MB)
	scaled := func(i int) float64 { return (float64(l[i].option.MB) - low) / (high - low) }
	run := func(i int) {
		t := m.Seconds(v, l[i].code, stream.Open(), 0)
		out = append(out, memory.Sample{MB: float64(l[i].option.MB), Seconds: t})
		usd := float64(l[i].option.MB) / 1024 * m.Platform.USDPerGBSecond * t
		x, y = append(x, scaled(i)), append(y, math.Log(float64(usd*t)))
	}
	for k := range 4 {
		run(k * (len(l) - 1) / 3)
	}
	for len(out) < c.Samples {
		i, improvement := next(x, y, len(l), scaled, stream)
		// y is a logarithm: an improvement is a part of the best.
		if i < 0 || improvement < c.Stop {
			break
		}
		run(i)
	}
	return out
}

// next returns the size of the greatest expected improvement of y's minimum.
func next(x, y []float64, sizes int, scaled func(int) float64, stream *rng.Stream) (best int, improvement float64) {
	var mean, deviation float64
	for _, v := range y {
		mean += v / float64(len(y))
	}
	for _, v := range y {
		deviation += float64((v - mean) * (v - mean))
	}
	deviation = math.Sqrt(deviation/float64(len(y))) + 1e-9
	z := make([]float64, len(y))
	for i, v := range y {
		z[i] = (v - mean) / deviation
	}
	model, err := gp.New(gp.Config{Kernel: gp.Matern52, Length: gp.Range(0.5, 0.05, 5), Signal: gp.Fixed(1),
		Noise: gp.Fixed(0.01)}, 1)
	if err != nil || model.Fit(x, z, stream) != nil {
		return -1, 0
	}
	q, least := model.Query(), slices.Min(z)
	best = -1
	for i := range sizes {
		q.At([]float64{scaled(i)})
		if ei, _, _ := gp.Expected(q.Mean, q.SD, least); best < 0 || ei > improvement {
			best, improvement = i, ei
		}
	}
	return best, float64(improvement * deviation)
}
