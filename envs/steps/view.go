package steps

import (
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng/portable"
)

// Kinds of nodes and edges in the graph that [Env] shows.
const (
	RequestNode = iota
	StepNode
	OptionNode
)

const (
	flowEdge = iota
	offerEdge
	partEdge
)

// view makes what is seen of a game.
type view struct {
	outlook    Outlook
	of         *Model // that the outlook is of
	prospects  []Prospect
	request    seenRequest
	step       seenStep
	option     seenOption
	contention *contention // where contention is seen
	other      contentionOption
}

const (
	asRatio = "as x/(|x|+0.05)"
	asMore  = "as x/(x+1)"
	asLog   = "as ln(1+x)/4"
	ofSLO   = "of the SLO"
	ofUnit  = "of the workflow's unit of price"
	byUnit  = "of the workflow's unit of price, as x/(x+1)"
)

// high maps numbers of any size from 0 on.
func high(x float64) float32 { return float32(portable.Log1p(x) / 4) }

// within keeps shares of the SLO where networks can use them.
func within(x float64) float32 { return float32(min(max(x, -2), 2)) }

// seenRequest is what the features of a request are computed from.
type seenRequest struct {
	at                         *Moment
	m                          *Model
	left, unit                 float64 // seconds, USD
	toSpend                    float64 // USD of what is not decided
	path, quick, waits         float64 // seconds of the longest paths from here
	decided, steps, inProgress int
}

var requestFeatures = []envs.Feature[seenRequest]{
	envs.NewFeature("left", ofSLO, "time left", func(x *seenRequest) float32 { return within(x.left / x.at.SLO) }),
	envs.NewFeature("slo", asMore, "the SLO over the fastest time, less 1",
		func(x *seenRequest) float32 { return envs.Wide(max(x.at.SLO/x.m.Fastest-1, 0)) }),
	envs.NewFeature("miss", "of the workflow's unit of price, as ln(1+x)/4", "price of a miss",
		func(x *seenRequest) float32 { return high(x.at.Miss / x.unit) }),
	envs.NewFeature("spent", ofUnit, "price so far", func(x *seenRequest) float32 { return within(x.at.Spent / x.unit) }),
	envs.NewFeature("to spend", ofUnit, "price of what is not decided, each step with its option of the least price times time",
		func(x *seenRequest) float32 { return within(x.toSpend / x.unit) }),
	envs.NewFeature("slack", ofSLO, "time left beyond the longest path from here at P90, with these options",
		func(x *seenRequest) float32 { return within((x.left - x.path) / x.at.SLO) }),
	envs.NewFeature("most slack", ofSLO, "the same with the fastest options",
		func(x *seenRequest) float32 { return within((x.left - x.quick) / x.at.SLO) }),
	envs.NewFeature("decided", "share", "steps that are decided or skipped",
		func(x *seenRequest) float32 { return float32(x.decided) / float32(x.steps) }),
	envs.NewFeature("steps", "as n/(n+8)", "steps", func(x *seenRequest) float32 { return float32(x.steps) / float32(x.steps+8) }),
	envs.NewFeature("ready", "as n/(n+1)", "steps that are to be decided at this moment, beyond the first",
		func(x *seenRequest) float32 { return envs.Wide(float64(max(len(x.at.Ready)-1, 0))) }),
	envs.NewFeature("running", "as n/(n+1)", "steps that are running",
		func(x *seenRequest) float32 { return envs.Wide(float64(x.inProgress)) }),
	envs.NewFeature("waits", ofSLO, "the longest that is left of running steps and what follows them, at P90",
		func(x *seenRequest) float32 { return within(x.waits / x.at.SLO) }),
}

// seenStep is what the features of a step are computed from.
type seenStep struct {
	at         *Moment
	m          *Model
	s          int
	state      State
	next       bool
	o          *Option
	options    []Option
	left, unit float64 // seconds, USD
	best       float64 // seconds of it and what follows it, at P90, with the options of the least price times time
	p50, p90   float64 // seconds that are left of it; 0 where it has ended
	warm       int
	tasks      float32
}

func (x *seenStep) ended() bool { return x.state == Done || x.state == Skipped }

var stepFeatures = []envs.Feature[seenStep]{
	envs.NewFeature("waiting", "", "1 where what it waits for has not ended", func(x *seenStep) float32 { return envs.Flag(x.state == Waiting) }),
	envs.NewFeature("ready", "", "1 where it is to be decided at this moment", func(x *seenStep) float32 { return envs.Flag(x.state == Ready) }),
	envs.NewFeature("running", "", "1 where it is running", func(x *seenStep) float32 { return envs.Flag(x.state == Running) }),
	envs.NewFeature("done", "", "1 where it has ended", func(x *seenStep) float32 { return envs.Flag(x.state == Done) }),
	envs.NewFeature("next", "", "1 where it is the one to decide", func(x *seenStep) float32 { return envs.Flag(x.next) }),
	envs.NewFeature("tasks", asLog, "its tasks", func(x *seenStep) float32 { return x.tasks }),
	envs.NewFeature("p50", ofSLO, "median of its time; of a running step what is left of it",
		func(x *seenStep) float32 { return within(x.p50 / x.at.SLO) }),
	envs.NewFeature("p90", ofSLO, "the same of the 90th percentile", func(x *seenStep) float32 { return within(x.p90 / x.at.SLO) }),
	envs.NewFeature("price", ofUnit, "its price; before it is decided, that of its option of the least price times time",
		func(x *seenStep) float32 { return within(x.o.USD / x.unit) }),
	envs.NewFeature("fastest", ofSLO, "P90 of its fastest option", func(x *seenStep) float32 { return within(x.options[0].P90 / x.at.SLO) }),
	envs.NewFeature("dearest", byUnit, "price of its fastest option above that of its cheapest one",
		func(x *seenStep) float32 {
			return envs.Wide((x.options[0].USD - x.options[len(x.options)-1].USD) / x.unit)
		}),
	envs.NewFeature("slack", ofSLO, "time left beyond it and what follows it, at P90", func(x *seenStep) float32 {
		if x.ended() {
			return 0
		}
		return within((x.left - x.p90 - x.best + x.options[x.m.Best[x.s]].P90) / x.at.SLO)
	}),
	envs.NewFeature("warm", "as n/(n+8)", "idle warm instances of all sizes",
		func(x *seenStep) float32 { return float32(x.warm) / float32(x.warm+8) }),
	envs.NewFeature("runs", "probability", "how likely it is to run, before the request begins",
		func(x *seenStep) float32 { return float32(x.m.Runs[x.s]) }),
}

// seenOption is what the features of an option are computed from.
type seenOption struct {
	at             *Moment
	m              *Model
	s              int
	o, cheap       *Option // it, and the one of the least price times time
	prospect       *Prospect
	least          float64 // price of the best prospect
	left, over     float64 // seconds; a little at least
	unit           float64 // USD
	best, quickest float64 // seconds of the step and what follows it, with options of the least price times time, and the fastest
	warm           int
	sizes          *[3]float32 // memory, instances and processes as they are seen
}

var optionFeatures = []envs.Feature[seenOption]{
	envs.NewFeature("p50", "of the time left", "median of the step's time, warm instances left out of account",
		func(x *seenOption) float32 { return within(x.o.P50 / x.over) }),
	envs.NewFeature("p90", "of the time left", "the 90th percentile of it", func(x *seenOption) float32 { return within(x.o.P90 / x.over) }),
	envs.NewFeature("price", byUnit, "the step's price", func(x *seenOption) float32 { return envs.Wide(x.o.USD / x.unit) }),
	envs.NewFeature("dearer", asRatio, "its price above that of the option of the least price times time, over the unit of price",
		func(x *seenOption) float32 { return envs.Tight((x.o.USD - x.cheap.USD) / x.unit) }),
	envs.NewFeature("slack", ofSLO, "time left beyond the step and what follows it, at P90; the rest with the options of the "+
		"least price times time", func(x *seenOption) float32 {
		return within((x.left - x.o.P90 - x.best + x.cheap.P90) / x.at.SLO)
	}),
	envs.NewFeature("most slack", ofSLO, "the same, the rest with the fastest options", func(x *seenOption) float32 {
		return within((x.left - x.o.P90 - x.quickest + x.m.Options[x.s][0].P90) / x.at.SLO)
	}),
	envs.NewFeature("share", asMore, "its P90 over the step's fair share of the time left (StepConf, eq. 14)",
		func(x *seenOption) float32 { return envs.Wide(x.o.P90 / max(x.over*(x.cheap.P90/x.best), 1e-9)) }),
	envs.NewFeature("prospect", asRatio, "expected price of the option, the rest and a miss, above the least of all options, over "+
		"the unit of price", func(x *seenOption) float32 { return envs.Tight((x.prospect.USD - x.least) / x.unit) }),
	envs.NewFeature("least", "", "1 where that is the least", func(x *seenOption) float32 { return envs.Flag(x.prospect.USD == x.least) }),
	envs.NewFeature("late", "probability", "that the request ends late, with the plan for the rest of that expectation",
		func(x *seenOption) float32 { return float32(x.prospect.Late) }),
	envs.NewFeature("spare", ofSLO, "time left in the mean, with that plan",
		func(x *seenOption) float32 { return within(x.prospect.Spare / x.at.SLO) }),
	envs.NewFeature("memory", "as ln(1+x)/4 of GB", "memory of an instance",
		func(x *seenOption) float32 { return x.sizes[0] }),
	envs.NewFeature("instances", asLog, "instances", func(x *seenOption) float32 { return x.sizes[1] }),
	envs.NewFeature("processes", asLog, "processes of an instance", func(x *seenOption) float32 { return x.sizes[2] }),
	envs.NewFeature("warm", "share", "of its instances that are found warm",
		func(x *seenOption) float32 { return float32(min(x.warm, x.o.Instances)) / float32(x.o.Instances) }),
}

// space is the space of the graphs.
func (s *shelf) space() envs.Graph {
	n := s.most()
	request, step, option := envs.Components(requestFeatures), envs.Components(stepFeatures), envs.Components(optionFeatures)
	if s.config.Contention == Seen {
		request = append(request, envs.Components(contentionRequest)...)
		step, option = append(step, envs.Components(contentionSteps)...), append(option, envs.Components(contentionOptions)...)
	}
	return envs.Graph{
		Nodes: []envs.NodeKind{
			{Name: "request", Width: len(request), Capacity: 1, Features: request},
			{Name: "step", Width: len(step), Capacity: n, Features: step},
			{Name: "option", Width: len(option), Capacity: mostOptions, Features: option},
		},
		Edges: []envs.EdgeKind{
			{Name: "flow", From: StepNode, To: StepNode, Capacity: n * n},
			{Name: "offer", From: OptionNode, To: StepNode, Capacity: mostOptions},
			{Name: "part", From: StepNode, To: RequestNode, Capacity: n},
		},
	}
}

// show writes the graph of a game.
func (v *view) show(g *envs.GraphValue, game *Game) error {
	g.Clear()
	_, x, err := g.AddNode(RequestNode)
	if err != nil {
		return err
	}
	v.requestRow(game, x)
	if v.contention != nil {
		v.contention.look(game)
		envs.WriteRow(contentionRequest, v.contention, x[len(requestFeatures):])
	}
	m := game.Model()
	for s := range m.Steps {
		n, x, err := g.AddNode(StepNode)
		if err != nil {
			return err
		}
		v.stepRow(game, s, x)
		if v.contention != nil {
			v.contention.stepRow(s, x[len(stepFeatures):])
		}
		if _, err := g.AddEdge(partEdge, n, 0); err != nil {
			return err
		}
	}
	for s, edges := range m.edges {
		for _, e := range edges {
			if e.to < 0 {
				continue
			}
			if _, err := g.AddEdge(flowEdge, int32(s), int32(e.to)); err != nil {
				return err
			}
		}
	}
	return v.showOptions(g, game)
}

func (v *view) showOptions(g *envs.GraphValue, game *Game) error {
	s := game.NextStep()
	v.look(game, s)
	at, m, a := &game.walk.at, game.Model(), game.entry.ahead
	x := &v.option
	*x = seenOption{at: at, m: m, s: s, cheap: &m.Options[s][m.Best[s]], least: v.prospects[0].USD, left: at.SLO - at.Now,
		unit: unitOf(m), best: a.best[s], quickest: a.quickest[s]}
	x.over = max(x.left, at.SLO/100)
	for i := range v.prospects {
		x.least = min(x.least, v.prospects[i].USD)
	}
	for i := range v.prospects {
		n, row, err := g.AddNode(OptionNode)
		if err != nil {
			return err
		}
		x.o, x.prospect = &m.Options[s][i], &v.prospects[i]
		x.sizes, x.warm = &a.sizes[s][i], game.walk.found(s, x.o.MB)
		envs.WriteRow(optionFeatures, x, row)
		if v.contention != nil {
			v.other = contentionOption{contention: v.contention, at: at, course: &v.contention.courses[i], unit: x.unit,
				cores: float64(x.o.Instances * m.Platform.CoresOf(x.o.MB)), mb: float64(x.o.Instances * x.o.MB)}
			envs.WriteRow(contentionOptions, &v.other, row[len(optionFeatures):])
		}
		if _, err := g.AddEdge(offerEdge, n, int32(s)); err != nil {
			return err
		}
	}
	return nil
}

// plans returns the plans of a game's workflow.
func (v *view) plans(game *Game) *levels {
	if m := game.Model(); v.of != m {
		v.outlook.Begin(m)
		v.of = m
	}
	return v.outlook.l
}

// look works the prospects of a step's options out.
func (v *view) look(game *Game, s int) {
	v.plans(game)
	v.prospects = v.outlook.Look(v.prospects[:0], &game.walk.at, s)
}

// lookAt works the prospects of some of them out.
func (v *view) lookAt(game *Game, s int, options []int) {
	v.plans(game)
	v.prospects = v.outlook.LookAt(v.prospects[:0], &game.walk.at, s, options)
}

// requestRow writes the features of the request.
func (v *view) requestRow(g *Game, row []float32) {
	at, m, a := &g.walk.at, g.Model(), g.entry.ahead
	x := &v.request
	*x = seenRequest{at: at, m: m, left: at.SLO - at.Now, unit: unitOf(m), steps: len(at.State), inProgress: g.walk.running}
	for s, state := range at.State {
		switch state {
		case Waiting:
			x.toSpend += a.usd[s]
			continue
		case Ready:
			x.toSpend += a.usd[s]
			x.path, x.quick = max(x.path, a.best[s]), max(x.quick, a.quickest[s])
			continue
		case Running:
			own := g.remains(s)
			x.waits = max(x.waits, own+a.best[s]-m.Options[s][m.Best[s]].P90)
			x.quick = max(x.quick, own+a.quickest[s]-m.Options[s][0].P90)
		}
		x.decided++
	}
	x.path = max(x.path, x.waits)
	envs.WriteRow(requestFeatures, x, row)
}

// remains is what is left of a running step's time, at P90; where it has already taken longer, a tenth of it.
func (g *Game) remains(s int) float64 {
	at := &g.walk.at
	o := g.option(s)
	return max(o.P90-(at.Now-at.Begun[s]), o.P90/10)
}

// option is what a step runs with, or Best before it is decided.
func (g *Game) option(s int) *Option {
	m, i := g.Model(), g.walk.at.Choice[s]
	switch {
	case i < 0:
		i = m.Best[s]
	case i >= len(m.Options[s]):
		return &g.walk.offs[s]
	}
	return &m.Options[s][i]
}

// stepRow writes the features of a step.
func (v *view) stepRow(g *Game, s int, row []float32) {
	at, m := &g.walk.at, g.Model()
	x := &v.step
	*x = seenStep{at: at, m: m, s: s, state: at.State[s], next: s == g.NextStep(), o: g.option(s), options: m.Options[s],
		left: at.SLO - at.Now, unit: unitOf(m), best: g.entry.ahead.best[s], tasks: g.entry.ahead.tasks[s]}
	for _, n := range at.Warm[s] {
		x.warm += n
	}
	if !x.ended() {
		x.p50, x.p90 = x.o.P50, x.o.P90
	}
	if x.state == Running {
		x.p90 = g.remains(s)
		x.p50 = max(x.p50-(at.Now-at.Begun[s]), x.p50/10)
	}
	envs.WriteRow(stepFeatures, x, row)
}
