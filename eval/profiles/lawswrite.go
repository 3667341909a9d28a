package profiles

import (
	"math"
	"os"
	"path/filepath"
	"strconv"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/eval/table"
	"github.com/stoker-rl/stoker/internal/chart"
)

// WriteLaws leaves laws.yaml, laws.json, the settings with their predictions as CSV, and the figure. It returns the names
// of the files.
func WriteLaws(dir string, r *LawsResult) ([]string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	settings := [][]string{{"function", "cpu", "inside", "rows", "measured_s", "predicted_s", "error"}}
	for _, f := range r.Functions {
		for _, s := range f.Settings {
			settings = append(settings, []string{f.Name, table.Exact(s.CPU), table.Exact(s.Inside), strconv.Itoa(s.Rows),
				table.Exact(s.Measured), table.Exact(s.Predicted), table.Exact(s.Predicted/s.Measured - 1)})
		}
	}
	files := []string{"laws.yaml", "laws.json", "laws_settings.csv"}
	if err := table.WriteFile(dir, files[2], settings); err != nil {
		return nil, err
	}
	b, err := table.JSON(r)
	if err != nil {
		return nil, err
	}
	for i, text := range [][]byte{[]byte(r.YAML()), b} {
		if err := durable.WriteFile(durable.OS{}, filepath.Join(dir, files[i]), text); err != nil {
			return nil, err
		}
	}
	drawn, err := r.figure().Save(dir, "laws")
	return append(files, drawn...), err
}

// figure draws each function's times over the CPU limit: what was measured, what the law says there, and what it says of
// a request that is alone.
func (r *LawsResult) figure() *chart.Figure {
	measured, law, alone := chart.Common(), chart.Styles(0), chart.Styles(1)
	f := &chart.Figure{Title: "Laws of execution time", Columns: min(3, len(r.Functions)), Width: 6.4 * vg.Centimeter,
		Height: 5 * vg.Centimeter, Under: "each setting (CPU limit and load) once; the law stands a little to the right",
		Key: []chart.Entry{{Text: "measured mean", Style: measured, Dot: true}, {Text: "law at that load", Style: law, Dot: true},
			{Text: "law, a request alone", Style: alone, Line: true}}}
	for i := range r.Functions {
		fn := &r.Functions[i]
		p := chart.NewPanel(fn.Name, "CPU limit (millicores)", "time (s)")
		p.LogX()
		p.LogY()
		low, high := fn.Settings[0].CPU, fn.Settings[len(fn.Settings)-1].CPU
		var x, y []float64
		for j := range 121 {
			cpu := low / 1.2 * math.Pow(1.44*high/low, float64(j)/120)
			x, y = append(x, cpu), append(y, fn.Law.Alone(cpu))
		}
		p.Line(alone, x, y, false)
		for _, s := range fn.Settings {
			p.Cross(measured, chart.Exactly(s.CPU), chart.Exactly(s.Measured))
			p.Cross(law, chart.Exactly(s.CPU*1.05), chart.Exactly(s.Predicted))
		}
		f.Panels = append(f.Panels, p)
	}
	return f
}
