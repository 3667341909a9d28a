package placement

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// threeSteps: a request has three invocations that wait from the start: a needs a core, b and c half a core each, and c
// a slice of a GPU. Node 0 is small and slow; node 1 is twice as large and twice as fast, and has two slices. Requests
// arrive at seconds 1 and 2. Tests can replace the steps.
func threeSteps(t testing.TB, requests int, others ...placement.Step) placement.Config {
	t.Helper()
	steps := []placement.Step{{Name: "a", Function: "f", Work: 4}, {Name: "b", Function: "h", Work: 1},
		{Name: "c", Function: "g", Work: 10}}
	if len(others) > 0 {
		steps = others
	}
	c := placement.Default()
	c.Nodes = []placement.NodeClass{
		{Name: "small", Count: 1, CPU: 1000, Memory: 1000, Network: 100, Speed: 1, Price: 1},
		{Name: "large", Count: 1, CPU: 2000, Memory: 2000, Network: 200, GPU: 2, Speed: 2, Price: 2},
	}
	c.Amounts = []float64{0.5, 1, 2}
	c.Functions = []placement.Function{
		{Name: "f", CPU: 1000, Memory: 600, Network: 10, Image: 100, Parallel: 0.5},
		{Name: "h", CPU: 500, Memory: 600, Network: 10},
		{Name: "g", CPU: 500, Memory: 500, Network: 10, GPU: 1, Parallel: 1},
	}
	c.Workflows = []placement.Workflow{{Name: "w", Share: 1, Steps: steps}}
	c.Variation, c.Noise, c.Size, c.KeepAlive = 0, 0, placement.Span{Low: 1, High: 1}, 0
	c.Cold = placement.ColdStart{Boot: 0.25, Pull: 400}
	c.Seconds = float64(requests) + 0.5
	s := must.Get(placement.NewSystem(c, workload.Default()))(t)
	c.Load = 1 / s.Rate(1)
	return c
}

func (w *world) do(which, amount, node int) {
	w.t.Helper()
	w.act.Kinds[0][0], w.act.Kinds[0][1], w.act.Kinds[0][2] = float32(which), float32(amount), float32(node)
	if err := w.env.Step(w.act, w.obs, w.out); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) wait() {
	w.t.Helper()
	l := w.env.Layout()
	w.do(l.Wait(), 0, 0)
}

// idle waits until nothing runs.
func (w *world) idle() {
	w.t.Helper()
	l := w.env.Layout()
	for g := w.obs.Kinds[0].Graphs[0]; l.Invocations(g) > l.Waiting(g); {
		w.wait()
	}
}

// chooses checks the policy's next choice.
func (w *world) chooses(what string, which, amount, node int) {
	w.t.Helper()
	act := envs.NewAction(w.env.Spec())
	if err := w.policy.Act(w.obs, act, true); err != nil {
		w.t.Fatal(err)
	}
	if a := act.Kinds[0]; a[0] != float32(which) || a[1] != float32(amount) || a[2] != float32(node) {
		w.t.Errorf("%s: %s chooses %v, want [%d %d %d]", what, w.policy.Name(), a, which, amount, node)
	}
}

func newThree(t *testing.T, requests int, build func(envs.Env) (envs.Policy, error)) *world {
	t.Helper()
	w := newWorld(t, threeSteps(t, requests), rule{"", build})
	w.reset(1, nil)
	for range requests {
		w.wait()
	}
	return w
}

const wait = 128 // instead of an invocation

func TestFCFS(t *testing.T) {
	w := newThree(t, 1, rules[0].build)
	// a ends after 0.5 + 4 s on node 0, after 0.5 + 4/2 s on node 1.
	w.chooses("the first, where it ends first", 0, 1, 1)
	w.do(0, 1, 1)
	w.do(0, 1, 1) // b; 500 mC are left on node 1, 1000 on node 0
	w.chooses("c, which needs a GPU", 0, 1, 1)

	w = newThree(t, 2, rules[0].build)
	w.do(0, 1, 0)
	w.do(2, 2, 1) // a of the second request has all of node 1
	w.chooses("b fits no node", wait, 0, 0)
	w = newThree(t, 2, func(e envs.Env) (envs.Policy, error) {
		c := DefaultFCFS()
		c.Backfill, c.Amount = true, Smallest
		return NewFCFS(c, e)
	})
	w.do(0, 1, 1)
	w.do(0, 1, 0) // b on node 0, where 400 MB are left: no other fits there
	w.do(0, 1, 1) // c; 500 mC are left on node 1
	w.chooses("a with half a core", 0, 0, 1)
}

func TestSJF(t *testing.T) {
	w := newThree(t, 1, rules[1].build)
	w.chooses("b has the least work", 1, 1, 1)
	w.do(0, 2, 1)
	w.chooses("b fits node 0 alone", 0, 1, 0)
	w.do(0, 1, 0)
	w.chooses("c fits nowhere", wait, 0, 0)
}

// As shares of the largest node, a demands (0.5, 0.3, 0.05, 0), b (0.25, 0.3, 0.05, 0), c (0.25, 0.25, 0.05, 0.5); node
// 0 has (0.5, 0.5, 0.5, 0) free, node 1 all.
func TestPacker(t *testing.T) {
	w := newThree(t, 1, rules[2].build)
	w.chooses("c on node 1 makes 1.05, a there 0.85", 2, 1, 1)
	w.do(2, 1, 1)
	// Node 1 has (0.75, 0.75, 0.95, 0.5) left: a scores 0.375 + 0.225 + 0.0475 there, and 0.425 on node 0.
	w.chooses("a on node 1 makes 0.6475", 0, 1, 1)
}

// An invocation takes a node where its function is warm if it fits there, even if another node scores more.
func TestWarmNodesComeFirst(t *testing.T) {
	for _, r := range rules[2:4] {
		c := threeSteps(t, 1, placement.Step{Name: "a", Function: "h", Work: 1},
			placement.Step{Name: "b", Function: "h", Work: 1})
		c.KeepAlive = 100
		w := newWorld(t, c, r)
		w.reset(1, nil)
		w.wait()
		better := map[string]int{"packer-nodes": 1, "tetris": 0}[r.name]
		w.chooses("the node that makes more", 0, 1, better)
		w.do(0, 1, 1-better)
		w.idle()
		w.chooses("the warm node", 0, 1, 1-better)
	}
}

// As shares of the node itself a scores 1 + 0.6 + 0.1 on node 0 and 0.85 on node 1, b 1.2 and 0.6, c 1.05 on node 1.
// All invocations of a request have the same work left: 4·0.85 + 1·0.6 + 10·1.05 = 14.5.
func TestTetris(t *testing.T) {
	with := func(change func(*TetrisConfig)) func(envs.Env) (envs.Policy, error) {
		return func(e envs.Env) (envs.Policy, error) {
			c := DefaultTetris()
			change(&c)
			return NewTetris(c, e)
		}
	}
	w := newThree(t, 1, rules[3].build)
	w.chooses("the best alignment", 0, 1, 0)

	// Two requests; of the second a and b are done: c alone is left, with 10.5 of work. The mean alignment of the six
	// pairs is 1.075, the mean work (5·14.5 + 10.5)/6 = 13.83, so ε = 0.0777: a of the first scores 1.7 − 1.127 =
	// 0.573, c of the second 1.05 − 0.816 = 0.234.
	advanced := func(build func(envs.Env) (envs.Policy, error), done ...int) *world {
		w := newThree(t, 2, build)
		for _, i := range done {
			w.do(i, 1, 1)
		}
		w.idle()
		return w
	}
	w = advanced(rules[3].build, 3, 3)
	w.chooses("alignment outweighs work", 0, 1, 0)
	w = advanced(with(func(c *TetrisConfig) { c.Barrier = 0.6 }), 3, 3)
	w.chooses("two thirds of its stage are done", 3, 1, 1)
	// Of the second request b and c are done: a is left, with 3.4 of work. It has the alignment of the first one's a,
	// and loses less for less work.
	w = advanced(rules[3].build, 4, 4)
	w.chooses("of equal alignments that with less work left", 3, 1, 0)

	// The first request holds half of node 1; half of the five that wait are left out.
	w = newThree(t, 2, with(func(c *TetrisConfig) { c.Fairness = 0.5 }))
	w.do(2, 1, 1)
	w.chooses("not of the request that holds more", 2, 1, 0)

	// All input of the second step is on node 1: node 0 scores 1.2 less a tenth, or less all of it.
	for _, x := range []struct {
		remote float64
		node   int
	}{{0.1, 0}, {0.9, 1}} {
		c := threeSteps(t, 1, placement.Step{Name: "a", Function: "h", Work: 1, Output: 5},
			placement.Step{Name: "b", Function: "h", Work: 1, After: []string{"a"}})
		w := newWorld(t, c, rule{"", with(func(c *TetrisConfig) { c.Remote = x.remote })})
		w.reset(1, nil)
		w.wait()
		w.do(0, 1, 1)
		w.wait()
		w.chooses("remote input", 0, 1, x.node)
	}
}

// Spread gives as much as all waiting invocations could have: of 3 cores three get one each, one alone gets two.
func TestSpread(t *testing.T) {
	spread := func(e envs.Env) (envs.Policy, error) { return NewFCFS(FCFSConfig{Amount: Spread}, e) }
	w := newThree(t, 1, spread)
	w.chooses("three wait", 0, 1, 1)
	c := threeSteps(t, 1, placement.Step{Name: "a", Function: "f", Work: 4})
	w = newWorld(t, c, rule{"", spread})
	w.reset(1, nil)
	w.wait()
	w.chooses("one waits", 0, 2, 1)
	w = newThree(t, 2, spread)
	w.chooses("six wait", 0, 0, 1)
	w = newThree(t, 1, func(e envs.Env) (envs.Policy, error) { return NewSJF(SJFConfig{Amount: Largest}, e) })
	w.do(0, 1, 1) // a; a core of node 1 is left
	w.chooses("b with the most that fits", 0, 2, 1)
}

// All pairs that fit are equally likely: a and b on two nodes, c on one.
func TestRandom(t *testing.T) {
	w := newThree(t, 1, rules[4].build)
	counts := map[[3]float32]int{}
	const n = 5000
	for range n {
		must.Do(t, w.policy.Act(w.obs, w.act, false))
		counts[[3]float32(w.act.Kinds[0])]++
	}
	chi := 0.0
	for _, k := range counts {
		chi += math.Pow(float64(k)-n/5, 2) / (n / 5)
	}
	if len(counts) != 5 || chi > 18.5 { // 0.999 of the law with four degrees of freedom
		t.Errorf("chosen %v, want five pairs as often: χ² %.1f", counts, chi)
	}
}

// Every rule acts without allocation, continues the same after it was copied or saved, and finishes all requests.
func TestPolicies(t *testing.T) {
	pole := must.Get(classic.NewCartPole(classic.DefaultCartPole()))(t)
	c := placement.Default()
	c.Load, c.Seconds = 1.2, 8
	for _, r := range rules {
		w := newWorld(t, c, r)
		first := w.episode(3, nil)
		if again := w.episode(3, nil); again.Return != first.Return {
			t.Errorf("%s: return %g, then %g with the same seed", r.name, first.Return, again.Return)
		}
		if !w.out.Terminated || first.Info[2] == 0 {
			t.Errorf("%s: does not finish: %v", r.name, first.Info)
		}
		w.reset(4, nil)
		for range 50 {
			w.step()
		}
		b := must.Get(w.policy.AppendBinary(nil))(t)
		copied, saved := newWorld(t, c, r), newWorld(t, c, r)
		must.Do(t, copied.policy.CopyFrom(w.policy))
		must.Do(t, saved.policy.UnmarshalBinary(b))
		if saved.policy.UnmarshalBinary(append(b, 1)) == nil {
			t.Errorf("%s: takes in a state with a byte too many", r.name)
		}
		for range 20 {
			for _, p := range []envs.Policy{copied.policy, saved.policy} {
				was := *w
				was.policy, was.act = p, envs.NewAction(w.env.Spec())
				must.Do(t, p.Act(w.obs, was.act, false))
				b, _ := w.policy.AppendBinary(nil)
				must.Do(t, w.policy.Act(w.obs, w.act, false))
				if [3]float32(was.act.Kinds[0]) != [3]float32(w.act.Kinds[0]) {
					t.Fatalf("%s: chooses %v, its copy %v", r.name, w.act.Kinds[0], was.act.Kinds[0])
				}
				if p == copied.policy {
					must.Do(t, w.policy.UnmarshalBinary(b))
				}
			}
			must.Do(t, w.env.Step(w.act, w.obs, w.out))
		}
		if n := testing.AllocsPerRun(20, func() {
			must.Do(t, w.policy.Act(w.obs, w.act, true))
		}); n > 0 {
			t.Errorf("%s: allocates %g times in a decision", r.name, n)
		}
		if _, err := r.build(pole); err == nil {
			t.Errorf("%s: accepts %s", r.name, pole.Spec().ID)
		}
	}
	if _, err := NewSJF(SJFConfig{Amount: "all"}, newWorld(t, c, rules[0]).env); err == nil {
		t.Error("an unknown amount is accepted")
	}
	if c := (TetrisConfig{Amount: Nominal, Fairness: 1}); c.Validate() == nil {
		t.Error("fairness 1, which leaves nobody, is accepted")
	}
}

// Where waiting is not allowed while something fits, every rule plays, with the smallest amount where it would wait;
// where waiting is allowed, nothing changes.
func TestConserve(t *testing.T) {
	c := placement.Default()
	c.Load, c.Seconds, c.Hold = 1.5, 8, false
	for _, r := range rules {
		w := newWorld(t, c, r)
		if e := w.episode(2, nil); !w.out.Terminated {
			t.Errorf("%s: does not finish: %v", r.name, e.Info)
		}
	}
	// One b leaves 400 MB on node 0, the other one, with twice its demand, and a c half a core on node 1: a fits there
	// with half of its demand.
	w := newThree(t, 2, rules[0].build)
	w.do(1, 1, 0)
	w.do(3, 2, 1)
	w.do(1, 1, 1)
	w.chooses("a fits with the smallest amount alone", wait, 0, 0)
	// The mask of an environment with hold: false.
	w.obs.Kinds[0].Mask[wait] = false
	w.chooses("a may not wait", 0, 0, 1)
}
