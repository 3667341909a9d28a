package profiles

import (
	"os"
	"path/filepath"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/eval/table"
	"github.com/stoker-rl/stoker/internal/chart"
)

// WriteCheck leaves profile_check.json, its rows as profile_check.csv, the quantiles that the figure is drawn from as
// profile_check_times.csv, and the figure. It returns the names of the files.
func WriteCheck(dir string, c *Checked) ([]string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	const name = "profile_check"
	files := []string{name + ".json", name + ".csv", name + "_times.csv"}
	b, err := table.JSON(c)
	if err != nil {
		return nil, err
	}
	if err := durable.WriteFile(durable.OS{}, filepath.Join(dir, files[0]), b); err != nil {
		return nil, err
	}
	if err := table.WriteFile(dir, files[1], CheckTable(c)); err != nil {
		return nil, err
	}
	rows := [][]string{{"share", "measured_s", "predicted_s"}}
	p := chart.NewPanel("", "response time (s)", "share of requests")
	measured, predicted := chart.Styles(0), chart.Styles(1)
	var share, x, y []float64
	for i := range 995 {
		q := (float64(i) + 0.5) / 1000
		share, x, y = append(share, q), append(x, quantile(c.measured, q)), append(y, quantile(c.predicted, q))
		rows = append(rows, []string{short(q), short(x[i]), short(y[i])})
	}
	if err := table.WriteFile(dir, files[2], rows); err != nil {
		return nil, err
	}
	p.Line(measured, x, share, false)
	p.Line(predicted, y, share, false)
	p.RangeY(0, 1)
	f := &chart.Figure{Title: c.Name + ": predicted and measured response times", Panels: []*chart.Panel{p}, Columns: 1,
		Width: 11 * vg.Centimeter, Height: 7 * vg.Centimeter, Under: "distribution functions, up to the 99.5th percentile",
		Key: []chart.Entry{{Text: "measured", Style: measured, Line: true}, {Text: "predicted", Style: predicted, Line: true}}}
	drawn, err := f.Save(dir, name)
	return append(files, drawn...), err
}
