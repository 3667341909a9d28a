package explain

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/eval/table"
)

// Files that Write leaves.
const (
	File          = "explain.json"
	FeaturesFile  = "features.csv"
	DecisionsFile = "decisions.csv"
	AttentionFile = "attention.csv"
	figureName    = "features"
	attentionName = "attention"
)

// Write writes explain.json, the tables as CSV and the figure into dir, and returns the files' names.
func Write(dir string, e *Explanation) ([]string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	b, err := table.JSON(e)
	if err != nil {
		return nil, err
	}
	if err := durable.WriteFile(durable.OS{}, filepath.Join(dir, File), b); err != nil {
		return nil, err
	}
	files := []string{File}
	for _, t := range []struct {
		name string
		rows [][]string
	}{{FeaturesFile, e.featureRows()}, {DecisionsFile, e.decisionRows()}, {AttentionFile, e.attentionRows()}} {
		if err := table.WriteFile(dir, t.name, t.rows); err != nil {
			return nil, err
		}
		if len(t.rows) > 1 {
			files = append(files, t.name)
		}
	}
	drawn, err := e.figure().Save(dir, figureName)
	files = append(files, drawn...)
	if err == nil && len(e.Attention) > 0 {
		drawn, err = e.attentionFigure().Save(dir, attentionName)
		files = append(files, drawn...)
	}
	for i, f := range files {
		files[i] = filepath.Join(dir, f)
	}
	return files, err
}

func itoa(i int) string { return strconv.Itoa(i) }

func number(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

func (i Interval) cells() []string { return []string{number(i.Value), number(i.Low), number(i.High)} }

func (e *Explanation) featureRows() [][]string {
	rows := [][]string{{
		"feature", "unit", "share", "share_lo", "share_hi", "first_rank", "last_rank",
		"own", "own_lo", "own_hi", "others", "others_lo", "others_hi",
		"decision_moved", "return_lost", "return_lost_lo", "return_lost_hi",
	}}
	for _, f := range e.Features {
		row := append([]string{f.Name, f.Unit}, f.Share.cells()...)
		row = append(append(row, itoa(f.Ranks[0]), itoa(f.Ranks[1])), f.Own.cells()...)
		row = append(append(row, f.Others.cells()...), number(f.Moved))
		if f.Lost == nil {
			row = append(row, "", "", "")
		} else {
			row = append(row, f.Lost.cells()...)
		}
		rows = append(rows, row)
	}
	return rows
}

func (e *Explanation) decisionRows() [][]string {
	rows := [][]string{{
		"agent", "component", "component_unit", "of", "feature", "unit",
		"effect", "effect_lo", "effect_hi", "share", "share_lo", "share_hi", "slope",
	}}
	for _, d := range e.Decisions {
		for _, a := range d.By {
			row := append([]string{itoa(d.Agent), d.Component, d.Unit, itoa(a.Of), a.Feature, a.Unit}, a.Effect.cells()...)
			rows = append(rows, append(append(row, a.Share.cells()...), number(a.Slope)))
		}
	}
	return rows
}

func percent(i Interval) string {
	if i == (Interval{}) {
		return "–"
	}
	return fmt.Sprintf("%.1f %% [%.1f, %.1f]", 100*i.Value, 100*i.Low, 100*i.High)
}

// Text writes the explanation as tables, with the top largest attributions of each decision.
func Text(w io.Writer, e *Explanation, top int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s: %d × %s, %d states of %d episodes, mean return %.4g\n\n",
		e.Policy, e.Env, e.Agents, e.Agent, e.States, e.Episodes, e.Return)
	if note := e.tooFew(); note != "" {
		b.WriteString(note + "\n\n")
	}
	b.WriteString("What drives decisions: shares of integrated gradients with 95 % intervals, and the ranks that these " +
		"leave open; shuffled: effect of the feature's value from another state\n")
	rows := [][]string{{"rank", "feature", "unit", "own", "others'", "shuffled: decision moves"}}
	if len(e.Features) > 0 && e.Features[0].Lost != nil {
		rows[0] = append(rows[0], "shuffled: return lost")
	}
	for _, f := range e.Features {
		row := []string{f.rank(), f.Name, f.Unit, percent(f.Own), percent(f.Others), fmt.Sprintf("%.2f sd", f.Moved)}
		if f.Lost != nil {
			row = append(row, fmt.Sprintf("%.3g [%.3g, %.3g]", f.Lost.Value, f.Lost.Low, f.Lost.High))
		}
		rows = append(rows, row)
	}
	b.WriteString(table.Columns(rows, false))
	fmt.Fprintf(&b, "Integrated gradients leave %.1f %% unexplained (numerical error); "+
		"rank correlation with the effect of shuffling: %.2f (Spearman).\n", 100*e.Unexplained, e.Agreement)
	b.WriteString("\nEach decision, its largest shares, and whether it rises (↑) or falls (↓) as the feature rises\n")
	rows = nil
	for _, d := range e.Decisions {
		var parts []string
		for _, a := range d.By[:min(top, len(d.By))] {
			whose := "own"
			if a.Of != d.Agent {
				whose = e.agent(a.Of) + "'s"
			}
			parts = append(parts, fmt.Sprintf("%s %s %.0f %%%s", whose, a.Feature, 100*a.Share.Value, arrow(d.Choice, a.Slope)))
		}
		if len(parts) == 0 {
			parts = []string{"nothing: it never changes"}
		}
		rows = append(rows, []string{e.agent(d.Agent), d.Component, strings.Join(parts, ", ")})
	}
	b.WriteString(table.Columns(rows, false))
	e.attentionText(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// agent is what an agent is called: its name, or its kind and number.
func (e *Explanation) agent(i int) string {
	return nameOr(e.Names, i, fmt.Sprintf("%s %d", e.Agent, i))
}

// tooFew says that the episodes are too few to rank any two features; empty where they are not.
func (e *Explanation) tooFew() string {
	if e.Ranked || len(e.Features) < 2 {
		return ""
	}
	return fmt.Sprintf("Too few episodes to rank anything: with %d of them the intervals of all %d features overlap. The order "+
		"below may be chance; take more episodes, as in --seeds 1-%d.", e.Episodes, len(e.Features), max(20, 3*e.Episodes))
}

// rank is the rank of a feature, or from which to which.
func (f *Feature) rank() string {
	if f.Ranks[0] == f.Ranks[1] {
		return itoa(f.Ranks[0])
	}
	return fmt.Sprintf("%d–%d", f.Ranks[0], f.Ranks[1])
}

// arrow is the direction in which a decision moves as the feature rises; discrete components have none.
func arrow(choice bool, slope float64) string {
	switch {
	case choice:
		return ""
	case slope < 0:
		return " ↓"
	}
	return " ↑"
}
