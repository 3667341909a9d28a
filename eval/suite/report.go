package suite

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/rng"
)

// Row is one quantity of one of the paper's figures.
type Row struct {
	// Figure says where the paper shows it, and on what it was measured here where that is not one thing: "2a", "2a,
	// Azure day".
	Figure   string `json:"figure"`
	Quantity string `json:"quantity"`
	Unit     string `json:"unit"`
	// Paper is the paper's value; nil where it gives none.
	Paper *float64 `json:"paper"`
	// Ours, Lo and Hi are the value here and its 95 % interval; what is NaN is null in JSON. Without Lo and Hi there
	// is no interval.
	Ours eval.Number `json:"ours"`
	Lo   eval.Number `json:"lo"`
	Hi   eval.Number `json:"hi"`
	// Ratio is Ours over Paper. The report fills it in.
	Ratio eval.Number `json:"ratio"`
	Note  string      `json:"note"`
}

// Report gathers what a suite finds. It is not for several goroutines at a time. An entry that is wrong ends [Run]
// with an error that names it, so the calls themselves return no error.
type Report struct {
	result  Result
	seeds   []uint64
	tables  []report.Table
	figures []report.Figure
	err     error
}

func newReport(seeds []uint64) *Report {
	return &Report{seeds: seeds, result: Result{ // no list is null in suite.json
		Rows: []Row{}, Claims: []Claim{}, Comparisons: []Comparison{}, Notes: []string{}, Tables: []string{},
		Figures: []string{},
	}}
}

// With is the row with a value of ours.
func (r Row) With(e report.Estimate) Row {
	r.Ours, r.Lo, r.Hi = eval.Number(e.At), eval.Number(e.Low), eval.Number(e.High)
	return r
}

func (r *Row) estimate() report.Estimate {
	return report.Between(r.Ours, r.Lo, r.Hi)
}

// Fail ends [Run] with an error, after what else is wrong.
func (r *Report) Fail(format string, args ...any) {
	r.err = errors.Join(r.err, fmt.Errorf(format, args...))
}

// Row adds a row.
func (r *Report) Row(row Row) {
	if row.Figure == "" || row.Quantity == "" {
		r.Fail("row %+v: figure or quantity is missing", row)
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

// Measured adds a row whose value is the interquartile mean of scores, as stoker eval estimates it. Ours, Lo and Hi
// are filled in.
func (r *Report) Measured(row Row, scores stats.Scores) {
	r.Row(row.With(r.Estimate(scores)))
}

// Resamples is the number of bootstrap resamples behind an interval.
const Resamples = 2000

// Estimate is the interquartile mean of scores over training and workload seeds with its 95 % bootstrap interval.
func (r *Report) Estimate(scores stats.Scores) report.Estimate {
	if len(scores) == 0 || len(scores[0]) == 0 {
		r.Fail("an estimate of no scores")
		return report.None()
	}
	return report.Of(stats.IQMInterval(scores, envs.Bounds{}, Resamples, rng.New(1, "suite/estimate").Stream()))
}

// Scores are a contestant's values of a quantity that its environment reports, times a factor. What is not reported
// ends [Run] with an error that names it; the scores are then NaN.
func (r *Report) Scores(p *eval.Played, contestant int, quantity string, factor float64) stats.Scores {
	s, err := p.Scores(contestant, eval.Metric{Name: quantity})
	if err != nil {
		r.Fail("%w", err)
		return stats.Scores{slices.Repeat([]float64{math.NaN()}, len(p.Seeds))}
	}
	for _, row := range s {
		for j := range row {
			row[j] *= factor
		}
	}
	return s
}

// Series are a contestant's values of a quantity at every step, [seed][step]. What is not reported, or was not traced,
// ends [Run] with an error that names it; each series is then one NaN.
func (r *Report) Series(p *eval.Played, contestant int, quantity string) [][]float64 {
	s, err := p.Series(contestant, quantity)
	if err != nil {
		r.Fail("%w", err)
		return slices.Repeat([][]float64{{math.NaN()}}, len(p.Seeds))
	}
	return s
}

// Comparison is a paired comparison in one setting, as eval.json has them.
type Comparison struct {
	// Setting says in what both played, where a suite has several.
	Setting string `json:"setting"`
	eval.Comparison
}

// Compare adds the comparisons of a with each baseline, which form one family for Holm's correction, and returns them.
func (r *Report) Compare(setting string, m eval.Metric, a eval.Scored, baselines ...eval.Scored) []Comparison {
	for _, s := range append([]eval.Scored{a}, baselines...) {
		if err := s.Scores.Check(len(r.seeds)); err != nil {
			r.Fail("comparing %s with %d baselines in %s: %s: %w", a.Name, len(baselines), setting, s.Name, err)
			return nil
		}
	}
	var out []Comparison
	for i, c := range eval.Compare(m, a, baselines, Resamples, rng.New(1, "suite/compare")) {
		c.Scope = scope(&a, &baselines[i])
		out = append(out, Comparison{setting, c})
	}
	r.result.Comparisons = append(r.result.Comparisons, out...)
	return out
}

// scope names what a verdict holds for. With one training seed it holds for this checkpoint only.
func scope(policies ...*eval.Scored) string {
	var parts []string
	for _, s := range policies {
		if s.OneCheckpoint() {
			parts = append(parts, "one checkpoint of "+s.Name)
		}
	}
	if len(parts) == 0 {
		return "these policies"
	}
	return strings.Join(parts, ", ")
}

// Claim adds what became of one of the paper's statements.
func (r *Report) Claim(c Claim) {
	if !slices.Contains([]string{Holds, Fails, Depends, Unknown}, c.Verdict) {
		r.Fail("claim %q: verdict %q, want %s, %s, %s or %s", c.Claim, c.Verdict, Holds, Fails, Depends, Unknown)
	}
	r.result.Claims = append(r.result.Claims, c)
}

// Note adds a remark: what is missing, what differs from the paper, what a figure does not show.
func (r *Report) Note(format string, args ...any) {
	r.result.Notes = append(r.result.Notes, fmt.Sprintf(format, args...))
}

// Table adds a table.
func (r *Report) Table(t report.Table) {
	r.add("table", t)
	r.tables = append(r.tables, t)
	r.result.Tables = append(r.result.Tables, t.Name+".csv")
}

// Figure adds a figure. A chart without panels is left out.
func (r *Report) Figure(f report.Figure) {
	if f.Chart == nil || len(f.Chart.Panels) == 0 {
		return
	}
	r.add("figure", f.Data())
	r.figures = append(r.figures, f)
	r.result.Figures = append(r.result.Figures, f.Name+".png")
}

// add checks a table, or a figure's data: no two may have one file.
func (r *Report) add(kind string, t report.Table) {
	if t.Name == "" || strings.Trim(t.Name, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
		r.Fail("%q is no name of a file: want lower-case letters, digits, - and _", t.Name)
	}
	if slices.ContainsFunc(r.tables, func(o report.Table) bool { return o.Name == t.Name }) ||
		slices.ContainsFunc(r.figures, func(o report.Figure) bool { return o.Name == t.Name }) {
		r.Fail("two tables or figures are called %s", t.Name)
	}
	if err := t.Check(); err != nil {
		r.Fail("%s %w", kind, err)
	}
}
