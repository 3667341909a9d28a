package sizing

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents/baselines/internal/kept"
	"github.com/stoker-rl/stoker/agents/internal/gp"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
)

// trials is what every search has: a budget of windows, and the best configuration of those it tried. Rows that it is
// told before its first proposal are a library's: they take nothing of the budget and are never held.
type trials struct {
	world
	env                    *sizing.Env
	windows                int
	at                     places
	begun                  bool // has proposed
	tried                  int
	feasible               bool
	bestPrice, bestSuccess float64
	best                   []float32
}

// places are those of quantities in an outcome's info.
type places struct{ price, violated, latency, success, successes, load int }

func newTrials(name string, windows int, env envs.Env) (trials, error) {
	p := trials{windows: windows}
	var err error
	if p.env, p.world, err = newWorld(name, env); err != nil {
		return p, err
	}
	for _, x := range []struct {
		name string
		at   *int
	}{
		{"price", &p.at.price}, {"violated", &p.at.violated}, {"latency", &p.at.latency}, {"success", &p.at.success},
		{"successes", &p.at.successes}, {"load", &p.at.load},
	} {
		if *x.at, err = p.spec.InfoIndex(x.name); err != nil {
			return p, err
		}
	}
	p.best = make([]float32, p.n*p.rng.Components())
	p.reset()
	return p, nil
}

func (p *trials) reset() {
	p.begun, p.tried, p.feasible, p.bestPrice, p.bestSuccess = false, 0, false, math.Inf(1), -1
}

// holds writes the best configuration where the budget is spent, and reports whether it did.
func (p *trials) holds(act *envs.Action) bool {
	p.begun = true
	if p.tried < p.windows {
		return false
	}
	copy(act.Kinds[0], p.best)
	return true
}

// count notes what a trial gave: the cheapest that kept the QoS is held, and where none did the one with the largest
// share of successes, the cheapest of several, because the search must run something.
func (p *trials) count(act *envs.Action, out *envs.Outcome) {
	if !p.begun || p.tried >= p.windows {
		return
	}
	p.tried++
	price, success, feasible := out.Info[p.at.price], out.Info[p.at.success], out.Info[p.at.violated] == 0
	better := feasible && !p.feasible || feasible == p.feasible && price < p.bestPrice &&
		(feasible || success >= p.bestSuccess) ||
		!feasible && !p.feasible && success > p.bestSuccess
	if better {
		p.feasible, p.bestPrice, p.bestSuccess = feasible, price, success
		copy(p.best, act.Kinds[0])
	}
}

// State implements [state.Stater].
func (p *trials) State(c *state.Codec) {
	state.Value(c, &p.begun)
	state.Value(c, &p.tried)
	state.Value(c, &p.feasible)
	state.Value(c, &p.bestPrice)
	state.Value(c, &p.bestSuccess)
	state.Fixed(c, p.best)
	c.Check(p.tried >= 0 && p.tried <= p.windows, "%d configurations tried, want 0 to %d", p.tried, p.windows)
	for i, x := range p.best {
		c.Check(x >= 0 && x <= 1, "number %d of the best configuration is %g, want 0 to 1", i, x)
	}
}

// RandomSearchConfig is the search budget of [RandomSearch].
type RandomSearchConfig struct {
	// Windows is the number of random configurations tried; FaaSConf gives every search 15.
	Windows int `yaml:"windows" json:"windows" range:"[1,]"`
	// Low and High bound every component of the configurations drawn.
	Low  float64 `yaml:"low" json:"low" range:"[0,1)"`
	High float64 `yaml:"high" json:"high" range:"(0,1]"`
}

// DefaultRandomSearch returns FaaSConf's budget over the whole range.
func DefaultRandomSearch() RandomSearchConfig {
	return RandomSearchConfig{Windows: 15, Low: 0, High: 1}
}

// Validate reports the first wrong number.
func (c *RandomSearchConfig) Validate() error {
	if err := bounds.Check(c); err != nil {
		return err
	}
	if c.Low >= c.High {
		return bounds.Errorf("low", "is %g, want less than high, %g", c.Low, c.High)
	}
	return nil
}

// RandomSearch draws each component of each function's configuration uniformly for a number of windows, then holds the
// cheapest of those that kept the QoS. Where none kept it, it holds the one with the largest share of successes, the
// cheapest of several, because it must run something.
type RandomSearch struct {
	kept.Saved
	trials
	config RandomSearchConfig
	stream *rng.Stream
}

// NewRandomSearch returns a tuner for environments such as env.
func NewRandomSearch(c RandomSearchConfig, env envs.Env) (*RandomSearch, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	p := &RandomSearch{config: c}
	p.Saved = kept.Save("random-search", p)
	var err error
	if p.trials, err = newTrials("random-search", c.Windows, env); err != nil {
		return nil, err
	}
	return p, p.Reset(0)
}

// Reset implements [envs.Tuner].
func (p *RandomSearch) Reset(seed uint64) error {
	p.stream = rng.NewStream(seed, "random search")
	p.reset()
	return nil
}

// Propose implements [envs.Tuner].
func (p *RandomSearch) Propose(_ *envs.Observation, act *envs.Action) error {
	if p.holds(act) {
		return nil
	}
	a := act.Kinds[0]
	for i := range a {
		a[i] = float32(p.config.Low + float64(p.stream.Float64()*(p.config.High-p.config.Low)))
	}
	return nil
}

// Observe implements [envs.Tuner]. Rows of a library change nothing.
func (p *RandomSearch) Observe(act *envs.Action, out *envs.Outcome) error {
	p.count(act, out)
	return nil
}

// State implements [state.Stater].
func (p *RandomSearch) State(c *state.Codec) {
	state.Value(c, p.stream)
	p.trials.State(c)
}

// SearchConfig is the budget and the space of a search by Gaussian processes.
type SearchConfig struct {
	// Windows is the number of configurations tried; FaaSConf gives every search 15.
	Windows int `yaml:"windows" json:"windows" range:"[1,500]"`
	// First is the number of rows before the models decide. Where a library gives fewer, the rest is drawn uniformly, as
	// part of the budget.
	First int `yaml:"first" json:"first" range:"[2,500]"`
	// Low and High bound every component of the configurations proposed.
	Low  float64 `yaml:"low" json:"low" range:"[0,1)"`
	High float64 `yaml:"high" json:"high" range:"(0,1]"`
	// Decide is hybrid (every component of the environment) or hardware (all but concurrency limits, which stay as in
	// the environment's first configuration; as FaaSConf's code ran it).
	Decide string `yaml:"decide" json:"decide" oneof:"hybrid|hardware"`
	// Latency is the QoS that the search knows, in seconds; 0 stands for the environment's.
	Latency float64 `yaml:"latency" json:"latency" range:"[0,1e6]"`
}

func defaultSearch() SearchConfig {
	return SearchConfig{Windows: 15, First: 5, Low: 0.2, High: 0.8, Decide: sizing.Hybrid}
}

func (c *SearchConfig) check() error {
	if c.Low >= c.High {
		return bounds.Errorf("low", "is %g, want less than high, %g", c.Low, c.High)
	}
	return nil
}

// bayes is what the searches by Gaussian processes share: the rows that the models see, and where they search.
type bayes struct {
	trials
	name    string
	search  SearchConfig
	columns []int     // components that are decided
	held    []float32 // a configuration with what is not decided
	box     gp.Box
	stream  *rng.Stream
	x       []float64 // rows × columns
	rows    []row
}

// row is what a configuration gave.
type row struct{ Price, Latency, Success, Successes, Load float64 }

func newBayes(name string, c SearchConfig, env envs.Env) (bayes, error) {
	b := bayes{name: name, search: c}
	var err error
	if b.trials, err = newTrials(name, c.Windows, env); err != nil {
		return b, err
	}
	// An action may have a fourth component that is ignored, and the first configuration need not give one.
	k, hybrid := b.rng.Components(), c.Decide == sizing.Hybrid && b.rng.Concurrency
	initial := append(append([]float64(nil), b.env.Config().Initial...), 0.5)
	b.held = make([]float32, b.n*k)
	for i := range b.held {
		b.held[i] = float32(initial[i%k])
		if hybrid || i%k < 3 {
			b.columns = append(b.columns, i)
			b.box.Low, b.box.High = append(b.box.Low, c.Low), append(b.box.High, c.High)
		}
	}
	return b, nil
}

func (b *bayes) restart(seed uint64, purpose string) {
	b.stream = rng.NewStream(seed, purpose)
	b.x, b.rows = b.x[:0], b.rows[:0]
	b.reset()
}

// begins writes a uniform draw where there are too few rows for the models to decide, and reports whether it did.
func (b *bayes) begins(act *envs.Action) bool {
	if len(b.rows) >= b.search.First {
		return false
	}
	b.write(b.uniform(1), act)
	return true
}

// Observe implements [envs.Tuner]: it adds a row, a library's or a trial's. A library may not know successes and load,
// which are then not a number.
func (b *bayes) Observe(act *envs.Action, out *envs.Outcome) error {
	if b.tried >= b.windows {
		return nil
	}
	at := &b.at
	r := row{out.Info[at.price], out.Info[at.latency], out.Info[at.success], out.Info[at.successes], out.Info[at.load]}
	for _, known := range []float64{r.Price, r.Latency, r.Successes} {
		if !(known >= 0 && known <= math.MaxFloat32) {
			return fmt.Errorf("%s: row %d has price %g, latency %g and %g successes, want finite numbers of at least 0", b.name,
				len(b.rows)+1, r.Price, r.Latency, r.Successes)
		}
	}
	if math.IsNaN(r.Success) {
		r.Success = 1
	}
	if math.IsNaN(r.Load) {
		r.Load = 0
	}
	for _, i := range b.columns {
		b.x = append(b.x, float64(act.Kinds[0][i]))
	}
	b.rows = append(b.rows, r)
	b.count(act, out)
	return nil
}

// qos are the thresholds of the latest row that knows its load, and those under arrivals where none does.
func (b *bayes) qos() sizing.QoS {
	q := b.env.Thresholds(0)
	for i := len(b.rows) - 1; i >= 0; i-- {
		if load := b.rows[i].Load; load > 0 {
			users := 0
			if b.env.Closed() {
				users = int(math.Round(load))
			}
			q = b.env.Thresholds(users)
			break
		}
	}
	if b.search.Latency > 0 {
		q.Latency = b.search.Latency
	}
	return q
}

// uniform draws points (row-major) in the box.
func (b *bayes) uniform(n int) []float64 {
	out := make([]float64, n*len(b.columns))
	for i := range out {
		out[i] = b.search.Low + b.stream.Float64()*(b.search.High-b.search.Low)
	}
	return out
}

// write makes an action of a point. A float32 may round beyond the box, so it is clipped to that.
func (b *bayes) write(point []float64, act *envs.Action) {
	a := act.Kinds[0]
	copy(a, b.held)
	low, high := float32(b.search.Low), float32(b.search.High)
	for j, i := range b.columns {
		a[i] = min(max(float32(point[j]), low), high)
	}
}

// standardise returns outputs of mean 0 and standard deviation 1, with the mean and the deviation that they had; equal
// outputs are all 0.
func standardise(y []float64) (z []float64, mean, sd float64) {
	for _, v := range y {
		mean += v / float64(len(y))
	}
	for _, v := range y {
		sd += (v - mean) * (v - mean) / float64(len(y))
	}
	if sd = math.Sqrt(sd); !(sd > 1e-12*math.Abs(mean)) || sd == 0 {
		sd = 1
	}
	z = make([]float64, len(y))
	for i, v := range y {
		z[i] = (v - mean) / sd
	}
	return z, mean, sd
}

// each computes a number of every row.
func (b *bayes) each(f func(row) float64) []float64 {
	out := make([]float64, len(b.rows))
	for i, r := range b.rows {
		out[i] = f(r)
	}
	return out
}

// State implements [state.Stater].
func (b *bayes) State(c *state.Codec) {
	state.Value(c, b.stream)
	b.trials.State(c)
	state.Slice(c, &b.x)
	state.Slice(c, &b.rows)
	c.Check(len(b.x) == len(b.rows)*len(b.columns), "%d numbers of configurations for %d rows, want %d for each",
		len(b.x), len(b.rows), len(b.columns))
	c.Check(!b.begun || len(b.rows) >= b.tried, "%d rows after %d trials", len(b.rows), b.tried)
	for i, v := range b.x {
		c.Check(v >= 0 && v <= 1, "number %d of the rows is %g, want 0 to 1", i, v)
	}
	for i, r := range b.rows {
		for _, v := range []float64{r.Price, r.Latency, r.Success, r.Successes, r.Load} {
			c.Check(v >= 0 && v <= math.MaxFloat32, "row %d is %+v, want finite numbers of at least 0", i, r)
		}
	}
}
