package sizing

// thresholds has the rows of each workflow, ascending in users; the first row is that of 10 users.
// Parallel's first row is FaaSConf's: it asks for a mean latency that three of four of the published random
// configurations keep (13.07 s is their upper quartile) and for one success more than their median of 19.
// The other rows are at the same quantiles of random configurations in this simulation.
// Written by: go test ./envs/sizing/calibrate -run TestThresholds -update
var thresholds = map[string][]threshold{
	"sequential": {
		{10, QoS{Latency: 13, Count: 23}},
		{15, QoS{Latency: 15, Count: 26}},
		{20, QoS{Latency: 16.5, Count: 27}},
		{25, QoS{Latency: 17.5, Count: 26}},
		{30, QoS{Latency: 18.5, Count: 25}},
	},
	"parallel": {
		{10, QoS{Latency: 13, Count: 20}},
		{15, QoS{Latency: 15.5, Count: 24}},
		{20, QoS{Latency: 17, Count: 25}},
		{25, QoS{Latency: 17.5, Count: 24}},
		{30, QoS{Latency: 18, Count: 22}},
	},
	"branch": {
		{10, QoS{Latency: 8.5, Count: 38}},
		{15, QoS{Latency: 9.5, Count: 48}},
		{20, QoS{Latency: 10, Count: 55}},
		{25, QoS{Latency: 10.5, Count: 60}},
		{30, QoS{Latency: 11, Count: 64}},
	},
	"tcktapp": {
		{10, QoS{Latency: 4, Count: 95}},
		{15, QoS{Latency: 6, Count: 97}},
		{20, QoS{Latency: 7.5, Count: 98}},
		{25, QoS{Latency: 9, Count: 96}},
		{30, QoS{Latency: 10, Count: 97}},
	},
}
