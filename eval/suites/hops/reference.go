package hops

import (
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/table"
)

// known is what a second simulator gave: means over ten seeds. It is a small one in Python, written before this one
// from the same rules with the same constants, on arrivals of its own (seeds 101 to 110). Its schedulers are simpler:
// HAS-GPU without vertical and horizontal scaling, MQFQ-Sticky by backlog in place of start tags, Torpor without
// required request counts. It checks the world, not the rivals.
type known struct {
	policy               string
	profit               float64
	violated, used       float64 // %
	switches, redeployed float64
	atPaper, aboveIt     float64 // profit at 1.1/1.3/1.5 and at 1.3/1.5/1.7, 0 where it was not played
	simpler              bool    // than the scheduler here
}

// cappedName is the variant of HOPS in the table, which is not among the main policies here.
const cappedName = "HOPS, capped at 1.1/1.3/1.5"

var secondSimulator = []known{
	{hopsName, 6.78e5, 16.2, 70.9, 97, 4563, 0, 0, false},
	{cappedName, 7.15e5, 16.1, 70.8, 108, 4573, 0, 0, false},
	{hasName, 4.64e5, 16.3, 71.4, 4399, 4399, 7.25e5, 8.70e5, true},
	{mqfqName, 5.17e5, 17.3, 70.6, 2935, 2935, 7.74e5, 9.20e5, true},
	{spssName, 4.89e5, 18.6, 68.7, 400, 3537, 7.69e5, 9.15e5, false},
	{tunedName, 5.16e5, 16.3, 71.2, 206, 3853, 7.76e5, 9.22e5, false},
	{torporName, 4.17e5, 23.8, 67.5, 21015, 21015, 6.74e5, 8.19e5, true},
}

// reference sets the second simulator's numbers beside ours, on generated arrivals.
func reference(r *suite.Report, main *match, c *control) {
	t := table.Table{
		Name: "second-simulator", Title: "Beside a second simulator",
		Note: "The second simulator is a small one in Python, written before this one from the same rules with the same " +
			"constants, on arrivals of its own (ten seeds, 40 windows; their mean). Its HAS-GPU, MQFQ-Sticky and Torpor " +
			"are simpler than those here, so that only the other lines should agree.",
		Columns: table.Head("policy", "rivals at", "quantity", "second simulator", "ours", "ratio"),
	}
	add := func(name, at, quantity string, theirs float64, m *match, i int, info string, factor float64) {
		e := m.estimate(i, info, factor)
		t.Rows = append(t.Rows, []any{name, at, quantity, theirs, e, e.At / theirs})
	}
	for _, k := range secondSimulator {
		m, i := main, main.of(k.policy)
		if k.policy == cappedName {
			m, i = c.variants[0], 1
		}
		name := k.policy
		if k.simpler {
			name += " (simpler there)"
		}
		for _, q := range []struct {
			quantity, info string
			theirs, factor float64
		}{
			{"profit", "profit", k.profit, 1}, {"violations, %", "violation_rate", k.violated, 100},
			{"vGPUs in service, %", "utilisation", k.used, 100},
			{"charged switches", "switches", k.switches, 1}, {"all changes of function", "redeployments", k.redeployed, 1},
		} {
			add(name, "1.0", q.quantity, q.theirs, m, i, q.info, q.factor)
		}
		for j, theirs := range []float64{k.atPaper, k.aboveIt} {
			if g := c.paper[j+1]; theirs > 0 {
				add(name, priceText(equal[j]), "profit", theirs, g.match, g.of(k.policy), "profit", 1)
			}
		}
	}
	r.Table(t)
}
