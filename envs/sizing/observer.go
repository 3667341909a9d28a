package sizing

import (
	"encoding/json"
	"fmt"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
)

// Observer makes observations of what a platform measures, and settings of what a policy decides. The environments
// build theirs by it, so that a policy sees a platform as it saw the simulator. It simulates nothing and opens no
// workload. It may be used by several goroutines at once.
type Observer struct {
	flows []*flowObserver
	first []int // the first agent of each workflow, and the number of all
	spec  *envs.Spec
}

// NewObserver returns the observer of an environment, [ID] or [CountedID], with a configuration; where that lists
// workflows side by side, of all of them. users says whether the policy was trained under closed-loop users; else it
// was under arrivals.
func NewObserver(id string, c Config, users bool) (*Observer, error) {
	if id != ID && id != CountedID {
		return nil, fmt.Errorf("the environment is %q, want %s or %s", id, ID, CountedID)
	}
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", id, err)
	}
	o := &Observer{first: []int{0}}
	for i, one := range c.each() {
		w, err := newFlowObserver(id, one, users)
		if err != nil && len(c.Workflows) > 0 {
			err = fmt.Errorf("workflows[%d] (%s): %w", i, one.Workflow, err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
		o.flows, o.first = append(o.flows, w), append(o.first, o.first[i]+w.spec.Kinds[0].Agents)
	}
	if o.spec = o.flows[0].spec; len(c.Workflows) > 0 {
		o.spec = joined(o.flows, o.first)
	}
	return o, nil
}

// OpenObserver is NewObserver from JSON: the environment's configuration, laid over its defaults, and the workload's
// configuration, of which only the kind counts. The section environment of an exported policy has both.
func OpenObserver(id string, config, load []byte) (*Observer, error) {
	c := Default()
	if id == CountedID {
		c = DefaultCounted()
	}
	if err := envs.ParseJSON(config, &c); err != nil {
		return nil, fmt.Errorf("%s: configuration: %w", id, err)
	}
	var w struct{ Kind string }
	if len(load) > 0 {
		if err := json.Unmarshal(load, &w); err != nil {
			return nil, fmt.Errorf("%s: workload: %w", id, err)
		}
	}
	return NewObserver(id, c, w.Kind == workload.ClosedLoop)
}

// Spec is the environment's.
func (o *Observer) Spec() *envs.Spec { return o.spec }

// Workflows is the number of workflows side by side.
func (o *Observer) Workflows() int { return len(o.flows) }

// Functions returns the names of a workflow's functions, in the order of its agents and of [Meters.Functions].
func (o *Observer) Functions(workflow int) []string { return o.flows[workflow].app.flow.Functions() }

// Observe checks the meters of all workflows, one each, and writes what the agents see into an observation of the spec.
// It does not allocate.
func (o *Observer) Observe(meters []Meters, out *envs.Observation) error {
	if len(meters) != len(o.flows) {
		return fmt.Errorf("%s: meters of %d workflows, want %d", o.spec.ID, len(meters), len(o.flows))
	}
	width := o.spec.Kinds[0].Observation.Width()
	if len(out.Kinds) != 1 || len(out.Kinds[0].Values) != o.spec.Kinds[0].Agents*width ||
		len(out.Kinds[0].Active) != o.spec.Kinds[0].Agents {
		return fmt.Errorf("%s: the observation is not one of this environment's spec", o.spec.ID)
	}
	for i, w := range o.flows {
		if err := w.check(&meters[i]); err != nil {
			return o.about(i, err)
		}
	}
	k := &out.Kinds[0]
	for i, w := range o.flows {
		from, to := o.first[i], o.first[i+1]
		w.write(&meters[i], k.Values[from*width:to*width:to*width], k.Active[from:to])
	}
	return nil
}

// about says of which workflow's meters an error is.
func (o *Observer) about(i int, err error) error {
	if len(o.flows) == 1 {
		return fmt.Errorf("%s: meters: %w", o.spec.ID, err)
	}
	return fmt.Errorf("%s: meters of workflow %d (%s): %w", o.spec.ID, i, o.flows[i].cfg.Workflow, err)
}

// flowObserver observes one workflow.
type flowObserver struct {
	id    string
	cfg   *Config
	app   *app
	users bool // closed-loop users bring the load
	// described makes the described features; nil with the other sets.
	described *description
	spec      *envs.Spec
}

func newFlowObserver(id string, c Config, users bool) (*flowObserver, error) {
	a, err := newApp(&c)
	if err != nil {
		return nil, err
	}
	if !users && len(c.Users) > 0 {
		return nil, bounds.Errorf("users", "is %v, want none: the workload has no closed-loop users", c.Users)
	}
	w := &flowObserver{id: id, cfg: &c, app: a, users: users}
	if c.Features == Described {
		w.described = newDescription(a, &c)
	}
	w.spec = w.newSpec()
	return w, nil
}

// foreseen reports whether agents see the next window's load.
func (w *flowObserver) foreseen() bool { return w.cfg.LoadKnown && !w.users }

// check reports what is wrong with a workflow's meters.
func (w *flowObserver) check(m *Meters) error {
	if n := w.app.flow.NumFunctions(); len(m.Functions) != n {
		return bounds.Errorf("functions", "are %d, want the workflow's %d: %v", len(m.Functions), n, w.app.flow.Functions())
	}
	names := w.spec.Kinds[0].Names
	if err := m.validate(names); err != nil {
		return err
	}
	if w.foreseen() && m.Forecast == nil {
		return bounds.Errorf("forecast", "is missing, want the load expected in the next window in requests a second: "+
			"the policy was trained with load_known")
	}
	if w.users && m.Users == 0 && m.History.Windows > 0 {
		return bounds.Errorf("users", "is 0, want the number of closed-loop users: the policy was trained under users")
	}
	if len(w.cfg.Reward.Dial) == 2 && m.Dial == 0 {
		return bounds.Errorf("dial", "is 0, want what a window that keeps the QoS is worth, as reward.dial has it: %g to %g",
			w.cfg.Reward.Dial[0], w.cfg.Reward.Dial[1])
	}
	for f := range m.Functions {
		if n := len(m.Functions[f].Action); n > 0 && n != w.app.rng.Components() {
			return ofFunction(f, names, bounds.Errorf("action", "has %d numbers, want none or %d", n,
				w.app.rng.Components()))
		}
	}
	return nil
}

// write writes the rows of all functions.
func (w *flowObserver) write(m *Meters, values []float32, active []bool) {
	for f := range active {
		active[f] = true
	}
	if w.described != nil {
		w.described.observe(w, m, values)
		return
	}
	row, shown := values[:0], w.load(m)
	now, before := w.measured(m), w.before(m)
	for f := range m.Functions {
		x := &m.Functions[f]
		row = w.action(x, row)
		cpu, throttled, memory, network := x.means()
		row = append(row, float32(cpu), float32(throttled), float32(memory), float32(network), float32(x.P75), float32(x.P95),
			float32(shown))
		if w.cfg.Features == ExtendedFeatures {
			row = append(row, float32(now-before), float32(x.Rejected), float32(x.Inside), float32(m.Latency),
				float32(m.Success))
		}
	}
}

// action appends a function's last action.
func (w *flowObserver) action(x *FunctionMeters, row []float32) []float32 {
	n := w.app.rng.Components()
	if len(x.Action) > 0 {
		return append(row, x.Action...)
	}
	row = row[:len(row)+n]
	if at := row[len(row)-n:]; x.Asked != (Settings{}) {
		w.app.rng.Encode(x.Asked.Resources(), at)
	} else {
		w.initial(at)
	}
	return row
}

// initial writes the action that stands for a function before the first decision.
func (w *flowObserver) initial(a []float32) {
	for i := range a {
		a[i] = float32(w.cfg.Initial[i])
	}
}

// measured is the load of the last window, in users or in requests a second; 0 before the first window.
func (w *flowObserver) measured(m *Meters) float64 {
	switch {
	case !w.users:
		return float64(m.Began) / Window.Seconds()
	case m.History.Windows == 0:
		return 0
	}
	return float64(m.Users)
}

// before is the load of the window before the last one; 0 where there was none.
func (w *flowObserver) before(m *Meters) float64 {
	if w.users {
		return float64(m.History.Users)
	}
	return float64(m.History.Began) / Window.Seconds()
}

// load is the load that agents see: the last window's or, with load_known under arrivals, the next one's.
func (w *flowObserver) load(m *Meters) float64 {
	if w.foreseen() {
		return *m.Forecast
	}
	return w.measured(m)
}

// newSpec returns the spec of the environment of one workflow.
func (w *flowObserver) newSpec() *envs.Spec {
	a := w.app
	n := a.flow.NumFunctions()
	neighbours := make([][]int, n)
	for f, near := range a.flow.Neighbours() {
		neighbours[f] = append([]int{}, near...)
	}
	unit, load := "requests/s", "requests that began, per second"
	if w.users {
		unit, load = "users", "users in the closed loop"
	}
	choose := "CPU, memory, replicas and concurrency limit"
	if !a.rng.Concurrency {
		choose = "CPU, memory and replicas"
	}
	decided := a.rng.describe()
	columns := w.describeFeatures(decided, unit)
	if w.described != nil {
		columns = w.described.columns(w, unit)
	}
	features, units, seen := envs.Columns(columns)
	scale := "Numbers are of the last window; they are not scaled."
	if w.described != nil {
		scale = "The columns are the same for every workflow."
	}
	actions, share, decides := envs.Columns(decided)
	return &envs.Spec{
		ID:  w.id,
		Doc: fmt.Sprintf("The agents of %s's %d functions choose %s for each window of 30 s.", a.flow.Name(), n, choose),
		Kinds: []envs.Kind{{
			Name: "function", Agents: n, Observation: envs.Unbounded(len(features)), Action: envs.NewBox(len(actions), 0, 1),
			Features: features, FeatureUnits: units, FeatureDocs: seen, Actions: actions, ActionUnits: share, ActionDocs: decides,
			Names: a.flow.Functions(), Neighbours: neighbours, Next: a.flow.Next(),
			Doc: "One function of the workflow. " + scale,
		}},
		Step:       envs.Timing{Unit: "window", Fixed: int64(Window)},
		MaxSteps:   w.cfg.Windows,
		Constraint: "violated", Objective: "price", Levels: w.levels(),
		Info: info(load, unit),
		Samples: []envs.Quantity{
			{Name: "latency", Unit: "s", Better: envs.Lower, Doc: "end-to-end latency of each success"},
		},
	}
}

// describeFeatures lists what a function sees; load is the unit of the load.
func (w *flowObserver) describeFeatures(decided []envs.Component, load string) []envs.Component {
	var out []envs.Component
	for _, c := range decided {
		out = append(out, envs.Component{Name: "last " + c.Name, Unit: c.Unit,
			Doc: "the function's last action; " + c.Doc})
	}
	shown := "load of the last window"
	if w.foreseen() {
		shown = "load expected in the next window"
	}
	out = append(out, []envs.Component{
		{Name: "cpu used", Unit: "% of a core", Doc: "CPU that an instance used, the mean of the instances"},
		{Name: "throttled", Unit: "millicores", Doc: "CPU that an instance wanted beyond its limit, the mean"},
		{Name: "memory used", Unit: "% of the limit", Doc: "memory that the instances used"},
		{Name: "network", Unit: "bytes/s", Doc: "payload that an instance received, the mean"},
		{Name: "p75", Unit: "s", Doc: "75th percentile of the function's latency"},
		{Name: "p95", Unit: "s", Doc: "95th percentile of the function's latency"},
		{Name: "load", Unit: load, Doc: shown},
	}...)
	if w.cfg.Features == ExtendedFeatures {
		out = append(out, []envs.Component{
			{Name: "load change", Unit: load, Doc: "load of the last window less that of the window before"},
			{Name: "rejected", Unit: "of requests", Doc: "0 to 1: requests that the function turned away"},
			{Name: "inside", Unit: "requests", Doc: "requests at the function"},
			{Name: "latency", Unit: "s", Doc: "mean end-to-end latency of the workflow's successes"},
			{Name: "success", Unit: "of requests", Doc: "0 to 1: successes among the workflow's requests that ended"},
		}...)
	}
	return out
}

// info lists what a step reports, in the order of the places in type report; load says what its load is.
func info(load, unit string) []envs.Quantity {
	some, share := envs.AtLeast(0), envs.Share()
	return []envs.Quantity{
		{Name: "price", Unit: "USD/h", Better: envs.Lower, Reduce: envs.Mean, Bounds: some, AssumesService: true,
			Doc: "what the configuration costs an hour"},
		{Name: "cost", Unit: "USD", Better: envs.Lower, Reduce: envs.Sum, Bounds: some, AssumesService: true,
			Doc: "what the window cost"},
		{Name: "violated", Unit: "share of windows", Better: envs.Lower, Reduce: envs.Mean, Bounds: share,
			Doc: "windows that missed the QoS"},
		{Name: "latency", Unit: "s", Better: envs.Lower, Reduce: envs.Mean, Bounds: some, AssumesService: true,
			Doc: "mean end-to-end latency of successes; 30 where there were none"},
		{Name: "latency_p75", Unit: "s", Better: envs.Lower, Reduce: envs.Mean, Bounds: some, AssumesService: true,
			Doc: "its 75th percentile"},
		{Name: "latency_p95", Unit: "s", Better: envs.Lower, Reduce: envs.Mean, Bounds: some, AssumesService: true,
			Doc: "its 95th percentile"},
		{Name: "success", Unit: "share", Better: envs.Higher, Reduce: envs.Mean, Bounds: share,
			Doc: "successes among the requests that ended"},
		{Name: "successes", Unit: "requests", Better: envs.Higher, Reduce: envs.Sum, Bounds: some,
			Doc: "requests that ended well"},
		{Name: "failed", Unit: "requests", Better: envs.Lower, Reduce: envs.Sum, Bounds: some,
			Doc: "requests that ended badly"},
		{Name: "requests", Unit: "requests", Reduce: envs.Sum, Bounds: some, Doc: "requests that began"},
		{Name: "load", Unit: unit, Reduce: envs.Mean, Bounds: some, Doc: load},
		{Name: "cores", Unit: "cores", Better: envs.Lower, Reduce: envs.Mean, Bounds: some, AssumesService: true,
			Doc: "CPU that the configuration takes"},
		{Name: "memory", Unit: "MB", Better: envs.Lower, Reduce: envs.Mean, Bounds: some, AssumesService: true,
			Doc: "memory that the configuration takes"},
		{Name: "refused", Unit: "share of windows", Better: envs.Lower, Reduce: envs.Mean, Bounds: share,
			Doc: "configurations beyond the machines"},
	}
}

// AppendSamples implements [envs.Sampler]: the latencies of the last window's successes, in seconds, ascending.
func (e *Env) AppendSamples(i int, dst []float64) []float64 {
	if i != 0 {
		return dst
	}
	return append(dst, e.latencies...)
}

// report writes the last window's outcome.
func (e *Env) report(out *envs.Outcome) {
	out.Terminated, out.Truncated, out.Elapsed = false, e.ended, int64(Window)
	r := &e.result
	flag := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	out.Info = append(out.Info[:0], r.price, r.cost, flag(r.violated), r.latency, r.p75, r.p95, r.success,
		float64(r.successes), float64(r.failed),
		float64(r.seen), r.load, r.cores, r.memory, flag(r.refusedNow))
	e.reward(out.Rewards[0])
}

// observe writes the agents' observations after the last window: it fills the meters and has the observer read them, as
// a platform does.
func (e *Env) observe(obs *envs.Observation) {
	m, r := &e.meters, &e.result
	m.Began, m.Users, m.Latency, m.Success, m.Successes = r.seen, e.userCount, r.latency, r.success, r.successes
	m.Dial = e.dial
	m.History = History{Windows: e.all, Began: int(e.trend.last), Slow: e.trend.slow}
	if e.source.Closed() {
		m.History.Users = int(e.lastLoad)
	}
	if e.observer.foreseen() {
		e.forecast = e.shownLoad()
		m.Forecast = &e.forecast
	}
	n := e.app.rng.Components()
	for f := range m.Functions {
		x, y := &m.Functions[f], &e.functions[f]
		x.Deployed, x.Action = e.inForce[f].Settings(), e.action[f*n:(f+1)*n]
		x.P75, x.P95, x.Rejected, x.Inside = y.p75, y.p95, y.rejected, y.inside
	}
	e.observer.write(m, obs.Kinds[0].Values, obs.Kinds[0].Active)
}

// shownLoad is the load in the observations: the last window's or, with LoadKnown, the next one's.
func (e *Env) shownLoad() float64 {
	if e.source.Closed() || !e.cfg.LoadKnown {
		return e.result.load
	}
	var perMinute float64
	minute := (e.slot + e.all) / 2
	for s := range e.source.Streams() {
		perMinute += e.walk.Arrivals().Expected(s, minute)
	}
	return perMinute / 60
}
