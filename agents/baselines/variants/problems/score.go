package problems

import (
	"context"
	"errors"
	"fmt"

	rules "github.com/stoker-rl/stoker/agents/baselines/variants"
	"github.com/stoker-rl/stoker/envs/frontier"
	"github.com/stoker-rl/stoker/envs/variants"
)

// Near is the share of the ideal in percent from which on an answer counts as near: OptiServe's 95 %.
const Near = 95

// Heuristic is a search with its options.
type Heuristic struct {
	Name    string
	Options rules.Options
}

// Heuristics returns those of the papers: PRCP's best of four and OptiServe's two, each as published, corrected, and
// corrected with the terms of eq. 4.7 normalised.
func Heuristics() []Heuristic {
	var out []Heuristic
	for _, preset := range []struct {
		name    string
		options rules.Options
	}{{"published", rules.Published()}, {"corrected", rules.Corrected()}, {"normalised", Normalised(rules.Corrected(), 100)}} {
		for _, s := range []struct {
			name     string
			strategy rules.Strategy
		}{{"PRCP", rules.Best}, {"BCR_max", rules.Max}, {"BCR_slope", rules.Slope}} {
			o := preset.options
			o.Strategy = s.strategy
			out = append(out, Heuristic{s.name + ", " + preset.name, o})
		}
	}
	return out
}

// Normalised returns the options with normalised terms in eq. 4.7 and a weight.
func Normalised(o rules.Options, weight float64) rules.Options {
	o.Normalise, o.Weight = true, weight
	return o
}

// Score is how near a heuristic came to the ideals of some cases.
type Score struct {
	Cases  int `json:"cases"`
	Near   int `json:"near"`   // answers of at least 95 % of the ideal
	Missed int `json:"missed"` // cases without an answer that keeps the constraints
	// Of is each case's percentage of the ideal: ideal over answer for times and costs, as OptiServe's authors count,
	// answer over ideal for accuracies. 0 is missed.
	Of []float64 `json:"-"`
}

// Share returns the percentage of near answers, of all cases.
func (s Score) Share() float64 { return 100 * float64(s.Near) / float64(s.Cases) }

// Answered returns the percentage of near answers among the cases that have an answer: the authors' program leaves out
// the others.
func (s Score) Answered() float64 {
	if s.Cases == s.Missed {
		return 0
	}
	return 100 * float64(s.Near) / float64(s.Cases-s.Missed)
}

// Mean returns the mean percentage of the ideal, of all cases.
func (s Score) Mean() float64 {
	var sum float64
	for _, x := range s.Of {
		sum += x
	}
	return sum / float64(s.Cases)
}

func (s *Score) add(of float64) {
	s.Cases++
	s.Of = append(s.Of, of)
	switch {
	case of == 0:
		s.Missed++
	case of >= Near:
		s.Near++
	}
}

// Add adds other cases' score.
func (s *Score) Add(o Score) {
	for _, x := range o.Of {
		s.add(x)
	}
}

// Only returns the score of the cases with one objective. cases are those that were judged.
func (s Score) Only(cases []Case, objective variants.Objective) Score {
	var out Score
	for i, c := range cases {
		if c.Problem.Objective == objective {
			out.add(s.Of[i])
		}
	}
	return out
}

// Judge runs a heuristic on cases.
func Judge(cases []Case, h Heuristic) (Score, error) {
	s, _, err := Answers(cases, h)
	return s, err
}

// Answers is Judge with the answers' choices, also of those that keep no constraints.
func Answers(cases []Case, h Heuristic) (Score, [][]int, error) {
	var s Score
	var choices [][]int
	var l *rules.Planner
	for _, c := range cases {
		if l == nil || !l.Use(c.Model) {
			l = rules.NewPlanner(c.Model)
		}
		a, err := l.Solve(c.Problem, h.Options)
		choices = append(choices, a.Choice)
		switch {
		case errors.Is(err, rules.ErrMissed):
			s.add(0)
			continue
		case err != nil:
			return s, nil, fmt.Errorf("%s on %s, %s: %w", h.Name, c.Model.App.Name, c.Problem, err)
		}
		s.add(OfIdeal(c.Problem, a.Outcome, c.Ideal.Outcome))
	}
	return s, choices, nil
}

// Resized is the score of answers whose sizes are replaced by the best ones for their variants.
func Resized(ctx context.Context, cases []Case, choices [][]int) (Score, error) {
	var s Score
	var z Sizer
	for i, c := range cases {
		of, err := z.OfIdeal(ctx, c, choices[i])
		if err != nil {
			return s, err
		}
		s.add(of)
	}
	return s, nil
}

// OfIdeal returns how near an outcome comes to the best one in percent: the smaller of both values over the greater.
func OfIdeal(p variants.Problem, o, best variants.Outcome) float64 {
	a, b := p.Value(o), p.Value(best)
	if a == b {
		return 100
	}
	return 100 * min(a, b) / max(a, b)
}

// Sizer finds the exact memory sizes for given variants. So it tells what an answer loses by its variants, and what by
// its sizes. It is for one goroutine and for the models of one application, whatever their formula.
type Sizer struct{ fronts map[string]frontier.Front }

// OfIdeal returns how near the variants of a choice come to the ideal in percent where their sizes are the best ones; 0
// where no sizes keep the constraints.
func (s *Sizer) OfIdeal(ctx context.Context, c Case, choice []int) (float64, error) {
	front, accuracy, err := s.front(ctx, c.Model, choice)
	if err != nil {
		return 0, err
	}
	best := 0.0
	for _, p := range front {
		o := variants.Outcome{Seconds: p.Seconds, USD: variants.Executions * (p.USD + c.Model.OrchestrationUSD(p.Seconds)),
			Accuracy: accuracy}
		if c.Problem.Keeps(o) {
			best = max(best, OfIdeal(c.Problem, o, c.Ideal.Outcome))
		}
	}
	return best, nil
}

// front returns the exact trade-off between time and price of a choice's variants, and their accuracy score.
func (s *Sizer) front(ctx context.Context, m *variants.Model, choice []int) (frontier.Front, float64, error) {
	p := frontier.Problem{Flow: m.Flow, Delays: m.Delays}
	chosen := make([]int, len(choice))
	for f, c := range choice {
		chosen[f] = m.Options[f][c].Variant
		from, to := m.VariantOptions(f, chosen[f])
		var options []frontier.Option
		for _, o := range m.Options[f][from:to] {
			options = append(options, frontier.Option{Seconds: o.Seconds, USD: o.USD})
		}
		p.Options = append(p.Options, options)
	}
	key := fmt.Sprint(chosen)
	front, ok := s.fronts[key]
	if !ok {
		var err error
		if front, err = frontier.Exact(ctx, p); err != nil {
			return nil, 0, err
		}
		if s.fronts == nil {
			s.fronts = map[string]frontier.Front{}
		}
		s.fronts[key] = front
	}
	return front, m.Accuracy(chosen), nil
}
