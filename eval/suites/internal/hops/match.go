package hops

import (
	"context"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/lists"
)

// at1 are the prices that the rivals charge by default. The paper does not say what they charged.
func unitPrices() []float64 { return []float64{1, 1, 1} }

// match is what some policies did in a world.
type match struct {
	r        *suite.Report
	world    *world
	policies []policy
	played   *eval.Played
	at       int // the first policy's place among the contestants
	// verdicts are HOPS' comparisons with the others by quantity, in their order.
	verdicts map[string][]suite.Comparison
}

// play plays matches, all in one stage. With steps their windows are recorded.
func play(ctx context.Context, o *suite.Options, stage string, steps bool, matches ...*match) error {
	request := eval.Request{Seeds: o.Seeds}
	if steps {
		request.Traced = len(o.Seeds)
	}
	for _, m := range matches {
		m.at = len(request.Contestants)
		for _, p := range m.policies {
			c, err := p.contestant(m.world)
			if err != nil {
				return err
			}
			request.Contestants = append(request.Contestants, c)
		}
	}
	played, err := o.Play(ctx, stage, request)
	for _, m := range matches {
		m.played = played
	}
	return err
}

// of finds a policy's place by name.
func (m *match) of(name string) int {
	return slices.IndexFunc(m.policies, func(p policy) bool { return p.name == name })
}

// published reports whether policy i is one of the paper's: claims are about those.
func (m *match) published(i int) bool { return m.policies[i].learned == nil }

// names are the policies' names.
func (m *match) names() []string {
	return lists.From(m.policies, func(p policy) string { return p.name })
}

// scores are a policy's whole episodes of a quantity, times a factor.
func (m *match) scores(i int, quantity string, factor float64) stats.Scores {
	return m.r.Scores(m.played, m.at+i, quantity, factor)
}

// estimate is the interquartile mean of a policy's scores.
func (m *match) estimate(i int, quantity string, factor float64) report.Estimate {
	return m.r.Estimate(m.scores(i, quantity, factor))
}

// values are the policies' interquartile means of a quantity.
func (m *match) values(quantity string, factor float64) []float64 {
	return lists.Make(len(m.policies), func(i int) float64 { return stats.IQM(m.scores(i, quantity, factor).Flat()) })
}

// series are a policy's windows of a quantity by seed, times a factor. Profit is summed over the slots of a window; the
// other quantities stand at a window's end for all before it. A scheduler that acts slot by slot has its slots joined.
func (m *match) series(i int, quantity string, factor float64) [][]float64 {
	series := m.r.Series(m.played, m.at+i, quantity)
	for j, s := range series {
		every := max(1, len(s)/m.world.config.Windows)
		out := make([]float64, len(s)/every)
		for t, x := range s {
			if quantity != "profit" {
				out[t/every] = 0
			}
			out[t/every] += factor * x
		}
		series[j] = out
	}
	return series
}

// final is the mean of a quantity over the last windows, by seed.
func (m *match) final(i int, quantity string, factor float64) stats.Scores {
	series := m.series(i, quantity, factor)
	return stats.Scores{lists.Make(len(series), func(j int) float64 { return stats.Mean(series[j][max(0, len(series[j])-tail):]) })}
}

// lead is how much more HOPS earns than its best rival, in % by seed, and that rival's name. Trained policies are not
// the paper's rivals.
func (m *match) lead() (stats.Scores, string) {
	own := m.scores(0, "profit", 1)
	name, best := "", stats.Scores(nil)
	for i, p := range m.policies {
		if i == 0 || !m.published(i) {
			continue
		}
		s := m.scores(i, "profit", 1)
		if best == nil || stats.IQM(s.Flat()) > stats.IQM(best.Flat()) {
			name, best = p.name, s
		}
	}
	return stats.Scores{report.Change(own[0], best[0])}, name
}

// metric is one of the quantities that verdicts are about.
type metric struct {
	name, unit string
	better     envs.Better
	factor     float64
}

var metrics = []metric{
	{"profit", "money", envs.Higher, 1},
	{"violation_rate", "% of jobs", envs.Lower, 100},
	{"switches", "charged", envs.Lower, 1},
	{"redeployments", "all vGPUs", envs.Lower, 1},
}

// judge compares HOPS, the first policy of own, with the others of m by some metrics.
func (m *match) judge(setting string, by []metric, own *match) {
	m.verdicts = map[string][]suite.Comparison{}
	for _, q := range by {
		m.verdicts[q.name] = m.compare(setting, q, own, 0)
	}
}

// compare compares policy a of own with all others of m.
func (m *match) compare(setting string, q metric, own *match, a int) []suite.Comparison {
	scored := func(m *match, i int) eval.Scored {
		c := &m.played.Contestants[m.at+i]
		return eval.Scored{Name: c.Name, Kind: c.Kind, Scores: m.scores(i, q.name, q.factor)}
	}
	var others []eval.Scored
	for i := range m.policies {
		if own != m || i != a {
			others = append(others, scored(m, i))
		}
	}
	of := eval.Metric{Name: fmt.Sprintf("%s (%s)", q.name, q.unit), Unit: q.unit, Better: q.better}
	return m.r.Compare(setting, of, scored(own, a), others...)
}

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
	t := report.Table{
		Name: "second-simulator", Title: "Beside a second simulator",
		Note: "The second simulator is a small one in Python, written before this one from the same rules with the same " +
			"constants, on arrivals of its own (ten seeds, 40 windows; their mean). Its HAS-GPU, MQFQ-Sticky and Torpor " +
			"are simpler than those here, so that only the other lines should agree.",
		Columns: report.Head("policy", "rivals at", "quantity", "second simulator", "ours", "ratio"),
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
