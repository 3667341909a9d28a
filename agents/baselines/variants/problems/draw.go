// Package problems draws optimisation problems whose best answers are known, and tells how near heuristics come to them:
// OptiServe's 1,500 problems over six applications (section 5.4), which were not published.
package problems

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/rng"
)

// Case is a problem with its best answer.
type Case struct {
	Model   *variants.Model // with the case's accuracy formula
	Problem variants.Problem
	Ideal   variants.Plan
}

// Spread says from where the bounds of drawn problems are taken.
type Spread string

// The spreads. Every problem has an answer under both.
const (
	// Tight draws bounds between the exact extremes under the accuracy wanted, uniformly: the budget of the least time
	// between the least cost and the cost of the least time, the latency of the least cost between the least time and the
	// time of the least cost. For the greatest accuracy the latency is between the least time of all and that of the
	// cheapest most accurate configuration, the budget between the least cost within it and the cost of the most accurate
	// configuration within it.
	Tight Spread = "tight"
	// Wide draws them over the whole range of the application, as OptiServe's program spaces them: costs from the
	// smallest sizes of the least accurate variants to the largest of the most accurate ones, times from the largest of the
	// least accurate to the smallest of the most accurate. What has no answer is drawn again.
	Wide Spread = "wide"
)

// Spreads returns both.
func Spreads() []Spread { return []Spread{Tight, Wide} }

// Draw draws n problems of an application: the objectives in turn, each with an accuracy formula of its own and with an
// accuracy wanted that is uniform over the formula's range.
func Draw(ctx context.Context, m *variants.Model, spread Spread, n int, seed uint64) ([]Case, error) {
	out := make([]Case, 0, n)
	for i := range n {
		k := rng.New(seed, "variants/problems/"+m.App.Name).With(uint64(i))
		formula, weights := Formula(m, k)
		with, err := m.WithAccuracy(formula, weights, true)
		if err != nil {
			return nil, fmt.Errorf("%s, problem %d, formula %s: %w", m.App.Name, i, formula, err)
		}
		d := drawing{ctx: ctx, m: with, k: k}
		c := d.tight(variants.Objectives()[i%3])
		if spread == Wide {
			c = d.wide(variants.Objectives()[i%3])
		}
		if d.err != nil {
			return nil, fmt.Errorf("%s, problem %d: %w", m.App.Name, i, d.err)
		}
		out = append(out, c)
	}
	return out, nil
}

// Formula draws an accuracy formula over the functions whose variants have accuracies: a template, or a sum with
// weights in which two neighbours may be multiplied. An application of at most one such function has the mean.
func Formula(m *variants.Model, k rng.Key) (formula string, weights map[string]float64) {
	var models []string
	for f, name := range m.Flow.Functions() {
		if m.NumVariants(f) > 1 {
			models = append(models, name)
		}
	}
	if len(models) < 2 {
		return variants.Mean, nil
	}
	kind := k.With(1).IntN(5)
	if kind < 4 {
		formula = variants.Templates()[kind]
	}
	weight := func(i int) float64 { return 1 + float64(k.With(2).With(uint64(i)).IntN(4)) }
	if formula == variants.Weighted || formula == variants.Geometric {
		weights = map[string]float64{}
		for i, name := range models {
			weights[name] = weight(i)
		}
	}
	if kind < 4 {
		return formula, weights
	}
	var terms []string
	for i := 0; i < len(models); i++ {
		term := fmt.Sprintf("%g*%s", weight(i), models[i])
		if i+1 < len(models) && k.With(3).With(uint64(i)).IntN(2) == 0 {
			i++
			term += "*" + models[i]
		}
		terms = append(terms, term)
	}
	return strings.Join(terms, " + "), nil
}

// drawing draws one problem. After an error it solves nothing more.
type drawing struct {
	ctx context.Context
	m   *variants.Model
	k   rng.Key
	err error
}

func (d *drawing) solve(p variants.Problem) variants.Plan {
	if d.err != nil {
		return variants.Plan{}
	}
	plan, err := d.m.Solve(d.ctx, p)
	d.err = err
	return plan
}

// between draws uniformly.
func (d *drawing) between(purpose uint64, a, b float64) float64 {
	return a + float64(d.k.With(purpose).Float64()*(b-a))
}

func (d *drawing) accuracy() float64 {
	low, high := d.m.AccuracyRange()
	return d.between(4, low, high)
}

func (d *drawing) tight(objective variants.Objective) Case {
	p := variants.Problem{Objective: objective}
	if objective != variants.Accuracy {
		p.Accuracy = d.accuracy()
	}
	fastest := d.solve(variants.Problem{Objective: variants.Time, Accuracy: p.Accuracy})
	cheapest := d.solve(variants.Problem{Objective: variants.Cost, Accuracy: p.Accuracy})
	switch objective {
	case variants.Time:
		p.Budget = d.between(5, cheapest.USD, fastest.USD)
	case variants.Cost:
		p.Latency = d.between(5, fastest.Seconds, cheapest.Seconds)
	default:
		_, high := d.m.AccuracyRange()
		best := d.solve(variants.Problem{Objective: variants.Cost, Accuracy: high})
		p.Latency = d.between(5, fastest.Seconds, best.Seconds)
		low := d.solve(variants.Problem{Objective: variants.Cost, Latency: p.Latency})
		top := d.solve(variants.Problem{Objective: variants.Accuracy, Latency: p.Latency})
		p.Budget = d.between(6, low.USD, top.USD)
	}
	return Case{d.m, p, d.solve(p)}
}

// attempts bounds the draws for one problem. One in two or so has an answer.
const attempts = 1000

func (d *drawing) wide(objective variants.Objective) Case {
	cheapest, dearest := corner(d.m, false, false), corner(d.m, true, true)
	fastest, slowest := corner(d.m, true, false), corner(d.m, false, true)
	k := d.k
	for i := range attempts {
		d.k = k.With(uint64(i))
		p := variants.Problem{Objective: objective}
		if objective != variants.Accuracy {
			p.Accuracy = d.accuracy()
		}
		if objective != variants.Cost {
			p.Budget = d.between(5, cheapest.USD, dearest.USD)
		}
		if objective != variants.Time {
			p.Latency = d.between(6, fastest.Seconds, slowest.Seconds)
		}
		ideal := d.solve(p)
		if out := (*variants.Infeasible)(nil); errors.As(d.err, &out) {
			d.err = nil
			continue
		}
		return Case{d.m, p, ideal}
	}
	d.err = fmt.Errorf("none of %d drawn problems has an answer", attempts)
	return Case{}
}

// corner is the outcome of all largest or smallest sizes with the least or the most accurate variants.
func corner(m *variants.Model, large, accurate bool) variants.Outcome {
	choice := make([]int, m.NumFunctions())
	for f := range choice {
		v := 0
		for i, x := range m.Variants[f] {
			if accurate && x.Accuracy > m.Variants[f][v].Accuracy || !accurate && x.Accuracy < m.Variants[f][v].Accuracy {
				v = i
			}
		}
		from, to := m.VariantOptions(f, v)
		choice[f] = from
		if large {
			choice[f] = to - 1
		}
	}
	return m.Evaluate(choice)
}
