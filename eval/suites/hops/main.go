package hops

import (
	"context"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/chart"
)

// Suite returns the suite.
func Suite() suite.Suite {
	return suite.Suite{
		Name:  "hops",
		Doc:   "HOPS' Figs. 2 to 4 (profit, violations, prices, switches, utilisation) with the control of prices that the paper lacks",
		Paper: "Huang, Yang, Wang and Wu, Joint Pricing and Scheduling for SLA-aware Serverless GPU Services",
		Seeds: 20, QuickSeeds: 8, Run: run,
	}
}

// at1 are the prices that the rivals are given where nothing else is said. The paper does not say what they charged.
func at1() []float64 { return []float64{1, 1, 1} }

// match is what some policies did in a world.
type match struct {
	world    *world
	policies []policy
	games    *suite.Games
	at       int // the first policy's entry in games
	// verdicts are HOPS' comparisons with the others by quantity, in their order.
	verdicts map[string][]suite.Comparison
}

// play plays matches, all at once: none waits for another. With steps their windows are kept.
func play(ctx context.Context, o *suite.Options, stage string, steps bool, matches ...*match) error {
	var entries []suite.Entry
	for _, m := range matches {
		m.at = len(entries)
		for _, p := range m.policies {
			e, err := p.entry(m.world)
			if err != nil {
				return err
			}
			entries = append(entries, e)
		}
	}
	games, err := suite.Play(ctx, o, suite.Plan{Stage: stage, Entries: entries, Seeds: o.Seeds, Steps: steps})
	for _, m := range matches {
		m.games = games
	}
	return err
}

func run(ctx context.Context, o suite.Options, r *suite.Report) error {
	worlds := []world{generated(), azure()}
	if o.Data != "" {
		w, err := azureData(o.Data)
		if err != nil {
			return err
		}
		worlds = append(worlds, w)
	}
	zoo, err := shipped()
	if err != nil {
		return err
	}
	away := outside()
	return runIn(ctx, &o, r, worlds, &away, zoo)
}

// runIn plays Figs. 2 to 4 in worlds, the control in the first of them and where users may stay away.
func runIn(ctx context.Context, o *suite.Options, r *suite.Report, worlds []world, away *world, zoo []*learned) error {
	var mains []*match
	for i := range worlds {
		w := &worlds[i]
		list := append([]policy{hops(w)}, rivals(at1())...)
		learned, notes := trained(zoo, w, at1())
		for _, n := range notes {
			r.Note("%s", n)
		}
		mains = append(mains, &match{world: w, policies: append(list, learned...)})
	}
	learned, notes := trained(zoo, away, at1())
	for _, n := range notes {
		r.Note("%s", n)
	}
	first := &match{world: away, policies: append(append([]policy{hops(away)}, rivals(at1())...), learned...)}
	if err := play(ctx, o, "figures", true, append(slices.Clone(mains), first)...); err != nil {
		return err
	}
	for _, part := range []func(*suite.Report, []*match) error{figure2, figure3, figure4, comparisons} {
		if err := part(r, mains); err != nil {
			return err
		}
	}
	c, err := playControl(ctx, o, mains[0], first, zoo)
	if err != nil {
		return err
	}
	if err := c.report(r); err != nil {
		return err
	}
	if err := reference(r, mains[0], c); err != nil {
		return err
	}
	if err := claims(r, mains, c); err != nil {
		return err
	}
	if len(zoo) == 0 {
		r.Note("no trained policy plays: the zoo has none whose name begins with %s", zooPrefix)
	}
	return nil
}

// of finds a policy's place by name.
func (m *match) of(name string) int {
	return slices.IndexFunc(m.policies, func(p policy) bool { return p.name == name })
}

// published reports whether policy i is one of the paper's: claims are about those.
func (m *match) published(i int) bool { return m.policies[i].learned == nil }

// scores are a policy's whole episodes of a quantity, times a factor.
func (m *match) scores(i int, quantity string, factor float64) (stats.Scores, error) {
	s, err := m.games.Scores(m.at+i, quantity)
	if err != nil {
		return nil, err
	}
	for _, row := range s {
		for j := range row {
			row[j] *= factor
		}
	}
	return s, nil
}

// series are a policy's windows of a quantity that is summed over time, or stands at a window's end for all before it, by seed and times a factor. A
// scheduler that plays slot by slot has its slots joined.
func (m *match) series(i int, quantity string, factor float64) ([][]float64, error) {
	series, err := m.games.Series(m.at+i, quantity)
	sums := quantity == "profit"
	for j, s := range series {
		every := max(1, len(s)/m.world.config.Windows)
		out := make([]float64, len(s)/every)
		for t, x := range s {
			if !sums {
				out[t/every] = 0
			}
			out[t/every] += factor * x
		}
		series[j] = out
	}
	return series, err
}

// scored is a policy with its scores.
func (m *match) scored(i int, q metric) (suite.Scored, error) {
	s, err := m.scores(i, q.name, q.factor)
	return suite.Scored{Name: m.policies[i].name, Kind: m.games.Entries[m.at+i].Kind, Scores: s}, err
}

// final is the mean of a quantity over the last windows, by seed.
func (m *match) final(i int, quantity string, factor float64) (stats.Scores, error) {
	series, err := m.series(i, quantity, factor)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(series))
	for j, s := range series {
		out[j] = stats.Mean(s[max(0, len(s)-tail):])
	}
	return stats.Scores{out}, nil
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

func (m metric) eval() eval.Metric {
	return eval.Metric{Name: fmt.Sprintf("%s (%s)", m.name, m.unit), Unit: m.unit, Better: m.better}
}

// comparisons compares HOPS, the first policy, with each other one.
func comparisons(r *suite.Report, mains []*match) error {
	for _, m := range mains {
		if err := m.judge(r, m.world.name+", rivals at 1.0", metrics, m); err != nil {
			return err
		}
	}
	return nil
}

// judge compares HOPS, the first policy of own, with the others of m by some metrics.
func (m *match) judge(r *suite.Report, setting string, by []metric, own *match) error {
	m.verdicts = map[string][]suite.Comparison{}
	for _, q := range by {
		out, err := compare(r, setting, q, own, 0, m)
		if err != nil {
			return err
		}
		m.verdicts[q.name] = out
	}
	return nil
}

// compare compares policy a of own with all others of m.
func compare(r *suite.Report, setting string, q metric, own *match, a int, m *match) ([]suite.Comparison, error) {
	first, err := own.scored(a, q)
	if err != nil {
		return nil, err
	}
	var others []suite.Scored
	for i := range m.policies {
		if own == m && i == a {
			continue
		}
		s, err := m.scored(i, q)
		if err != nil {
			return nil, err
		}
		others = append(others, s)
	}
	return r.Compare(setting, q.eval(), first, others...), nil
}

// style is how policy i looks in every figure.
func style(i int) chart.Style { return chart.Styles(i) }

// key names the policies of a match.
func (m *match) key(entry chart.Entry) []chart.Entry {
	var out []chart.Entry
	for i, p := range m.policies {
		entry.Text, entry.Style = p.name, style(i)
		out = append(out, entry)
	}
	return out
}
