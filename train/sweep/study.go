package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/train"
)

// Study says how the trials of a sweep, its arms, are scored and which of them are stopped early: successive halving
// (Jamieson and Talwalkar, Non-stochastic Best Arm Identification, 2016) and Hyperband (Li et al., 2018).
//
// Trials train in batches. All trials of a batch train to its first rung, where the policy of each plays ScoreSeeds; one
// in Factor goes on to the next rung, and so on. A rung is decided when all of its trials have a score, so that no
// worker's speed changes what is trained.
type Study struct {
	// ScoreSeeds are the workload seeds on which trials are scored, in the training's part of the workload. No
	// evaluation uses them: the best of many trials is better on these seeds than on others.
	ScoreSeeds string `json:"score_seeds"`
	// Metrics are scored. The first ranks the trials. Better says which direction of each is better.
	Metrics []string      `json:"metrics"`
	Better  []envs.Better `json:"better"`
	// Halving is the number of steps of the first rung, or Seeds, where the rungs are numbers of training seeds; empty
	// trains every trial to its end.
	Halving string `json:"halving,omitempty"`
	// Factor is that of steps, or seeds, between two rungs.
	Factor int `json:"factor,omitempty"`
	// Hyperband begins batches at different rungs, in turn: many trials that begin at the first, fewer that begin later.
	Hyperband bool `json:"hyperband,omitempty"`
	// Asynchronous promotes trials as scores arrive: see [Decision].
	Asynchronous bool `json:"asha,omitempty"`
	// Propose says who proposes the trials: nobody, where it is empty (the grid, and the draws of the random ranges),
	// Halton, or a program that sees the scores of earlier batches of Batch trials.
	Propose string `json:"propose,omitempty"`
	Batch   int    `json:"batch,omitempty"`
	// Final is what [Sweep.Final] trains, as in 3x5; it changes no trial.
	Final string `json:"final,omitempty"`
}

// Seeds is the Halving over training seeds.
const Seeds = "seeds"

// studyKeys are the keys of a study, which are its flags too.
var studyKeys = []string{"score_seeds", "metrics", "halving", "factor", "hyperband", "asha", "propose", "batch"}

// LastScoreSeed is the largest workload seed that may choose between trials: those above are kept for tests.
const LastScoreSeed = 4999

// Score is what a trial's run is worth at a rung.
type Score struct {
	// Rung counts the study's rungs from 1, Steps is the number of environment steps at it.
	Rung  int   `json:"rung"`
	Steps int64 `json:"steps"`
	// Values are the means of the study's metrics; null where training failed at a step, or the mean is not finite.
	Values []*float64 `json:"values"`
}

// flat are the values of the study's keys as text.
func (s *Study) flat() map[string]string {
	b, err := json.Marshal(s)
	if err != nil {
		return nil
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		return nil
	}
	out := map[string]string{}
	for k, v := range m {
		out[k] = fmt.Sprint(v)
	}
	return out
}

// check reports what is wrong with a study.
func (s *Study) check(p *Plan, x *configs.Experiment) error {
	if s == nil {
		return nil
	}
	seeds, err := configs.ParseSeeds(s.ScoreSeeds)
	if err != nil {
		return train.Usage("--score-seeds: %w", err)
	}
	if err := s.directions(x); err != nil {
		return err
	}
	if s.Final != "" {
		if _, _, err := ParseFinal(s.Final); err != nil {
			return err
		}
	}
	kept, err := configs.ParseSeeds(x.Eval.Seeds)
	if err != nil {
		return train.Usage("eval.seeds: %w", err)
	}
	for _, n := range seeds {
		switch {
		case slices.Contains(kept, n):
			return train.Usage("--score-seeds %s has %d, a seed of eval.seeds (%s): what chooses trials can't judge them; want others, "+
				"up to %d", s.ScoreSeeds, n, x.Eval.Seeds, LastScoreSeed)
		case n > LastScoreSeed:
			return train.Usage("--score-seeds %s has %d, want at most %d: larger workload seeds are kept for tests", s.ScoreSeeds, n,
				LastScoreSeed)
		}
	}
	if err := s.checkPropose(p); err != nil {
		return err
	}
	if err := s.checkAsynchronous(); err != nil {
		return err
	}
	if s.Halving == "" {
		if s.Hyperband {
			return train.Usage("--hyperband needs --halving, the steps of the first rung, as in --halving %d", max(x.Train.Steps/9, 1))
		}
		return nil
	}
	if slices.Contains(p.Keys(), "train.steps") {
		return train.Usage("train.steps is varied, but the rungs of --halving are steps of one total; vary other keys, or leave " +
			"--halving out")
	}
	if s.Factor < 2 {
		return train.Usage("--factor is %d, want at least 2: one trial in so many goes on to the next rung", s.Factor)
	}
	if s.Halving == Seeds {
		if len(p.Seeds) < s.Factor {
			return train.Usage("--halving seeds needs at least %d training seeds, --seeds gives %d", s.Factor, len(p.Seeds))
		}
		return nil
	}
	least, err := strconv.ParseInt(s.Halving, 10, 64)
	if err != nil || least < 1 {
		return train.Usage("--halving is %q, want the steps of the first rung, as in --halving %d, or seeds", s.Halving,
			max(x.Train.Steps/9, 1))
	}
	if least > x.Train.Steps/int64(s.Factor) {
		return train.Usage("--halving is %d, which leaves one rung: want at most %d, train.steps (%d) over --factor (%d)", least,
			x.Train.Steps/int64(s.Factor), x.Train.Steps, s.Factor)
	}
	return nil
}

// directions looks up which direction of each metric is better.
func (s *Study) directions(x *configs.Experiment) error {
	env, err := train.NewEnv(x, "")
	if err != nil {
		return err
	}
	s.Better = nil
	for _, m := range s.Metrics {
		b := envs.Higher
		if m != train.Return {
			i, err := env.Spec().InfoIndex(m)
			if err != nil {
				return train.Usage("--metric: %w", err)
			}
			if b = env.Spec().Info[i].Better; b == envs.Neither {
				return train.Usage("--metric: %q can't rank trials: neither direction of it is better", m)
			}
		}
		s.Better = append(s.Better, b)
	}
	if len(s.Metrics) == 0 {
		return train.Usage("a study has no metric, want one, as in --metric %s", train.Return)
	}
	return nil
}

// sound refuses a study that this program did not write, so that all that follows can rely on it.
func (s *Sweep) sound(seal string) error {
	t := s.Plan.Study
	n := len(t.Metrics)
	ok := seal != "" && n > 0 && len(t.Better) == n && (t.Halving == "" || t.Factor >= 2) && (!t.Hyperband || t.Halving != "")
	for _, a := range s.Arms {
		ok = ok && len(a.Runs) == len(s.Plan.Seeds) && len(a.Runs) > 0 && a.Steps > 0
		for _, r := range a.Runs {
			ok = ok && !slices.ContainsFunc(r.Scores, func(x Score) bool { return len(x.Values) != n })
		}
	}
	for _, b := range s.Batches {
		for _, name := range b {
			ok = ok && slices.ContainsFunc(s.Arms, func(a Arm) bool { return a.Name == name })
		}
	}
	if !ok || !s.soundDecisions() {
		return errors.New("damaged or edited: no study that this program wrote; take it from a copy, or begin another")
	}
	return nil
}

// loss is a trial's score at a rung as a number of which less is better: +Inf where a training seed has none.
func (s *Sweep) loss(a *Arm, r rung) float64 {
	x := s.mean(a, r, 0)
	switch {
	case math.IsNaN(x):
		return math.Inf(1)
	case s.Plan.Study.Better[0] == envs.Higher:
		return -x
	}
	return x
}

// mean is a trial's mean over training seeds of a metric at a rung; NaN where a seed has none.
func (s *Sweep) mean(a *Arm, r rung, metric int) (sum float64) {
	for _, run := range a.Runs[:r.seeds] {
		for _, score := range run.Scores {
			if score.Steps != r.steps {
				continue
			}
			if score.Values[metric] == nil {
				return math.NaN()
			}
			sum += *score.Values[metric] / float64(r.seeds)
		}
	}
	return sum
}

// score plays the policy that a run has at its target, the best so far by its evaluations during training, on the score
// seeds.
func (s *Sweep) score(t target) (Score, error) {
	out := Score{Rung: t.rung, Steps: t.until}
	x, err := s.Experiment(*t.arm, t.run.Seed)
	if err != nil {
		return out, err
	}
	dir := s.Folder(*t.run)
	standing, err := train.ReadStanding(dir)
	if err != nil {
		return out, err
	}
	if standing.Steps >= t.until+int64(x.Train.Envs) {
		return out, fmt.Errorf("%s was trained to step %d outside of the study, which scores it at step %d: remove the folder, and "+
			"the study trains it again", dir, standing.Steps, t.until)
	}
	seeds, err := configs.ParseSeeds(s.Plan.Study.ScoreSeeds)
	if err != nil {
		return out, err
	}
	c, err := train.OpenCheckpoint(dir)
	if err != nil {
		return out, err
	}
	means, err := train.Score(c, x, seeds, s.Plan.Study.Metrics...)
	for _, v := range means {
		out.Values = append(out.Values, finite(v))
	}
	return out, err
}

// failure is the score of a run that fails at a step: it would fail there again.
func (s *Sweep) failure(t target) Score {
	return Score{t.rung, t.until, make([]*float64, len(s.Plan.Study.Metrics))}
}

// fails reports whether a step of the run's training failed on the way to its last rung.
func (r *Run) fails() bool {
	n := len(r.Scores)
	return n > 0 && !slices.ContainsFunc(r.Scores[n-1].Values, func(v *float64) bool { return v != nil })
}

// finite is nil where x is no number.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
