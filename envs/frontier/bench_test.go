package frontier_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs/frontier"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// sized gives each function of a workflow drawn options: an exponential law over n memory sizes of Lambda, billed
// by GB-seconds in steps of 100 ms.
func sized(t testing.TB, g workflow.Graph, n int, seed uint64) frontier.Problem {
	t.Helper()
	flow := must.Get(g.Compile())(t)
	p := frontier.Problem{Flow: flow}
	draw := rng.NewStream(seed, "frontier/sized")
	for range flow.Functions() {
		p.Options = append(p.Options, lambda(draw, n))
	}
	return p
}

func lambda(draw *rng.Stream, n int) []frontier.Option {
	fast, work, scale := 0.1+draw.Float64(), 2+20*draw.Float64(), 300+900*draw.Float64()
	options := make([]frontier.Option, n)
	for k := range options {
		m := 128 + 2880*float64(k)/float64(max(1, n-1))
		seconds := fast + work*math.Exp(-m/scale)
		options[k] = frontier.Option{Seconds: seconds, USD: 2e-7 + math.Ceil(seconds*10)*m/1024*1.66667e-6}
	}
	return options
}

// chain is a workflow of n functions one after the other.
func chain(n int) workflow.Graph {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("f%d", i+1))
	}
	return workflow.New("chain", workflow.Chain(names...))
}

// six is an application of six functions, as PRCP's App6: a fork, a branch below it, loops.
func six() workflow.Graph {
	return workflow.New("six", workflow.Fork("f1", "f2", "f3"), workflow.Join("f4", "f2", "f3"),
		workflow.Choice("f4", workflow.To("f5", 0.4), workflow.To("f6", 0.4), workflow.To(workflow.End, 0.1)),
		workflow.Repeat("f4", "f1", 0.1))
}

func solved(b *testing.B, p frontier.Problem) {
	var points int
	for b.Loop() {
		front := must.Get(frontier.Exact(context.Background(), p))(b)
		points = len(front)
	}
	b.ReportMetric(float64(points), "points")
}

// A chain of 16 steps with 16 and with 64 options each.
func BenchmarkChain(b *testing.B) {
	for _, options := range []int{16, 64} {
		b.Run(fmt.Sprint(options), func(b *testing.B) { solved(b, sized(b, chain(16), options, 1)) })
	}
}

// One front of each of the 60 combinations of variants of a six-function application with 19 sizes each.
func BenchmarkVariants(b *testing.B) {
	draw := rng.NewStream(2, "frontier/variants")
	p := sized(b, six(), 19, 1)
	variants := [][][]frontier.Option{nil, nil, nil}
	for k, n := range []int{5, 4, 3} {
		for range n {
			variants[k] = append(variants[k], lambda(draw, 19))
		}
	}
	most := 0
	for b.Loop() {
		for i := range 60 {
			p.Options[1], p.Options[2], p.Options[4] = variants[0][i%5], variants[1][i/5%4], variants[2][i/20]
			front := must.Get(frontier.Exact(context.Background(), p))(b)
			most = max(most, len(front))
		}
	}
	b.ReportMetric(float64(most), "points")
}

// Graphs whose edges cross, 16 options each.
func BenchmarkCrossing(b *testing.B) {
	for _, n := range []int{8, 12, 16} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			g := must.Get(workflow.Generate(workflow.GenerateConfig{Functions: n, Seed: 3, Shape: workflow.Crossing}))(b)
			solved(b, sized(b, g, 16, 1))
		})
	}
}

// A front of 100 functions within 0.1 %.
func BenchmarkWithin(b *testing.B) {
	p := sized(b, chain(100), 19, 1)
	points := 0
	for b.Loop() {
		front := must.Get(frontier.Within(context.Background(), p, 0.001))(b)
		points = len(front)
	}
	b.ReportMetric(float64(points), "points")
}
