package sizing

import (
	"errors"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs"
)

// result is a window's measurements.
type result struct {
	price, cost             float64
	cores, memory           float64
	load                    float64
	latency, p75, p95       float64
	success                 float64
	successes, failed, seen int
	refusedNow, violated    bool
}

// functionResult is a window's measurements of one function. CPU is in percent of a core, throttled in millicores,
// memory in percent of the limit, network in bytes per second, each the mean of its instances.
type functionResult struct {
	price                           float64
	cpu, throttled, memory, network float64
	p75, p95, mean                  float64
	rejected                        float64 // fraction of its requests
	// requests at the function: the mean, or the number at the window's end if the function is gated
	inside float64
}

// measure reads the simulator's meters and converts them to rates over a number of seconds.
func (e *Env) measure(seconds float64) {
	for f := range e.functions {
		r, x := &e.functions[f], &e.meters.Functions[f]
		*r = functionResult{}
		e.sim.Meter(f, &e.meter)
		m := &e.meter
		share := m.Seconds() / seconds
		x.Instances = m.Instances()
		x.CPU, x.Throttled = m.UsedCPU()/10*share, m.ThrottledCPU()*share
		x.Memory, x.MemoryLimit = m.UsedMemory(), m.AllocatedMemory()
		x.Network = float64(m.Started) * e.app.laws[f].Payload / seconds
		r.cpu, r.throttled, r.memory, r.network = x.means()
		r.inside = m.InSystem()
		if e.walk.Gated(f) {
			// The simulator does not count requests that hold a place while they call others, or that wait at the gate.
			r.inside = float64(e.walk.Inside(f))
		}
		if m.Arrived > 0 {
			r.rejected = min(1, float64(m.Rejected)/float64(m.Arrived))
		}
		d := e.durations[f]
		if len(d) == 0 {
			if m.Arrived > m.Rejected {
				r.p75, r.p95, r.mean = Window.Seconds(), Window.Seconds(), Window.Seconds()
			}
			continue
		}
		slices.Sort(d)
		r.p75, r.p95, r.mean = quantile(d, 0.75), quantile(d, 0.95), mean(d)
	}
}

// measureNothing replaces measure if nothing was deployed.
func (e *Env) measureNothing() {
	for f := range e.functions {
		e.functions[f] = functionResult{p75: Window.Seconds(), p95: Window.Seconds(), mean: Window.Seconds()}
		e.meters.Functions[f] = FunctionMeters{}
	}
}

// conclude computes the window's result under a configuration.
func (e *Env) conclude(rs []Resources, refused bool) {
	r := &e.result
	e.lastLoad = r.load
	e.trend.pass(e.all, r.seen)
	*r = result{refusedNow: refused, seen: e.begun, failed: e.failures, successes: len(e.latencies)}
	for f, x := range rs {
		e.meters.Functions[f].Asked = x.Settings()
		fr := &e.functions[f]
		fr.price = e.rates.Hourly(x.CPU, x.Memory, x.Replicas)
		if e.cfg.Price.ExecTime {
			fr.price *= fr.mean
		}
		r.price += fr.price
	}
	r.cost = r.price * Window.Seconds() / 3600
	r.cores, r.memory = demanded(rs)
	if r.load = float64(e.userCount); !e.source.Closed() {
		r.load = float64(e.begun) / Window.Seconds()
	}
	switch {
	case refused || r.successes == 0 && (r.failed > 0 || e.walk.Live() > 0 || e.source.Closed()):
		r.latency, r.p75, r.p95 = Window.Seconds(), Window.Seconds(), Window.Seconds()
		if refused {
			// Do not count requests that were served under the previous configuration.
			r.successes, e.latencies = 0, e.latencies[:0]
		}
	case r.successes == 0: // there were no requests
		r.success = 1
	default:
		slices.Sort(e.latencies)
		r.latency, r.p75, r.p95 = mean(e.latencies), quantile(e.latencies, 0.75), quantile(e.latencies, 0.95)
		r.success = float64(r.successes) / float64(r.successes+r.failed)
	}
	r.violated = r.misses(e.qos, e.source.Closed())
}

func mean(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// quantile interpolates linearly between the order statistics of x, which is sorted and not empty, as numpy.percentile
// does.
func quantile(x []float64, p float64) float64 {
	at := float64(p * float64(len(x)-1))
	i := int(at)
	lo, hi := x[i], x[min(i+1, len(x)-1)]
	return lo + float64((at-float64(i))*(hi-lo))
}

// Workflow returns the workflow's name.
func (e *Env) Workflow() string { return e.app.flow.Name() }

// LoadNow returns the load that the agents see: users in a closed loop, else requests per second.
func (e *Env) LoadNow() float64 {
	if e.source.Closed() {
		return float64(e.userCount)
	}
	return e.shownLoad()
}

// errUnjudged says why a reward is not known.
var errUnjudged = errors.New("reward.form: local-global needs measurements of the functions, which outcomes lack; want " +
	"paper or code")

// Judge says what a window that was measured elsewhere is worth under this environment's thresholds and reward. users is
// the number of closed-loop users, 0 under arrivals. Info has the quantities of the spec; Judge reads the measured ones
// (price, latency, success, successes, failed, requests, load, refused) and writes violated. Rewards gets one number
// per agent; nil asks for none. dial is that of the window's episode where the reward draws one. The environment's own
// episode is not touched.
func (e *Env) Judge(users int, dial float64, info []float64, rewards []float32) error {
	if rewards != nil && e.cfg.Reward.Form == LocalGlobalReward {
		return errUnjudged
	}
	if len(e.cfg.Reward.Dial) == 1 {
		dial = e.cfg.Reward.Dial[0]
	}
	at := func(name string) *float64 {
		return &info[slices.IndexFunc(e.spec.Info, func(q envs.Quantity) bool { return q.Name == name })]
	}
	r := result{
		price: *at("price"), latency: *at("latency"), p95: *at("latency_p95"), success: *at("success"),
		successes: int(*at("successes")), failed: int(*at("failed")), seen: int(*at("requests")), load: *at("load"),
		refusedNow: *at("refused") != 0,
	}
	qos := e.cfg.thresholds(e.app, users)
	r.violated = r.misses(qos, e.source.Closed())
	*at("violated") = 0
	if r.violated {
		*at("violated") = 1
	}
	if rewards == nil {
		return nil
	}
	was, wasQoS, wasDial := e.result, e.qos, e.dial
	e.result, e.qos, e.dial = r, qos, dial
	e.reward(rewards)
	e.result, e.qos, e.dial = was, wasQoS, wasDial
	return nil
}

// misses reports whether a window missed the thresholds.
func (r *result) misses(q QoS, closed bool) bool {
	return r.refusedNow || r.latency > q.Latency || r.success < q.Success || closed && r.successes < q.Count
}

// Outcome completes the quantities of a window that was measured elsewhere: those that are not a number (NaN) and follow
// from its action or from others become known. act has the configuration of every function.
func (e *Env) Outcome(act []float32, info []float64) {
	w := e.app.rng.Components()
	rs := make([]Resources, len(act)/w)
	for f := range rs {
		rs[f] = e.app.rng.Decode(act[f*w : (f+1)*w])
	}
	cores, memory := demanded(rs)
	get := func(name string) float64 {
		return info[slices.IndexFunc(e.spec.Info, func(q envs.Quantity) bool { return q.Name == name })]
	}
	put := func(name string, x float64) {
		i := slices.IndexFunc(e.spec.Info, func(q envs.Quantity) bool { return q.Name == name })
		if math.IsNaN(info[i]) {
			info[i] = x
		}
	}
	refused := 0.0
	if e.refused(rs) {
		refused = 1
	}
	put("price", e.Hourly(rs))
	put("cost", get("price")*Window.Seconds()/3600)
	put("failed", get("requests")-get("successes"))
	if all := get("successes") + get("failed"); all > 0 {
		put("success", get("successes")/all)
	} else {
		put("success", 0)
	}
	put("cores", cores)
	put("memory", memory)
	put("refused", refused)
}

// Thresholds returns the QoS of windows under a number of closed-loop users, or under arrivals where users is 0.
func (e *Env) Thresholds(users int) QoS { return e.cfg.thresholds(e.app, users) }

// DialOf returns the dial of the episode in which an agent made an observation: what its column dial says, 0 where there
// is none.
func (e *Env) DialOf(observation []float32) float64 {
	if i := slices.Index(e.spec.Kinds[0].Features, "dial"); i >= 0 {
		return math.Exp(float64(observation[i]))
	}
	return 0
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
	if e.observer.forecasts() {
		e.forecast = e.expected()
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
	return e.expected()
}

// expected is the load expected in the next window, in requests a second.
func (e *Env) expected() float64 {
	var perMinute float64
	minute := (e.slot + e.all) / 2
	for s := range e.source.Streams() {
		perMinute += e.walk.Arrivals().Expected(s, minute)
	}
	return perMinute / 60
}
