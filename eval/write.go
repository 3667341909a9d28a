package eval

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/train"
)

// Names of the files of an evaluation's folder.
const (
	SummaryFile = "eval.json"
	ScoresFile  = "scores.csv"
	TableFile   = "table.md"
	stepsFile   = "steps.csv"
	samplesFile = "samples.csv"
	curveName   = "learning_curve"
	curveFile   = curveName + ".csv"
)

// Write leaves an evaluation in dir, which is made where it is missing. All files are written to a folder beside them and
// renamed at the end, eval.json last: a folder with an eval.json is whole. Files of an earlier evaluation are removed, and
// what one that was killed left.
func Write(dir string, p *Played, s *Summary, curves []Curve) (err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	const unfinished = ".writing-"
	there, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range there {
		if strings.HasPrefix(f.Name(), unfinished) {
			if err := os.RemoveAll(filepath.Join(dir, f.Name())); err != nil {
				return err
			}
		}
	}
	beside, err := os.MkdirTemp(dir, unfinished)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(beside)) }()
	if err := writeAll(beside, p, s, curves); err != nil {
		return err
	}
	b, err := report.JSON(s)
	if err != nil {
		return fmt.Errorf("%s: %w", SummaryFile, err)
	}
	whole := filepath.Join(beside, SummaryFile)
	if err := durable.WriteFile(durable.OS{}, whole, b); err != nil {
		return err
	}
	if err := removeOld(dir); err != nil {
		return err
	}
	files, err := os.ReadDir(beside)
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.Name() == SummaryFile {
			continue
		}
		if err := os.Rename(filepath.Join(beside, f.Name()), filepath.Join(dir, f.Name())); err != nil {
			return err
		}
	}
	return os.Rename(whole, filepath.Join(dir, SummaryFile))
}

// writeAll writes all but eval.json: data first, then the figures drawn from the data, then the pages.
func writeAll(dir string, p *Played, s *Summary, curves []Curve) error {
	if err := writeData(dir, p, s, curves); err != nil {
		return err
	}
	if err := newPainter(dir, s).drawAll(); err != nil {
		return err
	}
	if err := durable.WriteFile(durable.OS{}, filepath.Join(dir, TableFile), []byte(Markdown(s))); err != nil {
		return err
	}
	return writeReport(dir, s)
}

// writeData writes what figures are drawn from.
func writeData(dir string, p *Played, s *Summary, curves []Curve) error {
	scores, err := scoreRows(p, s.Metrics)
	if err != nil {
		return err
	}
	return errors.Join(
		report.WriteFile(dir, ScoresFile, scores),
		report.WriteFile(dir, stepsFile, stepRows(p)),
		report.WriteFile(dir, samplesFile, sampleRows(p)),
		report.WriteFile(dir, curveFile, curveRows(curves)),
	)
}

// removeOld removes an earlier evaluation's eval.json, page and data, so that new data never stands beside an old summary,
// and the figures that it names, so that none of them outlives its data.
func removeOld(dir string) error {
	old, err := ReadSummary(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil: // not readable: gone all the same
		old = &Summary{}
	}
	names := []string{SummaryFile, ReportFile, TableFile, ScoresFile, stepsFile, samplesFile, curveFile, frontierPointsFile, frontierLevelsFile}
	for _, f := range old.Figures { // and the data drawn in them
		names = append(names, f, strings.TrimSuffix(f, filepath.Ext(f))+".csv")
	}
	for _, f := range names {
		if filepath.Base(f) != f {
			continue
		}
		if err := os.Remove(filepath.Join(dir, f)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Replot draws the figures of an evaluation's folder again from its data, and writes its page anew.
func Replot(dir string) (*Summary, error) {
	s, err := ReadSummary(dir)
	if err != nil {
		return nil, err
	}
	if s.Objective == "" {
		return nil, fmt.Errorf("%s was made by an older version, which kept no intervals of means: evaluate again", dir)
	}
	if err := newPainter(dir, s).drawAll(); err != nil {
		return s, err
	}
	return s, writeReport(dir, s)
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

// rewardColumn is the reward of a step.
const rewardColumn = "reward"

// traceColumn is the trace that an episode drew, where episodes draw traces.
const traceColumn = "trace"

func scoreRows(p *Played, metrics []Metric) ([][]string, error) {
	rows := [][]string{{"policy", "training_seed", "workload_seed", "metric", "value"}}
	if len(p.Traces) > 0 {
		rows[0] = append(rows[0], traceColumn)
	}
	for c, con := range p.Contestants {
		for _, m := range metrics {
			scores, err := p.Scores(c, m)
			if err != nil {
				return nil, err
			}
			for v, row := range scores {
				for j, x := range row {
					cells := report.Cells(con.Name, con.Versions[v].TrainingSeed, p.Seeds[j], m.Name, x)
					if len(p.Traces) > 0 {
						cells = append(cells, p.Traces[p.TraceOf[j]])
					}
					rows = append(rows, cells)
				}
			}
		}
	}
	return rows, nil
}

func stepRows(p *Played) [][]string {
	head := []string{"policy", "workload_seed", "step", "time_s", rewardColumn}
	for _, q := range p.Spec.Info {
		head = append(head, q.Name)
	}
	rows := [][]string{head}
	for c, steps := range p.Steps {
		for _, s := range steps {
			row := report.Cells(p.Contestants[c].Name, s.Seed, s.Step, s.Time, s.Reward)
			for _, x := range s.Info {
				row = append(row, report.Exact(x))
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// shares are those of a distribution whose quantiles are kept (all of the millions of requests would fill the
// folder): every quarter of a percent, and finer in the upper tail, which latencies are judged by.
func shares() []float64 {
	out := lists.Make(400, func(k int) float64 { return float64(k) / 400 })
	return append(out, 0.998, 0.9985, 0.999, 0.9995, 0.9999, 0.99995, 0.99999, 1)
}

func sampleRows(p *Played) [][]string {
	rows := [][]string{{"policy", "quantity", "unit", "share_below", "value", "samples"}}
	for c, sets := range p.Samples {
		for i, set := range sets {
			sorted := slices.DeleteFunc(slices.Sorted(slices.Values(set)), math.IsNaN)
			if len(sorted) == 0 {
				continue
			}
			q := p.Spec.Samples[i]
			for _, share := range shares() {
				if share < 1 && (1-share)*float64(len(sorted)) < 1-1e-6 {
					continue // beyond the last but one sample there is nothing to see
				}
				rows = append(rows, report.Cells(p.Contestants[c].Name, q.Name, q.Unit, share, stats.Quantile(sorted, share), len(sorted)))
			}
		}
	}
	return rows
}

// Settings are what an evaluation's numbers depend on, by key: environment, workload, the section eval, and every
// policy. Evaluations with the same settings leave the same scores.
type Settings map[string]string

// Settings are those of the choice.
func (c *Choice) Settings() (Settings, error) {
	x := c.Experiment
	eval := x.Eval
	eval.Baselines = nil // each is listed as a policy
	m, err := configKeys(map[string]any{"env": x.Env.Config, "workload": x.Workload, "wrappers": x.Wrappers, "eval": eval})
	if err != nil {
		return nil, err
	}
	out := Settings{}
	flatten(out, "", m)
	out["env.id"] = x.Env.Name
	delete(out, "eval.baselines")
	for i, what := range c.played {
		out["policy "+c.Contestants[i].Name] = what
	}
	return out, nil
}

// note adds what a contestant is to the choice's settings.
func (c *Choice) note(contestant int, what string) {
	if contestant == len(c.played) {
		c.played = append(c.played, what)
		return
	}
	c.played[contestant] += ", " + what
}

// Digest is the same for the same settings.
func (s Settings) Digest() string {
	h := sha256.New()
	for _, k := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(h, "%q %q\n", k, s[k])
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:16])
}

// differences from the settings there, a line each.
func (s Settings) differences(there Settings) []string {
	keys := maps.Clone(s)
	maps.Copy(keys, there)
	value := func(of Settings, k string) string {
		if v, ok := of[k]; ok {
			return v
		}
		return "nothing"
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if a, b := value(there, k), value(s, k); a != b {
			out = append(out, fmt.Sprintf("%s: %s there, %s now", k, a, b))
		}
	}
	return out
}

// listedDifferences is the most that an error names.
const listedDifferences = 8

// May reports whether an evaluation with the settings may be written to dir: nothing is there, or one with the same
// settings. Else it is refused with what differs; with force it may all the same, and replaced says what is lost.
func (s Settings) May(dir string, force bool) (replaced string, err error) {
	old, err := ReadSummary(dir)
	var why []string
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		why = []string{err.Error()}
	case old.SettingsDigest == s.Digest():
		return "", nil
	case len(old.Settings) == 0:
		why = []string{"it was made by an older version, which did not record its settings"}
	default:
		why = s.differences(old.Settings)
	}
	if n := len(why); n > listedDifferences {
		why = append(why[:listedDifferences], fmt.Sprintf("and %d more", n-listedDifferences))
	}
	text := "\n  " + strings.Join(why, "\n  ")
	file := filepath.Join(dir, SummaryFile)
	if force {
		return fmt.Sprintf("replaces %s, an evaluation with other settings:%s", file, text), nil
	}
	return "", train.Usage("%s is of an evaluation with other settings, which is not overwritten:%s\n"+
		"Keep both with --out DIR, or replace it with --force.", file, text)
}
