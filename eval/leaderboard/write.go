package leaderboard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/eval/table"
	"github.com/stoker-rl/stoker/train/sweep"
)

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
	text, err := table.JSON(b)
	if err == nil {
		err = durable.WriteFile(durable.OS{}, filepath.Join(dir, JSONFile), text)
	}
	if err = errors.Join(err, table.WriteFile(dir, CSVFile, b.rows())); err != nil {
		return nil, err
	}
	var out []string
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
	rows := [][]string{head}
	for _, a := range b.Arms {
		row := []string{fmt.Sprint(a.Rank), a.Name}
		for _, s := range a.Settings {
			row = append(row, s.Value)
		}
		failed := 0
		for _, r := range a.Runs {
			if r.Status == sweep.Failed {
				failed++
			}
		}
		row = append(row, b.Metric.Name, fmt.Sprint(a.Seeds), fmt.Sprint(failed))
		for _, x := range []float64{float64(a.Mean), float64(a.IQM), float64(a.Low), float64(a.High), float64(a.LastMean)} {
			row = append(row, table.Exact(x))
		}
		rows = append(rows, row)
	}
	return rows
}
