// Package gnn is the suites of the paper on graph networks (Zhang, Learning-based dynamic resource allocation for
// serverless computing with graph neural networks):
//
//	gnn-fig1        seconds of a training step and of an inference over the number of edges
//	gnn-fig3        mean slowdown over the load on DeepRM's cluster, and the quantities of the paper's prose on the
//	                cluster of unlike nodes
//	gnn-generalise  the trained policy on workloads, systems and loads that it was not trained on, and transfer
//
// Rules play with the constants of their packages. Trained policies come from package zoo and keep what is theirs to
// choose, as in their training: whether they may wait, how many invocations they see. A note says which one is missing.
// The paper's own environment is not published, and its figures contradict each other in places: docs/gnn.md says what
// can be compared.
//
// learned.go lists the policies, field.go where they play; deeprm.go and nodes.go are the two halves of gnn-fig3 with the
// paper's claims about them; generalise.go, transfer.go and fig1.go are the others.
package gnn

import (
	"context"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/chart"
)

// world is a cluster of unlike nodes with what arrives.
type world struct {
	config placement.Config
	load   workload.Config
}

// newWorld is the default cluster.
func newWorld() *world { return &world{placement.Default(), workload.Default()} }

// field is those who play in one setting, with what they did.
type field struct {
	r       *suite.Report
	name    string
	players []player
	played  *eval.Played
	at      int // the first player's place among the contestants
	per     int // episodes of a workload seed, of which the mean counts
}

// play plays fields, all in one stage. Every workload seed stands for per episodes.
func play(ctx context.Context, o *suite.Options, stage string, per int, fields ...*field) error {
	request := eval.Request{Seeds: o.Seeds}
	if per > 1 {
		request.Seeds = nil
		for _, s := range o.Seeds {
			for k := range per {
				request.Seeds = append(request.Seeds, s<<16|uint64(k))
			}
		}
	}
	for _, f := range fields {
		f.per, f.at = per, len(request.Contestants)
		for _, p := range f.players {
			request.Contestants = append(request.Contestants, p.Contestant)
		}
	}
	played, err := o.Play(ctx, stage, request)
	for _, f := range fields {
		f.played = played
	}
	return err
}

// find is a player's place by name, −1 where it does not play.
func (f *field) find(name string) int {
	return slices.IndexFunc(f.players, func(p player) bool { return p.Name == name })
}

// perRequest ends the name of a quantity that is divided by the requests served.
const perRequest = " per request"

// values are a player's of a quantity by workload seed. Episodes in which nothing arrived do not count.
func (f *field) values(i int, quantity string) []float64 {
	quantity, each := strings.CutSuffix(quantity, perRequest)
	x := f.r.Scores(f.played, f.at+i, quantity, 1)[0]
	done := f.r.Scores(f.played, f.at+i, "finished", 1)[0]
	if each {
		for k, n := range done {
			x[k] /= n
		}
	}
	out := make([]float64, len(x)/f.per)
	for j := range out {
		sum, n := 0.0, 0
		for k := j * f.per; k < (j+1)*f.per; k++ {
			if done[k] > 0 {
				sum, n = sum+x[k], n+1
			}
		}
		if out[j] = sum / float64(n); n == 0 {
			f.r.Fail("%s: %s: nothing arrived under workload seed %d of %d", f.name, f.players[i].Name, j+1, len(out))
		}
	}
	return out
}

// estimate is the interquartile mean of a player's values.
func (f *field) estimate(i int, quantity string) report.Estimate {
	return f.r.Estimate(stats.Scores{f.values(i, quantity)})
}

// slowdowns puts two players' slowdowns together, by workload seed.
func (f *field) slowdowns(a, b int, of func(a, b float64) float64) stats.Scores {
	return together(f.values(a, "slowdown"), f.values(b, "slowdown"), of)
}

// together puts two players' values together, by workload seed.
func together(a, b []float64, of func(a, b float64) float64) stats.Scores {
	return stats.Scores{report.Each(len(a), func(j int) float64 { return of(a[j], b[j]) })}
}

// compare compares a player with all others that keep says, and returns what came out.
func (f *field) compare(a int, m eval.Metric, keep func(p *player) bool) []suite.Comparison {
	scored := func(i int) eval.Scored {
		p := &f.players[i]
		return eval.Scored{Name: p.Name, Kind: p.Kind, Scores: stats.Scores{f.values(i, m.Name)}}
	}
	var others []eval.Scored
	for i := range f.players {
		if i != a && keep(&f.players[i]) {
			others = append(others, scored(i))
		}
	}
	return f.r.Compare(f.name, m, scored(a), others...)
}

// withAll compares with all others.
func withAll(*player) bool { return true }

// sweep is the same players at several loads.
type sweep struct {
	loads  []float64
	fields []*field
}

// nearest is the place of the load nearest to x.
func (s *sweep) nearest(x float64) int {
	best := 0
	for k, l := range s.loads {
		if math.Abs(l-x) < math.Abs(s.loads[best]-x) {
			best = k
		}
	}
	return best
}

// total is a player's sum of a quantity over the loads, by workload seed.
func (s *sweep) total(i int, quantity string) []float64 {
	var out []float64
	for _, f := range s.fields {
		v := f.values(i, quantity)
		if out == nil {
			out = make([]float64, len(v))
		}
		for j, x := range v {
			out[j] += x
		}
	}
	return out
}

// change is what a is beyond b, in per cent of b, by workload seed.
func change(a, b []float64) stats.Scores { return stats.Scores{report.Change(a, b)} }

// Sizes of panels, in points.
const (
	half   = vg.Length(280)
	third  = vg.Length(205)
	height = vg.Length(185)
)

// named gives a figure a key of a field's players.
func (f *field) named(fig *report.Figure) {
	for i := range f.players {
		fig.Key(chart.Entry{Line: true, Band: true}, f.players[i].Name)
	}
}

// ring marks a value of the paper's, or a range of values, in a policy's colour.
func ring(p *chart.Panel, s chart.Style, x, lo, hi float64) {
	p.Cross(report.Ring(s), chart.Exactly(x), chart.Range{At: (lo + hi) / 2, Low: lo, High: hi})
}
