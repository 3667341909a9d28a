package eval

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Names of the files of an evaluation's folder.
const (
	SummaryFile = "eval.json"
	ScoresFile  = "scores.csv"
	TableFile   = "table.md"
	stepsFile   = "steps.csv"
	samplesFile = "samples.csv"
	curveFile   = "learning_curve.csv"
)

// Write leaves an evaluation in dir, which is made where it is missing: data first, then the figures drawn from the data, and
// eval.json last, so that a folder with an eval.json is whole.
func Write(dir string, p *Played, s *Summary, curves []Curve) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := errors.Join(
		writeCSV(dir, ScoresFile, scoreRows(p, s.Metrics)),
		writeCSV(dir, stepsFile, stepRows(p)),
		writeCSV(dir, samplesFile, sampleRows(p)),
		writeCSV(dir, curveFile, curveRows(curves)),
		os.WriteFile(filepath.Join(dir, TableFile), []byte(Markdown(s)), 0o666),
	); err != nil {
		return err
	}
	if err := drawAll(dir, s); err != nil {
		return err
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, SummaryFile), append(b, '\n'), 0o666)
}

// Replot draws the figures of an evaluation's folder again from its data.
func Replot(dir string) (*Summary, error) {
	s, err := ReadSummary(dir)
	if err != nil {
		return nil, err
	}
	return s, drawAll(dir, s)
}

// ReadSummary reads an evaluation's eval.json.
func ReadSummary(dir string) (*Summary, error) {
	path := filepath.Join(dir, SummaryFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s is not an evaluation: %w", dir, err)
	}
	var s Summary
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &s, nil
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func scoreRows(p *Played, metrics []Metric) [][]string {
	rows := [][]string{{"policy", "training_seed", "workload_seed", "metric", "value"}}
	for c, con := range p.Contestants {
		for _, m := range metrics {
			for v, row := range p.Scores(c, m) {
				for j, x := range row {
					rows = append(rows, []string{con.Name, fmt.Sprint(con.Versions[v].TrainingSeed), fmt.Sprint(p.Seeds[j]), m.Name, number(x)})
				}
			}
		}
	}
	return rows
}

func stepRows(p *Played) [][]string {
	head := []string{"policy", "workload_seed", "step", "time_s", "reward"}
	for _, q := range p.Spec.Info {
		head = append(head, q.Name)
	}
	rows := [][]string{head}
	for c, con := range p.Contestants {
		for _, s := range p.Steps[c] {
			row := []string{con.Name, fmt.Sprint(s.Seed), fmt.Sprint(s.Step), number(s.Time), number(s.Reward)}
			for _, x := range s.Info {
				row = append(row, number(x))
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// cdfPoints is the number of quantiles kept of each distribution.
const cdfPoints = 400

// sampleRows keeps quantiles: a distribution of millions of requests would fill the folder.
func sampleRows(p *Played) [][]string {
	rows := [][]string{{"policy", "quantity", "unit", "share_below", "value", "samples"}}
	for c, con := range p.Contestants {
		for i, set := range p.Samples[c] {
			sorted := slices.Sorted(slices.Values(set))
			if len(sorted) == 0 {
				continue
			}
			q := p.Spec.Samples[i]
			for k := range cdfPoints + 1 {
				share := float64(k) / cdfPoints
				at := int(math.Round(share * float64(len(sorted)-1)))
				rows = append(rows, []string{con.Name, q.Name, q.Unit, number(share), number(sorted[at]), fmt.Sprint(len(sorted))})
			}
		}
	}
	return rows
}

func writeCSV(dir, name string, rows [][]string) error {
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	w := csv.NewWriter(f)
	err = w.WriteAll(rows)
	return errors.Join(err, f.Close())
}

// table is a CSV file read back: columns by name.
type table struct {
	head map[string]int
	rows [][]string
}

func readCSV(dir, name string) (*table, error) {
	path := filepath.Join(dir, name)
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := csv.NewReader(f)
	head, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: is empty", path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t := &table{head: map[string]int{}}
	for i, h := range head {
		t.head[h] = i
	}
	if t.rows, err = r.ReadAll(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// text returns a row's field, empty where there is no such column.
func (t *table) text(row []string, column string) string {
	if i, ok := t.head[column]; ok {
		return row[i]
	}
	return ""
}

// number returns a row's field as a number, NaN where it is none.
func (t *table) number(row []string, column string) float64 {
	x, err := strconv.ParseFloat(t.text(row, column), 64)
	if err != nil {
		return math.NaN()
	}
	return x
}
