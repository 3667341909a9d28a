package faasconf

import (
	"context"
	"fmt"
	"slices"
	"strings"

	baselines "github.com/stoker-rl/stoker/agents/baselines/sizing"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/table"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/train"
)

// What the paper found on its 85 minutes (§5.2.2).
const (
	paperKept       = 74.12 // % of windows
	paperFewer      = 3.48  // times the violations
	paperOverOracle = 8.48  // % dearer than the oracle
)

// dynamicRival is a policy of Fig. 9, and by how many percent FaaSConf is below its cumulative latency.
type dynamicRival struct {
	name, rival string
	config      any
	latency     float64
}

// dynamicRivals search on through the whole trace.
func dynamicRivals(windows int) []dynamicRival {
	rambo, aquatope := baselines.DefaultRAMBO(), baselines.DefaultAquatope()
	rambo.Windows, aquatope.Windows = windows, windows
	return []dynamicRival{
		{"rambo", "rambo", &rambo, -33.39},
		{"aquatope", "aquatope", &aquatope, -26.53},
		{"random-search", "random-search", nil, 0},
		{"autoscaler", "autoscaler", nil, 0},
		{"rule", "rule", nil, 0},
		{oracleName, oracleName, nil, 0},
	}
}

const (
	oracleName = "oracle"
	// zooPrefix begins the names of the zoo's policies that size workflows: versions of one, by training seed.
	zooPrefix = "faasconf"
)

// dynamic plays the 85 minutes.
func dynamic(ctx context.Context, o *suite.Options, r *suite.Report) (*trace, error) {
	x, err := configs.Load("faasconf/trace.yaml", nil, catalog.Default())
	if err != nil {
		return nil, err
	}
	t := &trace{r: r, windows: x.Env.Config.(*sizing.Config).Windows}
	req := eval.Request{
		NewEnv: func() (envs.Env, error) { return train.NewEnv(x, "test") }, Seeds: o.Seeds, Traced: len(o.Seeds),
	}
	learned, err := fromZoo(x)
	if err != nil {
		return nil, err
	}
	if learned != nil {
		req.Contestants = append(req.Contestants, *learned)
	} else {
		r.Note("Figs. 9 and 10 have no learned policy: this program's zoo has none whose name begins with %s", zooPrefix)
	}
	for _, d := range dynamicRivals(t.windows) {
		c, err := eval.Rival(d.name, d.rival, d.config)
		if err != nil {
			return nil, err
		}
		req.Contestants, t.rivals = append(req.Contestants, c), append(t.rivals, d)
	}
	t.learned = learned != nil
	for _, c := range req.Contestants {
		t.names = append(t.names, c.Name)
	}
	t.played, err = o.Play(ctx, "Figs. 9 and 10", req)
	return t, err
}

// fromZoo returns the zoo's policies for this environment as versions of one contestant, nil where there is none.
func fromZoo(x *configs.Experiment) (*eval.Contestant, error) {
	c := &eval.Contestant{Name: zooPrefix, Kind: catalog.Learned}
	for _, name := range zoo.Names() {
		if !strings.HasPrefix(name, zooPrefix) {
			continue
		}
		t, err := eval.Shipped(name)
		if err != nil {
			return nil, err
		}
		own, ok := t.Experiment.Env.Config.(*sizing.Config)
		if !ok {
			return nil, fmt.Errorf("%s%s: it was trained in %s, want %s", zoo.Prefix, name, t.Experiment.Env.Name,
				strings.Join(sizing.IDs(), " or "))
		}
		t.Threads = 1
		c.Versions = append(c.Versions, t.Version(zoo.Prefix+name))
		c.NewEnv = func() (envs.Env, error) {
			y, config := *x, *x.Env.Config.(*sizing.Config)
			config.Features, config.Reward, config.LoadKnown = own.Features, own.Reward, own.LoadKnown
			if len(config.Reward.Dial) > 1 {
				config.Reward.Dial = []float64{x.Env.Config.(*sizing.Config).Reward.QoS}
			}
			y.Env.Config = &config
			return train.NewEnv(&y, "test")
		}
	}
	if len(c.Versions) == 0 {
		return nil, nil //nolint:nilnil // the suite says that there is none and plays on
	}
	return c, nil
}

// trace is the 85 minutes as they were played.
type trace struct {
	r       *suite.Report
	played  *eval.Played
	names   []string
	rivals  []dynamicRival
	learned bool // the first contestant is
	windows int
}

func (t *trace) of(name string) int { return slices.Index(t.names, name) }

func (t *trace) scores(name, quantity string, factor float64) stats.Scores {
	return t.r.Scores(t.played, t.of(name), quantity, factor)
}

// report is Figs. 9 and 10.
func (t *trace) report() {
	for _, name := range t.names {
		row := suite.Row{Figure: "9", Quantity: "windows that kept the thresholds, " + name, Unit: "%"}
		if name == zooPrefix {
			row.Paper = new(paperKept)
		}
		kept := t.scores(name, "violated", -100)
		for _, s := range kept {
			for i := range s {
				s[i] += 100
			}
		}
		t.r.Measured(row, kept)
	}
	for _, name := range t.names {
		t.r.Measured(suite.Row{Figure: "9", Quantity: "price, " + name, Unit: "USD/h"}, t.scores(name, "price", 1))
	}
	if t.learned {
		t.against()
	}
	t.draw()
	t.minutes()
}

// against compares the learned policy with its rivals.
func (t *trace) against() {
	r := t.r
	own := mean(t.scores(zooPrefix, "violated", 1).Flat())
	var others []float64
	for _, d := range t.rivals {
		if d.name == oracleName {
			continue
		}
		others = append(others, mean(t.scores(d.name, "violated", 1).Flat()))
		if d.latency != 0 {
			r.Measured(suite.Row{Figure: "9", Quantity: "mean latency below that of " + d.name, Unit: "%",
				Paper: new(d.latency), Note: "the paper: cumulative latencies"},
				relative(t.scores(zooPrefix, "latency", 1), t.scores(d.name, "latency", 1)))
		}
	}
	r.Row(suite.Row{Figure: "9", Quantity: "violations of the rivals, on average, over ours", Unit: "×",
		Paper: new(paperFewer), Ours: number(mean(others) / own)})
	r.Measured(suite.Row{Figure: "9", Quantity: "price over the oracle's", Unit: "%", Paper: new(paperOverOracle),
		Note: "compare at equal violations"},
		relative(t.scores(zooPrefix, "price", 1), t.scores(oracleName, "price", 1)))
	var rivals []eval.Scored
	for _, d := range t.rivals {
		rivals = append(rivals, eval.Scored{Name: d.name, Scores: t.scores(d.name, "violated", 1)})
	}
	r.Compare("85 minutes", eval.Metric{Name: "violated", Better: envs.Lower},
		eval.Scored{Name: zooPrefix, Scores: t.scores(zooPrefix, "violated", 1)}, rivals...)
}

// relative is x over y as a change in percent, paired by workload seed; y's versions are averaged.
func relative(x, y stats.Scores) stats.Scores {
	out := make(stats.Scores, len(x))
	for v := range x {
		for i := range x[v] {
			var of float64
			for _, row := range y {
				of += row[i] / float64(len(y))
			}
			out[v] = append(out[v], 100*(x[v][i]/of-1))
		}
	}
	return out
}

// draw shows violations, latency and cost as they add up.
func (t *trace) draw() {
	f := suite.Figure{
		Name: "fig9-trace",
		Caption: "Fig. 9: violated windows, latency and cost since the beginning of the 85 minutes, which no policy was " +
			"trained on. Bands are 95 % intervals over workload seeds.",
		Chart:   &chart.Figure{Columns: 2, Width: half, Height: height},
		Columns: table.Head("policy", "window", "violated [windows]", "latency [s]", "cost [USD]"),
	}
	panels := []*chart.Panel{
		chart.NewPanel("violations", "window", "violated windows so far"),
		chart.NewPanel("latency", "window", "sum of mean latencies (s)"),
		chart.NewPanel("cost", "window", "cost so far (USD)"),
	}
	for i, name := range t.names {
		style := chart.Styles(i)
		f.Chart.Key = append(f.Chart.Key, chart.Entry{Text: name, Style: style, Line: true, Band: true})
		var bands [3][]table.Estimate
		for k, quantity := range []string{"violated", "latency", "cost"} {
			bands[k] = suite.Band(suite.Cumulative(t.r.Series(t.played, i, quantity)))
			x := make([]float64, len(bands[k]))
			for w := range x {
				x[w] = float64(w + 1)
			}
			suite.Line(panels[k], style, x, bands[k])
		}
		for w := range bands[0] {
			f.Rows = append(f.Rows, []any{name, w + 1, bands[0][w], bands[1][w], bands[2][w]})
		}
	}
	f.Chart.Panels = panels
	t.r.Figure(f)
}

// minutes is Fig. 10: price and latency at the low, the middle and the high minute.
func (t *trace) minutes() {
	tab := table.Table{
		Name: "fig10-minutes", Title: "Low, middle and high minute of the 85 (Fig. 10)",
		Columns: table.Head("minute", "policy", "price [USD/h]", "latency [s]", "violated [% of windows]"),
		Note:    "means over the minute's two windows and the workload seeds",
	}
	for _, m := range []struct {
		name   string
		minute int // of the 85
	}{{"low", lowMinute}, {"middle", middleMinute}, {"high", highMinute}} {
		for i, name := range t.names {
			var of [3]float64
			for k, quantity := range []string{"price", "latency", "violated"} {
				series := t.r.Series(t.played, i, quantity)
				for _, s := range series {
					for w := 2 * m.minute; w < 2*m.minute+2 && w < len(s); w++ {
						of[k] += s[w] / float64(2*len(series))
					}
				}
			}
			tab.Rows = append(tab.Rows, []any{m.name, name, of[0], of[1], 100 * of[2]})
		}
	}
	t.r.Table(tab)
}

// The three minutes, counted from the first of the 85 (223 of the evaluation part): configs/faasconf/trace.yaml.
const (
	lowMinute    = 305 - 223
	middleMinute = 228 - 223
	highMinute   = 284 - 223
)

// traceClaims are those of §5.2.2.
var traceClaims = []suite.Statement[*trace]{
	{Claim: "on 85 minutes of a trace FaaSConf keeps over 74.12 % of windows", Parts: []suite.Part[*trace]{
		{Rule: suite.Over(paperKept), Measure: func(t *trace, rule suite.Rule) []suite.Finding {
			if !t.learned {
				return nil
			}
			kept := t.scores(zooPrefix, "violated", -100)
			for _, s := range kept {
				for i := range s {
					s[i] += 100
				}
			}
			e := estimate(kept)
			return []suite.Finding{{Text: fmt.Sprintf("%s %%", e), Verdict: rule(e)}}
		}},
	}, None: "no learned policy"},
	{Claim: "it costs 8.48 % more than the oracle", Parts: []suite.Part[*trace]{
		{Rule: suite.Under(paperOverOracle), Measure: func(t *trace, rule suite.Rule) []suite.Finding {
			if !t.learned {
				return nil
			}
			e := estimate(relative(t.scores(zooPrefix, "price", 1), t.scores(oracleName, "price", 1)))
			return []suite.Finding{{Text: fmt.Sprintf("%s %%", e), Verdict: rule(e)}}
		}},
	}, None: "no learned policy"},
}
