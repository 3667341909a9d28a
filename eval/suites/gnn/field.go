package gnn

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
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
	name    string
	players []player
	games   []*suite.Games // by player
	entry   []int          // the player's in its games
	per     int            // episodes of a workload seed, of which the mean counts
}

// play plays fields, all at once. Every workload seed stands for per episodes.
func play(ctx context.Context, o *suite.Options, stage string, per int, fields ...*field) error {
	seeds := o.Seeds
	if per > 1 {
		seeds = nil
		for _, s := range o.Seeds {
			for k := range per {
				seeds = append(seeds, s<<16|uint64(k))
			}
		}
	}
	for _, f := range fields {
		f.per, f.games, f.entry = per, make([]*suite.Games, len(f.players)), make([]int, len(f.players))
	}
	for _, draws := range []bool{false, true} {
		plan := suite.Plan{Stage: stage, Seeds: seeds, Stochastic: draws}
		if draws {
			plan.Stage += ", drawn"
		}
		for _, f := range fields {
			for i, p := range f.players {
				if p.draws == draws {
					f.entry[i] = len(plan.Entries)
					plan.Entries = append(plan.Entries, p.Entry)
				}
			}
		}
		if len(plan.Entries) == 0 {
			continue
		}
		games, err := suite.Play(ctx, o, plan)
		if err != nil {
			return err
		}
		for _, f := range fields {
			for i, p := range f.players {
				if p.draws == draws {
					f.games[i] = games
				}
			}
		}
	}
	return nil
}

// find is a player's place by name, −1 where it does not play.
func (f *field) find(name string) int {
	return slices.IndexFunc(f.players, func(p player) bool { return p.Name == name })
}

// perRequest ends the name of a quantity that is divided by the requests served.
const perRequest = " per request"

// slowdowns puts two players' slowdowns together, by workload seed.
func (f *field) slowdowns(a, b int, of func(a, b float64) float64) (stats.Scores, error) {
	x, err := f.values(a, "slowdown", 1)
	if err != nil {
		return nil, err
	}
	y, err := f.values(b, "slowdown", 1)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(x))
	for j := range out {
		out[j] = of(x[j], y[j])
	}
	return stats.Scores{out}, nil
}

// values are a player's of a quantity by workload seed, times a factor. Episodes in which nothing arrived count for nothing.
func (f *field) values(i int, quantity string, factor float64) ([]float64, error) {
	quantity, each := strings.CutSuffix(quantity, perRequest)
	s, err := f.games[i].Scores(f.entry[i], quantity)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	done, err := f.games[i].Scores(f.entry[i], "finished")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	if each {
		for k, n := range done[0] {
			s[0][k] /= n
		}
	}
	out := make([]float64, len(s[0])/f.per)
	for j := range out {
		sum, n := 0.0, 0
		for k := j * f.per; k < (j+1)*f.per; k++ {
			if done[0][k] > 0 {
				sum, n = sum+factor*s[0][k], n+1
			}
		}
		if n == 0 {
			return nil, fmt.Errorf("%s: %s: nothing arrived under workload seed %d of %d", f.name, f.players[i].Name, j+1, len(out))
		}
		out[j] = sum / float64(n)
	}
	return out, nil
}

// compare compares a player with all others that keep says, and returns what came out.
func (f *field) compare(r *suite.Report, a int, m eval.Metric, keep func(p *player) bool) ([]suite.Comparison, error) {
	scored := func(i int) (suite.Scored, error) {
		v, err := f.values(i, m.Name, 1)
		return suite.Scored{Name: f.players[i].Name, Kind: f.players[i].Kind, Scores: stats.Scores{v}}, err
	}
	first, err := scored(a)
	if err != nil {
		return nil, err
	}
	var others []suite.Scored
	for i := range f.players {
		if i == a || !keep(&f.players[i]) {
			continue
		}
		s, err := scored(i)
		if err != nil {
			return nil, err
		}
		others = append(others, s)
	}
	return r.Compare(f.name, m, first, others...), nil
}

// anybody keeps all.
func anybody(*player) bool { return true }

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
func (s *sweep) total(i int, quantity string) ([]float64, error) {
	var out []float64
	for _, f := range s.fields {
		v, err := f.values(i, quantity, 1)
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = make([]float64, len(v))
		}
		for j, x := range v {
			out[j] += x
		}
	}
	return out, nil
}

// change is what a is beyond b, in per cent of b, by workload seed.
func change(a, b []float64) stats.Scores {
	out := make([]float64, len(a))
	for j := range a {
		out[j] = 100 * (a[j]/b[j] - 1)
	}
	return stats.Scores{out}
}
