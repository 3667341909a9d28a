package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/eval/table"
	"github.com/stoker-rl/stoker/internal/chart"
)

func (e *Explanation) attentionRows() [][]string {
	rows := [][]string{{"agent", "agent_name", "to", "to_name", "weight", "lo", "hi", "equal", "low_load", "low_load_lo",
		"low_load_hi", "high_load", "high_load_lo", "high_load_hi"}}
	for _, l := range e.Attention {
		row := append([]string{itoa(l.Agent), e.agent(l.Agent), itoa(l.To), e.agent(l.To)}, l.Weight.cells()...)
		row = append(row, number(l.Equal))
		for _, i := range []*Interval{l.LowLoad, l.HighLoad} {
			if i == nil {
				row = append(row, "", "", "")
			} else {
				row = append(row, i.cells()...)
			}
		}
		rows = append(rows, row)
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
		b.WriteString(table.Columns(e.attentionMatrix(), false))
	} else {
		b.WriteString(table.Columns(e.attentionLines(), false))
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
	head := []string{""}
	for j := range e.Agents {
		head = append(head, e.agent(j))
	}
	rows := [][]string{head}
	for i := range e.Agents {
		row := []string{e.agent(i)}
		for range e.Agents {
			row = append(row, "·")
		}
		rows = append(rows, row)
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
	var links []Link
	for _, l := range e.Attention {
		if l.Equal < 1 {
			links = append(links, l)
		}
	}
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
