// Package published holds what the authors of PRCP and OptiServe published about their heuristics, so that tests and
// suites can compare with it: PRCP's six applications (github.com/pacslab/SLApp-PerfCost-MdlOpt, MIT), the reader of its
// curves and profiles, and OptiServe's two test applications. The measured files themselves are not in the repository.
package published

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	rules "github.com/stoker-rl/stoker/agents/baselines/variants"
	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/envs/workflow"
)

// Profile has the mean seconds of functions f1 to f6 by memory size in MB.
type Profile map[string]map[float64]float64

// ReadProfile reads function_profiles.csv: runs by function, memory size and milliseconds.
func ReadProfile(r io.Reader) (Profile, error) {
	names, samples, err := memory.Read(r)
	if err != nil {
		return nil, err
	}
	p := Profile{}
	for _, name := range names {
		sizes, err := memory.Sizes(samples[name])
		if err != nil {
			return nil, fmt.Errorf("function %s: %w", name, err)
		}
		p[name] = map[float64]float64{}
		for _, s := range sizes {
			p[name][s.MB] = s.Mean
		}
	}
	return p, nil
}

// NumSLApp is the number of PRCP's applications.
const NumSLApp = 6

// SLApp returns PRCP's application of a number from 1, with functions that take the profile's mean times, sizes from
// 128 to 3008 MB in steps of 192, and prices of the printed table for the mean time rounded up to 100 ms.
func SLApp(number int, p Profile) (variants.App, error) {
	leave := workflow.To(workflow.End, 0.9)
	var g workflow.Graph
	name := fmt.Sprintf("App%d", number)
	fork := workflow.Fork("f1", "f3", "f2")
	switch number {
	case 1:
		g = workflow.New(name, workflow.Repeat("f2", "f2", 0.1), workflow.Choice("f2", leave))
	case 2:
		g = workflow.New(name, workflow.Chain("f1", "f2"), workflow.Repeat("f2", "f1", 0.1), workflow.Choice("f2", leave))
	case 3:
		g = workflow.New(name, workflow.Chain("f1", "f2", "f4"), workflow.Repeat("f4", "f1", 0.1),
			workflow.Choice("f4", leave))
	case 4:
		g = workflow.New(name, fork, workflow.Join("f4", "f3", "f2"), workflow.Repeat("f4", "f1", 0.1),
			workflow.Choice("f4", leave))
	case 5:
		g = workflow.New(name, fork, workflow.Join("f4", "f3", "f2"), workflow.Choice("f4", workflow.To("f6", 0.7)),
			workflow.Repeat("f4", "f4", 0.2), workflow.Repeat("f4", "f1", 0.1))
	case 6:
		g = workflow.New(name, workflow.Fork("f1", "f2"),
			workflow.Choice("f1", workflow.To("f5", 0.2), workflow.To("f3", 0.8)), workflow.Join("f4", "f2", "f5", "f3"),
			workflow.Choice("f4", workflow.To("f6", 0.7)), workflow.Repeat("f4", "f4", 0.2),
			workflow.Repeat("f4", "f1", 0.1))
	default:
		return variants.App{}, fmt.Errorf("PRCP has no application %d, want 1 to %d", number, NumSLApp)
	}
	for i := range g.Nodes {
		g.Functions = append(g.Functions, g.Nodes[i].Name)
	}
	slices.Sort(g.Functions)
	app := variants.App{Name: name, About: "published with PRCP (SLApp, evaluations/alg)", Workflow: g, Delays: workflow.StepFunctions(workflow.Published),
		Tariff: variants.Table, Billing: variants.OfMean}
	for _, f := range g.Functions {
		times, ok := p[f]
		if !ok {
			return variants.App{}, fmt.Errorf("the profile has no function %q, it has %v", f, slices.Sorted(maps.Keys(p)))
		}
		law := variants.Law{Form: memory.Table}
		for mb := 128.0; mb <= 3008; mb += 192 {
			s, ok := times[mb]
			if !ok || math.IsNaN(s) {
				return variants.App{}, fmt.Errorf("the profile of %s has no size of %g MB", f, mb)
			}
			law.MB, law.Seconds = append(law.MB, mb), append(law.Seconds, s)
		}
		app.Functions = append(app.Functions, variants.Function{Name: f, Memory: variants.General(),
			Variants: []variants.Variant{{Law: law}}})
	}
	return app, nil
}

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

// Point is what PRCP published of one strategy under one constraint.
type Point struct {
	Constraint float64 // USD per million executions of a budget, milliseconds of a latency
	Strategy   rules.Strategy
	Seconds    float64
	USD        float64            // per million executions
	MB         map[string]float64 // per function
	Iterations int
}

// columns are the names of the strategies in the files, by direction.
var columns = map[string]map[rules.Strategy]string{
	"Budget":                 {rules.Disabled: "disabled", rules.Slope: "RT/M", rules.Last: "ERT/C", rules.Max: "MAX"},
	"Performance_Constraint": {rules.Disabled: "disabled", rules.Slope: "M/RT", rules.Last: "C/ERT", rules.Max: "MAX"},
}

// ReadCurve reads one of AppN_BPBC.csv and AppN_BCPC.csv. Errors name the line.
func ReadCurve(r io.Reader) ([]Point, error) {
	rows, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) < 2 || columns[rows[0][0]] == nil {
		return nil, fmt.Errorf("line 1: want a first column Budget or Performance_Constraint, and points below")
	}
	var out []Point
	for i, row := range rows[1:] {
		number := func(column string) (float64, error) {
			c := slices.Index(rows[0], column)
			if c < 0 {
				return 0, fmt.Errorf("line 1: no column %q", column)
			}
			x, err := strconv.ParseFloat(row[c], 64)
			if err != nil {
				return 0, fmt.Errorf("line %d, column %s: %q is not a number", i+2, column, row[c])
			}
			return x, nil
		}
		for _, s := range rules.Strategies()[:4] {
			name := "BCR_" + columns[rows[0][0]][s]
			p := Point{Strategy: s}
			var steps float64
			for column, to := range map[string]*float64{rows[0][0]: &p.Constraint, name + "_RT": &p.Seconds,
				name + "_Cost": &p.USD, name + "_Iterations": &steps} {
				if *to, err = number(column); err != nil {
					return nil, err
				}
			}
			p.Seconds /= 1000
			p.Iterations = int(steps)
			c := slices.Index(rows[0], name+"_Config")
			if c < 0 {
				return nil, fmt.Errorf("line 1: no column %q", name+"_Config")
			}
			if p.MB, err = sizes(row[c]); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+2, err)
			}
			out = append(out, p)
		}
	}
	return out, nil
}

// sizes reads a configuration such as {1: 896, 2: 1856}, whose keys are the functions' numbers.
func sizes(s string) (map[string]float64, error) {
	out := map[string]float64{}
	for part := range strings.SplitSeq(strings.Trim(s, "{} "), ",") {
		f, mb, ok := strings.Cut(part, ":")
		x, err := strconv.ParseFloat(strings.TrimSpace(mb), 64)
		if !ok || err != nil {
			return nil, fmt.Errorf("%q is not a configuration such as {1: 896, 2: 1856}", s)
		}
		out["f"+strings.TrimSpace(f)] = x
	}
	return out, nil
}
