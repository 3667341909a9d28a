package sizing

import (
	"errors"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs"
)

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
