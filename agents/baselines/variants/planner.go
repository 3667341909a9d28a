package variants

import (
	"cmp"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/envs/workflow"
)

// Planner solves problems of one model, one after another. It keeps its memory between problems and is for one
// goroutine.
type Planner struct {
	m       *variants.Model
	scratch *variants.Scratch
	ways    []way
	ladder  [][]int  // per function its variants by rising accuracy
	rung    [][]int  // per function and variant its place in the ladder
	span    span     // ranges over which eqs. 4.7 and 4.10 normalise
	kept    [][]bool // per function and option: the slope filter keeps its size
	slope   [][]float64

	o       Options
	p       variants.Problem
	choice  []int
	now     variants.Outcome
	ranking []int // of ways, by weight
	weight  []float64
	lighter func(a, b int) int // compares ways by weight
	steps   int
	best    []int
}

// span are the extremes of an application: all smallest or largest sizes with the least or most accurate variants.
type span struct{ seconds, usd, accuracy [2]float64 }

// NewPlanner returns a planner for a model.
func NewPlanner(m *variants.Model) *Planner {
	n := m.NumFunctions()
	l := &Planner{m: m, scratch: m.NewScratch(), choice: make([]int, n), best: make([]int, n)}
	l.ladder, l.rung = make([][]int, n), make([][]int, n)
	l.kept, l.slope = make([][]bool, n), make([][]float64, n)
	for f := range n {
		infos := m.Variants[f]
		for v := range infos {
			l.ladder[f] = append(l.ladder[f], v)
		}
		slices.SortStableFunc(l.ladder[f], func(a, b int) int { return cmp.Compare(infos[a].Accuracy, infos[b].Accuracy) })
		l.rung[f] = make([]int, len(infos))
		for i, v := range l.ladder[f] {
			l.rung[f][v] = i
			l.slope[f] = append(l.slope[f], 0)
		}
		for v := range infos {
			l.slope[f][v] = l.fitted(f, v)
		}
		l.kept[f] = make([]bool, len(m.Options[f]))
	}
	l.measure()
	for f := range l.choice {
		l.choice[f] = l.end(f, l.ladder[f][0], false)
	}
	l.ways = waysOf(m, l.choice)
	l.ranking, l.weight = make([]int, len(l.ways)), make([]float64, len(l.ways))
	l.lighter = func(a, b int) int { return cmp.Compare(l.weight[a], l.weight[b]) }
	return l
}

// Use turns the planner to another model, and reports whether it can: one that differs in its accuracy formula alone.
func (l *Planner) Use(m *variants.Model) bool {
	if m.Flow != l.m.Flow || len(m.Options) == 0 || &m.Options[0] != &l.m.Options[0] || m.Delays != l.m.Delays {
		return false
	}
	l.m = m
	l.measure()
	return true
}

// measure finds the extremes.
func (l *Planner) measure() {
	at := func(most, large bool) variants.Outcome {
		for f := range l.choice {
			v := l.ladder[f][0]
			if most {
				v = l.ladder[f][len(l.ladder[f])-1]
			}
			l.choice[f] = l.end(f, v, large)
		}
		return l.m.EvaluateWith(l.scratch, l.choice)
	}
	small, large := at(false, false), at(false, true)
	smallBest, largeBest := at(true, false), at(true, true)
	l.span = span{
		seconds:  [2]float64{large.Seconds, smallBest.Seconds},
		usd:      [2]float64{small.USD, largeBest.USD},
		accuracy: [2]float64{small.Accuracy, largeBest.Accuracy},
	}
}

// end returns a variant's smallest or largest size.
func (l *Planner) end(f, variant int, large bool) int {
	from, to := l.m.VariantOptions(f, variant)
	if large {
		return to - 1
	}
	return from
}

// extreme returns a variant's size of least price, or of least time. Of equals it takes the smaller size.
func (l *Planner) extreme(f, variant int, ofTime bool) int {
	from, to := l.m.VariantOptions(f, variant)
	best := from
	for c := from; c < to; c++ {
		a, b := l.m.Options[f][c], l.m.Options[f][best]
		if ofTime && a.Seconds < b.Seconds || !ofTime && a.USD < b.USD {
			best = c
		}
	}
	return best
}

// fitted returns the magnitude of the slope of a straight line through a variant's times over memory, by least squares.
func (l *Planner) fitted(f, variant int) float64 {
	from, to := l.m.VariantOptions(f, variant)
	n := float64(to - from)
	var mb, s float64
	for _, o := range l.m.Options[f][from:to] {
		mb += o.MB / n
		s += o.Seconds / n
	}
	var up, down float64
	for _, o := range l.m.Options[f][from:to] {
		up += float64((o.MB - mb) * (o.Seconds - s))
		down += float64((o.MB - mb) * (o.MB - mb))
	}
	if down == 0 {
		return 0
	}
	return math.Abs(up / down)
}

// filter marks the sizes that the strategy may use. inverse is for the least cost, where the programs compare memory
// per time in place of time per memory.
func (l *Planner) filter(strategy Strategy, inverse bool) {
	for f, options := range l.m.Options {
		for c := range options {
			l.kept[f][c] = strategy != Slope
		}
		if strategy != Slope {
			continue
		}
		for v := range l.m.Variants[f] {
			from, to := l.m.VariantOptions(f, v)
			for c := from; c+1 < to; c++ {
				a, b := options[c], options[c+1]
				r := math.Abs((b.Seconds - a.Seconds) / (b.MB - a.MB))
				keep := r > l.slope[f][v]*l.o.Threshold
				if inverse {
					// A zero slope gives an infinite ratio, which is kept.
					keep = 1/r > 1/l.slope[f][v]*l.o.Threshold
				}
				if keep {
					l.kept[f][c], l.kept[f][c+1] = true, true
				}
			}
		}
	}
}

// try returns the outcome of the present choice with another option of one function.
func (l *Planner) try(f, option int) variants.Outcome {
	was := l.choice[f]
	l.choice[f] = option
	out := l.m.EvaluateWith(l.scratch, l.choice)
	l.choice[f] = was
	return out
}

// set makes a change.
func (l *Planner) set(f, option int) {
	l.choice[f] = option
	l.now = l.m.EvaluateWith(l.scratch, l.choice)
}

// start puts every function's least accurate variant at its smallest or largest size.
func (l *Planner) start(large bool) {
	for f := range l.choice {
		l.choice[f] = l.end(f, l.ladder[f][0], large)
	}
	l.now = l.m.EvaluateWith(l.scratch, l.choice)
	if !l.o.Fallback || l.left(large) >= 0 {
		return
	}
	for f := range l.choice {
		l.choice[f] = l.extreme(f, l.ladder[f][0], large)
	}
	l.now = l.m.EvaluateWith(l.scratch, l.choice)
}

// left is what the constraint has left: the budget in USD per million executions, or, where time is spent, the latency
// in milliseconds. What is left by rounding alone is nothing.
func (l *Planner) left(ofTime bool) float64 {
	bound, spent := l.p.Budget, l.now.USD
	if ofTime {
		bound, spent = milliseconds*l.p.Latency, milliseconds*l.now.Seconds
	}
	if bound == 0 {
		return math.Inf(1)
	}
	if math.Abs(bound-spent) < 1e-12*bound {
		return 0
	}
	return bound - spent
}

// milliseconds in a second: the published weights and roundings are in milliseconds and in USD per million executions.
const milliseconds = 1000

// open reports whether something is left, as the programs decide it: rounded to four decimals.
func open(left float64) bool { return math.IsInf(left, 1) || math.RoundToEven(left*1e4) >= 0 }

// maxWays is the most ways that a search looks at. Of a workflow with more it takes the heaviest at the smallest sizes.
const maxWays = 1024

// way is a way through the workflow, without its loops.
type way struct {
	nodes       []int
	functions   []int // of the nodes and of what they call, each once
	probability float64
}

// waysOf returns a model's ways, depth first. choice says which are the heaviest where there are too many.
func waysOf(m *variants.Model, choice []int) []way {
	var out []way
	add := func(nodes []int, probability float64) {
		w := way{nodes: nodes, probability: probability}
		for _, n := range nodes {
			w.call(m.Flow, n)
		}
		out = append(out, w)
	}
	if paths, err := m.Flow.Paths(maxWays); err == nil {
		for _, p := range paths {
			add(p.Nodes, p.Probability)
		}
		return out
	}
	times := make([]float64, m.Flow.NumNodes())
	for n := range times {
		f := m.Flow.Function(n)
		times[n] = m.Options[f][choice[f]].Seconds
	}
	for i, w := range m.Flow.Ways(times, workflow.Delays{}) {
		if i == maxWays {
			break
		}
		add(w.Nodes, w.Probability)
	}
	return out
}

// call adds the function of a node and of what it calls.
func (w *way) call(flow *workflow.Workflow, n int) {
	if f := flow.Function(n); !slices.Contains(w.functions, f) {
		w.functions = append(w.functions, f)
	}
	for _, c := range flow.Callees(n) {
		w.call(flow, int(c))
	}
}

// rank sorts the ways by their weight W = P·Σ ET·NI (eq. 4.6), ascending, at the present choice. Platform delays do not
// count in W.
func (l *Planner) rank() {
	runs := l.m.Flow.Executions()
	for i, w := range l.ways {
		var sum float64
		for _, n := range w.nodes {
			f := l.m.Flow.Function(n)
			sum += float64(l.m.Options[f][l.choice[f]].Seconds * runs[n])
		}
		l.ranking[i], l.weight[i] = i, float64(w.probability*sum)
	}
	slices.SortStableFunc(l.ranking, l.lighter)
}

// critical returns the functions of the way of an order: 0 is the heaviest way, or the lightest.
func (l *Planner) critical(order int, lightest bool) []int {
	l.rank()
	if lightest {
		return l.ways[l.ranking[order]].functions
	}
	return l.ways[l.ranking[len(l.ranking)-1-order]].functions
}
