package eval

import (
	"slices"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/eval/table"
	"github.com/stoker-rl/stoker/internal/chart"
)

// frontierName is the figure of the objective over the constraint, by method, with its data.
const (
	frontierName       = "frontier"
	frontierPointsFile = frontierName + "_points.csv"
	frontierLevelsFile = frontierName + "_levels.csv"
)

// frontier draws every method's points and the line between them.
func (p *painter) frontier() ([]string, error) {
	if p.s.Frontier == nil {
		return nil, nil
	}
	points, levels := p.s.Frontier.Rows()
	if err := table.WriteFile(p.dir, frontierPointsFile, points); err != nil {
		return nil, err
	}
	if err := table.WriteFile(p.dir, frontierLevelsFile, levels); err != nil {
		return nil, err
	}
	return p.finish(p.s.Frontier.Figure(p.methodStyle), frontierName)
}

// methodStyle is the look of a method: that of its first policy in every other figure, and of a bound for an oracle.
func (p *painter) methodStyle(method string) chart.Style {
	m := p.s.method(method)
	if m.Kind == catalog.Oracle && len(m.Policies) == 0 {
		return chart.Bound()
	}
	for i, name := range p.names() {
		if slices.Contains(m.Policies, name) {
			return p.styles[i]
		}
	}
	return chart.Common()
}
