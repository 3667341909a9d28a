package sizing

import (
	"math"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// Tables of thresholds, as [QoSConfig.Table] names them.
const (
	// QuantilesQoS is the published threshold of Parallel under 10 users, and the same quantiles of random configurations
	// for the other workflows and numbers of users ([Thresholds]). A larger number of users lowers the quantile of
	// successes, so that it is no harder to serve.
	QuantilesQoS = "quantiles"
	// RisingQoS asks for the same latency whatever the number of users, and for successes in proportion to them
	// ([RisingThresholds]).
	RisingQoS = "rising"
)

// Thresholds returns the QoS of a workflow under a number of closed-loop users, or under a trace if users is 0. If the
// table lacks the number of users, the next larger number in it counts, or the last. source says where the thresholds
// come from: FaaSConf's code for Parallel under 10 users, our own experiments for the others.
func Thresholds(name string, users int) (q QoS, source string) {
	rows := thresholds[name]
	if len(rows) == 0 {
		return q, "none: for workflow own the configuration gives the thresholds"
	}
	if users == 0 {
		q = rows[0].QoS
		q.Count, q.Success = 0, traceSuccess
		return q, "ours: the latency of 10 users, and a share of successes"
	}
	row := rows[len(rows)-1]
	for _, r := range rows {
		if users <= r.users {
			row = r
			break
		}
	}
	if name == Parallel && row.users == 10 {
		return row.QoS, "FaaSConf's code"
	}
	return row.QoS, "ours: at the same quantiles of random configurations as FaaSConf's of Parallel under 10 users"
}

// RisingThresholds returns the QoS of a workflow under a number of closed-loop users, or under a trace if users is 0,
// such that more users need more resources:
//
//   - Latency: that of 10 users in [Thresholds], whatever the number of users.
//   - Count: by Little's law, n users who do not think and whose requests take at most the latency L complete at least
//     n·30 s/L requests in 30 s. A window completes fewer, since it begins empty and requests in progress at its end do
//     not count. FaaSConf's thresholds for Parallel under 10 users, 13 s and 20 successes, count 26 of the 30 s;
//     every other number of users and workflow has the same: n·26 s/L, rounded up.
//   - Success: 0.9 of the requests that end, as under a trace, so that refusing is no way to keep the latency.
//
// A configuration that keeps these under n users keeps them under fewer, who meet less contention. So the price of the
// cheapest one cannot fall as users are added. TestUsersCost (-long) shows by search whether it rises.
func RisingThresholds(name string, users int) QoS {
	q, _ := Thresholds(name, 0)
	return rising(q.Latency, users)
}

// rising are the thresholds for a latency.
func rising(latency float64, users int) QoS {
	if latency == 0 {
		return QoS{}
	}
	q := QoS{Latency: latency, Success: traceSuccess}
	if users > 0 {
		q.Count = int(math.Ceil(float64(users) * risingSeconds / latency))
	}
	return q
}

// generous is the latency threshold of a generated workflow: slack times the expected response of a request that is
// alone, with all CPU of the range in every instance, rounded up to 0.1 s.
func (a *app) generous(p *Platform, slack float64) float64 {
	times := make([]float64, a.flow.NumNodes())
	for n := range times {
		times[n] = a.laws[a.flow.Function(n)].Alone(float64(a.rng.High.CPU))
	}
	alone := p.Orchestrator + a.flow.Response(times, workflow.Delays{Node: p.Hop})
	return math.Ceil(10*slack*alone) / 10
}

// generousFactor is about that of Parallel and Sequential, whose 13 s are 2.6 times the response of a request that is
// alone.
const generousFactor = 2.6

// risingSeconds is how much of a window counts: FaaSConf's 20 successes of Parallel under 10 users, at 13 s each, are 26 s
// of every user's 30.
const risingSeconds = 20 * 13 / 10

// thresholds are those of the configuration, and those of its table where it gives none. Users is 0 under a trace.
func (c *Config) thresholds(a *app, users int) QoS {
	q := c.QoS.QoS
	table, _ := Thresholds(c.Workflow, users)
	switch {
	case c.Workflow == Generated:
		table = rising(a.latency, users)
	case c.QoS.Table == RisingQoS:
		table = RisingThresholds(c.Workflow, users)
	}
	if q.Latency == 0 {
		q.Latency = table.Latency
	}
	if q.Count == 0 {
		q.Count = table.Count
	}
	if q.Success == 0 {
		q.Success = table.Success
	}
	return q
}

// levels are the thresholds under a trace, where every episode has the same.
func (w *flowObserver) levels() []envs.Level {
	if w.users {
		return nil
	}
	q := w.cfg.thresholds(w.app, 0)
	return []envs.Level{
		{Of: "latency", Value: q.Latency, Doc: "QoS, at most"},
		{Of: "success", Value: q.Success, Doc: "QoS, at least"},
	}
}

// traceSuccess is the fraction of a trace's requests that must succeed. It is our choice: FaaSConf requires a number of
// successes, but under a trace the largest possible number depends on the load.
const traceSuccess = 0.9

type threshold struct {
	users int
	QoS
}

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
