package leaderboard

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/internal/words"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/train"
	"github.com/stoker-rl/stoker/train/sweep"
)

// heading says what is ranked, in two lines.
func (b *Board) heading() string {
	return fmt.Sprintf("%s: %s × %s in %s\n%s", b.Sweep, report.Count(len(b.Arms), "arm"), report.Count(len(b.Seeds), "seed"), b.Env,
		b.measured())
}

// measured says what the numbers are.
func (b *Board) measured() string {
	unit := ""
	if b.Metric.Unit != "" && b.Metric.Unit != "1" && b.Metric.Unit != b.Metric.Name {
		unit = " (" + b.Metric.Unit + ")"
	}
	direction := "higher"
	if b.Metric.Better == envs.Lower {
		direction = "lower"
	}
	order := ""
	if b.Study != nil && b.Study.Asynchronous {
		order = "; trials were promoted as scores arrived: in another order others may be"
	}
	return fmt.Sprintf("%s%s, %s is better: %s%s", b.Metric.Name, unit, direction, b.when(), order)
}

// when says of which moment of the runs the values are.
func (b *Board) when() string {
	switch {
	case b.Study != nil:
		return fmt.Sprintf("mean over workload seeds %s of the training's part", b.Study.ScoreSeeds)
	case strings.HasPrefix(b.Tag, "rollout/"):
		return "mean of the last training episodes"
	case b.At == Last:
		return "last evaluation during training"
	}
	return "evaluation during training, at each run's best checkpoint"
}

// head are the first columns of a table of arms: the rank and the settings.
func (b *Board) head() []string {
	out := []string{"rank"}
	for _, k := range b.Keys {
		out = append(out, configs.ShortKey(k, b.Keys))
	}
	return out
}

// begins are the arm's cells in them.
func (a *Arm) begins() []string {
	out := []string{"–"}
	if a.Rank > 0 {
		out[0] = fmt.Sprint(a.Rank)
	}
	for _, s := range a.Settings {
		out = append(out, s.Value)
	}
	return out
}

// Text is the board for a terminal.
func (b *Board) Text() string {
	if b.Study != nil {
		return b.studyText()
	}
	head := append(b.head(), "seeds", "mean", "IQM", "low", "high", "last", "runs")
	rows := [][]string{head}
	var all []report.Estimate
	for _, a := range b.Arms {
		if a.Seeds > 0 {
			all = append(all, report.Between(a.Mean, a.Low, a.High))
		}
	}
	f := report.Fit(all, 0, false)
	for _, a := range b.Arms {
		row := append(a.begins(), fmt.Sprintf("%d/%d", a.Seeds, len(a.Runs)), f.Number(float64(a.Mean)), f.Number(float64(a.IQM)),
			f.Number(float64(a.Low)), f.Number(float64(a.High)), f.Number(float64(a.LastMean)), a.Name+"-s*")
		rows = append(rows, row)
	}
	return b.under(rows)
}

// under is the table with what there is to say of single runs.
func (b *Board) under(rows [][]string) string {
	var t strings.Builder
	fmt.Fprintf(&t, "%s\n\n%s", b.heading(), report.Columns(rows, true))
	for _, line := range b.unfinished() {
		fmt.Fprintf(&t, "\n%s", line)
	}
	for _, a := range b.Arms {
		for _, r := range a.Runs {
			if r.Status == sweep.Failed {
				line, _, _ := strings.Cut(r.Error, "\n")
				fmt.Fprintf(&t, "\nfailed: %s: %s", r.Folder, line)
			}
		}
	}
	return strings.TrimRight(t.String(), "\n") + "\n"
}

// Caution says what the winner's numbers are worth, empty where there is no winner.
func (b *Board) Caution() string {
	w := b.Winner
	if w == nil {
		return ""
	}
	ranked := 0
	for _, a := range b.Arms {
		ranked = max(ranked, a.Rank)
	}
	if ranked < 2 {
		return "there is one arm with results: nothing to choose from"
	}
	seeds := "seeds"
	if len(b.Seeds) == 1 {
		seeds = "seed"
	}
	text := fmt.Sprintf("%s is the best of %d arms by the same %s: its numbers are optimistic", w.Name, ranked, seeds)
	if len(b.Seeds) > 1 && w.Overlap > 0 {
		text += fmt.Sprintf(", and its range over seeds meets those of %s", report.Count(w.Overlap, "other arm"))
	}
	if missing := len(b.Arms[0].Runs) - b.Arms[0].Seeds; missing > 0 {
		text += fmt.Sprintf(", and %s of it without a result", report.Count(missing, "run"))
	}
	if len(b.Seeds) == 1 {
		text += ", and with one seed the order may be chance"
	}
	return text + ". Train it with fresh seeds and compare those runs with stoker eval"
}

// Names of what Write leaves.
const (
	CSVFile  = "leaderboard.csv"
	JSONFile = "leaderboard.json"
	// EffectsFolder holds a figure and its data for every key.
	EffectsFolder = "effects"
)

// Write leaves the board and the figures in a folder and returns the paths of the figures.
func (b *Board) Write(dir string) ([]string, error) {
	effects := filepath.Join(dir, EffectsFolder)
	if err := os.MkdirAll(effects, 0o777); err != nil {
		return nil, err
	}
	f := report.Into(dir)
	f.JSON(JSONFile, b)
	f.CSV(CSVFile, b.rows())
	if _, err := f.Files(); err != nil {
		return nil, err
	}
	out, err := b.writeStudy(dir)
	if err != nil {
		return out, fmt.Errorf("the study's page: %w", err)
	}
	for _, k := range b.Keys {
		files, err := b.effect(k, effects)
		if err != nil {
			return out, fmt.Errorf("effect of %s: %w", k, err)
		}
		for _, f := range files {
			out = append(out, filepath.Join(effects, f))
		}
	}
	return out, nil
}

// rows is the board for programs.
func (b *Board) rows() [][]string {
	head := append(append([]string{"rank", "arm"}, b.Keys...), "metric", "seeds", "failed", "mean", "iqm", "low", "high",
		"last_mean")
	if b.Study != nil {
		head = append(append(head, "rung", "steps"), b.Study.Metrics...)
	}
	rows := [][]string{head}
	for _, a := range b.Arms {
		row := report.Cells(a.Rank, a.Name)
		for _, s := range a.Settings {
			row = append(row, s.Value)
		}
		failed := 0
		for _, r := range a.Runs {
			if r.Status == sweep.Failed {
				failed++
			}
		}
		row = report.Cells(row, b.Metric.Name, a.Seeds, failed, float64(a.Mean), float64(a.IQM), float64(a.Low),
			float64(a.High), float64(a.LastMean))
		if b.Study != nil {
			row = report.Cells(row, a.Rung, a.Steps)
			for _, v := range a.Scores {
				row = report.Cells(row, float64(v))
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// AtScore is Board.At of a study: its trials are ranked by their scores.
const AtScore = "score"

// studied makes the board that of a study, whose trials have no other numbers than their scores.
func (b *Board) studied(s *sweep.Sweep, metric, at string) error {
	t := s.Plan.Study
	if metric != "" && !slices.Contains(t.Metrics, metric) {
		return train.Usage("--metric is %q, but the study %s has scored %s", metric, b.Sweep, strings.Join(t.Metrics, ", "))
	}
	if at == Last {
		return train.Usage("--at is for sweeps; the study %s is ranked by its scores", b.Sweep)
	}
	b.Study, b.At, b.Tag = t, AtScore, ""
	if len(s.Arms) > 0 {
		b.Rungs = s.Plan.Rungs(s.Arms[0].Steps)
	}
	return nil
}

// scored takes a run's value from its last score.
func (b *Board) scored(r *Run) {
	if n := len(r.Scores); n > 0 {
		if v := r.Scores[n-1].Values[slices.Index(b.Study.Metrics, b.Metric.Name)]; v != nil {
			r.Value, r.Step, r.Last = eval.Number(*v), r.Scores[n-1].Steps, eval.Number(*v)
		}
	}
}

// climbed says how far a trial came. One that has failed with a training seed has no score.
func (b *Board) climbed(a *Arm) {
	sums := make([][]float64, len(b.Study.Metrics))
	for _, r := range a.Runs {
		n := len(r.Scores)
		if n == 0 {
			continue
		}
		last := r.Scores[n-1]
		a.Rung, a.Steps = max(a.Rung, last.Rung), max(a.Steps, last.Steps)
		for i, v := range last.Values {
			x := math.NaN()
			if v != nil {
				x = *v
			}
			sums[i] = append(sums[i], x)
		}
	}
	for _, x := range sums {
		a.Scores = append(a.Scores, eval.Number(stats.Mean(x)))
	}
	if !report.Finite(float64(a.Scores[0])) {
		a.Seeds, a.Mean = 0, eval.Number(math.NaN())
	}
}

// front marks the trials that no other of the last rung beats, where there are two metrics or more.
func (b *Board) front() {
	if b.Study == nil || len(b.Study.Metrics) < 2 {
		return
	}
	beats := func(p, q Arm) bool {
		better := false
		for i, d := range b.Study.Better {
			x, y := float64(p.Scores[i]), float64(q.Scores[i])
			if d == envs.Higher {
				x, y = -x, -y
			}
			if !(x <= y) {
				return false
			}
			better = better || x < y
		}
		return better
	}
	last := func(a Arm) bool { return a.Rung == b.Rungs && a.Seeds > 0 }
	for i, a := range b.Arms {
		b.Arms[i].Front = last(a) && !slices.ContainsFunc(b.Arms, func(o Arm) bool { return last(o) && beats(o, a) })
	}
}

// drawFront draws the trials of a study of two metrics, and returns the figure's files.
func (b *Board) drawFront(dir string) (out []string, err error) {
	if b.Study == nil || len(b.Study.Metrics) != 2 {
		return nil, nil
	}
	p := chart.NewPanel("", words.Label(b.Study.Metrics[0], ""), words.Label(b.Study.Metrics[1], ""))
	trial, best := chart.Styles(5), chart.Styles(1)
	var front []Arm
	for _, a := range b.Arms {
		switch {
		case a.Front:
			front = append(front, a)
		case a.Seeds > 0:
			p.Cross(trial, chart.Exactly(float64(a.Scores[0])), chart.Exactly(float64(a.Scores[1])))
		}
	}
	slices.SortStableFunc(front, func(p, q Arm) int {
		if p.Scores[0] < q.Scores[0] {
			return -1
		}
		return 1
	})
	var x, y []float64
	for _, a := range front {
		x, y = append(x, float64(a.Scores[0])), append(y, float64(a.Scores[1]))
		p.Cross(best, chart.Exactly(float64(a.Scores[0])), chart.Exactly(float64(a.Scores[1])))
	}
	p.Line(best, x, y, false)
	f := &chart.Figure{Title: fmt.Sprintf("%s and %s of the trials of %s", b.Study.Metrics[0], b.Study.Metrics[1], b.Sweep),
		Under: b.when(), Panels: []*chart.Panel{p}, Columns: 1, Width: 460 * vg.Points(1), Height: 320 * vg.Points(1),
		Key: []chart.Entry{{Text: "a trial", Style: trial, Dot: true},
			{Text: "no other trial is better in both", Style: best, Dot: true, Line: true}}}
	files, err := f.Save(dir, "front")
	for _, name := range files {
		out = append(out, filepath.Join(dir, name))
	}
	return out, err
}

// studyText is Text of a study.
func (b *Board) studyText() string {
	text := b.under(b.studyRows())
	if w := b.weights(); w != "" {
		text += "\n" + w + "\n"
	}
	return text
}

// studyRows is the table of a study.
func (b *Board) studyRows() [][]string {
	head := append(b.head(), "rung", "steps", "seeds")
	formats := make([]report.Format, len(b.Study.Metrics))
	for i := range formats {
		var all []report.Estimate
		for _, a := range b.Arms {
			all = append(all, report.Point(float64(a.Scores[i])))
		}
		formats[i] = report.Fit(all, 0, false)
	}
	head = append(head, b.Study.Metrics...)
	rows := [][]string{append(head, "front", "runs")}
	for _, a := range b.Arms {
		row := append(a.begins(), fmt.Sprintf("%d/%d", a.Rung, b.Rungs), fmt.Sprint(a.Steps), fmt.Sprintf("%d/%d", a.Seeds, len(a.Runs)))
		for i, f := range formats {
			row = append(row, f.Number(float64(a.Scores[i])))
		}
		rows = append(rows, append(row, map[bool]string{true: "*"}[a.Front], a.Name+"-s*"))
	}
	if len(b.Study.Metrics) < 2 {
		for i := range rows {
			rows[i] = slices.Delete(rows[i], len(rows[i])-2, len(rows[i])-1)
		}
	}
	return rows
}
