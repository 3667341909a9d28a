package pricing

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/rng/portable"
)

// Shares writes the share of the potential load that each tier gets at these prices (eq. 1), with the profile's outside
// option.
func (c *Config) Shares(prices, shares []float64) {
	c.split(prices, shares, c.Demand.Beta, math.Inf(-1))
}

// split is Shares with another sensitivity to prices, and a rival of a utility; it returns the rival's share. There is no
// rival where its utility is -Inf.
func (c *Config) split(prices, shares []float64, beta, utility float64) (rival float64) {
	top := math.Inf(-1)
	for m := range shares {
		shares[m] = float64(c.Demand.Alpha*float64(c.Tiers[m].SLA)) - float64(beta*prices[m])
		top = max(top, shares[m])
	}
	top = max(top, utility)
	var sum float64
	if c.outside() {
		top = max(top, c.Demand.Outside)
		sum = portable.Exp(c.Demand.Outside - top)
	}
	if !math.IsInf(utility, -1) {
		rival = portable.Exp(utility - top)
		sum += rival
	}
	for m := range shares {
		shares[m] = portable.Exp(shares[m] - top)
		sum += shares[m]
	}
	for m := range shares {
		shares[m] /= sum
	}
	return rival / sum
}

// load is where the potential load of a window comes from.
type load struct {
	fixed    []float64         // a trace's windows, scaled to the mean
	arrivals workload.Arrivals // of a process that each episode draws anew
	windows  int               // of the load
	mean     float64
	missing  []string // of the traces
	draw     workload.Draw
	source   *workload.Source // nil where the demand is generated
}

// openLoad reads the workload where the demand comes from one.
func openLoad(c *Config, w workload.Config) (load, error) {
	l := load{mean: c.mean(), windows: c.Demand.Period}
	if c.Demand.Source == Generated && w.Draw.On() {
		return l, fieldError("workload.draw", "given", "none where demand.source is generated: its loads come from no workload")
	}
	if c.Demand.Source == Generated {
		return l, l.checkStart(c)
	}
	if w.Kind == workload.ClosedLoop {
		return l, fieldError("workload.kind", w.Kind, "arrivals in open loop; users in a closed loop have no rate to price")
	}
	seconds := float64(float64(c.Slots) * c.SlotSeconds)
	minutes := int(seconds / 60)
	if minutes < 1 || float64(minutes)*60 != seconds {
		return l, fieldError("slot_seconds", c.SlotSeconds,
			"a length that makes a window whole minutes where demand.source is workload")
	}
	s, err := workload.Open(w)
	if err != nil {
		return l, err
	}
	if l.windows = s.Minutes() / minutes; l.windows < 1 {
		return l, fieldError("workload.minutes", s.Minutes(), fmt.Sprintf("at least a window's %d", minutes))
	}
	if err := l.checkStart(c); err != nil {
		return l, err
	}
	l.source, l.missing = s, s.Missing()
	l.draw = w.Draw
	if s.Trace() == nil || w.Kind != workload.Azure2019 || w.Draw.On() {
		l.arrivals, err = s.Arrivals(0)
		return l, err
	}
	l.fixed = make([]float64, l.windows)
	for m, n := range s.Trace().PerMinute(nil)[:l.windows*minutes] {
		l.fixed[m/minutes] += float64(n)
	}
	for i, n := range l.fixed {
		if n == 0 {
			return l, fieldError("workload.path", s.Trace().Name,
				fmt.Sprintf("a trace without gaps; minutes %d to %d have no invocations", i*minutes, (i+1)*minutes))
		}
	}
	l.scale(l.fixed, 1)
	return l, nil
}

// checkStart refuses a start beyond the load's windows.
func (l *load) checkStart(c *Config) error {
	if c.Demand.Start < l.windows {
		return nil
	}
	return fieldError("demand.start", c.Demand.Start, fmt.Sprintf("a window below the load's %d", l.windows))
}

// scale brings windows' numbers to a factor on the mean load in jobs per slot.
func (l *load) scale(x []float64, factor float64) bool {
	var sum float64
	for _, n := range x {
		sum += n
	}
	if sum == 0 {
		return false
	}
	f := l.mean * factor * float64(len(x)) / sum
	for i := range x {
		x[i] = float64(f * x[i])
	}
	return true
}

// Traces implements [envs.Traced].
func (w *world) Traces() []string {
	if w.load.source == nil {
		return nil
	}
	return w.load.source.Traces()
}

// TraceOf implements [envs.Traced].
func (w *world) TraceOf(seed uint64) int { return w.load.source.Drawn(seed).Load }

// drawLoads fills the episode's loads where they are drawn from a process.
func (w *world) drawLoads(seed uint64) error {
	w.loads = w.loads[:0]
	if w.load.arrivals == nil {
		return nil
	}
	for range w.load.windows {
		w.loads = append(w.loads, 0)
	}
	length := int64(float64(float64(w.cfg.Slots)*w.cfg.SlotSeconds) * float64(workload.Second))
	w.load.arrivals.Reset(seed)
	for {
		a, ok := w.load.arrivals.Next()
		if !ok {
			break
		}
		if i := a.Time / length; i < int64(len(w.loads)) {
			w.loads[i]++
		}
	}
	if !w.load.scale(w.loads, w.load.arrivals.Drawn().Factor) {
		return fieldError("workload.rate", w.load.windows, "one at which anything arrives in so many windows")
	}
	return nil
}

// potential is the potential load of an episode's window in jobs per slot.
func (w *world) potential(window int) float64 {
	at := int(w.first) + window
	switch {
	case w.load.fixed != nil:
		return w.load.fixed[at%w.load.windows]
	case len(w.loads) > 0:
		return w.loads[at%len(w.loads)]
	}
	d := &w.cfg.Demand
	x := 1 + d.wave(at)
	if d.Noise > 0 {
		z := w.keys.demand.With(uint64(at)).Norm()
		w.traced("demand", uint64(at), 0, 0, z)
		x += float64(d.Noise * z)
	}
	return float64(w.load.mean * max(d.Floor, x))
}

// law is a law of service lengths: entry i is the probability of at most i+1 slots.
type law []float64

// newLaw compiles a tier's law.
func newLaw(t *Tier) (l law, mean float64) {
	if len(t.Lengths) > 0 {
		return cumulate(t.Lengths)
	}
	stay := 1 - 1/t.Service
	more := stay
	for len(l) < maxLength-1 && more > 1e-12 {
		l = append(l, 1-more)
		more = float64(more * stay)
	}
	return append(l, 1), t.Service
}

// cumulate makes a law of the weights of 1, 2, … .
func cumulate(weights []float64) (l law, mean float64) {
	var sum float64
	for i, p := range weights {
		sum += p
		l = append(l, sum)
		mean += float64(p * float64(i+1))
	}
	for i := range l {
		l[i] /= sum
	}
	l[len(l)-1] = 1
	return l, mean / sum
}

// length is the service length for a uniform draw.
func (l law) length(u float64) int32 {
	for i, p := range l {
		if u < p {
			return int32(i + 1)
		}
	}
	return int32(len(l))
}

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
