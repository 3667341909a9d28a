package faasconf

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/search"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/lists"
)

// lab measures single windows of a workflow under closed-loop users, each a new deployment, as FaaSConf's testbed does.
// After an error it measures nothing more, and all is zero.
type lab struct {
	env *sizing.Env
	rng sizing.Range
	obs *envs.Observation
	act *envs.Action
	out *envs.Outcome
	p75 int // the feature's index
	at  map[string]int
	err error
}

// seen is what one window gave.
type seen struct {
	latency, p95 float64 // of successes, in seconds
	successes    float64
	violated     bool      // the thresholds, those that rise with users
	p75          []float64 // of each function, in seconds
}

// newLab returns a lab for one of the paper's workflows.
func newLab(name string) (*lab, error) {
	c := sizing.DefaultCounted()
	c.Workflow, c.Windows, c.Warmup, c.Protocol, c.Features = name, 1, 0, sizing.Fresh, sizing.PaperFeatures
	w := workload.Default()
	w.Kind = workload.ClosedLoop
	env, err := sizing.NewCounted(c, w)
	if err != nil {
		return nil, err
	}
	spec := env.Spec()
	l := &lab{
		env: env, rng: env.Range(), obs: envs.NewObservation(spec), act: envs.NewAction(spec), out: envs.NewOutcome(spec),
		p75: slices.Index(spec.Kinds[0].Features, "p75"),
	}
	if l.p75 < 0 {
		return nil, fmt.Errorf("%s: no feature p75", spec.ID)
	}
	l.at, err = search.Places(spec, "latency", "latency_p95", "successes", "violated")
	return l, err
}

// functions is the number of the workflow's functions.
func (l *lab) functions() int { return l.env.Spec().Kinds[0].Agents }

// all is one configuration for every function.
func (l *lab) all(r sizing.Resources) []sizing.Resources {
	return slices.Repeat([]sizing.Resources{r}, l.functions())
}

func (l *lab) encode(rs []sizing.Resources) {
	n := l.rng.Components()
	for f, r := range rs {
		l.rng.Encode(r, l.act.Kinds[0][f*n:(f+1)*n])
	}
}

// price is what a configuration costs, in USD per hour.
func (l *lab) price(rs []sizing.Resources) (usd float64) {
	if l.err == nil {
		l.encode(rs)
		usd, l.err = l.env.PriceOf(l.act)
	}
	return usd
}

// window measures a configuration under a number of users.
func (l *lab) window(seed uint64, users int, rs []sizing.Resources) seen {
	s := seen{p75: make([]float64, len(rs))}
	if l.err == nil {
		l.err = l.env.Reset(seed, envs.Options{"users": users}, l.obs)
	}
	if l.err == nil {
		l.encode(rs)
		l.err = l.env.Step(l.act, l.obs, l.out)
	}
	if l.err != nil {
		return s
	}
	s.latency, s.p95 = l.out.Info[l.at["latency"]], l.out.Info[l.at["latency_p95"]]
	s.successes, s.violated = l.out.Info[l.at["successes"]], l.out.Info[l.at["violated"]] != 0
	width := len(l.env.Spec().Kinds[0].Features)
	for f := range rs {
		s.p75[f] = float64(l.obs.Kinds[0].Values[f*width+l.p75])
	}
	return s
}

// paperHolistic is by how many percent holistic tuning is cheaper than sequential tuning (§2.2).
const paperHolistic = 29.34

// Fig. 2's users; the sizes of an instance and the replicas that tuning chooses from, ascending. The limit is the
// range's highest, which lets all users in.
var (
	tuneUsers    = 20
	tuneCores    = []int{500, 1000, 1500, 2000}
	tuneReplicas = []int{2, 3, 4, 5, 6}
)

// tuningMethods are Fig. 2's: each function by itself, one after another, and all at once.
var tuningMethods = []string{"individual", "sequential", "holistic"}

// tuning is Fig. 2, by method.
type tuning struct {
	price, latency *report.Cube[float64]
	kept, windows  *report.Cube[float64] // the share of fresh windows that kept the thresholds; windows that tuning took
}

// tuner tunes one workflow under one seed.
type tuner struct {
	lab     *lab
	seed    uint64
	qos     sizing.QoS
	windows int
}

func measureTuning(ctx context.Context, o *suite.Options) (*tuning, error) {
	t := &tuning{}
	for _, c := range []**report.Cube[float64]{&t.price, &t.latency, &t.kept, &t.windows} {
		*c = report.NewCube[float64](len(o.Seeds), report.Axis{Name: "method", Len: len(tuningMethods)})
	}
	return t, o.Each(ctx, "Fig. 2", len(o.Seeds), func(i int) error { return t.measure(o.Seeds[i], i) })
}

// measure fills in one seed: what each method chose, measured again in a fresh window.
func (t *tuning) measure(seed uint64, i int) error {
	l, err := newLab(sizing.Sequential)
	if err != nil {
		return err
	}
	for m, choose := range []func(*tuner) []sizing.Resources{individually, oneAfterAnother, allAtOnce} {
		u := &tuner{lab: l, seed: seed, qos: sizing.RisingThresholds(sizing.Sequential, tuneUsers)}
		rs := choose(u)
		for k := range freshWindows {
			s := l.window(seed+freshSeeds*uint64(k+1), tuneUsers, rs)
			t.latency.At(m)[i] += s.latency / freshWindows
			if !s.violated {
				t.kept.At(m)[i] += 1.0 / freshWindows
			}
		}
		t.price.At(m)[i], t.windows.At(m)[i] = l.price(rs), float64(u.windows)
	}
	return l.err
}

// What was tuned is measured again in freshWindows windows, whose seeds are multiples of freshSeeds away. While tuning,
// a configuration is tried in tryWindows windows, and must keep the thresholds in most of them: one alone finds luck.
const (
	freshSeeds   = 100
	freshWindows = 10
	tryWindows   = 5
	trySeeds     = 3_000
)

// at is a configuration of one function.
func at(cores, replicas int) sizing.Resources {
	return sizing.Resources{CPU: tuneCores[cores], Memory: 1024, Replicas: tuneReplicas[replicas], Concurrency: 10}
}

// largest is the largest configuration for every function.
func (u *tuner) largest() []sizing.Resources {
	return u.lab.all(at(len(tuneCores)-1, len(tuneReplicas)-1))
}

// try measures a configuration: means over windows, and whether most of them missed the thresholds.
func (u *tuner) try(rs []sizing.Resources) (out seen) {
	out.p75 = make([]float64, len(rs))
	missed := 0
	for k := range tryWindows {
		u.windows++
		s := u.lab.window(trySeeds+tryWindows*u.seed+uint64(k), tuneUsers, rs)
		out.latency += s.latency / tryWindows
		for f, p := range s.p75 {
			out.p75[f] += p / tryWindows
		}
		if s.violated {
			missed++
		}
	}
	out.violated = missed > tryWindows/2
	return out
}

// cheapest returns the cheapest configuration of function f that is good, the other functions as in rs; the largest if
// none is.
func (u *tuner) cheapest(rs []sizing.Resources, f int, good func(seen) bool) sizing.Resources {
	best, least := at(len(tuneCores)-1, len(tuneReplicas)-1), math.Inf(1)
	trial := slices.Clone(rs)
	for c := range tuneCores {
		for r := range tuneReplicas {
			trial[f] = at(c, r)
			if price := u.lab.price(trial); price < least && good(u.try(trial)) {
				best, least = trial[f], price
			}
		}
	}
	return best
}

// individually gives each function the cheapest configuration that keeps its own latency, while the others have the
// largest. Its threshold is the workflow's, shared out as the latencies are when all have the largest.
func individually(u *tuner) []sizing.Resources {
	rs := u.largest()
	all := u.try(rs)
	var sum float64
	for _, p := range all.p75 {
		sum += p
	}
	out := slices.Clone(rs)
	for f := range rs {
		own := u.qos.Latency * all.p75[f] / sum
		out[f] = u.cheapest(rs, f, func(s seen) bool { return s.p75[f] <= own })
	}
	return out
}

// oneAfterAnother gives each function in turn the cheapest configuration with which the workflow keeps its thresholds,
// while those after it still have the largest.
func oneAfterAnother(u *tuner) []sizing.Resources {
	rs := u.largest()
	for f := range rs {
		rs[f] = u.cheapest(rs, f, func(s seen) bool { return !s.violated })
	}
	return rs
}

// allAtOnce goes from the largest configuration down: of all single steps down of any function that keep the
// thresholds, it takes the one that saves most for the latency that it adds, until there is none.
func allAtOnce(u *tuner) []sizing.Resources {
	rs := u.largest()
	levels := slices.Repeat([][2]int{{len(tuneCores) - 1, len(tuneReplicas) - 1}}, len(rs)) // of cores and of replicas
	now := u.try(rs)
	for {
		price := u.lab.price(rs)
		type step struct {
			function, knob int
			worth          float64
			seen           seen
		}
		best := step{function: -1}
		for f := range rs {
			for k := range levels[f] {
				if levels[f][k] == 0 {
					continue
				}
				to := levels[f]
				to[k]--
				trial := slices.Clone(rs)
				trial[f] = at(to[0], to[1])
				less, s := u.lab.price(trial), u.try(trial)
				worth := (price - less) / max(s.latency-now.latency, leastSlower)
				if !s.violated && worth > best.worth {
					best = step{f, k, worth, s}
				}
			}
		}
		if best.function < 0 || u.lab.err != nil {
			return rs
		}
		levels[best.function][best.knob]--
		rs[best.function], now = at(levels[best.function][0], levels[best.function][1]), best.seen
	}
}

// leastSlower is the least number of seconds that a step is taken to add: measurements are noisy.
const leastSlower = 0.05

func (t *tuning) report(r *suite.Report) {
	tab := report.Table{
		Name: "fig2-tuning", Title: "Three ways to tune Sequential (Fig. 2)",
		Columns: report.Head("tuning", "price [USD/h]", "latency [s]", "windows that kept the thresholds [%]", "windows of tuning"),
		Note:    "20 users; latency and thresholds in 10 fresh windows; means over seeds",
	}
	for m, name := range tuningMethods {
		tab.Rows = append(tab.Rows, []any{name, r.Estimate(stats.Scores{t.price.At(m)}), r.Estimate(stats.Scores{t.latency.At(m)}),
			100 * stats.Mean(t.kept.At(m)), stats.Mean(t.windows.At(m))})
	}
	r.Table(tab)
	r.Measured(suite.Row{Figure: "2", Quantity: "holistic tuning is cheaper than sequential tuning by", Unit: "%",
		Paper: new(paperHolistic), Note: "Sequential, 20 users"}, t.saved())
	for m, name := range tuningMethods {
		r.Row(suite.Row{Figure: "2", Quantity: "fresh windows that kept the thresholds, " + name + " tuning", Unit: "%",
			Ours: eval.Number(100 * stats.Mean(t.kept.At(m)))})
	}
}

// saved is by how many percent holistic tuning is cheaper than sequential tuning, by seed.
func (t *tuning) saved() stats.Scores {
	change := report.Change(t.price.At(2), t.price.At(1))
	return stats.Scores{lists.From(change, func(x float64) float64 { return -x })}
}
