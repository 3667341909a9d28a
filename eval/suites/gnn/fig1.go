package gnn

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/stoker-rl/stoker/bench"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/nets/engines"
)

// Fig1 returns the suite of Fig. 1. It is the one suite whose numbers are of the machine and differ from run to run.
func Fig1() suite.Suite {
	return suite.Suite{
		Name:  "gnn-fig1",
		Doc:   "seconds of a training step and of an inference over the number of edges (Fig. 1), on this machine",
		Paper: paper, Seeds: 20, QuickSeeds: 5, Run: runFig1,
	}
}

// Of the paper, at a million edges on a GPU that it does not name.
const (
	paperEpoch     = 1.0  // seconds, "under"
	paperInference = 0.05 // seconds, "under"
	paperEdges     = 1_000_000
	paperGPU       = 10.0 // times faster than the CPU for the largest graphs, "more than an order of magnitude"
	// linear is how far a slope may be off 1 to be called near-linear. It is ours.
	linear = 0.1
)

// fig1Size says how much is measured.
type fig1Size struct {
	edges []int
	time  time.Duration // of each measurement
}

func runFig1(ctx context.Context, o suite.Options, r *suite.Report) error {
	size := fig1Size{edges: []int{1_000, 10_000, 100_000, 1_000_000}, time: 200 * time.Millisecond}
	if o.Quick {
		size.edges = size.edges[:3]
		r.Note("a quick run ends at 10⁵ edges: the paper's numbers are of 10⁶")
	}
	return fig1(ctx, &o, r, size)
}

// timed is what one device took: [edges][repetition] seconds.
type timed struct {
	device      string // cpu or cuda:0
	where       string // engine, kernels and threads
	hidden      int
	step, infer [][]float64
	// Slopes of log seconds over log edges, of a step and of an inference.
	slopeStep, slopeInfer suite.Estimate
}

func fig1(ctx context.Context, o *suite.Options, r *suite.Report, size fig1Size) error {
	devices := []string{"cpu"}
	if e, err := engines.Open(engines.Torch, engines.Options{Device: "cuda:0"}); err != nil {
		r.Note("no GPU is measured: %v", err)
	} else {
		if err := e.Close(); err != nil {
			return err
		}
		devices = append(devices, "cuda:0")
	}
	var all []*timed
	for _, d := range devices {
		t, err := measure(ctx, o, d, size)
		if err != nil {
			return err
		}
		all = append(all, t)
	}
	m := bench.ThisMachine()
	r.Note("measured on %s, %d cores; %s. The paper names neither its GPU nor its CPU, nor the network: seconds beside each other are of other hardware and another network", m.CPU, m.Cores, all[0].where)
	r.Note("an epoch is one training step over the whole graph: both heads, backward, Adam. The network is that of stoker bench graph: two layers of attention over three kinds of nodes and four of edges, width %d", all[0].hidden)
	r.Note("workload seeds are repetitions, one after the other; the graph is the same in all. --workers has no effect, and files differ from run to run")
	r.Note("a peer, in turn with ours: stoker bench graph --peer-cmd '…'; 10⁷ edges, which take 5 GB: stoker bench graph --edges 10000000")
	for _, t := range all {
		if err := fig1Rows(r, t, size); err != nil {
			return err
		}
	}
	fig1Figure(r, all, size)
	fig1Claims(r, all, size)
	return nil
}

// measure takes every size once in each repetition.
func measure(ctx context.Context, o *suite.Options, device string, size fig1Size) (*timed, error) {
	t := &timed{device: device, step: make([][]float64, len(size.edges)), infer: make([][]float64, len(size.edges))}
	list, err := bench.Find([]string{"graph"})
	if err != nil {
		return nil, err
	}
	one := *o
	one.Workers = 1 // what runs beside it would be measured
	return t, suite.Each(ctx, &one, "timing, "+device, len(o.Seeds)*len(size.edges), func(i int) error {
		k := i % len(size.edges)
		return list[0].Run(bench.Options{Edges: size.edges[k : k+1], Device: device, Time: size.time}, func(x bench.Result) {
			t.step[k] = append(t.step[k], x.StepSeconds)
			t.infer[k] = append(t.infer[k], x.InferenceSeconds)
			t.hidden = x.Hidden
			t.where = fmt.Sprintf("engine %s, kernels %s, %d threads", x.Engine, x.Kernels, x.Threads)
		})
	})
}

// slopes are the slopes of log seconds over log edges, by repetition.
func slopes(edges []int, seconds [][]float64) stats.Scores {
	out := make([]float64, len(seconds[0]))
	for j := range out {
		n, sx, sy, sxx, sxy := 0.0, 0.0, 0.0, 0.0, 0.0
		for k, e := range edges {
			x, y := math.Log10(float64(e)), math.Log10(seconds[k][j])
			n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
		}
		out[j] = (n*sxy - sx*sy) / (n*sxx - sx*sx)
	}
	return stats.Scores{out}
}

func fig1Rows(r *suite.Report, t *timed, size fig1Size) error {
	for _, q := range []struct {
		name, note string
		seconds    [][]float64
		paper      float64
		slope      *suite.Estimate
	}{
		{"a training step", "the paper: under 1 s an epoch, on a GPU", t.step, paperEpoch, &t.slopeStep},
		{"an inference", "the paper: under 50 ms, on a GPU", t.infer, paperInference, &t.slopeInfer},
	} {
		for k, e := range size.edges {
			row := suite.Row{Figure: "1, " + t.device, Quantity: fmt.Sprintf("%s, %s edges", q.name, power(e)), Unit: "s"}
			if e == paperEdges {
				row.Paper, row.Note = new(q.paper), q.note
			}
			r.Measured(row, stats.Scores{q.seconds[k]})
		}
		if len(size.edges) > 1 {
			s := slopes(size.edges, q.seconds)
			*q.slope = r.Estimate(s)
			r.Measured(suite.Row{
				Figure: "1, " + t.device, Quantity: fmt.Sprintf("slope of log seconds over log edges, %s", q.name), Unit: "1", Paper: new(1.0), Note: "the paper: near-linear",
			}, s)
		}
	}
	return nil
}

// power writes a power of ten as one.
func power(n int) string {
	digits := []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")
	p := 0
	for x := n; x%10 == 0 && x > 1; x /= 10 {
		p++
	}
	if math.Pow10(p) != float64(n) {
		return fmt.Sprint(n)
	}
	return "10" + string(digits[p])
}

// fig1Figure draws both over edges, log-log, beside lines of slope 1.
func fig1Figure(r *suite.Report, all []*timed, size fig1Size) {
	f := suite.Figure{
		Name:    "fig1-seconds",
		Caption: "Fig. 1: seconds of a training step over the whole graph, and of an inference, over the number of edges. Dashed: growth in proportion to the edges, through the largest graph; rings: the paper's bounds at 10⁶ edges on its GPU.",
		Chart:   &chart.Figure{Columns: 2, Width: half, Height: height},
		Columns: []suite.Column{{Name: "device"}, {Name: "edges"}, {Name: "training step", Unit: "s"}, {Name: "inference", Unit: "s"}},
	}
	step, infer := chart.NewPanel("training step", "edges", "seconds"), chart.NewPanel("inference", "edges", "seconds")
	var x []float64
	for _, e := range size.edges {
		x = append(x, float64(e))
	}
	for _, p := range []*chart.Panel{step, infer} {
		p.LogX()
		p.LogY()
	}
	for i, t := range all {
		f.Chart.Key = append(f.Chart.Key, chart.Entry{Text: t.device, Style: chart.Styles(i), Line: true, Band: true})
		bands := [2][]suite.Estimate{}
		for k := range x {
			bands[0] = append(bands[0], r.Estimate(stats.Scores{t.step[k]}))
			bands[1] = append(bands[1], r.Estimate(stats.Scores{t.infer[k]}))
			f.Rows = append(f.Rows, []any{t.device, size.edges[k], bands[0][k], bands[1][k]})
		}
		for n, p := range []*chart.Panel{step, infer} {
			last := bands[n][len(x)-1].At
			proportional := make([]float64, len(x))
			for k := range x {
				proportional[k] = last * x[k] / x[len(x)-1]
			}
			p.Line(chart.Bound(), x, proportional, false)
			draw(p, chart.Styles(i), x, bands[n])
		}
	}
	f.Chart.Key = append(f.Chart.Key,
		chart.Entry{Text: "in proportion to edges", Style: chart.Bound(), Line: true},
		chart.Entry{Text: "the paper's bound, on a GPU", Style: chart.Bound(), Dot: true})
	ring(step, chart.Bound(), paperEdges, paperEpoch, paperEpoch)
	ring(infer, chart.Bound(), paperEdges, paperInference, paperInference)
	f.Chart.Panels = []*chart.Panel{step, infer}
	r.Figure(f)
}

func fig1Claims(r *suite.Report, all []*timed, size fig1Size) {
	at := -1
	for k, e := range size.edges {
		if e == paperEdges {
			at = k
		}
	}
	last := all[len(all)-1] // the GPU, where there is one
	for _, c := range []struct {
		claim   string
		seconds [][]float64
		bound   float64
	}{
		{"training time stays under 1 s an epoch at a million edges on a GPU", last.step, paperEpoch},
		{"decisions at a million edges take under 50 ms on a GPU", last.infer, paperInference},
	} {
		out := suite.Claim{Claim: c.claim, Found: "a million edges were not measured", Verdict: suite.Unknown}
		if at >= 0 {
			e := r.Estimate(stats.Scores{c.seconds[at]})
			out.Found = fmt.Sprintf("%s s on %s (%s)", e, last.device, last.where)
			switch {
			case e.Hi < c.bound:
				out.Verdict = suite.Holds
			case e.Lo >= c.bound && last.device != "cpu":
				out.Verdict = suite.Fails
			}
			if last.device == "cpu" {
				out.Found += ", without a GPU"
			}
		}
		r.Claim(out)
	}
	for _, t := range all {
		out := suite.Claim{Claim: "time grows nearly in proportion to the edges (" + t.device + ")", Verdict: suite.Holds}
		for _, s := range []suite.Estimate{t.slopeStep, t.slopeInfer} {
			if s.Lo > 1+linear || s.Hi < 1-linear {
				out.Verdict = both(out.Verdict, suite.Fails)
			} else if s.Hi > 1+linear || s.Lo < 1-linear {
				out.Verdict = both(out.Verdict, suite.Unknown)
			}
		}
		out.Found = fmt.Sprintf("slopes of %s (a training step) and %s (an inference) from %s to %s edges; near is within %.1f of 1", t.slopeStep, t.slopeInfer, power(size.edges[0]), power(size.edges[len(size.edges)-1]), linear)
		r.Claim(out)
	}
	out := suite.Claim{Claim: "for the largest graphs a GPU is more than ten times as fast as a CPU", Found: "no GPU is measured", Verdict: suite.Unknown}
	if len(all) > 1 {
		k := len(size.edges) - 1
		a, b := r.Estimate(stats.Scores{all[0].step[k]}), r.Estimate(stats.Scores{all[1].step[k]})
		out.Found = fmt.Sprintf("a training step at %s edges takes %s s on the CPU and %s s on the GPU", power(size.edges[k]), a, b)
		switch {
		case a.Lo > paperGPU*b.Hi:
			out.Verdict = suite.Holds
		case a.Hi < paperGPU*b.Lo:
			out.Verdict = suite.Fails
		}
	}
	r.Claim(out)
}
