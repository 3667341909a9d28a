package pareto

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/eval/table"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/train"
)

// Named is a result and the name of its folder.
type Named struct {
	Name string
	*Result
}

// Load reads the frontier.json of each folder. All must have the same objective and constraint.
func Load(dirs []string) ([]Named, error) {
	var out []Named
	for _, dir := range dirs {
		file := filepath.Join(dir, "frontier.json")
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%w; a folder of stoker frontier is wanted", err)
		}
		r := new(Result)
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		if err := d.Decode(r); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if len(r.Points) == 0 {
			return nil, fmt.Errorf("%s has no points", file)
		}
		if first := out; len(first) > 0 && (r.Objective != first[0].Objective || r.Limit != first[0].Limit || r.Unit != first[0].Unit) {
			return nil, train.Usage("%s has %s (%s) over %s, but %s has %s (%s) over %s: they are no panels of one figure", file,
				r.Objective, r.Unit, r.Limit, dirs[0], first[0].Objective, first[0].Unit, first[0].Limit)
		}
		out = append(out, Named{filepath.Base(filepath.Clean(dir)), r})
	}
	return out, nil
}

// WritePanels leaves the points and the prices at equal violations of all results as CSV, with the name of each in
// front, and one figure with a panel for each. Points with more violations than limit are not drawn.
func WritePanels(dir string, results []Named, columns int, limit float64) ([]string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	var points, levels [][]string
	for i, r := range results {
		p, l := r.Rows()
		if i == 0 {
			points, levels = [][]string{append([]string{"panel"}, p[0]...)}, [][]string{append([]string{"panel"}, l[0]...)}
		}
		for _, row := range p[1:] {
			points = append(points, append([]string{r.Name}, row...))
		}
		for _, row := range l[1:] {
			levels = append(levels, append([]string{r.Name}, row...))
		}
	}
	files := []string{"frontiers_points.csv", "frontiers_levels.csv"}
	if err := table.WriteFile(dir, files[0], points); err != nil {
		return nil, err
	}
	if err := table.WriteFile(dir, files[1], levels); err != nil {
		return nil, err
	}
	drawn, err := panels(results, columns, limit).Save(dir, "frontiers")
	return append(files, drawn...), err
}

// panels is a figure in which a family has the same colour in all panels.
func panels(results []Named, columns int, limit float64) *chart.Figure {
	var families []string
	for _, r := range results {
		for _, f := range r.Families() {
			if !slices.Contains(families, f) {
				families = append(families, f)
			}
		}
	}
	first := results[0]
	f := &chart.Figure{Columns: columns, Width: 230 * vg.Points(1), Height: 175 * vg.Points(1),
		Title: fmt.Sprintf("%s (%s) over %s (share of windows, up to %g): below and to the left is better", first.Objective, first.Unit,
			first.Limit, limit)}
	for i, name := range families {
		f.Key = append(f.Key, chart.Entry{Text: name, Style: chart.Styles(i), Line: true, Dot: true})
	}
	for _, r := range results {
		p := chart.NewPanel(r.Name, "", "")
		p.TicksX(4)
		p.TicksY(4)
		r.draw(p, limit, func(name string) chart.Style { return chart.Styles(slices.Index(families, name)) })
		p.RangeX(0, limit)
		f.Panels = append(f.Panels, p)
	}
	return f
}
