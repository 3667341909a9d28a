package explain

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Files that Write leaves.
const (
	File          = "explain.json"
	FeaturesFile  = "features.csv"
	DecisionsFile = "decisions.csv"
	AttentionFile = "attention.csv"
	figureName    = "features"
)

// Write writes explain.json, the tables as CSV and the figure into dir, and returns the files' names.
func Write(dir string, e *Explanation) ([]string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	b, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, File), append(b, '\n'), 0o666); err != nil {
		return nil, err
	}
	files := []string{File}
	for _, t := range []struct {
		name string
		rows [][]string
	}{{FeaturesFile, e.featureRows()}, {DecisionsFile, e.decisionRows()}, {AttentionFile, e.attentionRows()}} {
		if len(t.rows) < 2 {
			continue
		}
		if err := writeCSV(filepath.Join(dir, t.name), t.rows); err != nil {
			return nil, err
		}
		files = append(files, t.name)
	}
	drawn, err := e.figure().Save(dir, figureName)
	files = append(files, drawn...)
	for i, f := range files {
		files[i] = filepath.Join(dir, f)
	}
	return files, err
}

func writeCSV(path string, rows [][]string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(csv.NewWriter(f).WriteAll(rows), f.Close())
}

func itoa(i int) string { return strconv.Itoa(i) }

func number(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

func (i Interval) cells() []string { return []string{number(i.Value), number(i.Low), number(i.High)} }

func (e *Explanation) featureRows() [][]string {
	rows := [][]string{{"feature", "unit", "own", "own_lo", "own_hi", "others", "others_lo", "others_hi", "decision_moved", "return_lost", "return_lost_lo", "return_lost_hi"}}
	for _, f := range e.Features {
		row := append([]string{f.Name, f.Unit}, f.Own.cells()...)
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
	rows := [][]string{{"agent", "component", "component_unit", "of", "feature", "unit", "effect", "effect_lo", "effect_hi", "share", "share_lo", "share_hi", "slope"}}
	for _, d := range e.Decisions {
		for _, a := range d.By {
			row := append([]string{itoa(d.Agent), d.Component, d.Unit, itoa(a.Of), a.Feature, a.Unit}, a.Effect.cells()...)
			rows = append(rows, append(append(row, a.Share.cells()...), number(a.Slope)))
		}
	}
	return rows
}

func (e *Explanation) attentionRows() [][]string {
	rows := [][]string{{"agent", "to", "weight", "lo", "hi"}}
	for _, l := range e.Attention {
		rows = append(rows, append([]string{itoa(l.Agent), itoa(l.To)}, l.Weight.cells()...))
	}
	return rows
}

func percent(i Interval) string {
	if i == (Interval{}) {
		return "–"
	}
	return fmt.Sprintf("%.1f %% [%.1f, %.1f]", 100*i.Value, 100*i.Low, 100*i.High)
}

// Text is the explanation as a table, with the top weightiest numbers of each decision.
func Text(w io.Writer, e *Explanation, top int) error {
	fmt.Fprintf(w, "%s in %s: %d × %s, %d states of %d episodes, mean return %.4g\n\n", e.Policy, e.Env, e.Agents, e.Agent, e.States, e.Episodes, e.Return)
	fmt.Fprintln(w, "What drives decisions: shares of integrated gradients with 95 % intervals; shuffled: what a feature of another state does")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := "feature\tunit\town\tothers'\tshuffled: decision moves"
	if len(e.Features) > 0 && e.Features[0].Lost != nil {
		head += "\tshuffled: return lost"
	}
	fmt.Fprintln(t, head)
	for _, f := range e.Features {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%.2f sd", f.Name, f.Unit, percent(f.Own), percent(f.Others), f.Moved)
		if f.Lost != nil {
			fmt.Fprintf(t, "\t%.3g [%.3g, %.3g]", f.Lost.Value, f.Lost.Low, f.Lost.High)
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "Gradients leave %.1f %% of decisions' distance from the mean state's unexplained; ranks agree with shuffled decisions: Spearman %.2f.\n", 100*e.Unexplained, e.Agreement)
	fmt.Fprintln(w, "\nEach decision, what weighs most, and which way it goes as that rises")
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, d := range e.Decisions {
		var parts []string
		for _, a := range d.By[:min(top, len(d.By))] {
			whose := "own"
			if a.Of != d.Agent {
				whose = fmt.Sprintf("%s %d's", e.Agent, a.Of)
			}
			parts = append(parts, fmt.Sprintf("%s %s %.0f %%%s", whose, a.Feature, 100*a.Share.Value, arrow(d.Choice, a.Slope)))
		}
		if len(parts) == 0 {
			parts = []string{"nothing: it is always the same"}
		}
		fmt.Fprintf(t, "%s %d\t%s\t%s\n", e.Agent, d.Agent, d.Component, strings.Join(parts, ", "))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return attentionText(w, e)
}

// arrow says which way a decision goes as a number rises; choices go no way.
func arrow(choice bool, slope float64) string {
	switch {
	case choice:
		return ""
	case slope < 0:
		return " ↓"
	}
	return " ↑"
}

func attentionText(w io.Writer, e *Explanation) error {
	if len(e.Attention) == 0 {
		return nil
	}
	fmt.Fprintln(w, "\nAttention: the mean weight of each neighbour")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := range e.Agents {
		var parts []string
		for _, l := range e.Attention {
			if l.Agent == i {
				parts = append(parts, fmt.Sprintf("%s %d %.2f [%.2f, %.2f]", e.Agent, l.To, l.Weight.Value, l.Weight.Low, l.Weight.High))
			}
		}
		if len(parts) > 0 {
			fmt.Fprintf(t, "%s %d\t%s\n", e.Agent, i, strings.Join(parts, ", "))
		}
	}
	return t.Flush()
}
