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
// field.go lists the policies and where they play; deeprm.go and nodes.go are the two halves of gnn-fig3 with the
// paper's claims about them; generalise.go, transfer.go and fig1.go are the others.
package gnn

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	nodes "github.com/stoker-rl/stoker/agents/baselines/placement"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/deeprm"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/lists"
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
	x, y := f.values(a, "slowdown"), f.values(b, "slowdown")
	return stats.Scores{lists.Make(len(x), func(j int) float64 { return of(x[j], y[j]) })}
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

// player is a contestant with what the suites must know of it.
type player struct {
	eval.Contestant
	// by is the trained policy; nil for rules.
	by *trained
}

// Names of rules, as tables and figures have them.
const (
	fcfsName    = "FCFS"
	sjfName     = "SJF"
	packerName  = "Packer"
	starName    = "Tetris*"
	tetrisName  = "Tetris"
	randomName  = "random"
	sjfSpread   = "SJF, spread"
	tetriSpread = "Tetris, spread"
)

// named is a rule of the catalog with its label; config is nil for its defaults.
type named struct {
	label, name string
	config      any
}

func rules(list []named, newEnv func() (envs.Env, error)) ([]player, error) {
	var out []player
	for _, n := range list {
		c, err := eval.Baseline(n.label, n.name, n.config)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n.label, err)
		}
		c.NewEnv = newEnv
		out = append(out, player{Contestant: c})
	}
	return out, nil
}

// deepRMRules are those of stoker/DeepRM-v1.
func deepRMRules(c deeprm.Config) ([]player, error) {
	return rules([]named{
		{fcfsName, "fcfs", nil}, {sjfName, "sjf", nil}, {packerName, "packer", nil}, {starName, "tetris-star", nil},
		{randomName, "random", nil},
	}, func() (envs.Env, error) { return catalog.Default().NewEnv(deeprm.ID, &c, workload.Config{}) })
}

// nodeRules are those of stoker/Placement-v2. The last two give amounts by how many wait, which the paper's rules do
// not: they show how much of a learned policy's lead is the choice of amounts alone.
func nodeRules(w *world) ([]player, error) {
	sjf, tetris := nodes.DefaultSJF(), nodes.DefaultTetris()
	sjf.Amount, tetris.Amount = nodes.Spread, nodes.Spread
	return rules([]named{
		{fcfsName, "fcfs-nodes", nil}, {sjfName, "sjf-nodes", nil}, {packerName, "packer-nodes", nil},
		{tetrisName, "tetris", nil}, {randomName, "random-nodes", nil},
		{sjfSpread, "sjf-nodes", &sjf}, {tetriSpread, "tetris", &tetris},
	}, func() (envs.Env, error) { return catalog.Default().NewEnv(placement.ID, &w.config, w.load) })
}

// Names in the zoo.
const (
	deepRMPrefix = "deeprm"
	gnnName      = "gnn-placement"
	dqnName      = "dqn-placement"
	scratchName  = "gnn-scratch"
	transferName = "gnn-transfer"
)

// trained is a policy that was trained.
type trained struct{ *eval.Trained }

// shipped are the zoo's policies whose names begin so.
func shipped(prefix string) (out []*trained, err error) {
	all, err := eval.ShippedLike(prefix)
	for _, t := range all {
		out = append(out, &trained{t})
	}
	return out, err
}

// fromZoo returns the zoo's policy of a name, nil where there is none.
func fromZoo(name string) (*trained, error) {
	t, err := eval.Shipped(name)
	if t == nil || err != nil {
		return nil, err
	}
	return &trained{t}, nil
}

// missing is the note on a policy that is not there.
func missing(name string) string {
	return fmt.Sprintf("%s%s does not play: this program's zoo has no such policy", zoo.Prefix, name)
}

// player is the policy in an environment. It draws its actions where it did when it was trained; else it takes the
// likeliest.
func (t *trained) player(newEnv func() (envs.Env, error)) player {
	c := t.Contestant(newEnv)
	c.Stochastic = t.Experiment.Eval.Stochastic
	return player{Contestant: c, by: t}
}

// onDeepRM is the policy on a cluster of DeepRM's, with the observation and mask that it was trained with; why says
// why it cannot play there, empty where it can.
func (t *trained) onDeepRM(c deeprm.Config) (p player, why string) {
	own := t.deepRM()
	if own == nil {
		return p, fmt.Sprintf("it was trained in %s, want %s", t.Experiment.Env.Name, deeprm.ID)
	}
	c.Observation, c.Greys, c.Since, c.Mask = own.Observation, own.Greys, own.Since, own.Mask
	rest := *own // all else must be the same, but rate, job sets and when a job may start
	rest.Rate, rest.Sets, rest.SetSeed, rest.Jobs = c.Rate, c.Sets, c.SetSeed, c.Jobs
	rest.Start, rest.End, rest.MaxTime = c.Start, c.End, c.MaxTime
	if !reflect.DeepEqual(rest, c) {
		return p, "it was trained on another cluster, or other jobs"
	}
	return t.player(func() (envs.Env, error) {
		return catalog.Default().NewEnv(t.Experiment.Env.Name, &c, workload.Config{})
	}), ""
}

// onNodes is the policy in a world of unlike nodes, with what it sees and whether it may wait as in its training; why
// is as above.
func (t *trained) onNodes(w *world) (p player, why string) {
	own, ok := t.Experiment.Env.Config.(*placement.Config)
	if !ok {
		return p, fmt.Sprintf("it was trained in %s, want %s", t.Experiment.Env.Name, placement.ID)
	}
	c := w.config
	if !reflect.DeepEqual(own.Nodes, c.Nodes) || !reflect.DeepEqual(own.Amounts, c.Amounts) {
		return p, "it was trained on other nodes, or with other amounts to give"
	}
	c.Hold, c.Wait, c.Tick, c.Window, c.Running, c.Weights = own.Hold, own.Wait, own.Tick, own.Window, own.Running,
		own.Weights
	newEnv := func() (envs.Env, error) { return catalog.Default().NewEnv(t.Experiment.Env.Name, &c, w.load) }
	return t.player(newEnv), t.Misfit(newEnv)
}

// serverless is the configuration that the policy was trained in; nil where that is another environment.
func (t *trained) serverless() *placement.Config {
	c, _ := t.Experiment.Env.Config.(*placement.Config)
	return c
}

// deepRM is the same for DeepRM's cluster.
func (t *trained) deepRM() *deeprm.Config {
	c, _ := t.Experiment.Env.Config.(*deeprm.Config)
	return c
}
