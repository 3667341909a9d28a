package gnn

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/stoker-rl/stoker/bench"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/lists"
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
	slopeStep, slopeInfer report.Estimate
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
	all, err := lists.Try(devices, func(d string) (*timed, error) { return measure(ctx, o, d, size) })
	if err != nil {
		return err
	}
	m := bench.ThisMachine()
	r.Note("measured on %s, %d cores; %s. The paper names neither its GPU nor its CPU, nor the network: "+
		"seconds beside each other are of other hardware and another network", m.CPU, m.Cores, all[0].where)
	r.Note("an epoch is one training step over the whole graph: both heads, backward, Adam. The network is that of "+
		"stoker bench graph: "+
		"two layers of attention over three kinds of nodes and four of edges, width %d", all[0].hidden)
	r.Note("workload seeds are repetitions, one after the other; the graph is the same in all. " +
		"--workers has no effect, and files differ from run to run")
	r.Note("a peer, in turn with ours: stoker bench graph --peer-cmd '…'; 10⁷ edges, which take 5 GB: stoker bench " +
		"graph --edges 10000000")
	for _, t := range all {
		fig1Rows(r, t, size)
	}
	fig1Figure(r, all, size)
	suite.Judge(r, &fig1Evidence{r, all, size}, fig1Claims(all))
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
	return t, one.Each(ctx, "timing, "+device, len(o.Seeds)*len(size.edges), func(i int) error {
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

func fig1Rows(r *suite.Report, t *timed, size fig1Size) {
	for _, q := range []struct {
		name, note string
		seconds    [][]float64
		paper      float64
		slope      *report.Estimate
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
				Figure: "1, " + t.device, Quantity: fmt.Sprintf("slope of log seconds over log edges, %s", q.name), Unit: "1",
				Paper: new(1.0), Note: "the paper: near-linear",
			}, s)
		}
	}
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
	f := report.NewFigure("fig1-seconds", "Fig. 1: seconds of a training step over the whole graph, and of an inference, over the "+
		"number of edges. Dashed: growth in proportion to the edges, through the largest graph; rings: the paper's bounds at 10⁶ "+
		"edges on its GPU.", chart.Figure{Columns: 2, Width: half, Height: height},
		"device", "edges", "training step [s]", "inference [s]")
	step, infer := f.Panel("training step", "edges", "seconds"), f.Panel("inference", "edges", "seconds")
	x := report.Floats(size.edges)
	for _, p := range f.Chart.Panels {
		p.LogX()
		p.LogY()
	}
	for i, t := range all {
		f.Key(chart.Entry{Line: true, Band: true}, t.device)
		bands := [2][]report.Estimate{}
		for k := range x {
			bands[0] = append(bands[0], r.Estimate(stats.Scores{t.step[k]}))
			bands[1] = append(bands[1], r.Estimate(stats.Scores{t.infer[k]}))
			f.Rows = append(f.Rows, []any{t.device, size.edges[k], bands[0][k], bands[1][k]})
		}
		for n, p := range f.Chart.Panels {
			last := bands[n][len(x)-1].At
			proportional := lists.From(x, func(edges float64) float64 { return last * edges / x[len(x)-1] })
			p.Line(chart.Bound(), x, proportional, false)
			report.Line(p, chart.Styles(i), x, bands[n])
		}
	}
	f.Chart.Key = append(f.Chart.Key,
		chart.Entry{Text: "in proportion to edges", Style: chart.Bound(), Line: true},
		chart.Entry{Text: "the paper's bound, on a GPU", Style: chart.Bound(), Dot: true})
	ring(step, chart.Bound(), paperEdges, paperEpoch, paperEpoch)
	ring(infer, chart.Bound(), paperEdges, paperInference, paperInference)
	r.Figure(*f)
}

// fig1Evidence is what the claims about Fig. 1 are measured from.
type fig1Evidence struct {
	r    *suite.Report
	all  []*timed // the GPU last, where there is one
	size fig1Size
}

type fig1Part = suite.Part[*fig1Evidence]

// fig1Claims are the paper's about Fig. 1, one for each device about the growth.
func fig1Claims(all []*timed) []suite.Statement[*fig1Evidence] {
	out := []suite.Statement[*fig1Evidence]{
		suite.Says("training time stays under 1 s an epoch at a million edges on a GPU",
			suite.Under(paperEpoch), atMillion(func(t *timed) [][]float64 { return t.step })),
		suite.Says("decisions at a million edges take under 50 ms on a GPU",
			suite.Under(paperInference), atMillion(func(t *timed) [][]float64 { return t.infer })),
	}
	for _, t := range all {
		out = append(out, suite.Statement[*fig1Evidence]{
			Claim: "time grows nearly in proportion to the edges (" + t.device + ")",
			Parts: []fig1Part{{Rule: suite.Inside(1-linear, 1+linear), Measure: growth(t)}},
		})
	}
	return append(out, suite.Statement[*fig1Evidence]{
		Claim: "for the largest graphs a GPU is more than ten times as fast as a CPU",
		Parts: []fig1Part{{Rule: suite.Over(paperGPU), Measure: gpuGain}}, None: "no GPU is measured",
	})
}

// atMillion is the time at a million edges, on the GPU where there is one. A CPU that is slower refutes nothing.
func atMillion(of func(t *timed) [][]float64) func(*fig1Evidence, suite.Rule) []suite.Finding {
	return func(e *fig1Evidence, rule suite.Rule) []suite.Finding {
		at := slices.Index(e.size.edges, paperEdges)
		if at < 0 {
			return []suite.Finding{{Text: "a million edges were not measured", Verdict: suite.Unknown}}
		}
		last := e.all[len(e.all)-1]
		x := e.r.Estimate(stats.Scores{of(last)[at]})
		out := suite.Found(rule(x), "%s s on %s (%s)", x, last.device, last.where)
		if last.device == "cpu" {
			out.Text += ", without a GPU"
			if out.Verdict == suite.Fails {
				out.Verdict = suite.Unknown
			}
		}
		return []suite.Finding{out}
	}
}

// growth is the slopes of a device's times.
func growth(t *timed) func(*fig1Evidence, suite.Rule) []suite.Finding {
	return func(e *fig1Evidence, rule suite.Rule) []suite.Finding {
		edges := e.size.edges
		return []suite.Finding{suite.Found(suite.All(rule(t.slopeStep), rule(t.slopeInfer)), "slopes of %s (a training step) and %s "+
			"(an inference) from %s to %s edges; near is within %.1f of 1", t.slopeStep, t.slopeInfer, power(edges[0]),
			power(edges[len(edges)-1]), linear)}
	}
}

// gpuGain is how many times as fast the GPU is at the largest graph.
func gpuGain(e *fig1Evidence, rule suite.Rule) []suite.Finding {
	if len(e.all) < 2 {
		return nil
	}
	k := len(e.size.edges) - 1
	cpu, gpu := e.r.Estimate(stats.Scores{e.all[0].step[k]}), e.r.Estimate(stats.Scores{e.all[1].step[k]})
	gain := report.Estimate{At: cpu.At / gpu.At, Low: cpu.Low / gpu.High, High: cpu.High / gpu.Low}
	return []suite.Finding{suite.Found(rule(gain), "a training step at %s edges takes %s s on the CPU and %s s on the GPU",
		power(e.size.edges[k]), cpu, gpu)}
}
