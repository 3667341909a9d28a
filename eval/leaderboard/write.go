package leaderboard

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/internal/words"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/train/sweep"
)

// heading says what is ranked, in two lines.
func (b *Board) heading() string {
	return fmt.Sprintf("%s: %s × %s in %s\n%s", b.Sweep, report.Count(len(b.Arms), "arm"), report.Count(len(b.Seeds), "seed"), b.Env,
		b.measured())
}

// measured says what the numbers are.
func (b *Board) measured() string {
	unit := words.Unit(b.Metric.Name, b.Metric.Unit)
	if unit != "" {
		unit = " (" + unit + ")"
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
	return append([]string{"rank"}, lists.From(b.Keys, func(k string) string { return configs.ShortKey(k, b.Keys) })...)
}

// values are those of the arm's settings.
func (a *Arm) values() []string {
	return lists.From(a.Settings, func(s sweep.Setting) string { return s.Value })
}

// begins are the arm's cells in them.
func (a *Arm) begins() []string {
	rank := "–"
	if a.Rank > 0 {
		rank = fmt.Sprint(a.Rank)
	}
	return append([]string{rank}, a.values()...)
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
		out = append(out, files...)
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
		row := report.Cells(a.Rank, a.Name, a.values())
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
