package sizing

import (
	"math"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/rng"
)

// PlanConfig is the aim and the budget of a planner: of [NewOracle] and of [NewForecast].
type PlanConfig struct {
	// Horizon is the number of windows planned ahead. It is 1 where every window is a new deployment (env.protocol
	// fresh), because then no window depends on another.
	Horizon int `yaml:"horizon" json:"horizon" range:"[1,1000]"`
	// Weight is what a kept window is worth, in USD per hour: the planner minimises price + weight · violated over the
	// horizon. A larger weight gives fewer violations at a higher price.
	Weight float64 `yaml:"weight" json:"weight" range:"(0,1e6]"`
	// Credit is the part of the weight that a missed window still earns where it misses by nothing: with the shares s =
	// min(1, success/threshold) and l = min(1, threshold/latency) it earns credit · (s·l)⁴. So a window that cannot be
	// kept is served as well as is worth its price, not given up.
	Credit float64 `yaml:"credit" json:"credit" range:"[0,1)"`
	// Samples is the number of copies over which a plan is averaged. A planner that knows all draws needs one.
	Samples int `yaml:"samples" json:"samples" range:"[1,1000]"`
	// Smooth is half the width of the ramp from kept to missed, as a share of each threshold, that takes the place of the
	// step. With few samples it counts a window as partly missed that is kept by little.
	Smooth float64 `yaml:"smooth" json:"smooth" range:"[0,1]"`
	// Memory is the number of configurations from which a search starts: at first those that spread CPU over the functions
	// by their work, later those of earlier windows.
	Memory int `yaml:"memory" json:"memory" range:"[3,10000]"`
	// Sweeps is how often every component of every function is tried some steps up and down.
	Sweeps int `yaml:"sweeps" json:"sweeps" range:"[0,1000]"`
	// Budget is the number of windows simulated for a decision after which its search ends.
	Budget int `yaml:"budget" json:"budget" range:"[1,2^30]"`
}

// OracleConfig configures [NewOracle].
type OracleConfig struct {
	PlanConfig `yaml:",inline"`
	// Noise is known (the work of every request, the interference of every window and the gateway's choices are known as
	// the arrivals are: a bound on every policy) or sampled (they are drawn anew for every sample: what a planner could do
	// that knows only the arrivals).
	Noise string `yaml:"noise" json:"noise" oneof:"known|sampled"`
	// Violations, where it is more than 0, is the largest share of windows of an episode that the plan may miss: the
	// episode is rehearsed under several weights, and the smallest that does is taken. Where none does, the largest is.
	// A fraction of a window is rounded at random, so that the mean over episodes is the share. It needs noise known.
	Violations float64 `yaml:"violations" json:"violations" range:"[0,1)"`
}

// KnownNoise and SampledNoise are the values of [OracleConfig.Noise].
const (
	KnownNoise   = "known"
	SampledNoise = "sampled"
)

// DefaultOracle returns a budget of about a thousand simulated windows for a decision.
func DefaultOracle() OracleConfig {
	return OracleConfig{
		PlanConfig: PlanConfig{Horizon: 4, Weight: 20, Credit: 0.5, Samples: 1, Memory: 96, Sweeps: 2, Budget: 2000},
		Noise:      KnownNoise,
	}
}

// Validate reports the first wrong number.
func (c *OracleConfig) Validate() error {
	if err := bounds.Check(c); err != nil {
		return err
	}
	if c.Noise == KnownNoise && c.Samples > 1 {
		return bounds.Errorf("samples", "is %d, want 1 where noise is known: all samples would be the same", c.Samples)
	}
	if c.Noise != KnownNoise && c.Violations > 0 {
		return bounds.Errorf("violations", "is %g, want 0 where noise is sampled: use weight", c.Violations)
	}
	return nil
}

// Oracle plans several windows ahead on copies of the environment with the same state: requests in progress, queues,
// rolling updates and the cold starts of a change are simulated. It minimises price + weight · violated over the windows
// of its horizon, carries out the first window's configuration, and plans again with the rest as a start.
//
// A search begins with the last plan. It tries to hold each of a number of configurations from each window on, then
// changes one function's configuration in one window after another. A trial is given up as soon as it costs more than
// the best plan. A plan is the best found, not proven the best.
type Oracle struct {
	world
	config PlanConfig
	label  string
	// foresee makes a sample's copy of the environment the world that the planner believes in; nil leaves it as it is.
	foresee    func(copy *sizing.Env, decision, sample uint64)
	violations float64
	closed     bool
	fresh      bool

	weight   float64
	share    float64 // the random part of the rounding of violations
	menu     []remembered
	memory   []remembered
	plan     [][]sizing.Resources // of each window of the horizon
	depth    int                  // windows that the plan has
	decision uint64
	lookahead
}

// NewOracle returns a planner that knows the arrivals, for environments such as env.
func NewOracle(c OracleConfig, env envs.Env) (*Oracle, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	p, err := newPlanner("oracle", c.PlanConfig, env)
	if err != nil {
		return nil, err
	}
	p.violations = c.Violations
	if c.Noise == SampledNoise {
		p.foresee = func(e *sizing.Env, decision, sample uint64) { e.Salt(decision<<16 | (sample + 1)) }
	}
	return p, nil
}

func newPlanner(label string, c PlanConfig, env envs.Env) (*Oracle, error) {
	e, w, err := newWorld(label, env)
	if err != nil {
		return nil, err
	}
	p := &Oracle{world: w, config: c, label: label, closed: e.Closed(), fresh: e.Fresh(), weight: c.Weight}
	if p.fresh {
		p.config.Horizon = 1
	}
	p.menu = w.menu(e)
	if err := p.lookahead.init(p, e); err != nil {
		return nil, err
	}
	return p, p.Reset(0)
}

// Name implements [envs.Planner].
func (p *Oracle) Name() string { return p.label }

// Reset implements [envs.Planner].
func (p *Oracle) Reset(seed uint64) error {
	p.share = rng.New(seed, "oracle/violations").Float64()
	p.weight = p.config.Weight
	p.forget()
	return nil
}

// forget begins an episode.
func (p *Oracle) forget() {
	p.depth, p.decision = 0, 0
	p.memory = p.memory[:0]
	for k := range p.order {
		p.order[k] = k
	}
	for _, m := range p.menu {
		p.remember(m.resources)
	}
}

// Trials is the number of windows that the last Plan simulated.
func (p *Oracle) Trials() int { return p.trials }

// Plan implements [envs.Planner].
func (p *Oracle) Plan(env envs.Env, _ *envs.Observation, act *envs.Action) error {
	e, ok := envs.As[*sizing.Env](env)
	if !ok {
		return elsewhere(p.label, env)
	}
	p.qos = e.QoS()
	if p.violations > 0 && p.decision == 0 {
		if err := p.rehearse(e); err != nil {
			return err
		}
	}
	if err := p.decide(e); err != nil {
		return err
	}
	for f, r := range p.plan[0] {
		p.rng.Encode(r, p.action(act, f))
	}
	return nil
}

// decide plans the coming windows.
func (p *Oracle) decide(e *sizing.Env) error {
	p.trials = 0
	for k, s := range p.states[0] {
		if err := s.CopyFrom(e); err != nil {
			return err
		}
		if p.foresee != nil {
			p.foresee(s, p.decision, uint64(k))
		}
	}
	p.decision++
	if p.depth > 0 { // the last plan, one window on
		p.plan = append(p.plan[1:], p.plan[0])
		p.depth--
	}
	if err := p.extend(); err != nil {
		return err
	}
	p.planned = math.Inf(1)
	// What a later window does is planned again before it comes. Where all draws are known, to plan it now saves that.
	windows := p.depth
	if p.foresee != nil {
		windows = 1
	}
	for {
		before := p.planned
		if err := p.pass(windows, true); err != nil {
			return err
		}
		if p.planned >= before || windows == 1 {
			break
		}
	}
	for sweep := range p.config.Sweeps {
		before := p.planned
		if sweep > 0 {
			windows = 1
		}
		if err := p.pass(windows, false); err != nil {
			return err
		}
		if p.planned >= before {
			break
		}
	}
	p.remember(p.plan[0])
	return nil
}

// pass improves the plan's first windows, one after another.
func (p *Oracle) pass(windows int, recall bool) error {
	for h := range windows {
		if err := p.improve(h, recall); err != nil {
			return err
		}
	}
	return nil
}

// rehearse sets the smallest weight under which a plan of the whole episode misses no more windows than it may.
func (p *Oracle) rehearse(e *sizing.Env) error {
	low, high := 0, 8 // powers of 2; the last is not rehearsed
	for low < high {
		mid := (low + high) / 2
		p.weight = math.Ldexp(1, mid)
		kept, err := p.keeps(e)
		if err != nil {
			return err
		}
		if kept {
			high = mid
		} else {
			low = mid + 1
		}
	}
	p.weight = math.Ldexp(1, high)
	p.forget()
	return nil
}

// keeps plans the rest of an episode and reports whether it misses no more windows than it may.
func (p *Oracle) keeps(e *sizing.Env) (bool, error) {
	if err := p.stage.CopyFrom(e); err != nil {
		return false, err
	}
	p.forget()
	allowed := math.Floor(p.violations*float64(e.Config().Windows) + p.share)
	for missed := 0.0; ; {
		if err := p.decide(p.stage); err != nil {
			return false, err
		}
		if err := p.step(p.stage, p.plan[0]); err != nil {
			return false, err
		}
		if missed += p.out.Info[p.info.violated]; missed > allowed {
			return false, nil
		}
		if p.out.Truncated {
			return true, nil
		}
	}
}

// ForecastConfig configures [NewForecast].
type ForecastConfig struct {
	PlanConfig `yaml:",inline"`
	// Rates is what is known of the coming minutes: history (they go on as minutes of the training part went on that were
	// most like the last two) or known (their expected number of requests: foresight, which no policy has).
	Rates string `yaml:"rates" json:"rates" oneof:"history|known"`
}

// HistoryRates and KnownRates are the values of [ForecastConfig.Rates].
const (
	HistoryRates = "history"
	KnownRates   = "known"
)

// DefaultForecast returns 6,000 simulated windows for a decision, on 16 samples of five windows. With fewer samples the
// search finds plans that are good on them alone; with fewer windows it leaves too much work for those that follow.
func DefaultForecast() ForecastConfig {
	return ForecastConfig{Rates: HistoryRates, PlanConfig: PlanConfig{
		Horizon: 5, Weight: 20, Credit: 0.5, Samples: 16, Smooth: 0.1, Memory: 96, Sweeps: 1, Budget: 6000,
	}}
}

// Validate reports the first wrong number.
func (c *ForecastConfig) Validate() error { return bounds.Check(c) }

// NewForecast returns an [Oracle] that knows the simulator, but not the arrivals: in each of its samples the coming
// minutes, the arrivals in them, the work of the requests that have not begun, the interference and the gateway's choices
// are drawn anew. With rates from history it knows what a policy could know, and is the bound on policies as far as its
// search and its law of the coming minutes go. With known rates it knows the mean arrivals of the coming minutes.
func NewForecast(c ForecastConfig, env envs.Env) (*Oracle, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	p, err := newPlanner("forecast", c.PlanConfig, env)
	if err != nil {
		return nil, err
	}
	e, _ := envs.As[*sizing.Env](env)
	var h *workload.History
	if c.Rates != KnownRates {
		if h, err = e.History(); err != nil {
			return nil, err
		}
	}
	p.foresee = func(e *sizing.Env, decision, sample uint64) {
		salt := decision<<16 | (sample + 1)
		e.Salt(salt)
		if h == nil {
			e.Resample(salt)
			return
		}
		e.Continue(h, salt)
	}
	return p, nil
}

// window adds up the outcomes of requests.
type window struct {
	successes, failed, latency float64
	lost                       bool // the configuration was refused, or nothing ended well though there were requests
}

// add adds the last window of the copy that was stepped last.
func (p *Oracle) add(w *window) {
	in := p.out.Info
	n := in[p.info.successes]
	w.successes += n
	w.failed += in[p.info.failed]
	w.latency += n * in[p.info.latency]
	if in[p.info.refused] > 0 || n == 0 && in[p.info.violated] > 0 {
		w.lost = true
	}
}

// loss is the part of its weight that a window does not earn: 0 where it keeps the QoS, otherwise up to 1.
func (p *Oracle) loss(w *window) float64 {
	if w.lost && w.successes == 0 {
		return 1
	}
	if w.successes == 0 {
		return 0
	}
	c := &p.config
	missed, near := 0.0, 1.0
	// ratio is 1 at a threshold and more beyond it; share is how much of the threshold is reached.
	consider := func(ratio, share, width float64) {
		missed = 1 - float64((1-missed)*(1-ramp(ratio-1, width)))
		near *= min(1, share)
	}
	latency := w.latency / w.successes
	consider(latency/p.qos.Latency, p.qos.Latency/latency, c.Smooth)
	if s := w.successes / (w.successes + w.failed); p.qos.Success > 0 && p.qos.Success < 1 {
		// Failures are few: their number varies more than the latency does.
		consider((1-s)/(1-p.qos.Success), s/p.qos.Success, 3*c.Smooth)
	}
	if p.closed && p.qos.Count > 0 {
		count := float64(p.qos.Count)
		consider(count/w.successes, w.successes/count, c.Smooth)
	}
	near *= near
	return missed * (1 - float64(c.Credit*near*near))
}

// ramp rises from 0 to 1 between -width and width; without a width it is a step behind 0.
func ramp(x, width float64) float64 {
	if width == 0 {
		if x > rounding {
			return 1
		}
		return 0
	}
	return min(max(0.5+x/(2*width), 0), 1)
}

// rounding is less than any difference that a request makes, and more than rounding errors.
const rounding = 1e-9
