package sizing

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents/internal/gp"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// tuner is a search whose trials the tests read.
type tuner interface {
	envs.Tuner
	found() *trials
}

func (p *trials) found() *trials { return p }

// lab answers to configurations of two functions by a formula with noise instead of a simulation: latency falls with
// both CPUs, price rises with everything, and 12 s are allowed. It returns the outcome.
type lab struct {
	spec  *envs.Spec
	at    places
	noise *rng.Stream
	size  float64
	out   *envs.Outcome
}

func newLab(p *trials, seed uint64, size float64) *lab {
	return &lab{p.spec, p.at, rng.NewStream(seed, "lab"), size, envs.NewOutcome(p.spec)}
}

func (l *lab) try(act *envs.Action) *envs.Outcome {
	a := act.Kinds[0]
	latency, price := 6+l.size*l.noise.Norm(), 0.0
	for f := range len(a) / 4 {
		cpu, memory, replicas := float64(a[4*f]), float64(a[4*f+1]), float64(a[4*f+2])
		latency += 10*(1-cpu)*(1-cpu) + 6*(0.6-replicas)*(0.6-replicas)
		price += (0.3 + 1.75*cpu + 0.3*memory) * (1 + 2*replicas)
	}
	l.out.Info[l.at.latency], l.out.Info[l.at.price], l.out.Info[l.at.success] = latency, price, 1
	l.out.Info[l.at.successes], l.out.Info[l.at.load] = 30, 10
	l.out.Info[l.at.violated] = 0
	if latency > 12 {
		l.out.Info[l.at.violated] = 1
	}
	return l.out
}

// pair is a workflow of two functions under ten users, whose mean latency may be 12 s.
func pair(t testing.TB) *sizing.Env {
	return newEnv(t, 0, func(c *sizing.Config) {
		c.Workflow, c.Graph = sizing.Own, workflow.New("pair", workflow.Chain("rgb", "resnet"))
		c.QoS.QoS = sizing.QoS{Latency: 12, Success: 0.9, Count: 20}
	})
}

// score is what the fifteen trials of a search come to, each larger where better: minus the cheapest feasible price,
// the best 2(L − latency)/L + (P − price)/P, and the area that latency and price dominate within 12 s and 15 USD/h.
type score struct{ price, objective, area float64 }

// search runs warm-up rows and a whole budget.
func search(t *testing.T, p tuner, seed uint64, warm int) score {
	t.Helper()
	l := newLab(p.found(), seed, 0.3)
	must.Do(t, p.Reset(seed))
	act, s := envs.NewAction(l.spec), rng.NewStream(seed, "library")
	for range warm {
		for i := range act.Kinds[0] {
			act.Kinds[0][i] = float32(s.Float64())
		}
		must.Do(t, p.Observe(act, l.try(act)))
	}
	best := score{math.Inf(-1), math.Inf(-1), 0}
	var pairs []gp.Pair
	for range 15 {
		must.Do(t, p.Propose(nil, act))
		out := l.try(act)
		must.Do(t, p.Observe(act, out))
		latency, price := out.Info[l.at.latency], out.Info[l.at.price]
		if latency <= 12 {
			best.price = max(best.price, -price)
		}
		best.objective = max(best.objective, 2*(12-latency)/12+(6-price)/6)
		pairs = append(pairs, gp.Pair{-latency, -price})
	}
	left := -12.0
	for _, p := range gp.Front(pairs, gp.Pair{-12, -15}) {
		best.area += (p[0] - left) * (p[1] + 15)
		left = p[0]
	}
	if f := p.found(); f.feasible != (best.price > math.Inf(-1)) || f.feasible && f.bestPrice != -best.price {
		t.Fatalf("holds %g USD/h (feasible: %v), but the cheapest feasible trial costs %g", f.bestPrice, f.feasible,
			-best.price)
	}
	return best
}

func build(t *testing.T, e envs.Env) map[string]tuner {
	t.Helper()
	all := map[string]tuner{}
	add := func(name string, p tuner, err error) {
		must.Do(t, err)
		all[name] = p
	}
	space := defaultSearch()
	rs, err := NewRandomSearch(RandomSearchConfig{Windows: 15, Low: space.Low, High: space.High}, e)
	add("random-search", rs, err)
	bo, err := NewRAMBO(DefaultRAMBO(), e)
	add("rambo", bo, err)
	c := DefaultRAMBO()
	c.Acquisition = acquisitionEHVI
	bo, err = NewRAMBO(c, e)
	add("rambo ehvi", bo, err)
	c = DefaultRAMBO()
	c.Decide = sizing.Hardware
	bo, err = NewRAMBO(c, e)
	add("rambo hardware", bo, err)
	nei, err := NewAquatope(DefaultAquatope(), e)
	add("aquatope", nei, err)
	a := DefaultAquatope()
	a.Constraint, a.Lengths, a.Outliers = qosConstraint, oneLength, byVariance
	nei, err = NewAquatope(a, e)
	add("aquatope qos", nei, err)
	return all
}

// In what it searches for, each search by Gaussian processes is better than random search with the same rows and
// budget, in nine of ten seeds at least (by chance: p = 0.011 each, 0.03 for all three).
func TestSearchesBeatRandomSearch(t *testing.T) {
	const seeds = 10
	all := build(t, pair(t))
	var random [seeds]score
	for seed := range random {
		random[seed] = search(t, all["random-search"], uint64(seed), 10)
	}
	price, objective := func(s score) float64 { return s.price }, func(s score) float64 { return s.objective }
	for name, of := range map[string]func(score) float64{
		"rambo": objective, "rambo ehvi": func(s score) float64 { return s.area }, "aquatope": price,
	} {
		wins := 0
		for seed, r := range random {
			if of(search(t, all[name], uint64(seed), 10)) > of(r) {
				wins++
			}
		}
		t.Logf("%s: better in %d of %d seeds", name, wins, seeds)
		if wins < 9 {
			t.Errorf("%s: better than random search in %d of %d seeds, want 9 at least", name, wins, seeds)
		}
	}
}

// A search goes on from what was saved as if nothing had happened, from every place: while warming up, at the first
// points, by the model, and holding. Damaged states are refused.
func TestSearchesResume(t *testing.T) {
	e := pair(t)
	for name, p := range build(t, e) {
		l := newLab(p.found(), 1, 0.3)
		must.Do(t, p.Reset(5))
		act, got := envs.NewAction(l.spec), envs.NewAction(l.spec)
		for k := range 20 {
			saved := must.Get(p.AppendBinary(nil))(t)
			if k < 2 { // a library's rows
				for i := range act.Kinds[0] {
					act.Kinds[0][i] = float32(i+k) / 10
				}
			} else {
				other := build(t, e)[name]
				must.Do(t, other.UnmarshalBinary(saved))
				if again, err := other.AppendBinary(nil); err != nil || !bytes.Equal(saved, again) {
					t.Fatalf("%s: what was restored is saved as something else (%v)", name, err)
				}
				must.Do(t, p.Propose(nil, act))
				must.Do(t, other.Propose(nil, got))
				same(t, name, k, act, got)
				if other.UnmarshalBinary(saved[:len(saved)-3]) == nil {
					t.Errorf("%s: a damaged state was accepted", name)
				}
			}
			must.Do(t, p.Observe(act, l.try(act)))
		}
		if b := p.found(); b.tried != 15 {
			t.Errorf("%s: %d trials, want 15: rows of a library are none", name, b.tried)
		}
	}
}

// Where no row is feasible Aquatope goes where it is likeliest to be, beyond what it has seen.
func TestAquatopeSeeksFeasibility(t *testing.T) {
	p := build(t, pair(t))["aquatope"].(*Aquatope)
	l := newLab(&p.trials, 1, 0.1)
	act, s := envs.NewAction(l.spec), rng.NewStream(1, "library")
	for range 12 {
		for i := range act.Kinds[0] {
			act.Kinds[0][i] = float32(0.3 * s.Float64())
		}
		if out := l.try(act); out.Info[p.at.violated] == 0 {
			t.Fatal("a row is feasible, the test needs none")
		} else if err := p.Observe(act, out); err != nil {
			t.Fatal(err)
		}
	}
	for k := range 4 {
		must.Do(t, p.Propose(nil, act))
		out := l.try(act)
		must.Do(t, p.Observe(act, out))
		if p.feasible {
			t.Logf("feasible after %d proposals: %.2f s", k+1, out.Info[p.at.latency])
			return
		}
	}
	t.Error("nothing feasible in four proposals")
}

// A row that the others contradict is left out by its deviation; keep keeps it.
func TestAquatopeDropsOutliers(t *testing.T) {
	e := pair(t)
	for _, outliers := range []string{byDeviation, keepOutliers} {
		c := DefaultAquatope()
		c.Outliers, c.Lengths = outliers, oneLength
		p := must.Get(NewAquatope(c, e))(t)
		l := newLab(&p.trials, 1, 0)
		act, s := envs.NewAction(l.spec), rng.NewStream(1, "library")
		for k := range 25 {
			for i := range act.Kinds[0] {
				act.Kinds[0][i] = float32(s.Float64())
			}
			out := l.try(act)
			if k == 7 {
				out.Info[p.at.latency] += 60
			}
			must.Do(t, p.Observe(act, out))
		}
		must.Do(t, p.Propose(nil, act))
		if (p.Dropped() > 0) != (outliers == byDeviation) || p.Dropped() > 4 {
			t.Errorf("%s: %d of 25 rows dropped, one of which is wrong", outliers, p.Dropped())
		}
	}
}

// Proposals stay in the range, and concurrency stays as it was where it is not decided.
func TestSearchesKeepToTheirSpace(t *testing.T) {
	for name, p := range build(t, pair(t)) {
		l := newLab(p.found(), 1, 0.3)
		act := envs.NewAction(l.spec)
		for range 9 {
			must.Do(t, p.Propose(nil, act))
			for i, x := range act.Kinds[0] {
				if x < 0.2 || x > 0.8 || name == "rambo hardware" && i%4 == 3 && x != 0.5 {
					t.Fatalf("%s: component %d is %g", name, i, x)
				}
			}
			must.Do(t, p.Observe(act, l.try(act)))
		}
	}
}

// A component that the environment ignores is not searched.
func TestSearchesLeaveOutWhatIsIgnored(t *testing.T) {
	e := newEnv(t, 0, func(c *sizing.Config) {
		c.Workflow, c.Features = sizing.TcktApp, sizing.Described
	})
	for name, p := range build(t, e) {
		b, ok := p.(interface{ space() int })
		if ok && b.space() != 36 {
			t.Errorf("%s searches %d components of TcktApp's twelve functions, want 36", name, b.space())
		}
	}
}

func (b *bayes) space() int { return len(b.columns) }

func BenchmarkPropose(b *testing.B) {
	for _, w := range []string{sizing.Parallel, sizing.TcktApp} {
		e := newEnv(b, 0, func(c *sizing.Config) { c.Workflow = w })
		bo := must.Get(NewRAMBO(DefaultRAMBO(), e))(b)
		nei := must.Get(NewAquatope(DefaultAquatope(), e))(b)
		for _, p := range []tuner{bo, nei} {
			act, out, s := envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec()), rng.NewStream(1, "rows")
			at := p.found().at
			for range 55 {
				var sum float64
				for i := range act.Kinds[0] {
					x := s.Float64()
					act.Kinds[0][i] = float32(x)
					sum += x / float64(len(act.Kinds[0]))
				}
				out.Info[at.price], out.Info[at.latency], out.Info[at.load] = 10*sum, 20-12*sum+s.Norm(), 10
				must.Do(b, p.Observe(act, out))
			}
			b.Run(w+"/"+p.Name(), func(b *testing.B) {
				for b.Loop() {
					must.Do(b, p.Propose(nil, act))
				}
			})
		}
	}
}

// In the simulated lab (Parallel, ten users, a new deployment in every window) both searches find something feasible in
// each of four episodes, and RAMBO holds a cheaper configuration than random search in the mean.
func TestSearchesInTheLab(t *testing.T) {
	e := newEnv(t, 0, func(c *sizing.Config) { c.Windows = 16 })
	held := map[string]float64{}
	for name, p := range build(t, e) {
		if name != "random-search" && name != "rambo" && name != "aquatope qos" {
			continue
		}
		const episodes = 4
		for seed := range uint64(episodes) {
			steps(t, e, rollout.Actor{Tuner: p}, seed)
			if !p.found().feasible {
				t.Errorf("%s, seed %d: nothing feasible in 15 windows", name, seed)
			}
			held[name] += p.found().bestPrice / episodes
		}
	}
	t.Logf("held, USD/h: %v", held)
	if held["rambo"] >= held["random-search"] {
		t.Errorf("RAMBO holds %.2f USD/h, random search %.2f", held["rambo"], held["random-search"])
	}
}

// A library that does not know successes and loads warms up as well; one without a price is refused.
func TestSearchesReadPublishedRows(t *testing.T) {
	for name, p := range build(t, pair(t)) {
		l := newLab(p.found(), 1, 0.3)
		act := envs.NewAction(l.spec)
		for k := range 6 {
			for i := range act.Kinds[0] {
				act.Kinds[0][i] = float32((i*k)%7) / 7
			}
			out := l.try(act)
			out.Info[l.at.success], out.Info[l.at.load] = math.NaN(), math.NaN()
			must.Do(t, p.Observe(act, out))
			if k == 5 && name != "random-search" {
				out.Info[l.at.price] = math.NaN()
				if err := p.Observe(act, out); err == nil || !strings.Contains(err.Error(), "row 7 has price NaN") {
					t.Errorf("%s: a row without a price: %v", name, err)
				}
			}
		}
		saved := must.Get(p.AppendBinary(nil))(t)
		must.Do(t, p.UnmarshalBinary(saved))
		must.Do(t, p.Propose(nil, act))
		for i, x := range act.Kinds[0] {
			if !(x >= 0.2 && x <= 0.8) {
				t.Errorf("%s proposes %g for component %d", name, x, i)
			}
		}
	}
}
