package sizing

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/envs"
)

// Reading is one number of the meters, in the platform's unit.
type Reading struct {
	// Key is its place in the JSON, as in functions[2].p95; Function names the function that it is of, "" where it is of
	// the workflow.
	Key, Function string
	// Unit is the platform's, "" where it is a number of something that the key names.
	Unit  string
	Value float64
}

// column is a reading of a function or of the workflow, by its key.
type column struct {
	key, unit string
	function  bool
	at        func(m *Meters, f int) any // where it stands: a *float64 or an *int
}

var columns = []column{
	{"asked.cores", "cores", true, func(m *Meters, f int) any { return &m.Functions[f].Asked.Cores }},
	{"asked.mb", "MB", true, func(m *Meters, f int) any { return &m.Functions[f].Asked.MB }},
	{"asked.replicas", "instances", true, func(m *Meters, f int) any { return &m.Functions[f].Asked.Replicas }},
	{"asked.concurrency", "requests", true, func(m *Meters, f int) any { return &m.Functions[f].Asked.Concurrency }},
	{"cpu_percent", "% of a core", true, func(m *Meters, f int) any { return &m.Functions[f].CPU }},
	{"throttled_millicores", "millicores", true, func(m *Meters, f int) any { return &m.Functions[f].Throttled }},
	{"memory_mb", "MB", true, func(m *Meters, f int) any { return &m.Functions[f].Memory }},
	{"network_bytes", "bytes/s", true, func(m *Meters, f int) any { return &m.Functions[f].Network }},
	{"p75", "s", true, func(m *Meters, f int) any { return &m.Functions[f].P75 }},
	{"p95", "s", true, func(m *Meters, f int) any { return &m.Functions[f].P95 }},
	{"rejected", "of its requests", true, func(m *Meters, f int) any { return &m.Functions[f].Rejected }},
	{"inside", "requests", true, func(m *Meters, f int) any { return &m.Functions[f].Inside }},
	{"began", "requests", false, func(m *Meters, _ int) any { return &m.Began }},
	{"users", "users", false, func(m *Meters, _ int) any { return &m.Users }},
	{"forecast", "requests/s", false, func(m *Meters, _ int) any { return m.Forecast }},
	{"latency", "s", false, func(m *Meters, _ int) any { return &m.Latency }},
	{"success", "of the requests that ended", false, func(m *Meters, _ int) any { return &m.Success }},
	{"successes", "requests", false, func(m *Meters, _ int) any { return &m.Successes }},
	{"dial", "", false, func(m *Meters, _ int) any { return &m.Dial }},
	{"history.began", "requests", false, func(m *Meters, _ int) any { return &m.History.Began }},
	{"history.users", "users", false, func(m *Meters, _ int) any { return &m.History.Users }},
	{"history.slow", "requests", false, func(m *Meters, _ int) any { return &m.History.Slow }},
}

func columnOf(key string) *column {
	return &columns[slices.IndexFunc(columns, func(c column) bool { return c.key == key })]
}

func (c *column) get(m *Meters, f int) float64 {
	switch at := c.at(m, f).(type) {
	case *float64:
		return *at
	case *int:
		return float64(*at)
	}
	return math.NaN()
}

func (c *column) set(m *Meters, f int, x float64) {
	x = max(x, 0)
	switch at := c.at(m, f).(type) {
	case *float64:
		*at = x
	case *int:
		*at = int(math.Round(min(x, mostRequests)))
	}
}

// source returns the key of the reading from which function f's feature is made, and what that reads where the feature
// is x and all other meters are as they are. The key is "" where a feature is of no single reading.
func (w *flowObserver) source(m *Meters, f, feature int, x float64) (key string, value float64) {
	name := w.spec.Kinds[0].Features[feature]
	fn, now := &m.Functions[f], m.Functions[f].Deployed.Resources()
	if last, ok := strings.CutPrefix(name, "last "); ok {
		return w.askedFor(fn, last, feature, x)
	}
	if w.described == nil {
		return w.plainSource(m, f, name, x)
	}
	q := w.cfg.thresholds(w.app, w.usersOf(m))
	law, limit, count := &w.app.laws[f], max(1, float64(now.CPU)), fn.Instances
	requests := func(work float64) (string, float64) { // of which a work in core-seconds a second comes
		n := work / (w.described.runs[f] * law.Work) * Window.Seconds()
		if w.foreseen() {
			return "forecast", n / Window.Seconds()
		}
		return "began", n
	}
	_, began, before, _ := w.loads(m)
	switch name {
	case "load":
		return w.loadSource(lnInverse(x, tiny))
	case "demand":
		return requests(lnInverse(x, 0.001) * w.described.most[f])
	case "utilisation":
		return requests(lnInverse(x, tiny) * float64(now.Replicas) *
			peak(law, limit, law.Fits(float64(now.Memory), now.Concurrency)))
	case "trend":
		if w.foreseen() {
			return "began", (1+began)/math.Exp(x) - 1
		}
		return "history.began", (1+began)/math.Exp(x) - 1
	case "slow trend":
		slow := (1+began)/math.Exp(x) - 1
		if w.foreseen() {
			slow = (slow - float64(slowness*before)) / (1 - slowness)
		}
		return "history.slow", slow
	case "cpu share":
		return "cpu_percent", x * limit / 10 * count
	case "throttling":
		return "throttled_millicores", math.Expm1(x) * limit * count
	case "memory share":
		return "memory_mb", x * fn.MemoryLimit
	case "places taken":
		return "inside", lnInverse(x, tiny) * float64(now.Replicas*now.Concurrency)
	case "turned away":
		return "rejected", lnInverse(x, 0.001)
	case "p75 slowdown":
		return "p75", lnInverse(x, tiny) * law.Alone(limit)
	case "p95 slowdown":
		return "p95", lnInverse(x, tiny) * law.Alone(limit)
	case "p95 share":
		return "p95", lnInverse(x, tiny) * q.Latency
	case "latency":
		return "latency", lnInverse(x, 0.1) * q.Latency
	case "success":
		if q.Success == 0 {
			return "successes", x * float64(q.Count)
		}
		return "success", x * q.Success
	case "dial":
		return "dial", math.Exp(x)
	}
	return "", x
}

// lnInverse is the number whose logarithm, held between least and its inverse, is x: 0 where all small ones are seen
// alike, and infinite where all large ones are.
func lnInverse(x, least float64) float64 {
	switch most := -math.Log(least); {
	case x < -most:
		return 0
	case x > most:
		return math.Inf(1)
	}
	return math.Exp(x)
}

// askedFor is source for a component of the last action.
func (w *flowObserver) askedFor(fn *FunctionMeters, component string, at int, x float64) (string, float64) {
	if len(fn.Action) > 0 {
		return "", x // the action is given as it was
	}
	var a [4]float64
	a[at] = x
	r := w.app.rng.decode(a)
	switch component {
	case "cpu":
		return "asked.cores", float64(r.CPU) / 1000
	case "memory":
		return "asked.mb", float64(r.Memory)
	case "replicas":
		return "asked.replicas", float64(r.Replicas)
	}
	return "asked.concurrency", float64(r.Concurrency)
}

// loadSource is source for a load in the unit of the observation.
func (w *flowObserver) loadSource(load float64) (string, float64) {
	switch {
	case w.users:
		return "users", load
	case w.foreseen():
		return "forecast", load
	}
	return "began", load * Window.Seconds()
}

// plainSource is source for features that are measurements as they are.
func (w *flowObserver) plainSource(m *Meters, f int, name string, x float64) (string, float64) {
	fn := &m.Functions[f]
	switch name {
	case "cpu used":
		return "cpu_percent", x * fn.Instances
	case "throttled":
		return "throttled_millicores", x * fn.Instances
	case "memory used":
		return "memory_mb", x / 100 * fn.MemoryLimit
	case "network":
		return "network_bytes", x * fn.Instances
	case "load":
		return w.loadSource(x)
	case "load change":
		if w.users {
			return "history.users", w.measured(m) - x
		}
		return "history.began", (w.measured(m) - x) * Window.Seconds()
	}
	return name, x // p75, p95, rejected, inside, latency, success
}

// Reading tells from which reading an agent's feature is made, what was read, and what would have been where the
// feature, which is seen as x, were low and high, all other meters being as they are; low and high may come out in
// either order. ok is false where a feature is of the configuration.
func (o *Observer) Reading(meters []Meters, agent, feature int, x, low, high float64) (r Reading, atLow, atHigh float64,
	ok bool) {
	i, w := o.flowOf(agent)
	f, m := agent-o.first[i], &meters[i]
	if w.spec.Kinds[0].Features[feature] == "machines" {
		return Reading{Key: "asked of all functions together", Unit: "of all machines", Value: x}, low, high, true
	}
	key, atLow := w.source(m, f, feature, low)
	_, atHigh = w.source(m, f, feature, high)
	if key == "" {
		return r, low, high, false
	}
	c := columnOf(key)
	r = Reading{Key: c.key, Unit: c.unit, Value: c.get(m, f)}
	if c.function {
		r.Key, r.Function = fmt.Sprintf("functions[%d].%s", f, c.key), o.spec.Kinds[0].Names[agent]
	}
	if len(o.flows) > 1 {
		r.Key = fmt.Sprintf("[%d].%s", i, r.Key)
	}
	return r, atLow, atHigh, true
}

// flowOf is the workflow of an agent.
func (o *Observer) flowOf(agent int) (int, *flowObserver) {
	i := slices.IndexFunc(o.first[1:], func(end int) bool { return agent < end })
	return i, o.flows[i]
}

// Example returns meters of all workflows that are observed about as seen is: what a platform would have measured
// there, with the deployed settings being those that were asked for.
func (o *Observer) Example(seen *envs.Observation) []Meters {
	all, width := make([]Meters, len(o.flows)), o.spec.Kinds[0].Observation.Width()
	for i, w := range o.flows {
		from, to := o.first[i], o.first[i+1]
		all[i] = w.example(seen.Kinds[0].Values[from*width : to*width])
	}
	return all
}

// example makes meters of the rows of all functions.
func (w *flowObserver) example(rows []float32) Meters {
	n, width, c := w.app.flow.NumFunctions(), w.spec.Kinds[0].Observation.Width(), w.app.rng.Components()
	m := Meters{Functions: make([]FunctionMeters, n), Success: 1, History: History{Windows: 3}}
	if w.foreseen() {
		m.Forecast = new(float64)
	}
	if d := w.cfg.Reward.Dial; len(d) > 0 {
		m.Dial = d[0]
	}
	for f := range m.Functions {
		fn := &m.Functions[f]
		fn.Asked = w.app.rng.Decode(rows[f*width : f*width+c]).Settings()
		fn.Deployed, fn.Instances = fn.Asked, float64(fn.Asked.Replicas)
		fn.MemoryLimit = float64(fn.Asked.MB * fn.Asked.Replicas)
	}
	// Loads come first, since trends are those of the loads; the first feature of a reading counts.
	names := w.spec.Kinds[0].Features
	done := map[string]bool{}
	for _, late := range []bool{false, true} {
		for f := range m.Functions {
			for j := c; j < width; j++ {
				if strings.HasSuffix(names[j], "trend") != late {
					continue
				}
				key, x := w.source(&m, f, j, float64(rows[f*width+j]))
				id := key
				if key == "" || math.IsInf(x, 0) || math.IsNaN(x) {
					continue
				}
				if columnOf(key).function {
					id = fmt.Sprint(f, key)
				}
				if !done[id] {
					done[id] = true
					columnOf(key).set(&m, f, x)
				}
			}
		}
	}
	if w.users {
		m.Users = max(1, m.Users)
		m.History.Users, m.Successes = max(1, m.History.Users), m.Began
	}
	for f := range m.Functions {
		m.Functions[f].tidy()
	}
	m.Latency, m.Success = rounded(m.Latency), min(1, rounded(m.Success))
	m.History.Slow = rounded(m.History.Slow)
	return m
}

// tidy makes readings ones that a platform could give, in few digits.
func (m *FunctionMeters) tidy() {
	for _, x := range []*float64{&m.CPU, &m.Throttled, &m.Memory, &m.Network, &m.P75, &m.P95, &m.Rejected, &m.Inside} {
		*x = rounded(*x)
	}
	m.Rejected, m.P95 = min(1, m.Rejected), max(m.P75, m.P95)
}

// rounded is x with four digits.
func rounded(x float64) float64 {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64) // what is written is read
	return y
}
