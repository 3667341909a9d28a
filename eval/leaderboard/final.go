package leaderboard

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/train"
	"github.com/stoker-rl/stoker/train/sweep"
)

// Final is what the best trials of a study are worth, trained anew with training seeds that chose nothing.
type Final struct {
	Sweep  string      `json:"sweep"`
	Metric eval.Metric `json:"metric"`
	// ScoreSeeds are the workload seeds of the search, TestSeeds those of the evaluation, in the part Split of the workload.
	ScoreSeeds string   `json:"score_seeds"`
	TestSeeds  string   `json:"test_seeds"`
	Split      string   `json:"split"`
	Seeds      []uint64 `json:"training_seeds"`
	// Rows are the configuration itself, then the trials in the order of the search.
	Rows []FinalRow `json:"rows"`
}

// FinalRow is a trial, or the configuration itself.
type FinalRow struct {
	Name     string          `json:"name"`
	Settings []sweep.Setting `json:"settings,omitempty"`
	// Search is the score in the search, after Steps; null for the configuration itself.
	Search eval.Number `json:"search"`
	Steps  int64       `json:"search_steps,omitempty"`
	// After is the mean score of the runs trained anew, on the workload seeds of the search, with its interval over
	// training seeds. Difference is After less Search: how much of the score in the search was luck. It is null for a trial
	// that was stopped early, whose score is of fewer steps.
	After      Span        `json:"after"`
	Difference eval.Number `json:"difference"`
	// Test is the mean in the evaluation, and OverBase its difference from the configuration itself; null for that.
	Test     Span `json:"test"`
	OverBase Span `json:"over_base"`
	// Decided says that the difference from the configuration itself is significant among all rows (Holm).
	Decided bool `json:"decided"`
}

// Span is an estimate with its 95 % interval.
type Span struct {
	Mean eval.Number `json:"mean"`
	Low  eval.Number `json:"low"`
	High eval.Number `json:"high"`
}

func span(i stats.Interval) Span {
	return Span{eval.Number(i.Point), eval.Number(i.Low), eval.Number(i.High)}
}

// ReadFinal scores and evaluates the runs of a study's final. Each policy plays in the environment of its own
// configuration, under workload seeds that are the same for all.
func ReadFinal(ctx context.Context, s, f *sweep.Sweep, names *catalog.Catalog, workers int, away *train.Elsewhere) (
	*Final, error) {
	x, err := s.Base()
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(s.Dir)
	if err != nil {
		return nil, err
	}
	t := s.Plan.Study
	out := &Final{Sweep: filepath.Base(dir), ScoreSeeds: t.ScoreSeeds, TestSeeds: x.Eval.Seeds, Split: x.Eval.Split, Seeds: f.Plan.Seeds}
	if out.Metric, err = MetricOf(x, t.Metrics[0]); err != nil {
		return nil, err
	}
	r := eval.Request{Workers: workers, Away: away}
	if r.Seeds, err = configs.ParseSeeds(x.Eval.Seeds); err != nil {
		return nil, err
	}
	chose, err := configs.ParseSeeds(t.ScoreSeeds)
	if err != nil {
		return nil, err
	}
	search := map[string]*sweep.Arm{}
	for _, a := range s.Ranked() {
		search[a.Name] = a
	}
	for _, a := range f.Arms {
		c := eval.Contestant{Name: a.Name, Kind: catalog.Learned}
		row := FinalRow{Name: a.Name, Settings: a.Settings, Search: eval.Number(math.NaN())}
		if was, ok := search[a.Name]; ok {
			scores := was.Runs[0].Scores
			row.Search, row.Steps = eval.Number(s.Value(was)), scores[len(scores)-1].Steps
		}
		var after stats.Scores
		for _, run := range a.Runs {
			if run.Status != sweep.Finished {
				return nil, fmt.Errorf("%s is %s: the final is evaluated when all of its runs are finished", f.Folder(run), run.Status)
			}
			trained, err := eval.OpenTrained(names, f.Folder(run), nil)
			if err != nil {
				return nil, err
			}
			trained.Threads = 1
			own, err := f.Experiment(a, run.Seed)
			if err != nil {
				return nil, err
			}
			score, err := train.Score(trained.Checkpoint, own, chose, out.Metric.Name)
			if err != nil {
				return nil, err
			}
			after = append(after, score)
			y := trained.Experiment
			c.NewEnv = func() (envs.Env, error) { return train.NewEnv(y, y.Eval.Split) }
			c.Versions = append(c.Versions, trained.Version(run.Folder).In(y))
		}
		row.After = span(stats.MeanOf(after, out.Metric.Bounds, x.Eval.Resamples, rng.NewStream(1, "final "+a.Name)))
		if row.Difference = eval.Number(math.NaN()); row.Steps == a.Steps {
			row.Difference = row.After.Mean - row.Search
		}
		out.Rows = append(out.Rows, row)
		r.Contestants = append(r.Contestants, c)
	}
	return out, out.evaluate(ctx, r, x.Eval.Resamples)
}

// evaluate plays the test seeds.
func (f *Final) evaluate(ctx context.Context, r eval.Request, resamples int) error {
	p, err := eval.Run(ctx, r)
	if err != nil {
		return err
	}
	all := make([]stats.Scores, len(f.Rows))
	for i := range f.Rows {
		if all[i], err = p.Sample(i, f.Metric); err != nil {
			return err
		}
		f.Rows[i].Test = span(stats.MeanOf(all[i], f.Metric.Bounds, resamples, rng.NewStream(1, "final "+f.Rows[i].Name)))
		f.Rows[i].OverBase = span(stats.Interval{Point: math.NaN(), Low: math.NaN(), High: math.NaN()})
	}
	for i, c := range stats.Compare(all[0], all[1:], f.Metric.Bounds, resamples, rng.New(1, "final against the base")) {
		d := c.Difference // of the base less the trial
		f.Rows[1+i].OverBase = span(stats.Interval{Point: -d.Point, Low: -d.High, High: -d.Low})
		f.Rows[1+i].Decided = c.Decided()
	}
	return nil
}

// Write leaves final.json and final.csv in a folder.
func (f *Final) Write(dir string) error {
	out := report.Into(dir)
	out.JSON("final.json", f)
	rows := [][]string{{"name", "settings", "search_steps", "search", "after", "after_low", "after_high", "difference", "test",
		"test_low", "test_high", "over_base", "over_base_low", "over_base_high", "decided"}}
	for _, r := range f.Rows {
		rows = append(rows, report.Cells(r.Name, r.settings(), r.Steps, r.Search, r.After.Mean, r.After.Low, r.After.High, r.Difference,
			r.Test.Mean, r.Test.Low, r.Test.High, r.OverBase.Mean, r.OverBase.Low, r.OverBase.High, r.Decided))
	}
	out.CSV("final.csv", rows)
	_, err := out.Files()
	return err
}

func (r FinalRow) settings() string {
	return strings.Join(lists.From(r.Settings, func(s sweep.Setting) string { return s.String() }), " ")
}

// Text is the final for a terminal.
func (f *Final) Text() string {
	estimate := func(s Span) report.Estimate { return report.Between(s.Mean, s.Low, s.High) }
	var all []report.Estimate
	for _, r := range f.Rows {
		all = append(all, report.Point(float64(r.Search)), report.Point(float64(r.Difference)), estimate(r.After), estimate(r.Test),
			estimate(r.OverBase))
	}
	form := report.Fit(all, 0, false)
	rows := [][]string{{"trial", "steps", "search", "after", "difference", "test", "over the base", ""}}
	for _, r := range f.Rows {
		decided := map[bool]string{true: "decided"}[r.Decided]
		over, steps := "–", "–"
		if r.Name != sweep.BaseArm {
			over, steps = form.Cell(estimate(r.OverBase), true), fmt.Sprint(r.Steps)
		}
		rows = append(rows, []string{r.Name, steps, form.Number(float64(r.Search)), form.Cell(estimate(r.After), true),
			form.Number(float64(r.Difference)), form.Cell(estimate(r.Test), true), over, decided})
	}
	direction := map[envs.Better]string{envs.Lower: "lower", envs.Higher: "higher"}[f.Metric.Better]
	return fmt.Sprintf("%s, %s is better, trained anew with seeds %d-%d; 95 %% intervals\n"+
		"search and after: workload seeds %s of the training's part; test: workload seeds %s of part %s\n\n%s", f.Metric.Name, direction,
		f.Seeds[0], f.Seeds[len(f.Seeds)-1], f.ScoreSeeds, f.TestSeeds, f.Split, report.Columns(rows, true))
}
