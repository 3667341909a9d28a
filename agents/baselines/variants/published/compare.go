package published

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"

	rules "github.com/stoker-rl/stoker/agents/baselines/variants"
	"github.com/stoker-rl/stoker/envs/variants"
)

// tolerance is the relative error up to which two numbers that were computed in different orders are equal.
const tolerance = 1e-12

func equal(a, b float64) bool { return math.Abs(a-b) <= tolerance*max(math.Abs(a), math.Abs(b)) }

// Threshold is the one with which the curves were computed.
const Threshold = 0.2

// Curve compares one file of curves with ours.
type Curve struct {
	App       string             `json:"app"`
	Objective variants.Objective `json:"objective"`
	Points    int                `json:"points"`
	Different int                `json:"different"`       // points that differ in time, cost, configuration or iterations
	First     string             `json:"first,omitempty"` // the first of them
	OfIdeal   float64            `json:"of_ideal"`        // the best strategy's, in percent, mean over the constraints
	Rows      []CurveRow         `json:"-"`
}

// CurveRow is what the strategies reach under one constraint.
type CurveRow struct {
	Constraint float64 // seconds or USD per million executions
	Value      [4]float64
	Ideal      float64
}

// Models compiles PRCP's applications App1 to App4, whose curves are published, from the folder slapp.
func Models(slapp string) ([]*variants.Model, error) {
	f, err := os.Open(filepath.Join(slapp, "function_profiles.csv"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	profile, err := ReadProfile(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	var out []*variants.Model
	for number := 1; number <= 4; number++ {
		app, err := SLApp(number, profile)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		m, err := app.Compile()
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// Curves compares the models' curves with those of the folder slapp: all points, for both directions.
func Curves(ctx context.Context, slapp string, models []*variants.Model) ([]Curve, error) {
	var out []Curve
	for _, m := range models {
		for _, file := range []struct {
			suffix    string
			objective variants.Objective
		}{{"BPBC", variants.Time}, {"BCPC", variants.Cost}} {
			path := filepath.Join(slapp, "curves", m.App.Name+"_"+file.suffix+".csv")
			f, err := os.Open(path)
			if err != nil {
				return nil, err
			}
			points, err := ReadCurve(f)
			if err = errors.Join(err, f.Close()); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			c := Curve{App: m.App.Name, Objective: file.objective, Points: len(points)}
			if err := c.compare(ctx, m, points); err != nil {
				return nil, err
			}
			out = append(out, c)
		}
	}
	return out, nil
}

func (c *Curve) compare(ctx context.Context, m *variants.Model, points []Point) error {
	l := rules.NewPlanner(m)
	o := rules.Published()
	o.Threshold = Threshold
	for i, x := range points {
		p := variants.Problem{Objective: c.Objective, Budget: x.Constraint}
		if c.Objective == variants.Cost {
			p.Budget, p.Latency = 0, x.Constraint/1000
		}
		o.Strategy = x.Strategy
		a, err := l.Solve(p, o)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", m.App.Name, p, err)
		}
		if !x.equal(m, a) {
			if c.Different++; c.First == "" {
				c.First = fmt.Sprintf("%s, %s, %s: %v in %d steps, published %+v", m.App.Name, p, x.Strategy, a.Plan, a.Steps, x)
			}
		}
		if i%4 == 0 {
			ideal, err := m.Solve(ctx, p)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", m.App.Name, p, err)
			}
			c.Rows = append(c.Rows, CurveRow{Constraint: x.Constraint, Ideal: p.Value(ideal.Outcome)})
			if c.Objective == variants.Cost {
				c.Rows[i/4].Constraint /= 1000
			}
		}
		c.Rows[i/4].Value[i%4] = p.Value(a.Outcome)
	}
	for _, r := range c.Rows {
		best := min(r.Value[0], r.Value[1], r.Value[2], r.Value[3])
		// The authors divide by the answer, not by the ideal.
		c.OfIdeal += (100 - 100*(best-r.Ideal)/best) / float64(len(c.Rows))
	}
	return nil
}

// equal reports whether an answer is the published point.
func (x Point) equal(m *variants.Model, a rules.Answer) bool {
	same := equal(a.Seconds, x.Seconds) && equal(a.USD, x.USD) && a.Steps == x.Iterations && len(x.MB) == len(a.Choice)
	for f, name := range m.Flow.Functions() {
		same = same && m.Options[f][a.Choice[f]].MB == x.MB[name]
	}
	return same
}

// Table compares the published cost and response time of every configuration of an application, AppN_part1.csv, with
// the model's. It returns the number of rows and of those that differ.
func Table(slapp string, m *variants.Model) (rows, different int, err error) {
	path := filepath.Join(slapp, "curves", m.App.Name+"_part1.csv")
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", path, err)
	}
	n := m.NumFunctions()
	choice, scratch := make([]int, n), m.NewScratch()
	for i, row := range all[min(1, len(all)):] {
		if len(row) != n+3 {
			return rows, different, fmt.Errorf("%s: line %d has %d columns, want %d", path, i+2, len(row), n+3)
		}
		x := make([]float64, n+2)
		for c := range x {
			if x[c], err = strconv.ParseFloat(row[c+1], 64); err != nil {
				return rows, different, fmt.Errorf("%s: line %d, column %d: %q is not a number", path, i+2, c+2, row[c+1])
			}
		}
		rows++
		known := true
		for f := range choice {
			choice[f] = -1
			for c, o := range m.Options[f] {
				if o.MB == x[f] {
					choice[f] = c
				}
			}
			known = known && choice[f] >= 0
		}
		if !known {
			different++
			continue
		}
		if got := m.EvaluateWith(scratch, choice); !equal(got.USD, x[n]) || !equal(got.Seconds, x[n+1]/1000) {
			different++
		}
	}
	return rows, different, nil
}
