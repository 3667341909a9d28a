package pricing

import (
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/rng/portable"
)

// Serves implements [envs.Loaded]: the potential load, in jobs per slot, at which the mean demand takes all vGPUs,
//
//	N / (Σ_m share_m · service_m),
//
// with the shares of eq. 1 at the prices that keep the most users away: the highest of the range in every tier, or the
// configured ones where prices are not decided. It is an upper bound: loads, bursts and deadlines take more vGPUs.
func (w *world) Serves() (float64, error) { return w.cfg.serves(w), nil }

func (c *Config) serves(w *world) float64 {
	prices, shares := slices.Clone(c.Prices), make([]float64, len(c.Tiers))
	if w.id == ID {
		for m := range prices {
			prices[m] = c.PriceMax
		}
	}
	c.Shares(prices, shares)
	var slots float64 // of vGPU for each potential job
	for _, f := range w.fn {
		slots += float64(float64(shares[f.tier]*f.share) * f.mean)
	}
	if slots == 0 {
		return 0
	}
	return float64(c.VGPUs) / slots
}

// Workload implements [envs.Loaded]: the potential load in jobs per slot, by window.
func (w *world) Workload() envs.Load {
	d := &w.cfg.Demand
	rates := w.load.fixed
	if d.Source == Generated {
		rates = nil
		for at := range d.Period {
			rates = append(rates, float64(w.load.mean*max(d.Floor, 1+d.wave(at))))
		}
	} else if rates == nil {
		rates = []float64{w.load.mean}
	}
	l := envs.NewLoad("jobs/slot", "window", rates, "env.demand.mean", w.cfg.mean())
	l.Missing = w.load.missing
	if w.load.draw.On() {
		low, mean, high := w.load.draw.Factors()
		l.Least, l.Mean, l.Most = low*l.Mean, mean*l.Mean, high*l.Mean
	}
	return l
}

// scaled returns the configuration with the mean load that follows from workload.mean or workload.factor auto. The
// workload's own scale then has no meaning left: windows are scaled to the mean.
func (w *world) scaled(load workload.Config) (workload.Config, error) {
	c := &w.cfg
	auto := load.Factor == workload.Auto
	switch {
	case load.Mean == 0 && !auto:
		return load, nil
	case c.Demand.Source == Generated && auto:
		return load, fieldError("workload.factor", load.Factor, "a number where demand.source is generated, which has "+
			"demand.mean")
	case c.Demand.Source == Generated:
		return load, fieldError("workload.mean", load.Mean, "0 where demand.source is generated, which has demand.mean")
	case c.Demand.Mean > 0:
		return load, fieldError("demand.mean", c.Demand.Mean, "0 beside workload.mean or workload.factor auto")
	}
	if err := load.Validate(); err != nil {
		return load, err
	}
	if auto {
		c.Demand.Mean = load.TargetUtilisation * c.serves(w)
	} else {
		c.Demand.Mean = load.Mean * c.SlotSeconds
	}
	load.Factor, load.Mean = 1, 0
	return load, c.Validate()
}

// wave is a window's deviation from the mean of generated loads, without noise.
func (d *Demand) wave(at int) float64 {
	day := 2 * math.Pi * float64(at%d.Period) / float64(d.Period)
	return float64(d.Amplitude * portable.Sin(day-d.Phase))
}
