package variants

import (
	"math"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
)

// Kinds of nodes and edges in the graph that [Each] shows.
const (
	ProblemNode = iota
	FunctionNode
	OptionNode
)

const (
	flowEdge = iota
	offerEdge
	partEdge
)

const asRatio = "as x/(|x|+0.05)"

// tight maps small relative differences to −1 to 1: 0.05 is a half.
func tight(x float64) float32 { return float32(x / (math.Abs(x) + 0.05)) }

// wide maps ratios from 0 on to 0 to 1: 1 is a half.
func wide(x float64) float32 { return float32(x / (float64(x) + 1)) }

func problemFeatures() []envs.Component {
	return []envs.Component{
		{Name: "time", Doc: "1 where the response time is to be least (OptiServe, eq. 4.3)"},
		{Name: "cost", Doc: "1 where the cost is to be least (eq. 4.4)"},
		{Name: "accuracy", Doc: "1 where the accuracy is to be greatest (eq. 4.5)"},
		{Name: "time left", Unit: asRatio, Doc: "of the latency that is allowed, what the present plan leaves; 0 without one"},
		{Name: "budget left", Unit: asRatio, Doc: "of the budget, what the present plan leaves; 0 without one"},
		{Name: "decided", Unit: "share", Doc: "functions that are decided"},
		{Name: "functions", Unit: "as n/(n+8)", Doc: "functions"},
		{Name: "accuracy left", Unit: asRatio, Doc: "accuracy of the present plan above what is wanted; 0 without one"},
		{Name: "served", Doc: "1 where plans are served; the next five are 0 where they are not"},
		{Name: "margin", Unit: "share", Doc: "part of the allowed 95th percentile that the mean time is planned with; 0 before it is chosen"},
		{Name: "cold start", Unit: "as x/(x+1)", Doc: "mean time of a cold start, over the allowed percentile"},
		{Name: "kept", Unit: "as n/(n+1)", Doc: "requests that arrive while an idle instance is kept"},
		{Name: "bursty", Doc: "1 where requests arrive in bursts"},
		{Name: "quickest", Unit: "share", Doc: "part of the allowed percentile that the quickest known plan takes on average"},
	}
}

func functionFeatures() []envs.Component {
	return []envs.Component{
		{Name: "decided", Doc: "1 where it is decided"},
		{Name: "next", Doc: "1 where it is the one to decide"},
		{Name: "runs", Unit: "as n/(n+1)", Doc: "runs in a request"},
		{Name: "critical", Unit: "as x/(x+1)", Doc: "by how much the response time grows with the time of a run"},
		{Name: "time", Unit: "share", Doc: "part of the response time in the present plan"},
		{Name: "price", Unit: "share", Doc: "part of the cost in the present plan"},
		{Name: "time range", Unit: "as x/(x+1)", Doc: "between its slowest and quickest option, over the response time"},
		{Name: "price range", Unit: "as x/(x+1)", Doc: "between its dearest and cheapest option, over the cost"},
		{Name: "variants", Unit: "as n/(n+1)", Doc: "variants beyond the first"},
		{Name: "varies", Unit: "as x/(x+1)", Doc: "coefficient of variation of its run times in the present plan"},
		{Name: "cold", Unit: "share", Doc: "runs that find no instance, were they spread evenly; 0 where plans are not served"},
	}
}

func offerFeatures() []envs.Component {
	return []envs.Component{
		{Name: "objective", Unit: asRatio, Doc: "what the plan with it loses at the objective against the present plan"},
		{Name: "time left", Unit: asRatio, Doc: "of the latency, what the plan with it leaves; 0 without one"},
		{Name: "budget left", Unit: asRatio, Doc: "of the budget, what the plan with it leaves; 0 without one"},
		{Name: "accuracy left", Unit: asRatio, Doc: "accuracy above what is wanted; 0 without one"},
		{Name: "relaxed", Unit: asRatio, Doc: "price plus rate times time above the least of its variant, over the cost: the " +
			"rate of time is that at which the relaxed problem keeps the constraint"},
		{Name: "slower", Unit: asRatio, Doc: "time of the plan with it above the present plan's, over it"},
		{Name: "dearer", Unit: asRatio, Doc: "cost of the plan with it above the present plan's, over it"},
		{Name: "present", Doc: "1 where the present plan has it"},
		{Name: "variant", Unit: asRatio, Doc: "what the best plan with its variant loses at the objective"},
		{Name: "size", Unit: "share", Doc: "its place among the sizes of its variant"},
		{Name: "edge", Doc: "1 where the constraint is kept only if the functions that are left do their utmost for it"},
		{Name: "legal", Doc: "1 where it can be chosen"},
		{Name: "own time", Unit: "share", Doc: "part of the response time that its runs take"},
		{Name: "own price", Unit: "share", Doc: "part of the cost that its runs take"},
	}
}

// space is the space of the graphs.
func (s *shelf) space() envs.Graph {
	f, most := s.functions(), s.config.Options
	problem, function, offer := problemFeatures(), functionFeatures(), offerFeatures()
	return envs.Graph{
		Nodes: []envs.NodeKind{
			{Name: "problem", Width: len(problem), Capacity: 1, Features: problem},
			{Name: "function", Width: len(function), Capacity: f, Features: function},
			{Name: "option", Width: len(offer), Capacity: most, Features: offer},
		},
		Edges: []envs.EdgeKind{
			{Name: "flow", From: FunctionNode, To: FunctionNode, Capacity: f * f},
			{Name: "offer", From: OptionNode, To: FunctionNode, Capacity: most},
			{Name: "part", From: FunctionNode, To: ProblemNode, Capacity: f},
		},
	}
}

// functionRow writes the features of function f.
func (w *walk) functionRow(f int, x []float32) {
	now, o := w.outcome, &w.menu.offers[f][w.now[f]]
	runs, share, r := w.menu.model.Runs[f], w.share[f], &w.menu.ranges[f]
	x[0], x[1], x[2], x[3] = flag(w.decided[f] >= 0), flag(f == w.function()), wide(runs), wide(share)
	x[4], x[5] = float32(min(share*o.seconds/now.Seconds, 2)), float32(min(o.usd/now.USD, 2))
	x[6], x[7] = wide(share*r.seconds/now.Seconds), wide(r.usd/now.USD)
	x[8] = wide(float64(w.menu.left[f] - 1))
	x[9] = wide(w.menu.model.Options[f][o.option].CV)
	if s := w.menu.service; s != nil {
		x[10] = float32(s.cold(f))
	}
}

// left is what a value leaves of a bound, as a share of it; 0 where there is none.
func left(value, bound float64) float64 {
	if bound == 0 {
		return 0
	}
	return (bound - value) / bound
}

// loss is by how much an outcome is worse than another at the objective, as a share of it.
func (p *Problem) loss(o, than Outcome) float64 {
	if p.Objective == Accuracy {
		return (than.Accuracy - o.Accuracy) / max(than.Accuracy, 1e-9)
	}
	return (p.Value(o) - p.Value(than)) / max(p.Value(than), 1e-12)
}

func (p *Problem) above(accuracy float64) float64 {
	if p.Accuracy == 0 {
		return 0
	}
	return accuracy - p.Accuracy
}

// show writes the graph of an episode.
func (w *walk) show(g *envs.GraphValue) error {
	g.Clear()
	if err := w.showProblem(g); err != nil {
		return err
	}
	if err := w.showFunctions(g); err != nil {
		return err
	}
	if w.choosing() {
		return w.showMargins(g)
	}
	f := w.function()
	if f < 0 {
		return nil
	}
	share := float64(w.share[f])
	for i, o := range w.menu.offers[f] {
		n, x, err := g.AddNode(OptionNode)
		if err != nil {
			return err
		}
		v, span := &w.views[i], w.menu.spans[f][o.variant]
		x[9] = float32(i-span[0]) / float32(max(span[1]-span[0]-1, 1))
		x[12] = float32(min(share*o.seconds/w.outcome.Seconds, 2))
		x[13] = float32(min(o.usd/w.outcome.USD, 2))
		if with := w.with[o.variant]; with.ok {
			p, now := &w.problem, w.outcome
			x[0], x[1], x[2] = tight(p.loss(v.out, now)), tight(left(v.out.Seconds, p.Latency)), tight(left(v.out.USD, p.Budget))
			x[3], x[4] = tight(p.above(v.out.Accuracy)), tight(v.cost/now.USD)
			x[5], x[6] = tight((v.out.Seconds-now.Seconds)/now.Seconds), tight((v.out.USD-now.USD)/now.USD)
			x[8] = tight(p.loss(with.out, now))
		}
		x[7], x[10], x[11] = flag(w.now[f] == i), flag(v.edge), flag(v.legal)
		if _, err := g.AddEdge(offerEdge, n, int32(f)); err != nil {
			return err
		}
	}
	return nil
}

func flag(b bool) float32 {
	if b {
		return 1
	}
	return 0
}

func (w *walk) showProblem(g *envs.GraphValue) error {
	_, x, err := g.AddNode(ProblemNode)
	if err == nil {
		w.problemRow(x)
	}
	return err
}

// problemRow writes the features of the problem.
func (w *walk) problemRow(x []float32) {
	p, now, n := &w.problem, w.outcome, len(w.decided)
	x[0], x[1], x[2] = flag(p.Objective == Time), flag(p.Objective == Cost), flag(p.Objective == Accuracy)
	x[3], x[4] = tight(left(now.Seconds, p.Latency)), tight(left(now.USD, p.Budget))
	x[5], x[6], x[7] = float32(w.at)/float32(n), float32(n)/float32(n+8), tight(p.above(now.Accuracy))
	if s := w.menu.service; s != nil {
		x[8], x[10] = 1, wide(s.platform.ColdStart/w.asked.Latency)
		if w.margin >= 0 {
			x[9] = float32(margins[w.margin])
		}
		x[11], x[12] = wide(s.rate*s.platform.KeepAlive), flag(s.kind != workload.Poisson)
		x[13] = float32(min(w.utmost[w.quick[0]]/w.asked.Latency, 2))
	}
}

// showMargins shows the margins as options.
func (w *walk) showMargins(g *envs.GraphValue) error {
	for k := range w.views {
		_, x, err := g.AddNode(OptionNode)
		if err != nil {
			return err
		}
		if v := &w.views[k]; v.legal {
			p, now := &w.problem, w.outcome
			x[0], x[1] = tight(p.loss(v.out, now)), tight(left(v.out.Seconds, w.asked.Latency))
			x[3] = tight(p.above(v.out.Accuracy))
			x[5], x[6] = tight((v.out.Seconds-now.Seconds)/now.Seconds), tight((v.out.USD-now.USD)/now.USD)
		}
		x[9], x[11] = float32(margins[k]), flag(w.views[k].legal)
	}
	return nil
}

func (w *walk) showFunctions(g *envs.GraphValue) error {
	for f := range w.menu.offers {
		n, x, err := g.AddNode(FunctionNode)
		if err != nil {
			return err
		}
		w.functionRow(f, x)
		if _, err := g.AddEdge(partEdge, n, 0); err != nil {
			return err
		}
	}
	for f, to := range w.menu.next {
		for _, t := range to {
			if _, err := g.AddEdge(flowEdge, int32(f), int32(t)); err != nil {
				return err
			}
		}
	}
	return nil
}
