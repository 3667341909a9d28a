package explain

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/lists"
)

// Files that Write leaves.
const (
	File          = "explain.json"
	FeaturesFile  = "features.csv"
	DecisionsFile = "decisions.csv"
	AttentionFile = "attention.csv"
	figureName    = "features"
	attentionName = "attention"
)

// Write writes explain.json, the tables as CSV and the figure into dir, and returns the files' names.
func Write(dir string, e *Explanation) ([]string, error) {
	f := report.Into(dir)
	f.JSON(File, e)
	f.CSV(FeaturesFile, e.featureRows())
	f.CSV(DecisionsFile, e.decisionRows())
	f.CSV(AttentionFile, e.attentionRows())
	f.Draw(figureName, e.figure())
	if len(e.Attention) > 0 {
		f.Draw(attentionName, e.attentionFigure())
	}
	return f.Paths()
}

// number is a number for programs, empty where it is not finite.
func number(x float64) string {
	if !report.Finite(x) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}

// cells are an interval for programs, empty where there is none.
func (i *Interval) cells() []string {
	if i == nil {
		return []string{"", "", ""}
	}
	return []string{number(i.Value), number(i.Low), number(i.High)}
}

func (e *Explanation) featureRows() [][]string {
	rows := [][]string{{
		"feature", "unit", "share", "share_lo", "share_hi", "first_rank", "last_rank",
		"own", "own_lo", "own_hi", "others", "others_lo", "others_hi",
		"decision_moved", "return_lost", "return_lost_lo", "return_lost_hi",
	}}
	for _, f := range e.Features {
		rows = append(rows, report.Cells(f.Name, f.Unit, f.Share.cells(), f.Ranks[0], f.Ranks[1], f.Own.cells(), f.Others.cells(),
			number(f.Moved), f.Lost.cells()))
	}
	return rows
}

func (e *Explanation) decisionRows() [][]string {
	rows := [][]string{{
		"agent", "component", "component_unit", "of", "feature", "unit",
		"effect", "effect_lo", "effect_hi", "share", "share_lo", "share_hi", "slope",
	}}
	for _, d := range e.Decisions {
		for _, a := range d.By {
			rows = append(rows, report.Cells(d.Agent, d.Component, d.Unit, a.Of, a.Feature, a.Unit, a.Effect.cells(), a.Share.cells(),
				number(a.Slope)))
		}
	}
	return rows
}

func percent(i Interval) string {
	if i == (Interval{}) {
		return "–"
	}
	return fmt.Sprintf("%.1f %% [%.1f, %.1f]", 100*i.Value, 100*i.Low, 100*i.High)
}

// shown are the features that are printed and drawn, the first 40: an observation may have a thousand.
func (e *Explanation) shown() []Feature { return e.Features[:min(len(e.Features), 40)] }

// Text writes the explanation as tables, with the top largest attributions of each decision.
func Text(w io.Writer, e *Explanation, top int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s: %d × %s, %d states of %d episodes, mean return %.4g\n\n",
		e.Policy, e.Env, e.Agents, e.Agent, e.States, e.Episodes, e.Return)
	if note := e.tooFew(); note != "" {
		b.WriteString(note + "\n\n")
	}
	b.WriteString("What drives decisions: shares of integrated gradients with 95 % intervals, and the ranks that these " +
		"leave open; shuffled: effect of the feature's value from another state\n")
	rows := [][]string{{"rank", "feature", "unit", "own", "others'", "shuffled: decision moves"}}
	if len(e.Features) > 0 && e.Features[0].Lost != nil {
		rows[0] = append(rows[0], "shuffled: return lost")
	}
	shown := e.shown()
	for _, f := range shown {
		row := []string{f.rank(), f.Name, f.Unit, percent(f.Own), percent(f.Others), fmt.Sprintf("%.2f sd", f.Moved)}
		if f.Lost != nil {
			row = append(row, fmt.Sprintf("%.3g [%.3g, %.3g]", f.Lost.Value, f.Lost.Low, f.Lost.High))
		}
		rows = append(rows, row)
	}
	b.WriteString(report.Columns(rows, false))
	if more := len(e.Features) - len(shown); more > 0 {
		fmt.Fprintf(&b, "and %d features more, each with a smaller share: features.csv has them\n", more)
	}
	fmt.Fprintf(&b, "Integrated gradients leave %.1f %% unexplained (numerical error); "+
		"rank correlation with the effect of shuffling: %.2f (Spearman).\n", 100*e.Unexplained, e.Agreement)
	b.WriteString("\nEach decision, its largest shares, and whether it rises (↑) or falls (↓) as the feature rises\n")
	rows = nil
	for _, d := range e.Decisions {
		var parts []string
		for _, a := range d.By[:min(top, len(d.By))] {
			whose := "own"
			if a.Of != d.Agent {
				whose = e.agent(a.Of) + "'s"
			}
			parts = append(parts, fmt.Sprintf("%s %s %.0f %%%s", whose, a.Feature, 100*a.Share.Value, arrow(d.Choice, a.Slope)))
		}
		if len(parts) == 0 {
			parts = []string{"nothing: it never changes"}
		}
		rows = append(rows, []string{e.agent(d.Agent), d.Component, strings.Join(parts, ", ")})
	}
	b.WriteString(report.Columns(rows, false))
	e.attentionText(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// agent is what an agent is called: its name, or its kind and number.
func (e *Explanation) agent(i int) string {
	return nameOr(e.Names, i, fmt.Sprintf("%s %d", e.Agent, i))
}

// tooFew says that the episodes are too few to rank any two features; empty where they are not.
func (e *Explanation) tooFew() string {
	if e.Ranked || len(e.Features) < 2 {
		return ""
	}
	return fmt.Sprintf("Too few episodes to rank anything: with %d of them the intervals of all %d features overlap. The order "+
		"below may be chance; take more episodes, as in --seeds 1-%d.", e.Episodes, len(e.Features), max(20, 3*e.Episodes))
}

// rank is the rank of a feature, or from which to which.
func (f *Feature) rank() string {
	if f.Ranks[0] == f.Ranks[1] {
		return strconv.Itoa(f.Ranks[0])
	}
	return fmt.Sprintf("%d–%d", f.Ranks[0], f.Ranks[1])
}

// arrow is the direction in which a decision moves as the feature rises; discrete components have none.
func arrow(choice bool, slope float64) string {
	switch {
	case choice:
		return ""
	case slope < 0:
		return " ↓"
	}
	return " ↑"
}

// figure draws the features' shares, own and others', as bars with intervals, and beside them the return that shuffling
// loses.
func (e *Explanation) figure() *chart.Figure {
	features := e.shown()
	own, others, lost := chart.Styles(0), chart.Styles(1), chart.Styles(2)
	f := &chart.Figure{
		Title: fmt.Sprintf("What drives %s's decisions in %s", e.Policy, e.Env), Columns: 1, Width: 420,
		Height: vg.Length(50 + 30*len(features)),
		Key: []chart.Entry{{Text: "of the deciding agent", Style: own, Dot: true, Band: true},
			{Text: "of others", Style: others, Dot: true, Band: true}},
	}
	if e.tooFew() != "" {
		f.Title += fmt.Sprintf(": %d episodes rank nothing", e.Episodes)
	}
	if more := len(e.Features) - len(features); more > 0 {
		f.Title += fmt.Sprintf(" (%d features more)", more)
	}
	names := make([]string, len(features))
	shares := chart.NewPanel("", "share of integrated gradients", "")
	var cost *chart.Panel
	if len(e.Features) > 0 && e.Features[0].Lost != nil {
		cost = chart.NewPanel("", "return lost where shuffled", "")
		f.Columns, f.Width = 2, 330
		f.Key = append(f.Key, chart.Entry{Text: "shuffled while playing", Style: lost, Dot: true, Band: true})
	}
	for i, x := range features {
		names[i] = x.Name
		if x.Unit != "" {
			names[i] += " (" + x.Unit + ")"
		}
		bar(shares, own, float64(-i)+0.2, x.Own)
		if x.Others != (Interval{}) {
			bar(shares, others, float64(-i)-0.2, x.Others)
		}
		if cost != nil {
			bar(cost, lost, float64(-i), *x.Lost)
		}
	}
	shares.Names(names, false)
	f.Panels = []*chart.Panel{shares}
	if cost != nil {
		cost.Names(names, true)
		f.Panels = append(f.Panels, cost)
	}
	return f
}

// bar draws a bar from 0 at height y, and its interval.
func bar(p *chart.Panel, s chart.Style, y float64, i Interval) {
	p.Band(s, []float64{min(0, i.Value), max(0, i.Value)}, []float64{y - 0.17, y - 0.17}, []float64{y + 0.17, y + 0.17})
	p.Cross(s, chart.Range{At: i.Value, Low: i.Low, High: i.High}, chart.Exactly(y))
}

func (e *Explanation) attentionRows() [][]string {
	rows := [][]string{{"agent", "agent_name", "to", "to_name", "weight", "lo", "hi", "equal", "low_load", "low_load_lo",
		"low_load_hi", "high_load", "high_load_lo", "high_load_hi"}}
	for _, l := range e.Attention {
		rows = append(rows, report.Cells(l.Agent, e.agent(l.Agent), l.To, e.agent(l.To), l.Weight.cells(), number(l.Equal), l.LowLoad.cells(),
			l.HighLoad.cells()))
	}
	return rows
}

// widest is the number of agents up to which weights are printed as a matrix.
const widest = 12

// attentionText writes who attends to whom, how far that is from equal weights, and what difference it makes.
func (e *Explanation) attentionText(b *strings.Builder) {
	if len(e.Attention) == 0 {
		return
	}
	b.WriteString("\nAttention: the mean weight that each (row) gives to its neighbours in the graph (columns); others get " +
		"none\n")
	if e.Agents <= widest {
		b.WriteString(report.Columns(e.attentionMatrix(), false))
	} else {
		b.WriteString(report.Columns(e.attentionLines(), false))
	}
	a := e.Attending
	if a.Agents == 0 {
		b.WriteString("Nobody has two neighbours: attention has nothing to choose.\n")
		return
	}
	fmt.Fprintf(b, "Of the %d with two neighbours or more (%d have one, which has all the weight): entropy %.3f "+
		"[%.3f, %.3f] of that of equal weights, %s of the weight lies elsewhere than with equal weights. A weight varies by "+
		"%.3f over states (standard deviation)", a.Agents, a.Alone, a.Entropy.Value, a.Entropy.Low, a.Entropy.High,
		percent(a.Elsewhere), a.Varies)
	if a.ByLoad != nil {
		fmt.Fprintf(b, ", and by %.3f from the third of the states with the lowest load to that with the highest", *a.ByLoad)
	}
	fmt.Fprintf(b, ".\nWith equal weights in place of attention their median decision moves by %.2f sd", a.Moved)
	if a.Lost != nil {
		fmt.Fprintf(b, ", and the return lost is %.3g [%.3g, %.3g]", a.Lost.Value, a.Lost.Low, a.Lost.High)
	}
	b.WriteString(".\n" + a.verdict() + "\n")
}

// verdict says in a sentence whether attention pays in these episodes.
func (a *Attending) verdict() string {
	shape := "Weights are far from equal"
	if a.Entropy.Value > 0.9 {
		shape = "Weights are near equal"
	}
	switch {
	case a.Lost == nil:
		return shape + "; whether attention pays in return needs --replay."
	case a.Lost.Low > 0:
		return shape + ", and this policy needs its attention: equal weights cost return."
	case a.Lost.High < 0:
		return shape + ", and equal weights give this policy more return."
	}
	return shape + ", and equal weights cost no return that these episodes show."
}

// attentionMatrix has a row and a column for each agent.
func (e *Explanation) attentionMatrix() [][]string {
	rows := [][]string{append([]string{""}, lists.Make(e.Agents, e.agent)...)}
	for i := range e.Agents {
		rows = append(rows, append([]string{e.agent(i)}, slices.Repeat([]string{"·"}, e.Agents)...))
	}
	for _, l := range e.Attention {
		rows[1+l.Agent][1+l.To] = fmt.Sprintf("%.2f", l.Weight.Value)
	}
	return rows
}

// attentionLines has a row for each agent that attends to others.
func (e *Explanation) attentionLines() [][]string {
	parts := make([][]string, e.Agents)
	for _, l := range e.Attention {
		parts[l.Agent] = append(parts[l.Agent], fmt.Sprintf("%s %.2f [%.2f, %.2f]", e.agent(l.To), l.Weight.Value,
			l.Weight.Low, l.Weight.High))
	}
	var rows [][]string
	for i, p := range parts {
		if len(p) > 0 {
			rows = append(rows, []string{e.agent(i), strings.Join(p, ", ")})
		}
	}
	return rows
}

// drawnLinks is the largest number of links in the figure.
const drawnLinks = 40

// attentionFigure draws the links of the agents with at least two neighbours: the mean weight, that under low and high
// load, and that of equal weights. Of many links it draws those farthest from equal weights.
func (e *Explanation) attentionFigure() *chart.Figure {
	links := slices.DeleteFunc(slices.Clone(e.Attention), func(l Link) bool { return l.Equal == 1 })
	all := len(links)
	if all > drawnLinks {
		slices.SortStableFunc(links, func(a, b Link) int {
			return cmp.Compare(math.Abs(b.Weight.Value-b.Equal), math.Abs(a.Weight.Value-a.Equal))
		})
		links = links[:drawnLinks]
		slices.SortFunc(links, func(a, b Link) int { return cmp.Or(a.Agent-b.Agent, a.To-b.To) })
	}
	mean, low, high, equal := chart.Styles(0), chart.Styles(2), chart.Styles(1), chart.Bound()
	f := &chart.Figure{Title: fmt.Sprintf("Whom %s attends to in %s", e.Policy, e.Env), Columns: 1, Width: 460,
		Height: vg.Length(50 + 24*max(1, len(links))),
		Key:    []chart.Entry{{Text: "all states", Style: mean, Dot: true, Band: true}, {Text: "equal weights", Style: equal, Dot: true}}}
	if all > drawnLinks {
		f.Under = fmt.Sprintf("the %d of %d links that are farthest from equal weights", drawnLinks, all)
	}
	p := chart.NewPanel("", "attention weight", "")
	names := make([]string, len(links))
	for i, l := range links {
		names[i] = e.agent(l.Agent) + " to " + e.agent(l.To)
		y := float64(-i)
		bar(p, mean, y, l.Weight)
		p.Cross(equal, chart.Exactly(l.Equal), chart.Exactly(y))
		if l.LowLoad != nil {
			p.Cross(low, chart.Range{At: l.LowLoad.Value, Low: l.LowLoad.Low, High: l.LowLoad.High}, chart.Exactly(y+0.28))
			p.Cross(high, chart.Range{At: l.HighLoad.Value, Low: l.HighLoad.Low, High: l.HighLoad.High}, chart.Exactly(y-0.28))
		}
	}
	if len(links) > 0 && links[0].LowLoad != nil {
		f.Key = append(f.Key, chart.Entry{Text: "lowest third of loads", Style: low, Dot: true},
			chart.Entry{Text: "highest third", Style: high, Dot: true})
	}
	p.Names(names, false)
	f.Panels = []*chart.Panel{p}
	return f
}
