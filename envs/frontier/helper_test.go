package frontier_test

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"testing"

	"github.com/stoker-rl/stoker/envs/frontier"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// configurations is the number of a problem's configurations.
func configurations(p frontier.Problem) float64 {
	n := 1.0
	for _, o := range p.Options {
		n *= float64(len(o))
	}
	return n
}

// enumerate returns the front by trying every configuration.
func enumerate(p frontier.Problem) frontier.Front {
	functions := p.Flow.NumFunctions()
	runs := p.Flow.FunctionExecutions()
	times := make([]float64, p.Flow.NumNodes())
	response := p.Flow.Evaluator(p.Delays)
	choice := make([]int, functions)
	var all frontier.Front
	for {
		for n := range times {
			f := p.Flow.Function(n)
			times[n] = p.Options[f][choice[f]].Seconds
		}
		var usd float64
		for f, i := range choice {
			usd += runs[f] * p.Options[f][i].USD
		}
		seconds := response.Response(times)
		// Only what is undominated so far is kept.
		at := sort.Search(len(all), func(i int) bool { return all[i].Seconds > seconds })
		if at == 0 || all[at-1].USD > usd {
			from, to := at, at
			for from > 0 && all[from-1].Seconds >= seconds {
				from--
			}
			for to < len(all) && all[to].USD >= usd {
				to++
			}
			all = slices.Replace(all, from, to, frontier.Point{Seconds: seconds, USD: usd, Choice: slices.Clone(choice)})
		}
		f := 0
		for ; f < functions; f++ {
			if choice[f]++; choice[f] < len(p.Options[f]) {
				break
			}
			choice[f] = 0
		}
		if f == functions {
			return all
		}
	}
}

// covers returns the least factor by which some point of a is worse than each point of b, in time and price.
func covers(a, b frontier.Front) float64 {
	worst := 1.0
	for _, q := range b {
		best := math.Inf(1)
		for _, p := range a {
			best = min(best, max(p.Seconds/q.Seconds, p.USD/q.USD))
		}
		worst = max(worst, best)
	}
	return worst
}

// verify checks that a front's points are what they say, and undominated among themselves.
func verify(p frontier.Problem, front frontier.Front) error {
	runs := p.Flow.FunctionExecutions()
	times := make([]float64, p.Flow.NumNodes())
	for k, point := range front {
		for n := range times {
			f := p.Flow.Function(n)
			times[n] = p.Options[f][point.Choice[f]].Seconds
		}
		var usd float64
		for f, i := range point.Choice {
			usd += runs[f] * p.Options[f][i].USD
		}
		seconds := p.Flow.Response(times, p.Delays)
		if math.Abs(seconds-point.Seconds) > 1e-9*seconds || math.Abs(usd-point.USD) > 1e-9*usd {
			return fmt.Errorf("point %d says %v s, %v USD; its choice gives %v s, %v USD", k, point.Seconds, point.USD,
				seconds, usd)
		}
		if k > 0 && (front[k-1].Seconds >= point.Seconds || front[k-1].USD <= point.USD) {
			return fmt.Errorf("point %d is not later and cheaper than the one before", k)
		}
	}
	return nil
}

// equal checks a front against enumeration.
func equal(p frontier.Problem, got frontier.Front) error {
	if err := verify(p, got); err != nil {
		return err
	}
	want := enumerate(p)
	if missed := covers(got, want); missed > 1+1e-9 {
		return fmt.Errorf("%d of %d points: one is missed by a factor of %v", len(got), len(want), missed)
	}
	// Equal numbers of points, but for those that differ by rounding.
	distinct := 0
	for i, q := range want {
		if i == 0 || q.Seconds > want[i-1].Seconds*(1+1e-11) && q.USD < want[i-1].USD*(1-1e-11) {
			distinct++
		}
	}
	if len(got) > len(want) || len(got) < distinct {
		return fmt.Errorf("%d points, enumeration finds %d (%d that differ by more than rounding)", len(got), len(want),
			distinct)
	}
	return nil
}

// generated returns a problem of at most so many configurations: every other one with a graph of the generator's shapes,
// the others with a graph of any kind, whose functions can be at several nodes.
func generated(t testing.TB, seed uint64, most float64) frontier.Problem {
	t.Helper()
	draw := rng.NewStream(seed, "frontier/test")
	var g workflow.Graph
	if seed%2 == 0 {
		shapes := append(workflow.Shapes()[1:], workflow.Crossing, workflow.Crossing, workflow.Crossing, workflow.Nested)
		c := workflow.GenerateConfig{Functions: 3 + draw.IntN(8), Seed: seed, Shape: shapes[draw.IntN(len(shapes))]}
		var err error
		if g, err = workflow.Generate(c); err != nil {
			t.Fatal(err)
		}
	} else {
		g = tangled(draw, fmt.Sprintf("tangled-%d", seed))
	}
	flow := must.Get(g.Compile())(t)
	p := frontier.Problem{Flow: flow}
	switch draw.IntN(3) {
	case 0:
		p.Delays = workflow.StepFunctions(workflow.Once)
	case 1:
		p.Delays = workflow.StepFunctions(workflow.Published)
	}
	n := max(2, min(19, int(math.Pow(most, 1/float64(flow.NumFunctions())))))
	for range flow.Functions() {
		p.Options = append(p.Options, lambda(draw, n))
	}
	for f := 0; configurations(p) > most; f++ {
		p.Options[f] = p.Options[f][:max(1, len(p.Options[f])/2)]
	}
	return p
}

// tangled returns a graph with edges between any of its nodes, choices, a loop, and functions at several nodes.
func tangled(draw *rng.Stream, name string) workflow.Graph {
	n := 2 + draw.IntN(9)
	g := workflow.Graph{Name: name, Entry: "n0"}
	node := func(i int) string { return fmt.Sprintf("n%d", i) }
	for i := range n {
		place := workflow.Node{Name: node(i)}
		if i > 1 && draw.Float64() < 0.15 {
			place.Function = node(draw.IntN(i))
			if f := g.Nodes[draw.IntN(i)].Function; f != "" {
				place.Function = f
			}
		}
		g.Nodes = append(g.Nodes, place)
	}
	has := map[[2]int]bool{}
	to := make([][]int, n)
	link := func(i, j int) {
		if !has[[2]int{i, j}] {
			has[[2]int{i, j}] = true
			to[i] = append(to[i], j)
		}
	}
	for i := 1; i < n; i++ {
		link(max(0, i-1-draw.IntN(3)), i)
	}
	for range draw.IntN(n) {
		if i, j := draw.IntN(n), draw.IntN(n); i < j {
			link(i, j)
		}
	}
	loop := draw.Float64() < 0.3
	for i, next := range to {
		choice := len(next) > 1 && draw.Float64() < 0.35
		for k, j := range next {
			e := workflow.Edge{From: node(i), To: node(j), Kind: workflow.Next}
			if choice {
				e.Kind, e.Probability = workflow.Branch, 1/float64(len(next))
				if k == 0 && loop && i > 0 {
					loop = false
					back := e.Probability / 2
					e.Probability -= back
					g.Edges = append(g.Edges, workflow.Repeat(node(i), node(i), back)...)
				}
			}
			g.Edges = append(g.Edges, e)
		}
	}
	return g
}
