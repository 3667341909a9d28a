// Package leaderboard ranks the arms of a sweep and draws the effect of each key.
//
// [Read] takes the values from the run folders' metrics.jsonl, so that a board can be made while a sweep is under way,
// after it, and by other metrics than the first. [Board.Write] leaves leaderboard.csv, leaderboard.json and, for every
// key that was varied, effects/KEY.png, .svg, .pdf and .csv; [Board.Text] is the table for a terminal.
//
// The values are those of evaluations during training. What they can't say is whether the best arm would be best
// again: it was chosen for them. Package eval compares policies that are trained with fresh seeds.
package leaderboard

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/train"
	"github.com/stoker-rl/stoker/train/sweep"
)

// When a run's value is taken.
const (
	// Best is the evaluation that decided the run's best checkpoint.
	Best = "best"
	// Last is the last evaluation, or the last log line where there are no evaluations.
	Last = "last"
)

// Board is the ranking of a sweep's arms.
type Board struct {
	// Sweep is the name of its folder.
	Sweep  string      `json:"sweep"`
	Config string      `json:"config"`
	Env    string      `json:"env"`
	Metric eval.Metric `json:"metric"`
	// Tag is the metric's name in metrics.jsonl, At when the values are taken: Best or Last.
	Tag   string   `json:"tag"`
	At    string   `json:"at"`
	Keys  []string `json:"keys"`
	Seeds []uint64 `json:"seeds"`
	// Arms are in the order of their mean, the best first; those without a value come last.
	Arms []Arm `json:"arms"`
	// Winner is absent where no run is finished.
	Winner *Winner `json:"winner,omitempty"`
	// Study is how the trials were scored, absent where the sweep is none; Rungs is the number of its rungs.
	Study *sweep.Study `json:"study,omitempty"`
	Rungs int          `json:"rungs,omitempty"`
	// Importance is that of the keys for the order of a study's trials at rung WeighedAt, the most important first.
	Importance []Importance `json:"importance,omitempty"`
	WeighedAt  int          `json:"importance_at_rung,omitempty"`

	log   map[string]bool // keys drawn evenly over the logarithm
	grid  map[string]bool // keys with a few values given
	order map[string]int  // arms by name, as planned
}

// Arm is a row. Numbers are over the seeds whose run is finished; null where there is none.
type Arm struct {
	// Rank begins at 1; 0 is none.
	Rank     int             `json:"rank"`
	Name     string          `json:"name"`
	Settings []sweep.Setting `json:"settings"`
	// Seeds is the number of values.
	Seeds int         `json:"seeds"`
	Mean  eval.Number `json:"mean"`
	IQM   eval.Number `json:"iqm"`
	Low   eval.Number `json:"low"`
	High  eval.Number `json:"high"`
	// LastMean is the mean of the last values, whatever At is.
	LastMean eval.Number `json:"last_mean"`
	// Rung and Steps are the last at which a study has scored the trial, Scores the means there of the study's metrics.
	// Front says that no other trial is better by one metric and no worse by another.
	Rung   int           `json:"rung,omitempty"`
	Steps  int64         `json:"steps,omitempty"`
	Scores []eval.Number `json:"scores,omitempty"`
	Front  bool          `json:"front,omitempty"`
	Runs   []Run         `json:"runs"`
}

// Run is a run of an arm.
type Run struct {
	sweep.Run
	// Value is the metric's, at Step; null where the run is not finished or has none.
	Value eval.Number `json:"value"`
	Step  int64       `json:"step"`
	Last  eval.Number `json:"last"`
}

// Winner is the best arm.
type Winner struct {
	Name string `json:"name"`
	// Command trains it with seeds that the sweep has not used.
	Command []string `json:"command"`
	// Overlap is the number of other arms whose range over seeds meets the winner's.
	Overlap int `json:"overlap"`
}

// MetricOf is the metric that a sweep of an experiment is ranked by: the one of a name, or that which decides the best
// checkpoint where the name is empty. A name that the environment does not report, or of which neither direction is
// better, is an error marked as train.ErrUsage.
func MetricOf(x *configs.Experiment, name string) (eval.Metric, error) {
	if name == "" {
		name = x.Train.Evaluate.Metric
	}
	env, err := train.NewEnv(x, "")
	if err != nil {
		return eval.Metric{}, err
	}
	list, err := eval.Metrics(env.Spec(), []string{name})
	if err != nil {
		return eval.Metric{}, train.Usage("%w", err)
	}
	if list[0].Better == envs.Neither {
		return eval.Metric{}, train.Usage("metric %q can't rank arms: neither direction of it is better", name)
	}
	return list[0], nil
}

// Read makes the board of a sweep. An empty metric is the sweep's own; at is Best or Last.
func Read(s *sweep.Sweep, metric, at string) (*Board, error) {
	if at != Best && at != Last {
		return nil, train.Usage("--at is %q, want %s or %s", at, Best, Last)
	}
	x, err := s.Base()
	if err != nil {
		return nil, err
	}
	m, err := MetricOf(x, cmp.Or(metric, s.Plan.Metric))
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(s.Dir)
	if err != nil {
		return nil, err
	}
	b := &Board{Sweep: filepath.Base(dir), Config: s.Plan.Config, Env: x.Env.Name, Metric: m, At: at,
		Tag: train.EvalMetric(m.Name), Keys: s.Plan.Keys(), Seeds: s.Plan.Seeds, log: map[string]bool{},
		grid:  map[string]bool{},
		order: map[string]int{}}
	if x.Train.Evaluate.Every == 0 {
		b.At, b.Tag = Last, "rollout/"+m.Name
		if m.Name == train.Return {
			b.Tag = "rollout/ep_rew_mean"
		}
	}
	if s.Plan.Study != nil {
		if err := b.studied(s, metric, at); err != nil {
			return nil, err
		}
	}
	for _, a := range s.Plan.Grid {
		b.grid[a.Key] = true
	}
	for _, r := range s.Plan.Random {
		b.log[r.Key] = r.Law.Log()
	}
	decides := train.EvalMetric(x.Train.Evaluate.Metric)
	best, err := MetricOf(x, "")
	if err != nil {
		return nil, err
	}
	for i, a := range s.Arms {
		b.order[a.Name] = i
		row := Arm{Name: a.Name, Settings: a.Settings}
		for _, r := range a.Runs {
			run := Run{Run: r, Value: eval.Number(math.NaN()), Last: eval.Number(math.NaN())}
			switch {
			case b.Study != nil:
				b.scored(&run)
			case r.Status == sweep.Finished:
				b.value(&run, s.Folder(r), decides, best.Better == envs.Higher)
			}
			row.Runs = append(row.Runs, run)
		}
		row.sum()
		if b.Study != nil {
			b.climbed(&row)
		}
		b.Arms = append(b.Arms, row)
	}
	b.rank()
	b.front()
	b.weigh()
	b.crown(s)
	return b, nil
}

// value reads a run's values; higher says that more is better of what decides the best checkpoint. A run without the metric
// has none.
func (b *Board) value(r *Run, dir, decides string, higher bool) {
	c, err := eval.ReadCurve(dir, "", b.Tag)
	if err != nil || len(c.Steps) == 0 {
		return
	}
	n := len(c.Steps) - 1
	r.Value, r.Step, r.Last = eval.Number(c.Values[n]), c.Steps[n], eval.Number(c.Values[n])
	if b.At == Last {
		return
	}
	by, err := eval.ReadCurve(dir, "", decides)
	if err != nil {
		return
	}
	at := 0
	for i, v := range by.Values { // the first of the best, as the run itself chose
		if higher && v > by.Values[at] || !higher && v < by.Values[at] {
			at = i
		}
	}
	r.Value, r.Step = eval.Number(math.NaN()), by.Steps[at]
	if i := slices.Index(c.Steps, r.Step); i >= 0 {
		r.Value = eval.Number(c.Values[i])
	}
}

// sum fills in the numbers over seeds.
func (a *Arm) sum() {
	var x, last []float64
	for _, r := range a.Runs {
		if !math.IsNaN(float64(r.Value)) {
			x, last = append(x, float64(r.Value)), append(last, float64(r.Last))
		}
	}
	a.Seeds, a.Low, a.High = len(x), eval.Number(math.NaN()), eval.Number(math.NaN())
	a.Mean, a.IQM, a.LastMean = eval.Number(stats.Mean(x)), eval.Number(stats.IQM(x)), eval.Number(stats.Mean(last))
	if len(x) > 0 {
		a.Low, a.High = eval.Number(slices.Min(x)), eval.Number(slices.Max(x))
	}
}

// rank orders the arms.
func (b *Board) rank() {
	slices.SortStableFunc(b.Arms, func(p, q Arm) int {
		x, y := float64(p.Mean), float64(q.Mean)
		switch {
		case p.Seeds == 0 || q.Seeds == 0:
			return cmp.Compare(min(q.Seeds, 1), min(p.Seeds, 1))
		case p.Rung != q.Rung:
			return cmp.Compare(q.Rung, p.Rung)
		case b.Metric.Better == envs.Lower:
			return cmp.Compare(x, y)
		}
		return cmp.Compare(y, x)
	})
	for i := range b.Arms {
		if b.Arms[i].Seeds > 0 {
			b.Arms[i].Rank = i + 1
		}
	}
}

// fewest is the least number of seeds that the winner's command trains.
const fewest = 5

// crown names the winner and the command that trains it again.
func (b *Board) crown(s *sweep.Sweep) {
	if len(b.Arms) == 0 || b.Arms[0].Seeds == 0 {
		return
	}
	best := b.Arms[0]
	w := &Winner{Name: best.Name, Command: []string{"stoker", "train", b.Config}}
	for _, set := range s.Plan.Set {
		w.Command = append(w.Command, "--set", set)
	}
	for _, set := range best.Settings {
		w.Command = append(w.Command, "--set", set.String())
	}
	first := slices.Max(b.Seeds) + 1
	w.Command = append(w.Command, "--seeds", fmt.Sprintf("%d-%d", first, first+uint64(max(fewest, len(b.Seeds)))-1),
		"--name", b.Sweep+"-best")
	for _, a := range b.Arms[1:] {
		if a.Seeds > 0 && a.Rung == best.Rung && a.High >= best.Low && a.Low <= best.High {
			w.Overlap++
		}
	}
	b.Winner = w
}

// unfinished lists the runs that are not finished, as they are told: status by status.
func (b *Board) unfinished() []string {
	byStatus := map[sweep.Status][]string{}
	for _, a := range b.Arms {
		for _, r := range a.Runs {
			byStatus[r.Status] = append(byStatus[r.Status], r.Folder)
		}
	}
	var out []string
	for _, s := range []sweep.Status{sweep.Running, sweep.Stopped, sweep.Waiting, sweep.Paused} {
		if list := byStatus[s]; len(list) > 0 {
			slices.Sort(list)
			more := ""
			if len(list) > 5 {
				list, more = list[:5], fmt.Sprintf(" and %d more", len(list)-5)
			}
			out = append(out, fmt.Sprintf("%s: %s%s", s, strings.Join(list, ", "), more))
		}
	}
	return out
}
