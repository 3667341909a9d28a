package hops

import (
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/table"
)

// known is what a second simulator gave: mean, least and greatest profit over ten seeds, then means. It is a small
// one in Python, written before this one from the same rules with the same constants, on arrivals of its own (seeds
// 101 to 110). Its schedulers are simpler: HAS-GPU without vertical and horizontal scaling, MQFQ-Sticky by backlog in
// place of start tags, Torpor without required request counts. It checks the world, not the rivals.
type known struct {
	policy                    string
	profit, least, greatest   float64
	violated, used            float64 // %
	switches, redeployed      float64
	atPaper, aboveIt          float64 // profit at 1.1/1.3/1.5 and at 1.3/1.5/1.7, 0 where it was not played
	cappedVariant, simplified bool
}

var secondSimulator = []known{
	{policy: hopsName, profit: 6.78e5, least: 5.77e5, greatest: 7.52e5, violated: 16.2, used: 70.9, switches: 97,
		redeployed: 4563},
	{policy: "HOPS, capped at 1.1/1.3/1.5", profit: 7.15e5, least: 6.65e5, greatest: 7.63e5, violated: 16.1, used: 70.8,
		switches: 108, redeployed: 4573, cappedVariant: true},
	{policy: hasName, profit: 4.64e5, least: 4.25e5, greatest: 5.08e5, violated: 16.3, used: 71.4, switches: 4399,
		redeployed: 4399, atPaper: 7.25e5, aboveIt: 8.70e5, simplified: true},
	{policy: mqfqName, profit: 5.17e5, least: 4.75e5, greatest: 5.67e5, violated: 17.3, used: 70.6, switches: 2935,
		redeployed: 2935, atPaper: 7.74e5, aboveIt: 9.20e5, simplified: true},
	{policy: spssName, profit: 4.89e5, least: 4.53e5, greatest: 5.29e5, violated: 18.6, used: 68.7, switches: 400,
		redeployed: 3537, atPaper: 7.69e5, aboveIt: 9.15e5},
	{policy: tunedName, profit: 5.16e5, least: 4.77e5, greatest: 5.60e5, violated: 16.3, used: 71.2, switches: 206,
		redeployed: 3853, atPaper: 7.76e5, aboveIt: 9.22e5},
	{policy: torporName, profit: 4.17e5, least: 3.91e5, greatest: 4.50e5, violated: 23.8, used: 67.5, switches: 21015,
		redeployed: 21015, atPaper: 6.74e5, aboveIt: 8.19e5, simplified: true},
}

// reference sets the second simulator's numbers beside ours, on generated arrivals.
func reference(r *suite.Report, main *match, c *control) {
	t := table.Table{
		Name: "second-simulator", Title: "Beside a second simulator",
		Note: "The second simulator is a small one in Python, written before this one from the same rules with the same " +
			"constants, on arrivals of its own (ten seeds, 40 windows; their mean). " +
			"Its HAS-GPU, MQFQ-Sticky and Torpor are simpler than those here, so that only the other lines should agree.",
		Columns: table.Head("policy", "rivals at", "quantity", "second simulator", "ours", "ratio"),
	}
	add := func(name, at, quantity string, theirs float64, m *match, i int, info string, factor float64) {
		e := m.estimate(i, info, factor)
		t.Rows = append(t.Rows, []any{name, at, quantity, theirs, e, e.At / theirs})
	}
	for _, k := range secondSimulator {
		m, i := main, main.of(k.policy)
		if k.cappedVariant {
			m, i = c.variants[0], 1
		}
		name := k.policy
		if k.simplified {
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
