package sizing

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/perfmodel"
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
	features  []envs.Feature[flowRow]
	rows      sync.Pool // of *flowRow
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
	w := &flowObserver{id: id, cfg: &c, app: a, users: users, rows: sync.Pool{New: func() any { return new(flowRow) }}}
	if c.Features == Described {
		w.described = newDescription(a, &c)
	}
	w.spec = w.newSpec()
	return w, nil
}

// foreseen reports whether agents see the next window's load in place of the last one's.
func (w *flowObserver) foreseen() bool { return w.cfg.LoadKnown && !w.users }

// showsNext reports whether agents see the next window's load beside the last one's.
func (w *flowObserver) showsNext() bool { return w.cfg.LoadNext && !w.users }

// forecasts reports whether agents see the next window's load at all.
func (w *flowObserver) forecasts() bool { return w.foreseen() || w.showsNext() }

// check reports what is wrong with a workflow's meters.
func (w *flowObserver) check(m *Meters) error {
	if n := w.app.flow.NumFunctions(); len(m.Functions) != n {
		return bounds.Errorf("functions", "are %d, want the workflow's %d: %v", len(m.Functions), n, w.app.flow.Functions())
	}
	names := w.spec.Kinds[0].Names
	if err := m.validate(names); err != nil {
		return err
	}
	if w.forecasts() && m.Forecast == nil {
		return bounds.Errorf("forecast", "is missing, want the load expected in the next window in requests a second: "+
			"the policy was trained with load_known or load_next")
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

// flowRow is what the features of a function are computed from.
type flowRow struct {
	o *flowObserver
	m *Meters
	// Of the workflow.
	load, now, before                                            float64 // in users or requests a second: what agents see, of the last window, of the one before
	qos                                                          QoS     // this and what follows serve described features alone
	rate                                                         float64 // requests a second under the load
	slack, logLoad, fast, slow, latency, success, machines, dial float32
	// Of the function f.
	f                               int
	at                              *FunctionMeters
	cpu, throttled, memory, network float64 // means of its instances
	law                             *perfmodel.Law
	deployed                        Resources
	limit, work, alone              float64 // millicores; core-seconds a second under the load; seconds of a lone request
}

// write writes the rows of all functions.
func (w *flowObserver) write(m *Meters, values []float32, active []bool) {
	x := w.rows.Get().(*flowRow)
	defer w.rows.Put(x)
	x.o, x.m, x.load, x.now, x.before = w, m, w.load(m), w.measured(m), w.before(m)
	fixed := 0
	if w.described != nil {
		fixed = len(fixedFeatures)
		x.describe()
	}
	n := w.app.rng.Components()
	width := n + fixed + len(w.features)
	for f := range m.Functions {
		active[f] = true
		row := values[f*width : (f+1)*width]
		x.f, x.at = f, &m.Functions[f]
		w.action(x.at, row[:n])
		x.cpu, x.throttled, x.memory, x.network = x.at.means()
		if w.described != nil {
			copy(row[n:], w.described.fixed[f*fixed:(f+1)*fixed])
			x.describeFunction()
		}
		envs.WriteRow(w.features, x, row[n+fixed:])
	}
}

// action writes a function's last action.
func (w *flowObserver) action(x *FunctionMeters, row []float32) {
	switch {
	case len(x.Action) > 0:
		copy(row, x.Action)
	case x.Asked != (Settings{}):
		w.app.rng.Encode(x.Asked.Resources(), row)
	default:
		w.initial(row)
	}
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
	var sees []envs.Component
	for _, c := range decided {
		sees = append(sees, envs.Component{Name: "last " + c.Name, Unit: c.Unit, Doc: "the function's last action; " + c.Doc})
	}
	if w.features = w.plainFeatures(unit); w.described != nil {
		w.features = w.describedFeatures(unit)
		sees = append(sees, envs.Components(fixedFeatures)...)
	}
	sees = append(sees, envs.Components(w.features)...)
	if w.described != nil {
		sees = inLn(sees)
	}
	features, units, seen := envs.Columns(sees)
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

// plainFeatures are the measurements as they are; load is the unit of the load.
func (w *flowObserver) plainFeatures(load string) []envs.Feature[flowRow] {
	shown := "load of the last window"
	if w.foreseen() {
		shown = "load expected in the next window"
	}
	out := []envs.Feature[flowRow]{
		envs.NewFeature("cpu used", "% of a core", "CPU that an instance used, the mean of the instances",
			func(x *flowRow) float32 { return float32(x.cpu) }),
		envs.NewFeature("throttled", "millicores", "CPU that an instance wanted beyond its limit, the mean",
			func(x *flowRow) float32 { return float32(x.throttled) }),
		envs.NewFeature("memory used", "% of the limit", "memory that the instances used", func(x *flowRow) float32 { return float32(x.memory) }),
		envs.NewFeature("network", "bytes/s", "payload that an instance received, the mean",
			func(x *flowRow) float32 { return float32(x.network) }),
		envs.NewFeature("p75", "s", "75th percentile of the function's latency", func(x *flowRow) float32 { return float32(x.at.P75) }),
		envs.NewFeature("p95", "s", "95th percentile of the function's latency", func(x *flowRow) float32 { return float32(x.at.P95) }),
		envs.NewFeature("load", load, shown, func(x *flowRow) float32 { return float32(x.load) }),
	}
	if w.cfg.Features == ExtendedFeatures {
		out = append(out, extendedFeatures(load)...)
	}
	if w.showsNext() {
		out = append(out, envs.NewFeature("next load", load, "load expected in the next window",
			func(x *flowRow) float32 { return float32(*x.m.Forecast) }))
	}
	return out
}

// extendedFeatures are what [ExtendedFeatures] shows beside the plain ones; load is the unit of the load.
func extendedFeatures(load string) []envs.Feature[flowRow] {
	return []envs.Feature[flowRow]{
		envs.NewFeature("load change", load, "load of the last window less that of the window before",
			func(x *flowRow) float32 { return float32(x.now - x.before) }),
		envs.NewFeature("rejected", "of requests", "0 to 1: requests that the function turned away",
			func(x *flowRow) float32 { return float32(x.at.Rejected) }),
		envs.NewFeature("inside", "requests", "requests at the function", func(x *flowRow) float32 { return float32(x.at.Inside) }),
		envs.NewFeature("latency", "s", "mean end-to-end latency of the workflow's successes",
			func(x *flowRow) float32 { return float32(x.m.Latency) }),
		envs.NewFeature("success", "of requests", "0 to 1: successes among the workflow's requests that ended",
			func(x *flowRow) float32 { return float32(x.m.Success) }),
	}
}
