package steps

import (
	"math"

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
	outlook   Outlook
	of        *Model // that the outlook is of
	prospects []Prospect
}

const (
	asRatio  = "as x/(|x|+0.05)"
	asMore   = "as x/(x+1)"
	asLog    = "as ln(1+x)/4"
	ofSLO    = "of the SLO"
	ofUnit   = "of the workflow's unit of price"
	byUnit   = "of the workflow's unit of price, as x/(x+1)"
	tightest = 0.05
)

// tight maps small relative differences to −1 to 1: 0.05 is a half.
func tight(x float64) float32 { return float32(x / (math.Abs(x) + tightest)) }

// wide maps ratios from 0 on to 0 to 1: 1 is a half.
func wide(x float64) float32 { return float32(x / (x + 1)) }

// high maps numbers of any size from 0 on.
func high(x float64) float32 { return float32(portable.Log1p(x) / 4) }

// within keeps shares of the SLO where networks can use them.
func within(x float64) float32 { return float32(min(max(x, -2), 2)) }

func flag(b bool) float32 {
	if b {
		return 1
	}
	return 0
}

func requestFeatures() []envs.Component {
	return []envs.Component{
		{Name: "left", Unit: ofSLO, Doc: "time left"},
		{Name: "slo", Unit: asMore, Doc: "the SLO over the fastest time, less 1"},
		{Name: "miss", Unit: "of the workflow's unit of price, as ln(1+x)/4", Doc: "price of a miss"},
		{Name: "spent", Unit: ofUnit, Doc: "price so far"},
		{Name: "to spend", Unit: ofUnit, Doc: "price of what is not decided, each step with its option of the least price times time"},
		{Name: "slack", Unit: ofSLO, Doc: "time left beyond the longest path from here at P90, with these options"},
		{Name: "most slack", Unit: ofSLO, Doc: "the same with the fastest options"},
		{Name: "decided", Unit: "share", Doc: "steps that are decided or skipped"},
		{Name: "steps", Unit: "as n/(n+8)", Doc: "steps"},
		{Name: "ready", Unit: "as n/(n+1)", Doc: "steps that are to be decided at this moment, beyond the first"},
		{Name: "running", Unit: "as n/(n+1)", Doc: "steps that are running"},
		{Name: "waits", Unit: ofSLO, Doc: "the longest that is left of running steps and what follows them, at P90"},
	}
}

func stepFeatures() []envs.Component {
	return []envs.Component{
		{Name: "waiting", Doc: "1 where what it waits for has not ended"},
		{Name: "ready", Doc: "1 where it is to be decided at this moment"},
		{Name: "running", Doc: "1 where it is running"},
		{Name: "done", Doc: "1 where it has ended"},
		{Name: "next", Doc: "1 where it is the one to decide"},
		{Name: "tasks", Unit: asLog, Doc: "its tasks"},
		{Name: "p50", Unit: ofSLO, Doc: "median of its time; of a running step what is left of it"},
		{Name: "p90", Unit: ofSLO, Doc: "the same of the 90th percentile"},
		{Name: "price", Unit: ofUnit, Doc: "its price; before it is decided, that of its option of the least price times time"},
		{Name: "fastest", Unit: ofSLO, Doc: "P90 of its fastest option"},
		{Name: "dearest", Unit: byUnit, Doc: "price of its fastest option above that of its cheapest one"},
		{Name: "slack", Unit: ofSLO, Doc: "time left beyond it and what follows it, at P90"},
		{Name: "warm", Unit: "as n/(n+8)", Doc: "idle warm instances of all sizes"},
		{Name: "runs", Unit: "probability", Doc: "how likely it is to run, before the request begins"},
	}
}

func optionFeatures() []envs.Component {
	return []envs.Component{
		{Name: "p50", Unit: "of the time left", Doc: "median of the step's time, warm instances left out of account"},
		{Name: "p90", Unit: "of the time left", Doc: "the 90th percentile of it"},
		{Name: "price", Unit: byUnit, Doc: "the step's price"},
		{Name: "dearer", Unit: asRatio, Doc: "its price above that of the option of the least price times time, over the unit of price"},
		{Name: "slack", Unit: ofSLO, Doc: "time left beyond the step and what follows it, at P90; the rest with the options of the " +
			"least price times time"},
		{Name: "most slack", Unit: ofSLO, Doc: "the same, the rest with the fastest options"},
		{Name: "share", Unit: asMore, Doc: "its P90 over the step's fair share of the time left (StepConf, eq. 14)"},
		{Name: "prospect", Unit: asRatio, Doc: "expected price of the option, the rest and a miss, above the least of all options, over " +
			"the unit of price"},
		{Name: "least", Doc: "1 where that is the least"},
		{Name: "late", Unit: "probability", Doc: "that the request ends late, with the plan for the rest of that expectation"},
		{Name: "spare", Unit: ofSLO, Doc: "time left in the mean, with that plan"},
		{Name: "memory", Unit: "as ln(1+x)/4 of GB", Doc: "memory of an instance"},
		{Name: "instances", Unit: asLog, Doc: "instances"},
		{Name: "processes", Unit: asLog, Doc: "processes of an instance"},
		{Name: "warm", Unit: "share", Doc: "of its instances that are found warm"},
	}
}

// space is the space of the graphs.
func (s *shelf) space() envs.Graph {
	n := s.most()
	request, step, option := requestFeatures(), stepFeatures(), optionFeatures()
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
	game.requestRow(x)
	m := game.Model()
	for s := range m.Steps {
		n, x, err := g.AddNode(StepNode)
		if err != nil {
			return err
		}
		game.stepRow(s, x)
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
	least := v.prospects[0].USD
	for i := range v.prospects {
		least = min(least, v.prospects[i].USD)
	}
	for i := range v.prospects {
		n, x, err := g.AddNode(OptionNode)
		if err != nil {
			return err
		}
		game.optionRow(s, i, x)
		p := &v.prospects[i]
		x[7], x[8] = tight((p.USD-least)/unitOf(game.Model())), flag(p.USD == least)
		x[9], x[10] = float32(p.Late), within(p.Spare/game.walk.at.SLO)
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
func (g *Game) requestRow(x []float32) {
	at, m, a := &g.walk.at, g.Model(), g.entry.ahead
	unit := unitOf(m)
	var toSpend, path, quick, waits float64
	decided := 0
	for s, state := range at.State {
		switch state {
		case Waiting:
			toSpend += a.usd[s]
			continue
		case Ready:
			toSpend += a.usd[s]
			path, quick = max(path, a.best[s]), max(quick, a.quickest[s])
			continue
		case Running:
			own := g.remains(s)
			waits = max(waits, own+a.best[s]-m.Options[s][m.Best[s]].P90)
			quick = max(quick, own+a.quickest[s]-m.Options[s][0].P90)
		}
		decided++
	}
	path = max(path, waits)
	left := at.SLO - at.Now
	x[0], x[1], x[2] = within(left/at.SLO), wide(max(at.SLO/m.Fastest-1, 0)), high(at.Miss/unit)
	x[3], x[4] = within(at.Spent/unit), within(toSpend/unit)
	x[5], x[6] = within((left-path)/at.SLO), within((left-quick)/at.SLO)
	n := len(at.State)
	x[7], x[8] = float32(decided)/float32(n), float32(n)/float32(n+8)
	x[9], x[10] = wide(float64(max(len(at.Ready)-1, 0))), wide(float64(g.walk.running))
	x[11] = within(waits / at.SLO)
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
		return g.walk.off(s)
	}
	return &m.Options[s][i]
}

// stepRow writes the features of a step.
func (g *Game) stepRow(s int, x []float32) {
	at, m, a := &g.walk.at, g.Model(), g.entry.ahead
	state, options, o := at.State[s], m.Options[s], g.option(s)
	unit, left := unitOf(m), at.SLO-at.Now
	x[0], x[1], x[2] = flag(state == Waiting), flag(state == Ready), flag(state == Running)
	x[3], x[4] = flag(state == Done), flag(s == g.NextStep())
	x[5], x[13] = high(float64(m.Steps[s].Tasks)), float32(m.Runs[s])
	x[8] = within(o.USD / unit)
	x[9], x[10] = within(options[0].P90/at.SLO), wide((options[0].USD-options[len(options)-1].USD)/unit)
	warm := 0
	for _, n := range at.Warm[s] {
		warm += n
	}
	x[12] = float32(warm) / float32(warm+8)
	if state == Done || state == Skipped {
		return
	}
	p50, p90 := o.P50, o.P90
	if state == Running {
		p90 = g.remains(s)
		p50 = max(p50-(at.Now-at.Begun[s]), p50/10)
	}
	x[6], x[7] = within(p50/at.SLO), within(p90/at.SLO)
	x[11] = within((left - p90 - a.best[s] + options[m.Best[s]].P90) / at.SLO)
}

// optionRow writes the features of an option, but for its prospect.
func (g *Game) optionRow(s, i int, x []float32) {
	at, m, a := &g.walk.at, g.Model(), g.entry.ahead
	o, best := &m.Options[s][i], &m.Options[s][m.Best[s]]
	left, unit := at.SLO-at.Now, unitOf(m)
	over := max(left, at.SLO/100)
	x[0], x[1] = within(o.P50/over), within(o.P90/over)
	x[2], x[3] = wide(o.USD/unit), tight((o.USD-best.USD)/unit)
	x[4] = within((left - o.P90 - a.best[s] + best.P90) / at.SLO)
	x[5] = within((left - o.P90 - a.quickest[s] + m.Options[s][0].P90) / at.SLO)
	x[6] = wide(o.P90 / max(over*(best.P90/a.best[s]), 1e-9))
	x[11], x[12], x[13] = high(float64(o.MB)/1024), high(float64(o.Instances)), high(float64(o.Processes))
	x[14] = float32(min(g.walk.found(s, o.MB), o.Instances)) / float32(o.Instances)
}
