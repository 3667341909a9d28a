package profiles

import (
	"fmt"
	"os"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/eval/table"
	"github.com/stoker-rl/stoker/internal/chart"
)

// ReplayText is a replay for a terminal.
func ReplayText(r *Replayed) string {
	rows := [][]string{{"sizes", "design", "runs bought", "exponential, plain", "law chosen"}}
	for _, d := range r.Designs {
		rows = append(rows, []string{fmt.Sprint(d.Sizes), d.Design, fmt.Sprintf("%.1f", d.Runs),
			fmt.Sprintf("%.1f ± %.1f %%", 100*d.Published, 196*float64(d.PublishedSE)),
			fmt.Sprintf("%.1f ± %.1f %%", 100*d.Chosen, 196*float64(d.ChosenSE))})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d functions, each profiled %d times. Mean relative error over all measured sizes, with 95 %% intervals:\n\n",
		r.Functions, r.Seeds)
	b.WriteString(table.Columns(rows, true))
	fmt.Fprintf(&b, "\nParrotfish's own rule ends after %.1f sizes and %.1f runs, where its law errs by %.1f %%.\n", r.Stops.Sizes,
		r.Stops.Runs, 100*r.Stops.MAPE)
	return b.String()
}

// ReplayTable is a replay as CSV.
func ReplayTable(r *Replayed) [][]string {
	rows := [][]string{{"design", "sizes", "runs", "exponential_plain", "exponential_plain_se", "auto", "auto_se"}}
	for _, d := range r.Designs {
		row := []string{d.Design, fmt.Sprint(d.Sizes)}
		for _, x := range []float64{d.Runs, d.Published, float64(d.PublishedSE), d.Chosen, float64(d.ChosenSE)} {
			row = append(row, short(x))
		}
		rows = append(rows, row)
	}
	return rows
}

// WriteReplay leaves profile_replay.csv and the figure. It returns the names of the files.
func WriteReplay(dir string, r *Replayed) ([]string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	const name = "profile_replay"
	if err := table.WriteFile(dir, name+".csv", ReplayTable(r)); err != nil {
		return nil, err
	}
	drawn, err := r.figure().Save(dir, name)
	return append([]string{name + ".csv"}, drawn...), err
}

func (r *Replayed) figure() *chart.Figure {
	p := chart.NewPanel("", "runs bought for a function", "mean relative error (%)")
	f := &chart.Figure{Title: "Errors of laws over runs bought", Panels: []*chart.Panel{p}, Columns: 1, Width: 11 * vg.Centimeter,
		Height: 7 * vg.Centimeter, Under: fmt.Sprintf("%d functions, %d times each; 95 %% intervals; line: where Parrotfish's "+
			"own rule ends", r.Functions, r.Seeds)}
	i := 0
	for _, law := range []string{"exponential, plain", "law chosen"} {
		for _, design := range designs {
			style := chart.Styles(i)
			i++
			var x, y []float64
			for _, d := range r.Designs {
				if d.Design != design {
					continue
				}
				e, se := d.Published, d.PublishedSE
				if law == "law chosen" {
					e, se = d.Chosen, d.ChosenSE
				}
				half := 1.96 * float64(se)
				x, y = append(x, d.Runs), append(y, 100*e)
				p.Cross(style, chart.Exactly(d.Runs), chart.Range{At: 100 * e, Low: 100 * max(0, e-half), High: 100 * (e + half)})
			}
			p.Line(style, x, y, false)
			name := "Parrotfish's sizes: "
			if design == "even" {
				name = "even sizes: "
			}
			f.Key = append(f.Key, chart.Entry{Text: name + law, Style: style, Line: true, Dot: true})
		}
	}
	p.LevelX(r.Stops.Runs)
	return f
}
