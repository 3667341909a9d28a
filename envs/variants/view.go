package variants

import (
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/rng/portable"
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

var problemFeatures = []envs.Feature[walk]{
	envs.NewFeature("time", "", "1 where the response time is to be least (OptiServe, eq. 4.3)",
		func(w *walk) float32 { return envs.Flag(w.problem.Objective == Time) }),
	envs.NewFeature("cost", "", "1 where the cost is to be least (eq. 4.4)",
		func(w *walk) float32 { return envs.Flag(w.problem.Objective == Cost) }),
	envs.NewFeature("accuracy", "", "1 where the accuracy is to be greatest (eq. 4.5)",
		func(w *walk) float32 { return envs.Flag(w.problem.Objective == Accuracy) }),
	envs.NewFeature("time left", asRatio, "of the latency that is allowed, what the present plan leaves; 0 without one",
		func(w *walk) float32 { return envs.Tight(left(w.outcome.Seconds, w.problem.Latency)) }),
	envs.NewFeature("budget left", asRatio, "of the budget, what the present plan leaves; 0 without one",
		func(w *walk) float32 { return envs.Tight(left(w.outcome.USD, w.problem.Budget)) }),
	envs.NewFeature("decided", "share", "functions that are decided",
		func(w *walk) float32 { return float32(w.at) / float32(len(w.decided)) }),
	envs.NewFeature("functions", "as n/(n+8)", "functions",
		func(w *walk) float32 { return float32(len(w.decided)) / float32(len(w.decided)+8) }),
	envs.NewFeature("accuracy left", asRatio, "accuracy of the present plan above what is wanted; 0 without one",
		func(w *walk) float32 { return envs.Tight(w.problem.above(w.outcome.Accuracy)) }),
	envs.NewFeature("served", "", "1 where plans are served; the next five are 0 where they are not",
		func(w *walk) float32 { return envs.Flag(w.menu.service != nil) }),
	ofService("margin", "share", "part of the allowed 95th percentile that the mean time is planned with; 0 before it is chosen",
		func(w *walk, _ *service) float32 {
			if w.margin < 0 {
				return 0
			}
			return float32(margins[w.margin])
		}),
	ofService("cold start", "as x/(x+1)", "mean time of a cold start, over the allowed percentile",
		func(w *walk, s *service) float32 { return envs.Wide(s.platform.ColdStart / w.asked.Latency) }),
	ofService("kept", "as n/(n+1)", "requests that arrive while an idle instance is kept",
		func(_ *walk, s *service) float32 { return envs.Wide(s.rate * s.platform.KeepAlive) }),
	ofService("bursty", "", "1 where requests arrive in bursts",
		func(_ *walk, s *service) float32 { return envs.Flag(s.kind != workload.Poisson) }),
	ofService("quickest", "share", "part of the allowed percentile that the quickest known plan takes on average",
		func(w *walk, _ *service) float32 { return float32(min(w.utmost[w.quick[0]]/w.asked.Latency, 2)) }),
}

// dialFeatures are those of problems whose penalty is drawn.
var dialFeatures = append(slices.Clone(problemFeatures),
	envs.NewFeature("penalty", "as ln x", "what a missed percentile costs",
		func(w *walk) float32 { return float32(portable.Log(w.penalty)) }))

// ofService is a feature that is 0 where plans are not served.
func ofService(name, unit, doc string, of func(*walk, *service) float32) envs.Feature[walk] {
	return envs.NewFeature(name, unit, doc, func(w *walk) float32 {
		if w.menu.service == nil {
			return 0
		}
		return of(w, w.menu.service)
	})
}

// seenFunction is what the features of a function are computed from.
type seenFunction struct {
	w           *walk
	f           int
	o, ranges   *offer // its option in the present plan; how far its times and prices range
	runs, share float64
}

var functionFeatures = []envs.Feature[seenFunction]{
	envs.NewFeature("decided", "", "1 where it is decided", func(x *seenFunction) float32 { return envs.Flag(x.w.decided[x.f] >= 0) }),
	envs.NewFeature("next", "", "1 where it is the one to decide", func(x *seenFunction) float32 { return envs.Flag(x.f == x.w.function()) }),
	envs.NewFeature("runs", "as n/(n+1)", "runs in a request", func(x *seenFunction) float32 { return envs.Wide(x.runs) }),
	envs.NewFeature("critical", "as x/(x+1)", "by how much the response time grows with the time of a run",
		func(x *seenFunction) float32 { return envs.Wide(x.share) }),
	envs.NewFeature("time", "share", "part of the response time in the present plan",
		func(x *seenFunction) float32 { return float32(min(x.share*x.o.seconds/x.w.outcome.Seconds, 2)) }),
	envs.NewFeature("price", "share", "part of the cost in the present plan",
		func(x *seenFunction) float32 { return float32(min(x.o.usd/x.w.outcome.USD, 2)) }),
	envs.NewFeature("time range", "as x/(x+1)", "between its slowest and quickest option, over the response time",
		func(x *seenFunction) float32 { return envs.Wide(x.share * x.ranges.seconds / x.w.outcome.Seconds) }),
	envs.NewFeature("price range", "as x/(x+1)", "between its dearest and cheapest option, over the cost",
		func(x *seenFunction) float32 { return envs.Wide(x.ranges.usd / x.w.outcome.USD) }),
	envs.NewFeature("variants", "as n/(n+1)", "variants beyond the first",
		func(x *seenFunction) float32 { return envs.Wide(float64(x.w.menu.left[x.f] - 1)) }),
	envs.NewFeature("varies", "as x/(x+1)", "coefficient of variation of its run times in the present plan",
		func(x *seenFunction) float32 { return envs.Wide(x.w.menu.model.Options[x.f][x.o.option].CV) }),
	envs.NewFeature("cold", "share", "runs that find no instance, were they spread evenly; 0 where plans are not served",
		func(x *seenFunction) float32 {
			if x.w.menu.service == nil {
				return 0
			}
			return float32(x.w.menu.service.cold(x.f))
		}),
}

// seenOffer is what the features of an option are computed from: of an offer of the next function, or of a margin.
type seenOffer struct {
	w       *walk
	v       *view
	planned bool    // there is a plan with it
	latency float64 // the bound of its time
	place   float32 // among the sizes of its variant; of a margin the margin
	o       *offer  // nil of margins, which have nothing of what follows
	present bool
	with    *relaxed // the best plan with its variant
	share   float64
}

// ofPlan is a feature that is 0 where there is no plan with the option, ofOffer one that is 0 of margins, too.
func ofPlan(name, doc string, of func(x *seenOffer) float32) envs.Feature[seenOffer] {
	return envs.NewFeature(name, asRatio, doc, func(x *seenOffer) float32 {
		if !x.planned {
			return 0
		}
		return of(x)
	})
}

func ofOffer(name, unit, doc string, of func(x *seenOffer) float32) envs.Feature[seenOffer] {
	return envs.NewFeature(name, unit, doc, func(x *seenOffer) float32 {
		if x.o == nil || unit == asRatio && !x.planned {
			return 0
		}
		return of(x)
	})
}

var offerFeatures = []envs.Feature[seenOffer]{
	ofPlan("objective", "what the plan with it loses at the objective against the present plan",
		func(x *seenOffer) float32 { return envs.Tight(x.w.problem.loss(x.v.out, x.w.outcome)) }),
	ofPlan("time left", "of the latency, what the plan with it leaves; 0 without one",
		func(x *seenOffer) float32 { return envs.Tight(left(x.v.out.Seconds, x.latency)) }),
	ofOffer("budget left", asRatio, "of the budget, what the plan with it leaves; 0 without one",
		func(x *seenOffer) float32 { return envs.Tight(left(x.v.out.USD, x.w.problem.Budget)) }),
	ofPlan("accuracy left", "accuracy above what is wanted; 0 without one",
		func(x *seenOffer) float32 { return envs.Tight(x.w.problem.above(x.v.out.Accuracy)) }),
	ofOffer("relaxed", asRatio, "price plus rate times time above the least of its variant, over the cost: the rate of time is "+
		"that at which the relaxed problem keeps the constraint",
		func(x *seenOffer) float32 { return envs.Tight(x.v.cost / x.w.outcome.USD) }),
	ofPlan("slower", "time of the plan with it above the present plan's, over it",
		func(x *seenOffer) float32 {
			return envs.Tight((x.v.out.Seconds - x.w.outcome.Seconds) / x.w.outcome.Seconds)
		}),
	ofPlan("dearer", "cost of the plan with it above the present plan's, over it",
		func(x *seenOffer) float32 { return envs.Tight((x.v.out.USD - x.w.outcome.USD) / x.w.outcome.USD) }),
	ofOffer("present", "", "1 where the present plan has it", func(x *seenOffer) float32 { return envs.Flag(x.present) }),
	ofOffer("variant", asRatio, "what the best plan with its variant loses at the objective",
		func(x *seenOffer) float32 { return envs.Tight(x.w.problem.loss(x.with.out, x.w.outcome)) }),
	envs.NewFeature("size", "share", "its place among the sizes of its variant", func(x *seenOffer) float32 { return x.place }),
	ofOffer("edge", "", "1 where the constraint is kept only if the functions that are left do their utmost for it",
		func(x *seenOffer) float32 { return envs.Flag(x.v.edge) }),
	envs.NewFeature("legal", "", "1 where it can be chosen", func(x *seenOffer) float32 { return envs.Flag(x.v.legal) }),
	ofOffer("own time", "share", "part of the response time that its runs take",
		func(x *seenOffer) float32 { return float32(min(x.share*x.o.seconds/x.w.outcome.Seconds, 2)) }),
	ofOffer("own price", "share", "part of the cost that its runs take",
		func(x *seenOffer) float32 { return float32(min(x.o.usd/x.w.outcome.USD, 2)) }),
}

// space is the space of the graphs.
func (s *shelf) space() envs.Graph {
	f, most := s.functions(), s.config.Options
	features := problemFeatures
	if len(s.config.Penalties) > 0 {
		features = dialFeatures
	}
	problem, function, offer := envs.Components(features), envs.Components(functionFeatures), envs.Components(offerFeatures)
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
func (w *walk) functionRow(f int, row []float32) {
	w.seenFunction = seenFunction{w, f, &w.menu.offers[f][w.now[f]], &w.menu.ranges[f], w.menu.model.Runs[f], w.share[f]}
	envs.WriteRow(functionFeatures, &w.seenFunction, row)
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
	x := &w.seenOffer
	*x = seenOffer{w: w, latency: w.problem.Latency, share: w.share[f]}
	for i := range w.menu.offers[f] {
		n, row, err := g.AddNode(OptionNode)
		if err != nil {
			return err
		}
		x.o, x.v, x.present = &w.menu.offers[f][i], &w.views[i], w.now[f] == i
		x.with = &w.with[x.o.variant]
		x.planned = x.with.ok
		span := w.menu.spans[f][x.o.variant]
		x.place = float32(i-span[0]) / float32(max(span[1]-span[0]-1, 1))
		envs.WriteRow(offerFeatures, x, row)
		if _, err := g.AddEdge(offerEdge, n, int32(f)); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) showProblem(g *envs.GraphValue) error {
	_, x, err := g.AddNode(ProblemNode)
	switch {
	case err != nil:
	case w.penalty > 0:
		envs.WriteRow(dialFeatures, w, x)
	default:
		envs.WriteRow(problemFeatures, w, x)
	}
	return err
}

// showMargins shows the margins as options.
func (w *walk) showMargins(g *envs.GraphValue) error {
	for k := range w.views {
		_, row, err := g.AddNode(OptionNode)
		if err != nil {
			return err
		}
		w.seenOffer = seenOffer{w: w, v: &w.views[k], planned: w.views[k].legal, latency: w.asked.Latency, place: float32(margins[k])}
		envs.WriteRow(offerFeatures, &w.seenOffer, row)
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

// mask marks the offers that are legal.
func (w *walk) mask(mask []bool) {
	clear(mask)
	for i := range w.views {
		mask[i] = w.views[i].legal
	}
}

// present writes the present plan to choice, options of the model.
func (w *walk) present(choice []int) []int {
	choice = choice[:0]
	for f, i := range w.now {
		choice = append(choice, w.menu.offers[f][i].option)
	}
	return choice
}
