package sizing

import "github.com/stoker-rl/stoker/envs"

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

// thresholds are those of the configuration, and those of [Thresholds] where it gives none. Users is 0 under a trace.
func (c *Config) thresholds(users int) QoS {
	q := c.QoS
	table, _ := Thresholds(c.Workflow, users)
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
func (e *Env) levels() []envs.Level {
	if e.source.Closed() {
		return nil
	}
	q := e.cfg.thresholds(0)
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
