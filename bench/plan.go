package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	rules "github.com/stoker-rl/stoker/agents/baselines/variants"
	"github.com/stoker-rl/stoker/agents/baselines/variants/problems"
	"github.com/stoker-rl/stoker/agents/baselines/variants/published"
	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/internal/lists"
)

// profileOf are mean times in seconds of PRCP's functions f1 to f6 at five memory sizes (SLApp's function profiles).
// Between them times are interpolated: what a search costs does not depend on their last digits.
var profileOf = map[string][]float64{
	"f1": {5.5, 1.301, 0.762, 0.753, 0.716}, "f2": {2.898, 0.7, 0.323, 0.222, 0.201}, "f3": {2.409, 0.591, 0.268, 0.181, 0.17},
	"f4": {6.181, 1.934, 1.149, 0.887, 0.795}, "f5": {1.505, 0.371, 0.17, 0.116, 0.108}, "f6": {6.853, 1.678, 0.782, 0.528, 0.475},
}

// slapp compiles PRCP's application of a number.
func slapp(number int) (*variants.Model, error) {
	p := published.Profile{}
	for name, seconds := range profileOf {
		law := memory.Measured{MB: []float64{128, 512, 1088, 1664, 3008}, Mean: seconds}
		p[name] = map[float64]float64{}
		for mb := 128.0; mb <= 3008; mb += 192 {
			p[name][mb] = law.Seconds(mb)
		}
	}
	app, err := published.SLApp(number, p)
	if err != nil {
		return nil, err
	}
	return app.Compile()
}

// runPlan measures planning a whole application's configuration.
func runPlan(o Options, emit func(Result)) error {
	for _, run := range []func(Options, func(Result)) error{planOne, planCurves, planFronts, planProblems, planWorst} {
		startMemory()
		if err := run(o, emit); err != nil {
			return err
		}
	}
	return nil
}

// planned emits a measurement of some problems at a time.
func (o Options) planned(what string, each int, emit func(Result), f func() error) error {
	s, err := o.measure(f)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	emit(o.fill(Result{Bench: "plan", What: what, Threads: 1, ProblemsPerSecond: float64(each) * s.perSecond(),
		PlanSeconds: s.Nanoseconds / 1e9}, s))
	return nil
}

// middle is the problem of the least time within the mean of the least and the greatest cost at equal memory.
func middle(m *variants.Model) variants.Problem {
	low, high := costs(m)
	return variants.Problem{Objective: variants.Time, Budget: (low + high) / 2}
}

func costs(m *variants.Model) (low, high float64) {
	small, large := make([]int, m.NumFunctions()), make([]int, m.NumFunctions())
	for f := range large {
		large[f] = len(m.Options[f]) - 1
	}
	return m.Evaluate(small).USD, m.Evaluate(large).USD
}

// planOne measures one of PRCP's problems.
func planOne(o Options, emit func(Result)) error {
	for _, number := range []int{4, 6} {
		m, err := slapp(number)
		if err != nil {
			return err
		}
		l, p, options := rules.NewPlanner(m), middle(m), rules.Published()
		options.Strategy, options.Threshold = rules.Disabled, published.Threshold
		if err := o.planned(fmt.Sprintf("PRCP, App%d", number), 1, emit, func() error {
			_, err := l.Solve(p, options)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// planCurves measures the problems of PRCP's published curves: four applications, both directions, 100 constraints, four
// strategies.
func planCurves(o Options, emit func(Result)) error {
	type direction struct {
		l *rules.Planner
		p []variants.Problem
	}
	var all []direction
	for number := 1; number <= 4; number++ {
		m, err := slapp(number)
		if err != nil {
			return err
		}
		front, err := m.Front(context.Background(), 0)
		if err != nil {
			return err
		}
		low, high := costs(m)
		slow := m.Evaluate(make([]int, m.NumFunctions())).Seconds
		d := direction{l: rules.NewPlanner(m)}
		for i := range 100 {
			part := float64(i) / 99
			d.p = append(d.p, variants.Problem{Objective: variants.Time, Budget: low + part*(high-low)},
				variants.Problem{Objective: variants.Cost, Latency: front[0].Seconds + part*(slow-front[0].Seconds)})
		}
		all = append(all, d)
	}
	options := rules.Published()
	options.Threshold = published.Threshold
	return o.planned("PRCP, 3200 points", 3200, emit, func() error {
		for _, d := range all {
			for _, p := range d.p {
				for _, s := range rules.Strategies()[:4] {
					options.Strategy = s
					if _, err := d.l.Solve(p, options); err != nil && !errors.Is(err, rules.ErrMissed) {
						return err
					}
				}
			}
		}
		return nil
	})
}

// planFronts measures the exact trade-offs of the six applications, each worked out from the start.
func planFronts(o Options, emit func(Result)) error {
	apps, err := lists.Try(variants.Presets(), variants.Preset)
	if err != nil {
		return err
	}
	return o.planned("fronts of six apps", len(apps), emit, func() error {
		for _, a := range apps {
			m, err := a.Compile()
			if err != nil {
				return err
			}
			if _, err := m.Tradeoffs(context.Background(), 0); err != nil {
				return err
			}
		}
		return nil
	})
}

// planProblems measures 250 drawn problems of each application, or o.Episodes, with every heuristic, and with the exact
// solution once fronts are there.
func planProblems(o Options, emit func(Result)) error {
	each := cmp.Or(o.Episodes, 250)
	var cases []problems.Case
	for _, name := range variants.Presets() {
		a, err := variants.Preset(name)
		if err != nil {
			return err
		}
		m, err := a.Compile()
		if err != nil {
			return err
		}
		drawn, err := problems.Draw(context.Background(), m, problems.Tight, each, 1)
		if err != nil {
			return err
		}
		cases = append(cases, drawn...)
	}
	heuristics := problems.Heuristics()
	if err := o.planned(fmt.Sprintf("%d by %d rules", len(cases), len(heuristics)), len(cases)*len(heuristics), emit,
		func() error {
			for _, h := range heuristics {
				if _, err := problems.Judge(cases, h); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
		return err
	}
	return o.planned(fmt.Sprintf("%d exactly", len(cases)), len(cases), emit, func() error {
		for _, c := range cases {
			if _, err := c.Model.Solve(context.Background(), c.Problem); err != nil {
				return err
			}
		}
		return nil
	})
}

// worstGraph is SLApp's worst case: each of n nodes leads back to itself and to every one before it, node i to each with
// probability 0.9/(i+1), rounded to four digits as SLApp does, and on.
func worstGraph(n int) workflow.Graph {
	g := workflow.Graph{Name: "worst", Entry: "1"}
	for i := 1; i <= n; i++ {
		name := fmt.Sprint(i)
		g.Nodes = append(g.Nodes, workflow.Node{Name: name})
		back := math.Round(0.9/float64(i+1)*1e4) / 1e4
		for j := 1; j <= i; j++ {
			g.Edges = append(g.Edges, workflow.Edge{From: name, To: fmt.Sprint(j), Kind: workflow.Loop, Probability: back})
		}
		to := fmt.Sprint(i + 1)
		if i == n {
			to = workflow.End
		}
		g.Edges = append(g.Edges, workflow.Edge{From: name, To: to, Kind: workflow.Branch, Probability: 1 - float64(i)*back})
	}
	return g
}

// planWorst measures the response time of that graph with 128 nodes, from the graph's description on.
func planWorst(o Options, emit func(Result)) error {
	const nodes = 128
	g := worstGraph(nodes)
	times := slices.Repeat([]float64{0.1}, nodes)
	return o.planned("worst graph", 1, emit, func() error {
		w, err := g.Compile()
		if err != nil {
			return err
		}
		w.Response(times, workflow.StepFunctions(workflow.Published))
		return nil
	})
}
