package suite

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/rng"
)

// Row is one quantity of one of the paper's figures.
type Row struct {
	// Figure says where the paper shows it, and on what it was measured here where that is not one thing: "2a", "2a, Azure day".
	Figure   string `json:"figure"`
	Quantity string `json:"quantity"`
	Unit     string `json:"unit"`
	// Paper is the paper's value; nil where it gives none.
	Paper *float64 `json:"paper"`
	// Ours, Lo and Hi are the value here and its 95 % interval; what is NaN is null in JSON. Without Lo and Hi there is no interval.
	Ours eval.Number `json:"ours"`
	Lo   eval.Number `json:"lo"`
	Hi   eval.Number `json:"hi"`
	// Ratio is Ours over Paper. The report fills it in.
	Ratio eval.Number `json:"ratio"`
	Note  string      `json:"note"`
}

// Claims are verified, refuted, or depend on something that the paper does not say.
const (
	Holds   = "holds"
	Fails   = "does not hold"
	Depends = "depends"
	Unknown = "not decided"
)

// Claim is what a paper says and what was found.
type Claim struct {
	// Claim is the paper's statement, Found what was measured here.
	Claim string `json:"claim"`
	Found string `json:"found"`
	// Verdict is one of the constants above.
	Verdict string `json:"verdict"`
}

// Column heads a column of a table.
type Column struct {
	Name string
	// Unit may be empty.
	Unit string
}

// Table is anything in rows and columns. Cells are texts, whole numbers, float64, or [Estimate], which takes three columns in the CSV file.
type Table struct {
	// Name is that of the file, without an extension.
	Name, Title string
	// Note stands below the table.
	Note    string
	Columns []Column
	Rows    [][]any
}

// Figure is a chart with the numbers that it shows.
type Figure struct {
	// Name is that of the files, without an extension. Caption says what is to be seen.
	Name, Caption string
	Chart         *chart.Figure
	// Columns and Rows are the data, as in a [Table].
	Columns []Column
	Rows    [][]any
}

// Estimate is a value with its 95 % interval, NaN where there is none.
type Estimate struct{ At, Lo, Hi float64 }

// Report gathers what a suite finds. It is not for several goroutines at a time. What is wrong with an entry is kept and ends [Run]: the
// calls themselves return nothing to be checked.
type Report struct {
	result  Result
	seeds   []uint64
	tables  []Table
	figures []Figure
	err     error
}

func newReport(seeds []uint64) *Report {
	return &Report{seeds: seeds, result: Result{Rows: []Row{}, Claims: []Claim{}, Comparisons: []Comparison{}, Notes: []string{}, Tables: []string{}, Figures: []string{}}}
}

func (r *Report) fail(format string, args ...any) {
	r.err = errors.Join(r.err, fmt.Errorf(format, args...))
}

// Row adds a row.
func (r *Report) Row(row Row) {
	if row.Figure == "" || row.Quantity == "" {
		r.fail("row %+v: figure or quantity is missing", row)
	}
	if row.Lo == 0 && row.Hi == 0 && row.Ours != 0 {
		row.Lo, row.Hi = eval.Number(math.NaN()), eval.Number(math.NaN())
	}
	row.Ratio = eval.Number(math.NaN())
	if row.Paper != nil && *row.Paper != 0 {
		row.Ratio = row.Ours / eval.Number(*row.Paper)
	}
	r.result.Rows = append(r.result.Rows, row)
}

// Measured adds a row whose value is the interquartile mean of scores, as stoker eval estimates it. Ours, Lo and Hi are filled in.
func (r *Report) Measured(row Row, scores stats.Scores) {
	e := r.Estimate(scores)
	row.Ours, row.Lo, row.Hi = eval.Number(e.At), eval.Number(e.Lo), eval.Number(e.Hi)
	r.Row(row)
}

// Resamples is the number of bootstrap resamples behind an interval.
const Resamples = 2000

// Estimate is the interquartile mean of scores over training and workload seeds with its 95 % bootstrap interval.
func (r *Report) Estimate(scores stats.Scores) Estimate {
	if len(scores) == 0 || len(scores[0]) == 0 {
		r.fail("an estimate of no scores")
		return Estimate{math.NaN(), math.NaN(), math.NaN()}
	}
	iv := stats.IQMInterval(scores, Resamples, rng.New(1, "suite/estimate").Stream())
	return Estimate{iv.Point, iv.Low, iv.High}
}

// Claim adds what became of one of the paper's statements.
func (r *Report) Claim(c Claim) {
	if !slices.Contains([]string{Holds, Fails, Depends, Unknown}, c.Verdict) {
		r.fail("claim %q: verdict %q, want %s, %s, %s or %s", c.Claim, c.Verdict, Holds, Fails, Depends, Unknown)
	}
	r.result.Claims = append(r.result.Claims, c)
}

// Note adds a remark: what is missing, what differs from the paper, what a figure does not show.
func (r *Report) Note(format string, args ...any) {
	r.result.Notes = append(r.result.Notes, fmt.Sprintf(format, args...))
}

// Table adds a table.
func (r *Report) Table(t Table) {
	r.rectangular("table "+t.Name, t.Columns, t.Rows)
	r.takeName(t.Name + ".csv")
	r.tables = append(r.tables, t)
	r.result.Tables = append(r.result.Tables, t.Name+".csv")
}

// Figure adds a figure. Without panels there is nothing to see, and it is left out.
func (r *Report) Figure(f Figure) {
	if f.Chart == nil || len(f.Chart.Panels) == 0 {
		return
	}
	r.rectangular("figure "+f.Name, f.Columns, f.Rows)
	r.takeName(f.Name + ".csv")
	r.takeName(f.Name + ".png")
	r.figures = append(r.figures, f)
	r.result.Figures = append(r.result.Figures, f.Name+".png")
}

// takeName keeps two things from having one file.
func (r *Report) takeName(file string) {
	name := strings.TrimSuffix(strings.TrimSuffix(file, ".csv"), ".png")
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
		r.fail("%q is no name of a file: want lower-case letters, digits, - and _", name)
	}
	for _, t := range r.tables {
		if t.Name+".csv" == file {
			r.fail("two tables or figures are called %s", t.Name)
		}
	}
	for _, f := range r.figures {
		if f.Name+".csv" == file {
			r.fail("two tables or figures are called %s", f.Name)
		}
	}
}

func (r *Report) rectangular(what string, columns []Column, rows [][]any) {
	if len(columns) == 0 {
		r.fail("%s has no columns", what)
	}
	for i, row := range rows {
		if len(row) != len(columns) {
			r.fail("%s: row %d has %d cells under %d columns", what, i, len(row), len(columns))
			return
		}
		for k, cell := range row {
			switch cell.(type) {
			case string, int, uint64, float64, Estimate:
			default:
				r.fail("%s: row %d, %s is a %T, want a text, a number or an Estimate", what, i, columns[k].Name, cell)
				return
			}
		}
	}
}
