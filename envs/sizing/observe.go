package sizing

import "github.com/stoker-rl/stoker/envs"

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
