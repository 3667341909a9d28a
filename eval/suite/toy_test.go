package suite

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/internal/chart"
)

// gain steers the linear-quadratic regulator with u = −gain·x.
type gain float32

func (gain) Name() string       { return "linear" }
func (gain) Reset(uint64) error { return nil }

func (g gain) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	act.Kinds[0][0] = min(max(-float32(g)*obs.Kinds[0].Values[0], -2), 2)
	return nil
}

func (gain) CopyFrom(envs.Policy) error            { return nil }
func (gain) AppendBinary(b []byte) ([]byte, error) { return b, nil }
func (gain) UnmarshalBinary([]byte) error          { return nil }

func steer(name string, g float64) eval.Contestant {
	return eval.Contestant{
		Name: name, Kind: catalog.Heuristic, Versions: []eval.Version{{
			New: func(envs.Env) (rollout.Actor, error) { return rollout.Actor{Policy: gain(g)}, nil },
		}},
		NewEnv: func() (envs.Env, error) { return classic.NewLQR(classic.DefaultLQR()) },
	}
}

// toyClaims are a paper's: better than all, and by a number.
var toyClaims = []Statement[[]Comparison]{
	{Claim: "strong steers better", Parts: []Part[[]Comparison]{
		{Measure: func(all []Comparison, _ Rule) (out []Finding) {
			for _, c := range all {
				out = append(out, Finding{Text: c.Verdict + " than " + c.B, Verdict: Of(c.Verdict)})
			}
			return out
		}, Lead: "it is ", Sep: ", "},
	}},
}

// toy is a suite with one of everything.
func toy() Suite {
	return Suite{Name: "toy", Doc: "a regulator", Paper: "Riccati (1724)", Seeds: 12, QuickSeeds: 3, Run: runToy}
}

func runToy(ctx context.Context, o Options, r *Report) error {
	g, err := o.Play(ctx, "steering", eval.Request{
		Contestants: []eval.Contestant{steer("strong", 0.7), steer("weak", 0.1), steer("none", 0)},
		Seeds:       o.Seeds, Traced: len(o.Seeds),
	})
	if err != nil {
		return err
	}
	var all []eval.Scored
	f := report.Figure{
		Name: "cost", Caption: "Cost over steps.",
		Chart:   &chart.Figure{Columns: 1, Width: vg.Length(150), Height: vg.Length(80)},
		Columns: report.Head("policy", "step", "cost"),
	}
	panel := chart.NewPanel("", "step", "cost")
	for i, e := range g.Contestants {
		s := r.Scores(g, i, "cost", 1)
		all = append(all, eval.Scored{Name: e.Name, Scores: s})
		r.Measured(Row{Figure: "1", Quantity: "cost, " + e.Name, Unit: "1", Paper: new(2.0), Note: "a note | with a bar"}, s)
		for t, x := range Band(Cumulative(r.Series(g, i, "cost"))) {
			f.Rows = append(f.Rows, []any{e.Name, t, x})
			panel.Line(chart.Styles(i), []float64{float64(t), float64(t + 1)}, []float64{x.At, x.At}, false)
		}
	}
	f.Chart.Panels = []*chart.Panel{panel}
	r.Figure(f)
	r.Compare("as it is", eval.Metric{Name: "cost", Better: envs.Lower}, all[0], all[1:]...)
	Judge(r, r.result.Comparisons, toyClaims)
	r.Table(report.Table{Name: "squares", Title: "Squares", Note: "A note.", Columns: report.Head("n", "square [m²]"),
		Rows: [][]any{{2, 4.0}, {3, report.Estimate{At: 9, Low: 8, High: 10}}}})
	r.Note("%d seeds", len(o.Seeds))
	squares := make([]int, 50)
	if err := o.Each(ctx, "squares", len(squares), func(i int) error { squares[i] = i * i; return nil }); err != nil {
		return err
	}
	for i, x := range squares {
		if x != i*i {
			return errors.New("a part was not done")
		}
	}
	r.Row(Row{Figure: "2", Quantity: fmt.Sprint("square of ", len(squares)-1), Ours: eval.Number(squares[len(squares)-1])})
	return nil
}

// Seeds are written as they are typed, and a band is as long as the shortest series.
func TestBand(t *testing.T) {
	if got := ranges([]uint64{1, 2, 3, 7, 9, 10}); got != "1-3,7,9-10" {
		t.Errorf("seeds are %s", got)
	}
	if got := (&Suite{Name: "toy"}).command(&Options{Seeds: []uint64{0}}); got != "stoker suite toy --seeds 0-0" {
		t.Errorf("the command of the seed 0 is %q, which stoker refuses", got)
	}
	if b := Band([][]float64{{1, 2, 3}, {3, 4}}); len(b) != 2 || b[0].At != 2 || !(b[0].Low < 2 && b[0].High > 2) ||
		Band(nil) != nil {
		t.Errorf("band %v", b)
	}
}
