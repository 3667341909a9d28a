package sizing

import (
	"math"
	"strings"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/perfmodel"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/rng/portable"
)

// description makes the described features: what each function is, which never changes, and how its load and its
// measurements compare with what is deployed.
type description struct {
	fixed []float32 // per function the numbers of fixedFeatures
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
	x := fixedRow{top: top, d: d, edges: max(1, edges), longest: longest}
	for _, n := range d.runs {
		x.total += n
	}
	d.fixed = make([]float32, len(a.laws)*len(fixedFeatures))
	for f := range a.laws {
		x.law, x.at, x.runs, x.path = &a.laws[f], &places[f], d.runs[f], path[f]
		x.alone = x.law.Alone(float64(top.CPU))
		d.most = append(d.most, float64(top.Replicas)*peak(x.law, float64(top.CPU), x.law.Fits(float64(top.Memory), top.Concurrency)))
		envs.WriteRow(fixedFeatures, &x, d.fixed[f*len(fixedFeatures):])
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

// fixedRow is what the features of a function that never change are computed from.
type fixedRow struct {
	d              *description
	top            Resources // the largest configuration
	edges          int       // of the longest path
	longest, total float64   // seconds of the critical path; expected runs of all functions in a request
	law            *perfmodel.Law
	at             *workflow.Place
	runs           float64 // expected in a request
	path, alone    float64 // seconds of the longest path through the function, and of a lone request in it
}

const asLn = "ln"

var fixedFeatures = []envs.Feature[fixedRow]{
	envs.NewFeature("work", "ln core-s", "core-seconds of work in a request",
		func(x *fixedRow) float32 { return float32(logOf(x.law.Work, 0.001)) }),
	envs.NewFeature("parallelism", "ln cores", "cores that a request can use",
		func(x *fixedRow) float32 { return float32(logOf(x.law.Parallel, tiny)) }),
	envs.NewFeature("overhead", "cores", "CPU limit at which an instance with one request loses half of its CPU",
		func(x *fixedRow) float32 { return float32(x.law.Overhead) }),
	envs.NewFeature("crowding", "cores", "what each further request in an instance adds to the overhead",
		func(x *fixedRow) float32 { return float32(x.law.Crowding) }),
	envs.NewFeature("request memory", "of the largest limit", "memory that a request holds; 0: no limit by memory",
		func(x *fixedRow) float32 { return float32(x.law.Memory / float64(x.top.Memory)) }),
	envs.NewFeature("idle memory", "of the largest limit", "memory of an instance without requests",
		func(x *fixedRow) float32 { return float32(x.law.Idle / float64(x.top.Memory)) }),
	envs.NewFeature("fastest", "ln s", "service time of a lone request at the largest CPU limit",
		func(x *fixedRow) float32 { return float32(logOf(x.alone, 0.001)) }),
	envs.NewFeature("calls", asLn, "expected runs of the function in a request",
		func(x *fixedRow) float32 { return float32(logOf(x.runs, tiny)) }),
	envs.NewFeature("depth", "of the longest path", "0 to 1: edges from the entry",
		func(x *fixedRow) float32 { return float32(float64(x.at.Depth) / float64(x.edges)) }),
	envs.NewFeature("distance", "of the longest path", "0 to 1: edges to the end",
		func(x *fixedRow) float32 { return float32(float64(x.at.Distance) / float64(x.edges)) }),
	envs.NewFeature("in degree", "ln(1 + edges)", "edges that enter",
		func(x *fixedRow) float32 { return float32(portable.Log1p(float64(x.at.In))) }),
	envs.NewFeature("out degree", "ln(1 + edges)", "edges that leave",
		func(x *fixedRow) float32 { return float32(portable.Log1p(float64(x.at.Out))) }),
	envs.NewFeature("critical", "of the critical path", "0 to 1: the longest path in seconds through the function; 1: it is on the critical path",
		func(x *fixedRow) float32 { return float32(x.path / x.longest) }),
	envs.NewFeature("time share", "of the critical path", "0 to 1: the function's own seconds in a request",
		func(x *fixedRow) float32 { return float32(min(1, float64(x.runs*x.alone)/x.longest)) }),
	envs.NewFeature("size", asLn, "expected runs of all functions in a request",
		func(x *fixedRow) float32 { return float32(logOf(x.total, tiny)) }),
}

// describedFeatures are the features of a function that change; unit is that of the load.
func (w *flowObserver) describedFeatures(unit string) []envs.Feature[flowRow] {
	load := "the last window's load"
	if w.foreseen() {
		load = "the load expected in the next window"
	}
	out := []envs.Feature[flowRow]{
		envs.NewFeature("slack", asLn, "latency threshold over the time of a request that waits nowhere, at the largest CPU limits",
			func(x *flowRow) float32 { return x.slack }),
		envs.NewFeature("load", "ln "+unit, load, func(x *flowRow) float32 { return x.logLoad }),
		envs.NewFeature("demand", asLn, "work that "+load+" brings, over what the largest configuration does",
			func(x *flowRow) float32 { return float32(logRatio(x.work, x.o.described.most[x.f], 0.001)) }),
		envs.NewFeature("utilisation", asLn, "work that "+load+" brings, over what the deployed instances do at most",
			func(x *flowRow) float32 { return float32(logRatio(x.work, x.does(), tiny)) }),
		envs.NewFeature("trend", asLn, "requests of "+load+", over those of the window before; 1 is added to both",
			func(x *flowRow) float32 { return x.fast }),
		envs.NewFeature("slow trend", asLn, "the same over an exponential mean of the windows before, about five",
			func(x *flowRow) float32 { return x.slow }),
		envs.NewFeature("cpu share", "of the limit", "CPU that an instance used, the mean of the instances",
			func(x *flowRow) float32 { return float32(x.cpu * 10 / x.limit) }),
		envs.NewFeature("throttling", "ln(1 + ratio)", "CPU that an instance wanted beyond its limit, over the limit",
			func(x *flowRow) float32 { return float32(portable.Log1p(x.throttled / x.limit)) }),
		envs.NewFeature("memory share", "of the limit", "0 to 1: memory that the instances used",
			func(x *flowRow) float32 { return float32(x.memory / 100) }),
		envs.NewFeature("places taken", asLn, "requests at the function over its places, replicas × concurrency", func(x *flowRow) float32 {
			return float32(logRatio(x.at.Inside, float64(x.deployed.Replicas*x.deployed.Concurrency), tiny))
		}),
		envs.NewFeature("turned away", asLn, "share of the requests that the function refused, 0.001 at least",
			func(x *flowRow) float32 { return float32(logOf(x.at.Rejected, 0.001)) }),
		envs.NewFeature("p75 slowdown", asLn, "75th percentile of the function's latency over a lone request's at its CPU limit",
			func(x *flowRow) float32 { return float32(slowdown(x.at.P75, x.alone)) }),
		envs.NewFeature("p95 slowdown", asLn, "the same of the 95th percentile",
			func(x *flowRow) float32 { return float32(slowdown(x.at.P95, x.alone)) }),
		envs.NewFeature("p95 share", asLn, "95th percentile of the function's latency over the workflow's latency threshold",
			func(x *flowRow) float32 { return float32(logRatio(x.at.P95, x.qos.Latency, tiny)) }),
		envs.NewFeature("latency", asLn, "the workflow's mean latency over its threshold, 0.1 to 10",
			func(x *flowRow) float32 { return x.latency }),
		envs.NewFeature("success", "of the threshold", "the workflow's share of successes over its threshold, at most 2; with users the smaller "+
			"of this and of their number over its threshold", func(x *flowRow) float32 { return x.success }),
		envs.NewFeature("machines", "of all machines", "CPU or memory that the last configuration of all functions asks for, the larger; "+
			"beyond 1 it is refused", func(x *flowRow) float32 { return x.machines }),
	}
	if w.showsNext() {
		out = append(out,
			envs.NewFeature("next load", "ln "+unit, "the load expected in the next window",
				func(x *flowRow) float32 { return float32(logOf(*x.m.Forecast, tiny)) }),
			envs.NewFeature("next demand", asLn, "work that the next window's load brings, over what the largest configuration does",
				func(x *flowRow) float32 { return float32(logRatio(x.nextWork(), x.o.described.most[x.f], 0.001)) }),
			envs.NewFeature("next utilisation", asLn, "work that the next window's load brings, over what the deployed instances do at most",
				func(x *flowRow) float32 { return float32(logRatio(x.nextWork(), x.does(), tiny)) }))
	}
	if len(w.cfg.Reward.Dial) > 0 {
		out = append(out, envs.NewFeature("dial", asLn, "what a window that keeps the QoS earns in this episode",
			func(x *flowRow) float32 { return x.dial }))
	}
	return out
}

// inLn says of logarithms that they are natural ones.
func inLn(all []envs.Component) []envs.Component {
	for i := range all {
		if u := all[i].Unit; u == asLn || strings.HasPrefix(u, "ln ") {
			all[i].Doc += "; natural logarithm"
		}
	}
	return all
}

// describe computes what the described features of all functions share.
func (x *flowRow) describe() {
	w, m, d := x.o, x.m, x.o.described
	x.qos = w.cfg.thresholds(w.app, w.usersOf(m))
	load, began, before, slow := w.loads(m)
	var cores, memory float64
	for f := range m.Functions {
		m.Functions[f].Asked.add(&cores, &memory)
	}
	x.latency, x.success = float32(logOf(m.Latency/x.qos.Latency, 0.1)), float32(w.successRatio(m, &x.qos))
	x.machines = float32(max(cores/d.cores, memory/d.memory))
	x.slack, x.logLoad = float32(logRatio(x.qos.Latency, d.response, tiny)), float32(logOf(load, tiny))
	x.fast, x.slow = float32(portable.Log((1+began)/(1+before))), float32(portable.Log((1+began)/(1+slow)))
	x.rate = began / Window.Seconds()
	dial := m.Dial
	if one := w.cfg.Reward.Dial; len(one) == 1 && dial == 0 {
		dial = one[0]
	}
	if dial > 0 {
		x.dial = float32(portable.Log(dial))
	}
}

// describeFunction computes what the described features of a function share.
func (x *flowRow) describeFunction() {
	x.law, x.deployed = &x.o.app.laws[x.f], x.at.Deployed.Resources()
	x.limit = max(1, float64(x.deployed.CPU))
	x.work = float64(float64(x.rate*x.o.described.runs[x.f]) * x.law.Work)
	x.alone = x.law.Alone(x.limit)
}

// nextWork is the work that the load expected in the next window brings, in core-seconds a second.
func (x *flowRow) nextWork() float64 {
	return float64(float64(*x.m.Forecast*x.o.described.runs[x.f]) * x.law.Work)
}

// does is the work that the deployed instances do at most, in core-seconds a second.
func (x *flowRow) does() float64 {
	return float64(float64(x.deployed.Replicas) * peak(x.law, x.limit, x.law.Fits(float64(x.deployed.Memory), x.deployed.Concurrency)))
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
