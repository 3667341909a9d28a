package sizing

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents/gp"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
)

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
	b := bayes{search: c}
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

// keep adds a row, a library's or a trial's. A library may not know successes and load, which are then not a number.
func (b *bayes) keep(name string, act *envs.Action, out *envs.Outcome) error {
	if b.tried >= b.windows {
		return nil
	}
	at := &b.at
	r := row{out.Info[at.price], out.Info[at.latency], out.Info[at.success], out.Info[at.successes], out.Info[at.load]}
	for _, known := range []float64{r.Price, r.Latency, r.Successes} {
		if !(known >= 0 && known <= math.MaxFloat32) {
			return fmt.Errorf("%s: row %d has price %g, latency %g and %g successes, want finite numbers of at least 0", name,
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
