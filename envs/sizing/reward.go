package sizing

import (
	"math"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// validate reports what is wrong among several keys of the reward, under a set of features.
func (w *Reward) validate(features string) error {
	switch n := len(w.Dial); {
	case n > 2 || n == 2 && w.Dial[0] > w.Dial[1]:
		return bounds.Errorf("reward.dial", "is %v, want [], one number, or the lowest and the highest", w.Dial)
	case n > 0 && w.Form == LocalGlobalReward:
		return bounds.Errorf("reward.dial", "is %v, want [] where reward.form is local-global: it has no qos", w.Dial)
	case n == 2 && features != Described:
		return bounds.Errorf("reward.dial", "is %v, want one number where features is %s: only the described ones show it",
			w.Dial, features)
	case w.PerFunctions > 0 && w.Form == LocalGlobalReward:
		return bounds.Errorf("reward.per_functions", "is %d, want 0 where reward.form is local-global", w.PerFunctions)
	case w.Served > 0 && w.Form == LocalGlobalReward:
		return bounds.Errorf("reward.served", "is %g, want 0 where reward.form is local-global", w.Served)
	case w.NearMiss.Credit > 0 && w.Form == LocalGlobalReward:
		return bounds.Errorf("reward.near_miss.credit", "is %g, want 0 where reward.form is local-global",
			w.NearMiss.Credit)
	}
	return nil
}

// draw is the dial of the episode of a seed, 0 where the reward has none.
func (w *Reward) draw(seed uint64) float64 {
	switch len(w.Dial) {
	case 0:
		return 0
	case 1:
		return w.Dial[0]
	}
	low, high := w.Dial[0], w.Dial[1]
	u := rng.New(seed, "sizing/dial").Float64()
	return min(max(float64(low*portable.Exp(float64(u*portable.Log(high/low)))), low), high)
}

// reward writes each agent's reward for the last window.
func (e *Env) reward(out []float32) {
	r, w := &e.result, &e.cfg.Reward
	if w.Form == LocalGlobalReward {
		global := float64(0.7*e.app.refLatency/r.latency) + float64(0.3*float64(r.successes)/e.app.refSuccesses)
		if r.latency == 0 {
			global = 0
		}
		for f := range out {
			local := -e.functions[f].price
			if p := e.functions[f].p75; p > 0 {
				local += float64(0.2 * e.app.refs[f] / p)
			}
			out[f] = float32(float64(0.5*local) + float64(0.5*global))
		}
		return
	}
	qos := w.QoS
	if len(w.Dial) > 0 {
		qos = e.dial
	}
	weight := w.Price
	if w.PerFunctions > 0 {
		weight = w.Price * float64(w.PerFunctions) / float64(len(e.functions))
	}
	y := float64(w.Served*float64(r.successes))/Window.Seconds() - float64(weight*r.price)
	kept := e.kept()
	switch {
	case w.Form == PaperReward && kept > 0:
		y += float64(qos * kept)
	case w.Form == CodeReward && kept < 1:
		y -= float64(qos * (1 - kept))
	}
	if len(w.Dial) == 2 {
		y /= math.Sqrt(e.dial)
	}
	for f := range out {
		out[f] = float32(y)
	}
}

// kept is the share of a kept window's reward that the last window earns: 1 if it kept the QoS, else the credit for a
// near miss.
func (e *Env) kept() float64 {
	r, q, miss := &e.result, &e.qos, &e.cfg.Reward.NearMiss
	switch {
	case !r.violated:
		return 1
	case miss.Credit == 0:
		return 0
	}
	near := 1.0
	if r.success < q.Success {
		near = r.success / q.Success
	}
	if r.latency > q.Latency {
		near = float64(near * (q.Latency / r.latency))
	}
	if e.source.Closed() && r.successes < q.Count {
		near = float64(near * (float64(r.successes) / float64(q.Count)))
	}
	if near <= 0 {
		return 0
	}
	return float64(miss.Credit * portable.Pow(near, miss.Power))
}
