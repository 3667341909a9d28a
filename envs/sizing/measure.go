package sizing

import "slices"

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
