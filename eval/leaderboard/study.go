package leaderboard

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/internal/words"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/train"
	"github.com/stoker-rl/stoker/train/sweep"
)

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

// drawFront draws the trials of a study of two metrics.
func (b *Board) drawFront() *chart.Figure {
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
	return &chart.Figure{Title: fmt.Sprintf("%s and %s of the trials of %s", b.Study.Metrics[0], b.Study.Metrics[1], b.Sweep),
		Under: b.when(), Panels: []*chart.Panel{p}, Columns: 1, Width: 460 * vg.Points(1), Height: 320 * vg.Points(1),
		Key: []chart.Entry{{Text: "a trial", Style: trial, Dot: true},
			{Text: "no other trial is better in both", Style: best, Dot: true, Line: true}}}
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
		formats[i] = report.Fit(lists.From(b.Arms, func(a Arm) report.Estimate { return report.Point(float64(a.Scores[i])) }), 0, false)
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
