package stepconf

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"

	rules "github.com/stoker-rl/stoker/agents/baselines/steps"
	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/chart"
)

// plan is what a decider plans where every step takes its predicted time: StepConf's offline version (Fig. 21).
type plan struct {
	seconds, usd float64
	late         bool
}

// offline lets a request walk through a workflow whose steps take their 90th percentiles.
func offline(m *steps.Model, d steps.Decider, slo float64) plan {
	n := m.NumSteps()
	next, open := edges(m)
	at := steps.Moment{SLO: slo, State: make([]steps.State, n), Choice: make([]int, n), Begun: make([]float64, n),
		Done: make([]float64, n), Warm: make([][]int, n)}
	for s := range n {
		at.Choice[s], at.Warm[s] = -1, make([]int, len(m.Platform.Memory))
	}
	d.Begin(m, slo, 0)
	ends := make([]float64, n)
	var done func(s int)
	begin := func(s int) {
		at.Begun[s] = at.Now
		if m.Free(s) {
			done(s)
			return
		}
		at.State[s] = steps.Ready
		at.Ready = append(at.Ready, s)
	}
	done = func(s int) {
		at.State[s], at.Done[s] = steps.Done, at.Now
		for _, t := range next[s] {
			if open[t]--; open[t] == 0 {
				begin(t)
			}
		}
	}
	begin(m.Flow.Entry())
	for {
		for len(at.Ready) > 0 {
			s := at.Ready[0]
			k := d.Decide(&at, s)
			at.Ready = at.Ready[1:]
			at.State[s], at.Choice[s], ends[s] = steps.Running, k, at.Now+m.Seconds(s, k, 0.9, 0)
			at.Spent += m.Option(s, k).USD
		}
		now := math.Inf(1)
		for s, state := range at.State {
			if state == steps.Running {
				now = min(now, ends[s])
			}
		}
		if math.IsInf(now, 1) {
			return plan{at.Now, at.Spent, at.Now > slo*(1+1e-9)}
		}
		at.Now = now
		for s := range at.State {
			if at.State[s] == steps.Running && ends[s] <= now {
				done(s)
			}
		}
	}
}

// edges are per step the steps after it and the number of edges into it.
func edges(m *steps.Model) (next [][]int, into []int) {
	n := m.NumSteps()
	next, into = make([][]int, n), make([]int, n)
	number := make(map[string]int, n)
	for s := range n {
		number[m.Flow.NodeName(s)] = s
	}
	for _, e := range m.Flow.Graph().Edges {
		if e.To != workflow.End {
			from, to := number[e.From], number[e.To]
			next[from], into[to] = append(next[from], to), into[to]+1
		}
	}
	return next, into
}

// planned are offline plans beside the Oracle's: how much dearer in percent, by workflow, decider and limit of four. The
// paper's workflows are the same for every seed; a seed draws some workflows more.
type planned struct {
	workflows []string
	drawn     uint64 // workflows of a seed
	deciders  []string
	over      *report.Cube[float64]
	late      []int // plans of a decider later than the limit
}

// paperOver is Fig. 21 in percent.
var paperOver = map[string]float64{"ml": 4.1, "vp": 3.5, "dag": 2.6}

func (n size) planOffline(ctx context.Context, o *suite.Options) (*planned, error) {
	p := &planned{workflows: append(slices.Clone(n.planned), "generated"), drawn: n.drawn,
		deciders: []string{"StepConf", "replan"}, late: make([]int, 2)}
	p.over = report.NewCube[float64](len(o.Seeds), report.Axis{Name: "workflow", Len: len(p.workflows)},
		report.Axis{Name: "decider", Len: len(p.deciders)}, report.Axis{Name: "limit", Len: len(four)})
	late := make([][2]int, len(o.Seeds)+1)
	err := o.Each(ctx, "offline plans", len(o.Seeds)+1, func(s int) error {
		if s == len(o.Seeds) {
			return p.published(&late[s])
		}
		return p.generated(s, o.Seeds[s], &late[s])
	})
	for _, l := range late {
		p.late[0], p.late[1] = p.late[0]+l[0], p.late[1]+l[1]
	}
	return p, err
}

// published plans for the paper's workflows.
func (p *planned) published(late *[2]int) error {
	for k, name := range p.workflows[:len(p.workflows)-1] {
		m, err := preset(name, steps.Knative)
		if err != nil {
			return err
		}
		err = p.beside(m, late, func(d, f int, over float64) {
			for s := range p.over.Seeds() {
				p.over.At(k, d, f)[s] = over
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// generated plans for a seed's workflows, which nothing was chosen on.
func (p *planned) generated(s int, seed uint64, late *[2]int) error {
	for i := range p.drawn {
		app, err := steps.Generate(steps.FirstUnseen+seed*p.drawn+i, steps.DefaultGenerated())
		if err != nil {
			return err
		}
		m, err := app.Compile()
		if err != nil {
			return err
		}
		err = p.beside(m, late, func(d, f int, over float64) { p.over.At(len(p.workflows)-1, d, f)[s] += over / float64(p.drawn) })
		if err != nil {
			return err
		}
	}
	return nil
}

// beside tells how much dearer than the Oracle deciders plan, in percent, by decider and limit.
func (p *planned) beside(m *steps.Model, late *[2]int, tell func(decider, limit int, over float64)) error {
	oracle, err := rules.NewOracle(rules.DefaultOracle())
	if err != nil {
		return err
	}
	planner, err := rules.NewReplan(rules.ReplanConfig{Quantile: 0.9, Risk: rules.Added}) // the Oracle's problem
	if err != nil {
		return err
	}
	stepconf, err := rules.NewStepConf(rules.DefaultStepConf())
	if err != nil {
		return err
	}
	for f, factor := range four {
		best := offline(m, oracle, factor*m.Fastest)
		for i, d := range []steps.Decider{stepconf, planner} {
			got := offline(m, d, factor*m.Fastest)
			if tell(i, f, 100*(got.usd/best.usd-1)); got.late {
				late[i]++
			}
		}
	}
	return nil
}

// mean is the mean over the limits, by seed.
func (p *planned) mean(workflow, decider int) []float64 {
	out := make([]float64, p.over.Seeds())
	for f := range four {
		for s, x := range p.over.At(workflow, decider, f) {
			out[s] += x / float64(len(four))
		}
	}
	return out
}

func (p *planned) report(r *suite.Report) {
	fig := report.NewFigure("fig21", "How much dearer than the exact optimum plans are where every step takes its predicted time.",
		chart.Figure{Title: "Offline plans beside the exact optimum", Columns: len(p.workflows), Width: 6 * vg.Centimeter,
			Height: 6 * vg.Centimeter, Under: fmt.Sprintf("generated: %d workflows of each seed; rings: the paper's mean", p.drawn)},
		"workflow", "decider", "limit / fastest", "over the optimum [%]", "low", "high")
	fig.Key(chart.Entry{Dot: true}, p.deciders...)
	for k, name := range p.workflows {
		panel := fig.Panel(name, "limit / fastest time", "over the optimum (%)")
		for d, who := range p.deciders {
			row := suite.Row{Figure: "21, " + name, Quantity: who + ", offline: cost over the Oracle's", Unit: "%"}
			if x, ok := paperOver[name]; ok && d == 0 {
				row.Paper = &x
				panel.Cross(report.Ring(chart.Styles(0)), chart.Exactly(1.75), chart.Exactly(x))
			}
			measured(r, row, p.mean(k, d))
			for f, factor := range four {
				e := estimate(r, p.over.At(k, d, f))
				panel.Cross(chart.Styles(d), chart.Exactly(factor), chart.Range(e))
				fig.Row(name, who, factor, e)
			}
		}
		panel.RangeY(0, 1)
	}
	r.Figure(*fig)
	r.Note("Fig. 21: plans later than the limit by their own predictions: StepConf %d, replan %d of %d", p.late[0], p.late[1],
		len(four)*(len(p.workflows)-1+int(p.drawn)*p.over.Seeds()))
}
