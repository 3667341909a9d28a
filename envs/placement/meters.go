package placement

import (
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
)

// meter holds the sums of one step.
type meter struct {
	latency    float64 // Σ time in the system / ideal
	waste      float64 // seconds of the cluster that were idle while an invocation waited
	violations float64
	cost       float64 // USD
	used       [NumResources]float64
	waiting    float64
}

// tally counts an episode's requests and invocations.
type tally struct {
	counts
	slowdowns, responses []float64 // of the requests that left in the last step
}

// counts are the numbers of a [tally].
type counts struct {
	finished, dropped, late int
	started, ended, cold    int
	evictions               int
	slowdown, called        float64 // sums over requests and over invocations
	useful, held            float64 // millicore-seconds

	mean float64 // slowdown
}

func (t *tally) clear() {
	*t = tally{slowdowns: t.slowdowns[:0], responses: t.responses[:0]}
}

// State implements [state.Stater].
func (t *tally) State(c *state.Codec) {
	state.Value(c, &t.counts)
	state.Slice(c, &t.slowdowns)
	state.Slice(c, &t.responses)
}

// ran counts an invocation that ends.
func (t *tally) ran(e *Env, v *invocation) {
	f := &e.s.functions[v.function]
	t.ended++
	t.called += seconds(e.now-v.since) / v.work
	t.useful += float64(v.work * v.noise * float64(f.demand[e.s.nominal][CPU]))
	t.held += float64(float64(seconds(e.now-v.start)*e.s.nodes[v.node].speed) * float64(f.demand[v.amount][CPU]))
}

// served counts a request that leaves.
func (t *tally) served(e *Env, q *request) {
	response := seconds(e.now - q.arrived)
	t.finished++
	t.slowdown += response / q.ideal
	t.mean = t.slowdown / float64(t.finished)
	if e.now > q.deadline {
		t.late++
	}
	t.slowdowns = append(t.slowdowns, response/q.ideal)
	t.responses = append(t.responses, response)
}

// seconds converts from microseconds.
func seconds(t int64) float64 { return float64(t) / 1e6 }

// count adds up a period in which nothing changes.
func (e *Env) count(micros int64) {
	if micros <= 0 {
		return
	}
	dt, m := seconds(micros), &e.meter
	m.latency += float64(float64(e.weight) / fraction * dt)
	m.cost += float64(float64(e.rate) * 1e-12 * dt)
	all := 0.0
	for r := range NumResources {
		if e.s.total[r] > 0 {
			u := float64(e.used[r]) / e.s.total[r]
			m.used[r] += float64(u * dt)
			all += float64(u * e.s.scarcity[r])
		}
	}
	waiting := len(e.window) + len(e.backlog) - e.head
	if waiting > 0 {
		m.waste += float64((1 - all) * dt)
	}
	m.waiting += float64(float64(waiting) * dt)
	weight := dt / (dt + recentSeconds)
	for n := range e.nodes {
		at := &e.nodes[n]
		at.recent += float64(weight * (float64(1-share(at.free[CPU], e.s.nodes[n].capacity[CPU])) - at.recent))
	}
}

// recentSeconds is the time constant of node.recent.
const recentSeconds = 10

// report writes the reward and Info.
func (e *Env) report(out *envs.Outcome) {
	w, m, t := &e.c.Weights, &e.meter, &e.tally
	info := out.Info[:infos]
	sum := 0.0
	for i, x := range [...]float64{w.Latency * m.latency, w.Utilisation * m.waste, w.Violations * m.violations,
		w.Cost * m.cost} {
		x = float64(-x)
		info[inRewards+i] = x
		sum += x
	}
	out.Rewards[0][0] = float32(sum)
	info[inSlowdown], info[inInvocationSlowdown] = t.mean, over(t.called, float64(t.ended))
	late, all := float64(t.late+t.dropped), float64(t.finished+t.dropped)
	if out.Truncated {
		info[inSlowdown], late, all = e.cut(late, all)
	}
	info[inFinished], info[inInvocations], info[inDropped] = float64(t.finished), float64(t.ended), float64(t.dropped)
	info[inViolations] = over(late, all)
	info[inColdStarts], info[inColdShare], info[inEvictions] = float64(t.cold),
		over(float64(t.cold), float64(t.started)), float64(t.evictions)
	info[inCost] = m.cost
	dt, mean := seconds(e.elapsed), 0.0
	for r := range NumResources {
		u := over(m.used[r], dt)
		info[inUsed+r] = u
		mean += float64(u * e.s.scarcity[r])
	}
	info[inUtilisation] = mean
	info[inEfficiency] = over(t.useful, t.held)
	info[inWaiting], info[inBacklog] = over(m.waiting, dt), float64(len(e.backlog)-e.head)
}

// over is a / b, 0 where b is 0.
func over(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// cut returns mean slowdown, violations and number of requests when an episode is cut. The requests left behind count
// with their time so far, so that a policy that leaves requests waiting does not look fast.
func (e *Env) cut(late, all float64) (slowdown, violations, requests float64) {
	sum, n := e.tally.slowdown, float64(e.tally.finished)
	for i := range e.requests {
		q := &e.requests[i]
		if q.left == 0 {
			continue
		}
		sum += seconds(e.now-q.arrived) / q.ideal
		n++
		all++
		if e.now > q.deadline {
			late++
		}
	}
	return over(sum, n), late, all
}

// quantities lists what a step reports.
func quantities() []envs.Quantity {
	some, share := envs.AtLeast(0), envs.Share()
	perTime := func(name, unit string, b envs.Better, in envs.Bounds, doc string) envs.Quantity {
		return envs.Quantity{Name: name, Unit: unit, Better: b, Reduce: envs.PerTime, Bounds: in, Doc: doc}
	}
	last := func(name, unit string, b envs.Better, in envs.Bounds, doc string) envs.Quantity {
		return envs.Quantity{Name: name, Unit: unit, Better: b, Reduce: envs.Last, Bounds: in, Doc: doc}
	}
	info := []envs.Quantity{
		last("slowdown", "1", envs.Lower, some, "mean over the requests finished so far of response time / ideal response "+
			"time; at a cut the others count too, with their time so far"),
		last("invocation slowdown", "1", envs.Lower, some,
			"mean over the invocations ended so far of (end − start of waiting) / time at amount 1 and speed 1"),
		last("finished", "requests", envs.Higher, some, "requests finished so far"),
		last("invocations", "invocations", envs.Higher, some, "invocations ended so far"),
		last("dropped", "requests", envs.Lower, some, "requests that found the system full so far"),
		last("violations", "1", envs.Lower, share,
			"share of the requests finished or dropped so far that missed their deadline"),
		last("cold starts", "invocations", envs.Lower, some, "cold starts so far"),
		last("cold share", "1", envs.Lower, share, "cold starts over all starts so far"),
		last("evictions", "instances", envs.Neither, some, "warm instances that a cold start's memory drove out so far"),
		{Name: "cost", Unit: "USD", Better: envs.Lower, Reduce: envs.Sum, Bounds: some, AssumesService: true,
			Doc: "price of what was allocated or kept warm"},
		perTime("utilisation", "1", envs.Higher, share,
			"used over all, the mean of the resources, each weighted by the share of it that the load takes"),
	}
	for _, r := range ResourceNames {
		info = append(info, perTime(r+" utilisation", "1", envs.Higher, share,
			"used over all; instances that are warm but idle use nothing"))
	}
	info = append(info,
		last("efficiency", "1", envs.Higher, some,
			"work done over CPU held, at amount 1 and speed 1, of the invocations ended so far: "+
				"what a larger amount, a cold start or a transfer wastes"),
		perTime("waiting", "invocations", envs.Lower, some, "invocations that wait"),
		envs.Quantity{Name: "backlog", Unit: "invocations", Better: envs.Lower, Reduce: envs.Max, Bounds: some,
			Doc: "invocations that wait beyond the window, at the step's end"},
	)
	for _, t := range []struct{ name, doc string }{
		{"latency", "minus the weighted sum of time in the system over ideal response time"},
		{"utilisation", "minus the weighted seconds of the cluster that were idle while an invocation waited"},
		{"violations", "minus the weighted deadlines missed, and requests dropped"},
		{"cost", "minus the weighted cost"},
	} {
		info = append(info, envs.Quantity{Name: "reward: " + t.name, Unit: "1", Better: envs.Higher, Reduce: envs.Sum,
			Doc: t.doc})
	}
	return info
}
