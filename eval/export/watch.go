package export

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/rng"
)

// Self-tests hold the observations at these steps of the evaluation's first episode, as far as their JSON has at most
// testBytes together; the first one is there in any case. The whole header of a bundle has a mebibyte.
var testSteps = []int{0, 1, 4, 16, 64}

const testBytes = 256 << 10

// watch plays the policy in all worlds and returns what ranges its features have there, and the self-test.
func watch(ctx context.Context, t *eval.Trained, worlds []*world, progress func(done, all int)) ([]bundle.Seen,
	[]bundle.Vector, error) {
	done, all := 0, 0
	for _, w := range worlds {
		all += len(w.seeds)
	}
	for _, w := range worlds {
		if m, ok := envs.As[measuring](w.env); ok {
			m.Measure(false)
		}
	}
	seen := newWatcher(worlds[0].spec)
	var tests []bundle.Vector
	for i, w := range worlds {
		p, err := t.Policy(w.spec)
		if err != nil {
			return nil, nil, err
		}
		run := rollout.NewRunner(w.env)
		run.Stochastic = w.stochastic
		actor := rollout.Actor{Policy: eval.Stoppable(ctx, p)}
		for j, seed := range w.seeds {
			run.OnStep = func(s rollout.Step) { seen.see(s.Seen) }
			var test *tester
			if i == 0 && j == 0 {
				if test, err = newTester(t, w.spec); err != nil {
					return nil, nil, err
				}
				run.OnStep = func(s rollout.Step) {
					seen.see(s.Seen)
					test.see(s)
				}
			}
			if _, err := run.Episode(actor, seed); err != nil {
				return nil, nil, err
			}
			if test != nil {
				if tests, err = test.vectors, test.err; err != nil {
					return nil, nil, err
				}
			}
			done++
			if progress != nil {
				progress(done, all)
			}
		}
	}
	return seen.seen(), tests, nil
}

// measuring is an environment whose steps report measures that take long to work out, and that nothing else depends on.
type measuring interface{ Measure(on bool) }

// tester records the self-test: a policy of its own is shown the chosen observations alone, after a reset with seed 0,
// as whoever tests the bundle will do.
type tester struct {
	policy  envs.Policy
	act     *envs.Action
	vectors []bundle.Vector
	bytes   int
	full    bool
	err     error
}

func newTester(t *eval.Trained, spec *envs.Spec) (*tester, error) {
	p, err := t.Policy(spec)
	if err != nil {
		return nil, err
	}
	return &tester{policy: p, act: envs.NewAction(spec)}, p.Reset(0)
}

func (t *tester) see(s rollout.Step) {
	if t.err != nil || t.full || !slices.Contains(testSteps, s.Number) {
		return
	}
	if t.err = t.policy.Act(s.Seen, t.act, true); t.err != nil {
		return
	}
	v := policy.Record(s.Seen, t.act)
	text, err := json.Marshal(v)
	if t.bytes += len(text); err != nil || t.bytes > testBytes && len(t.vectors) > 0 {
		t.err, t.full = err, true
		return
	}
	t.vectors = append(t.vectors, v)
}

// mostRows is how many rows of a table are kept for quantiles: up to here they are exact, beyond it they are those of
// rows drawn uniformly among all. Least and greatest are always those of all.
const mostRows = 20_000

// table collects rows of the features of one kind of agents, nodes or edges.
type table struct {
	kind, part      string
	names           []string
	width           int
	least, greatest []float32
	kept            []float32 // [rows kept, width]
	rows            int
	draw            *rng.Stream
}

func newTable(kind, part string, width int, names []string) *table {
	return &table{kind: kind, part: part, names: names, width: width,
		draw: rng.NewStream(0, "rows of features seen: "+kind+" "+part)}
}

// add takes a row: the first mostRows are kept, a later one takes the place of a kept one, so that each of those so far
// is kept with the same probability (algorithm R of Vitter, 1985).
func (t *table) add(row []float32) {
	if t.rows == 0 {
		t.least, t.greatest = slices.Clone(row), slices.Clone(row)
	}
	for i, x := range row {
		t.least[i], t.greatest[i] = min(t.least[i], x), max(t.greatest[i], x)
	}
	t.rows++
	if t.rows <= mostRows {
		t.kept = append(t.kept, row...)
		return
	}
	if at := t.draw.IntN(t.rows); at < mostRows {
		copy(t.kept[at*t.width:(at+1)*t.width], row)
	}
}

// seen are the ranges of the features of the rows so far.
func (t *table) seen() bundle.Seen {
	s := bundle.Seen{Kind: t.kind, Part: t.part}
	column := make([]float64, 0, len(t.kept)/t.width)
	for i := range t.width {
		column = column[:0]
		for at := i; at < len(t.kept); at += t.width {
			column = append(column, float64(t.kept[at]))
		}
		slices.Sort(column)
		r := bundle.Range{Least: float64(t.least[i]), Greatest: float64(t.greatest[i])}
		// Interpolation rounds, so that a quantile of nearly equal values can fall below a lower one.
		at := func(p, from float64) float64 { return min(max(stats.Quantile(column, p), from), r.Greatest) }
		r.Low = at(0.001, r.Least)
		r.Median = at(0.5, r.Low)
		r.High = at(0.999, r.Median)
		if i < len(t.names) {
			r.Name = t.names[i]
		}
		s.Features = append(s.Features, r)
	}
	return s
}

// watcher collects what the agents of an environment see.
type watcher struct {
	kinds  []kindTables
	tables []*table // all, in the order of the spec
}

// kindTables are the tables of a kind of agents: of its rows, or of the nodes and edges of its graphs. Those of what
// has no features are nil.
type kindTables struct {
	rows         *table
	nodes, edges []*table
}

func newWatcher(spec *envs.Spec) *watcher {
	w := &watcher{}
	make1 := func(kind, part string, width int, names []string) *table {
		if width == 0 {
			return nil
		}
		t := newTable(kind, part, width, names)
		w.tables = append(w.tables, t)
		return t
	}
	for _, k := range spec.Kinds {
		t := kindTables{rows: make1(k.Name, "", k.Observation.Width(), k.Features)}
		if g, ok := k.Observation.(envs.Graph); ok {
			for _, n := range g.Nodes {
				t.nodes = append(t.nodes, make1(k.Name, "node."+n.Name, n.Width, namesOf(n.Features)))
			}
			for _, e := range g.Edges {
				t.edges = append(t.edges, make1(k.Name, "edge."+e.Name, e.Width, namesOf(e.Features)))
			}
		}
		w.kinds = append(w.kinds, t)
	}
	return w
}

func namesOf(features []envs.Component) []string {
	names, _, _ := envs.Columns(features)
	return names
}

// see takes what the active agents see.
func (w *watcher) see(obs *envs.Observation) {
	for i, t := range w.kinds {
		k := &obs.Kinds[i]
		for agent, here := range k.Active {
			if !here {
				continue
			}
			if t.rows != nil {
				t.rows.add(k.Values[agent*t.rows.width : (agent+1)*t.rows.width])
			}
			if len(k.Graphs) > 0 {
				t.graph(k.Graphs[agent])
			}
		}
	}
}

func (t *kindTables) graph(g *envs.GraphValue) {
	rows := func(t *table, n int, features []float32) {
		for i := range n {
			if t != nil {
				t.add(features[i*t.width : (i+1)*t.width])
			}
		}
	}
	for i, n := range t.nodes {
		rows(n, g.Nodes[i].Len, g.Nodes[i].Features)
	}
	for i, e := range t.edges {
		rows(e, g.Edges[i].Len, g.Edges[i].Features)
	}
}

// seen are the ranges of all that was met; what was never met has no entry.
func (w *watcher) seen() []bundle.Seen {
	var out []bundle.Seen
	for _, t := range w.tables {
		if t.rows > 0 {
			out = append(out, t.seen())
		}
	}
	return out
}

// fits reports whether an environment of a spec shows the same features: kinds, parts and widths.
func (w *watcher) fits(spec *envs.Spec) bool {
	return slices.EqualFunc(w.tables, newWatcher(spec).tables, func(a, b *table) bool {
		return a.kind == b.kind && a.part == b.part && a.width == b.width
	})
}
