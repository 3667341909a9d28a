package sizing

// Thresholds returns the QoS of a workflow under a number of closed-loop users, or under a trace where users is 0. A
// number of users that is not listed takes the next larger listed one, or the last. Source says where the numbers come
// from: FaaSConf's code for Parallel under 10 users, experiments of our own for the rest.
func Thresholds(name string, users int) (q QoS, source string) {
	rows := thresholds[name]
	if len(rows) == 0 {
		return q, "none: the thresholds of one's own workflow are given in the configuration"
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

// traceSuccess is the share of a trace's requests that must succeed. It is ours: FaaSConf counts successes, but under a
// trace the load decides how many there can be.
const traceSuccess = 0.9

type threshold struct {
	users int
	QoS
}
