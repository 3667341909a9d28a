package sizing

import (
	"math"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/perfmodel"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/rng/portable"
)

// description makes the described features: what each function is, which never changes, and how its load and its
// measurements compare with what is deployed.
type description struct {
	fixed []float32 // per function fixedColumns numbers
	runs  []float64 // expected runs of each function in a request
	most  []float64 // work of each function's largest configuration, in core-seconds a second
	// response is the time in seconds of a request that waits nowhere, along the longest path, at the largest CPU limits.
	response float64
	// Of all machines together.
	cores, memory float64
}

// trend is how many requests began in the windows before the last one.
type trend struct {
	last float64 // in the one before
	slow float64 // an exponential mean of those before
}

// slowness is the weight of a new window in the slow mean: it remembers about five.
const slowness = 0.2

// pass takes in the number of requests of the window before the one that ends; windows is the number of windows before
// that one.
func (t *trend) pass(windows, before int) {
	t.last = float64(before)
	if windows <= 1 {
		t.slow = t.last
		return
	}
	t.slow += float64(slowness * (t.last - t.slow))
}

func (t *trend) finite() bool { return t.last >= 0 && t.slow >= 0 && t.last+t.slow < math.MaxInt32 }

// newDescription describes the functions of a workflow.
func newDescription(a *app, c *Config) *description {
	p := &c.Platform
	d := &description{runs: a.flow.FunctionExecutions(), cores: float64(a.machines(p)*p.CPU) / 1000,
		memory: float64(a.machines(p) * p.Memory)}
	top := a.rng.High
	if !a.rng.Concurrency {
		top.Concurrency = a.rng.Low.Concurrency
	}
	alone := make([]float64, a.flow.NumNodes())
	for n := range alone {
		alone[n] = a.laws[a.flow.Function(n)].Alone(float64(top.CPU))
	}
	through, longest := a.flow.Through(alone, workflow.Delays{Node: p.Hop})
	d.response = longest + p.Orchestrator
	path := make([]float64, len(a.laws)) // the longest through each function
	for n, t := range through {
		f := a.flow.Function(n)
		path[f] = max(path[f], t)
	}
	places, edges := a.flow.Places()
	share := func(n int) float64 { return float64(n) / float64(max(1, edges)) }
	total := 0.0
	for _, n := range d.runs {
		total += n
	}
	for f := range a.laws {
		l, at := &a.laws[f], &places[f]
		d.most = append(d.most, float64(top.Replicas)*peak(l, float64(top.CPU), l.Fits(float64(top.Memory), top.Concurrency)))
		time := l.Alone(float64(top.CPU))
		for _, x := range [...]float64{
			logOf(l.Work, 0.001), logOf(l.Parallel, tiny), l.Overhead, l.Crowding,
			l.Memory / float64(top.Memory), l.Idle / float64(top.Memory), logOf(time, 0.001),
			logOf(d.runs[f], tiny), share(at.Depth), share(at.Distance),
			portable.Log1p(float64(at.In)), portable.Log1p(float64(at.Out)),
			path[f] / longest, min(1, float64(d.runs[f]*time)/longest), logOf(total, tiny),
		} {
			d.fixed = append(d.fixed, float32(x))
		}
	}
	return d
}

// peak is the most work in core-seconds a second that an instance of a number of millicores does with 1 to n requests
// inside. Up to the number at which they use all CPU each adds its cores; beyond it they only crowd each other.
func peak(l *perfmodel.Law, cpu float64, n int) float64 {
	// That number m solves m·Parallel = c²/(c + Overhead + Crowding·(m-1)).
	c := cpu / 1000
	a, b := float64(l.Parallel*l.Crowding), float64(l.Parallel*(c+l.Overhead-l.Crowding))
	m := 2 * float64(c*c) / (b + math.Sqrt(float64(b*b)+float64(4*float64(a*float64(c*c)))))
	if !(m > 1) {
		return l.Speed(cpu)
	}
	return float64(min(m, float64(n)) * l.Parallel)
}

// tiny is the smallest number whose logarithm is shown; its inverse is the largest.
const tiny = 0.01

// logOf is ln x with x held between least and its inverse.
func logOf(x, least float64) float64 { return portable.Log(min(max(x, least), 1/least)) }

// logRatio is ln(x/y), held like logOf. Where y is 0 it is that of the largest ratio, or of 1 if x is 0 too.
func logRatio(x, y, least float64) float64 {
	if y > 0 {
		return logOf(x/y, least)
	}
	if x > 0 {
		return -portable.Log(least)
	}
	return 0
}

// fixedColumns is the number of columns that never change.
const fixedColumns = 15

// columns lists the features in the order of observe; unit is that of the load.
func (d *description) columns(w *flowObserver, unit string) []envs.Component {
	const ln = "ln"
	load := "the last window's load"
	if w.foreseen() {
		load = "the load expected in the next window"
	}
	var out []envs.Component
	for _, c := range w.app.rng.describe() {
		out = append(out, envs.Component{Name: "last " + c.Name, Unit: c.Unit, Doc: "the function's last action; " + c.Doc})
	}
	out = append(out, []envs.Component{
		{Name: "work", Unit: "ln core-s", Doc: "core-seconds of work in a request"},
		{Name: "parallelism", Unit: "ln cores", Doc: "cores that a request can use"},
		{Name: "overhead", Unit: "cores", Doc: "CPU limit at which an instance with one request loses half of its CPU"},
		{Name: "crowding", Unit: "cores", Doc: "what each further request in an instance adds to the overhead"},
		{Name: "request memory", Unit: "of the largest limit", Doc: "memory that a request holds; 0: no limit by memory"},
		{Name: "idle memory", Unit: "of the largest limit", Doc: "memory of an instance without requests"},
		{Name: "fastest", Unit: "ln s", Doc: "service time of a lone request at the largest CPU limit"},
		{Name: "calls", Unit: ln, Doc: "expected runs of the function in a request"},
		{Name: "depth", Unit: "of the longest path", Doc: "0 to 1: edges from the entry"},
		{Name: "distance", Unit: "of the longest path", Doc: "0 to 1: edges to the end"},
		{Name: "in degree", Unit: "ln(1 + edges)", Doc: "edges that enter"},
		{Name: "out degree", Unit: "ln(1 + edges)", Doc: "edges that leave"},
		{Name: "critical", Unit: "of the critical path", Doc: "0 to 1: the longest path in seconds through the function; 1: it " +
			"is on the critical path"},
		{Name: "time share", Unit: "of the critical path", Doc: "0 to 1: the function's own seconds in a request"},
		{Name: "size", Unit: ln, Doc: "expected runs of all functions in a request"},
		{Name: "slack", Unit: ln, Doc: "latency threshold over the time of a request that waits nowhere, at the largest CPU " +
			"limits"},
		{Name: "load", Unit: "ln " + unit, Doc: load},
		{Name: "demand", Unit: ln, Doc: "work that " + load + " brings, over what the largest configuration does"},
		{Name: "utilisation", Unit: ln, Doc: "work that " + load + " brings, over what the deployed instances do at " +
			"most"},
		{Name: "trend", Unit: ln, Doc: "requests of " + load + ", over those of the window before; 1 is added to both"},
		{Name: "slow trend", Unit: ln, Doc: "the same over an exponential mean of the windows before, about five"},
		{Name: "cpu share", Unit: "of the limit", Doc: "CPU that an instance used, the mean of the instances"},
		{Name: "throttling", Unit: "ln(1 + ratio)", Doc: "CPU that an instance wanted beyond its limit, over the limit"},
		{Name: "memory share", Unit: "of the limit", Doc: "0 to 1: memory that the instances used"},
		{Name: "places taken", Unit: ln, Doc: "requests at the function over its places, replicas × concurrency"},
		{Name: "turned away", Unit: ln, Doc: "share of the requests that the function refused, 0.001 at least"},
		{Name: "p75 slowdown", Unit: ln, Doc: "75th percentile of the function's latency over a lone request's at its CPU limit"},
		{Name: "p95 slowdown", Unit: ln, Doc: "the same of the 95th percentile"},
		{Name: "p95 share", Unit: ln, Doc: "95th percentile of the function's latency over the workflow's latency threshold"},
		{Name: "latency", Unit: ln, Doc: "the workflow's mean latency over its threshold, 0.1 to 10"},
		{Name: "success", Unit: "of the threshold", Doc: "the workflow's share of successes over its threshold, at most 2; with " +
			"users the smaller of this and of their number over its threshold"},
		{Name: "machines", Unit: "of all machines", Doc: "CPU or memory that the last configuration of all functions asks " +
			"for, the larger; beyond 1 it is refused"},
	}...)
	if len(w.cfg.Reward.Dial) > 0 {
		out = append(out, envs.Component{Name: "dial", Unit: ln, Doc: "what a window that keeps the QoS earns in this episode"})
	}
	for i := range out {
		if u := out[i].Unit; u == ln || len(u) > 2 && u[:3] == "ln " {
			out[i].Doc += "; natural logarithm"
		}
	}
	return out
}

// observe writes the features of all functions after the last window.
func (d *description) observe(w *flowObserver, m *Meters, values []float32) {
	q := w.cfg.thresholds(w.app, w.usersOf(m))
	load, began, before, slow := w.loads(m)
	latency, success := logOf(m.Latency/q.Latency, 0.1), w.successRatio(m, &q)
	var cores, memory float64
	for f := range m.Functions {
		m.Functions[f].Asked.add(&cores, &memory)
	}
	machines := max(cores/d.cores, memory/d.memory)
	slack, shown := logRatio(q.Latency, d.response, tiny), logOf(load, tiny)
	fast, slowly := portable.Log((1+began)/(1+before)), portable.Log((1+began)/(1+slow))
	rate := began / Window.Seconds()
	dial := m.Dial
	if one := w.cfg.Reward.Dial; len(one) == 1 && dial == 0 {
		dial = one[0]
	}
	row := values[:0]
	for f := range m.Functions {
		x, l, z := &m.Functions[f], &w.app.laws[f], m.Functions[f].Deployed.Resources()
		limit := max(1, float64(z.CPU))
		held := l.Fits(float64(z.Memory), z.Concurrency)
		work := float64(float64(rate*d.runs[f]) * l.Work)
		alone := l.Alone(limit)
		cpu, throttled, used, _ := x.means()
		row = w.action(x, row)
		row = append(row, d.fixed[f*fixedColumns:(f+1)*fixedColumns]...)
		row = append(row, float32(slack), float32(shown), float32(logRatio(work, d.most[f], 0.001)),
			float32(logRatio(work, float64(float64(z.Replicas)*peak(l, limit, held)), tiny)), float32(fast), float32(slowly))
		row = append(row, float32(cpu*10/limit), float32(portable.Log1p(throttled/limit)), float32(used/100),
			float32(logRatio(x.Inside, float64(z.Replicas*z.Concurrency), tiny)), float32(logOf(x.Rejected, 0.001)),
			float32(slowdown(x.P75, alone)), float32(slowdown(x.P95, alone)), float32(logRatio(x.P95, q.Latency, tiny)),
			float32(latency), float32(success), float32(machines))
		if len(w.cfg.Reward.Dial) > 0 {
			row = append(row, float32(portable.Log(dial)))
		}
	}
}

// slowdown is ln(latency/alone); 0 where no visit ended.
func slowdown(latency, alone float64) float64 {
	if latency == 0 {
		return 0
	}
	return logRatio(latency, alone, tiny)
}

// usersOf is the number of closed-loop users, 0 under arrivals.
func (w *flowObserver) usersOf(m *Meters) int {
	if w.users {
		return m.Users
	}
	return 0
}

// loads returns the load that is shown, the number of requests in a window under it, the number in the window before,
// and the slow mean of the windows before.
func (w *flowObserver) loads(m *Meters) (load, began, before, slow float64) {
	load, began = w.load(m), float64(m.Began)
	h, first := &m.History, 1
	t := trend{float64(h.Began), h.Slow}
	if w.foreseen() {
		t.pass(h.Windows, m.Began)
		began, first = float64(load*Window.Seconds()), 0
	}
	if h.Windows <= first { // there was no window before
		t = trend{began, began}
	}
	return load, began, t.last, t.slow
}

// successRatio is the share of successes over its threshold, or with users the number of successes over its threshold
// if that is smaller; at most 2.
func (w *flowObserver) successRatio(m *Meters, q *QoS) float64 {
	ratio := m.Success
	if q.Success > 0 {
		ratio = m.Success / q.Success
	}
	if w.users && q.Count > 0 {
		count := float64(m.Successes) / float64(q.Count)
		if q.Success == 0 {
			return min(2, count)
		}
		ratio = min(ratio, count)
	}
	return min(2, ratio)
}
