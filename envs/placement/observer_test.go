package placement

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// clusters are configurations with all that an observation can show.
var clusters = map[string]func(*Config){
	"steady":     func(*Config) {},
	"crowded":    func(c *Config) { c.Load, c.Workload, c.Window, c.Running = 1.9, Poisson, 8, 5 },
	"bursty":     func(c *Config) { c.Workload, c.Load, c.KeepAlive = Bursty, 1.1, 2 },
	"conserving": func(c *Config) { c.Hold, c.Load = false, 1.2 },
	"tick":       func(c *Config) { c.Wait, c.Workload, c.KeepAlive = WaitTick, Mixed, 0 },
	"long":       func(c *Config) { c.Steps, c.Join, c.Noise = Between{4, 9}, 0.8, 0.5 },
}

// jsonOf writes a value as JSON.
func jsonOf(t testing.TB, v any) []byte {
	t.Helper()
	b := must.Get(json.Marshal(v))(t)
	return b
}

// unequal says where two observations are not equal, bit for bit; empty where they are.
func unequal(a, b *envs.Observation) string {
	x, y := &a.Kinds[0], &b.Kinds[0]
	switch {
	case !slices.Equal(x.Mask, y.Mask):
		return "the mask"
	case !slices.Equal(x.Legal, y.Legal):
		return "the legality table"
	case !slices.Equal(x.Active, y.Active):
		return "who is active"
	}
	g, h := x.Graphs[0], y.Graphs[0]
	for i, s := range g.Nodes {
		kind := g.Space.Nodes[i]
		if z := h.Nodes[i]; s.Len != z.Len {
			return fmt.Sprintf("the number of %ss: %d and %d", kind.Name, s.Len, z.Len)
		}
		for j, f := range s.Features[:s.Len*kind.Width] {
			if z := h.Nodes[i].Features[j]; f != z {
				return fmt.Sprintf("%s of %s %d: %g and %g", kind.Features[j%kind.Width].Name, kind.Name, j/kind.Width, f, z)
			}
		}
	}
	for i, s := range g.Edges {
		kind, z := g.Space.Edges[i], h.Edges[i]
		if s.Len != z.Len || !slices.Equal(s.From[:s.Len], z.From[:s.Len]) || !slices.Equal(s.To[:s.Len], z.To[:s.Len]) ||
			!slices.Equal(s.Features[:s.Len*kind.Width], z.Features[:s.Len*kind.Width]) {
			return "the edges " + kind.Name
		}
	}
	return ""
}

// watch runs part of an episode of random actions that start invocations where they can, and calls f with each
// observation and the action that follows.
func watch(t testing.TB, e *Env, seed uint64, steps int, f func(obs *envs.Observation, act *envs.Action)) {
	t.Helper()
	s := e.Spec()
	obs, act, out := envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s)
	must.Do(t, e.Reset(seed, nil, obs))
	sampler := must.Get(envs.NewActionSampler(s))(t)
	r := rng.NewStream(seed, "actions")
	for range steps {
		must.Do(t, sampler.Sample(r, obs, act))
		f(obs, act)
		must.Do(t, e.Step(act, obs, out))
		if out.Terminated || out.Truncated {
			return
		}
	}
}

// A platform that sends what the simulator knows as JSON gets the simulator's observation, bit for bit: graph, masks
// and legality. A decision is what the simulator then starts, with the resources that it gives.
func TestObserver(t *testing.T) {
	for name, change := range clusters {
		c := Default()
		change(&c)
		e := must.Get(New(c, workload.Default()))(t)
		o := must.Get(OpenObserver(jsonOf(t, c), jsonOf(t, workload.Default())))(t)
		a, b := *e.Spec(), *o.Spec()
		a.Kinds, b.Kinds = slices.Clone(a.Kinds), slices.Clone(b.Kinds)
		if a.Kinds[0].MaskAfter, b.Kinds[0].MaskAfter = nil, nil; !reflect.DeepEqual(a, b) {
			t.Errorf("%s: the observer's spec is another", name)
		}
		seen, sent, starts := envs.NewObservation(o.Spec()), &Cluster{}, 0
		for seed := range uint64(1) {
			watch(t, e, seed, 200, func(obs *envs.Observation, act *envs.Action) {
				e.Cluster(sent)
				read := must.Get(ParseCluster(jsonOf(t, sent)))(t)
				if err := o.Observe(read, seen); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if what := unequal(obs, seen); what != "" {
					t.Fatalf("%s, seed %d, %g s: %s differs", name, seed, read.Now, what)
				}
				start := must.Get(o.Start(read, seen, act))(t)
				k := act.Kinds[0]
				if start.Wait != (int(k[0]) == e.layout.Wait()) {
					t.Fatalf("%v is %+v", k, start)
				}
				if start.Wait {
					return
				}
				starts++
				v := &e.invocations[e.window[start.Invocation]]
				d := e.s.functions[v.function].demand[int(k[1])]
				if got := start.Resources; start.Node != int(k[2]) || start.Amount != c.Amounts[int(k[1])] ||
					got != (Resources{int(d[CPU]), int(d[Memory]), int(d[Network]), int(d[GPU])}) {
					t.Fatalf("%v is %+v", k, start)
				}
			})
		}
		if starts < 50 {
			t.Errorf("%s: %d starts, want some", name, starts)
		}
	}
}

// crowd is what is known in the middle of an episode, and its observer.
func crowd(t testing.TB) (*Observer, []byte) {
	t.Helper()
	c := Default()
	clusters["long"](&c)
	c.Workload, c.Load = Poisson, 1.9
	e := must.Get(New(c, workload.Default()))(t)
	o := must.Get(NewObserver(c, workload.Default()))(t)
	var text []byte
	watch(t, e, 3, 500, func(*envs.Observation, *envs.Action) {
		if len(e.window) >= 3 && len(e.active) >= 3 && len(e.idle) > 0 {
			cluster := &Cluster{}
			e.Cluster(cluster)
			text = jsonOf(t, cluster)
		}
	})
	if text == nil {
		t.Fatal("nothing happens")
	}
	return o, text
}

func TestObserveAllocates(t *testing.T) {
	o, text := crowd(t)
	c := must.Get(ParseCluster(text))(t)
	seen := envs.NewObservation(o.Spec())
	if n := testing.AllocsPerRun(100, func() {
		must.Do(t, o.Observe(c, seen))
	}); n != 0 {
		t.Errorf("%g allocations, want none", n)
	}
}

// What is held by others is not free, and output that lies on no node is near none.
func TestOthers(t *testing.T) {
	o, text := crowd(t)
	c := must.Get(ParseCluster(text))(t)
	seen, l := envs.NewObservation(o.Spec()), o.Layout()
	must.Do(t, o.Observe(c, seen))
	node := slices.IndexFunc(c.Nodes, func(NodeMeters) bool {
		return l.Free(l.Node(seen.Kinds[0].Graphs[0], 0), CPU) > 0
	})
	before := l.Free(l.Node(seen.Kinds[0].Graphs[0], node), CPU)
	c.Nodes[node].Others.CPU = 100
	for r := range c.Requests {
		for d := range c.Requests[r].Done {
			c.Requests[r].Done[d].Node = -1
		}
	}
	must.Do(t, o.Observe(c, seen))
	g := seen.Kinds[0].Graphs[0]
	if after := l.Free(l.Node(g, node), CPU); math.Abs(float64(before-after)-100/l.Largest[CPU]) > 1e-6 {
		t.Errorf("free CPU is %g, was %g before others took 100 millicores", after, before)
	}
	edges := &g.Edges[AllocationEdges]
	for i := range edges.Len {
		if edges.Features[i*widthOfAllocation+ofLocal] != 0 {
			t.Fatal("input lies on a node")
		}
	}
}

// A policy that learned on vectors gets them from the same observation, and its choice becomes a start.
func TestFlat(t *testing.T) {
	c := Default()
	c.Hold, c.Window, c.Running, c.Nodes = false, 3, 3, c.Nodes[:2]
	for i := range c.Nodes {
		c.Nodes[i].Count = 2
	}
	c.Classes = c.Classes[:1]
	e := must.Get(New(c, workload.Default()))(t)
	flat := must.Get(envs.NewFlatten(e, "test/Flat-v1"))(t)
	o := must.Get(NewObserver(c, workload.Default()))(t)
	f := must.Get(envs.NewFlattener(o.Spec(), "test/Flat-v1"))(t)
	if !reflect.DeepEqual(flat.Spec(), f.Spec()) {
		t.Error("the flattener's spec is another")
	}
	obs, act, out := envs.NewObservation(flat.Spec()), envs.NewAction(flat.Spec()), envs.NewOutcome(flat.Spec())
	graph, seen, three := envs.NewObservation(o.Spec()), envs.NewObservation(f.Spec()), envs.NewAction(o.Spec())
	must.Do(t, flat.Reset(1, nil, obs))
	r, cluster := rng.NewStream(1, "actions"), &Cluster{}
	for range 200 {
		e.Cluster(cluster)
		must.Do(t, o.Observe(cluster, graph))
		must.Do(t, f.Observe(graph, seen))
		x, y := &obs.Kinds[0], &seen.Kinds[0]
		if !slices.Equal(x.Values, y.Values) || !slices.Equal(x.Mask, y.Mask) || !slices.Equal(x.Active, y.Active) {
			t.Fatal("the vectors differ")
		}
		flat.Spec().Kinds[0].Action.Sample(r, x.Mask, act.Kinds[0])
		must.Do(t, f.Choices(act, three))
		must.Get(o.Start(cluster, graph, three))(t)
		must.Do(t, flat.Step(act, obs, out))
		if out.Terminated || out.Truncated {
			return
		}
	}
}

// What is wrong is named by its key.
func TestClusterErrors(t *testing.T) {
	o, text := crowd(t)
	seen := envs.NewObservation(o.Spec())
	for want, change := range map[string]func(*Cluster){
		"nodes are 1, want 16":                     func(c *Cluster) { c.Nodes = c.Nodes[:1] },
		"functions are 0, want 20":                 func(c *Cluster) { c.Functions = nil },
		"now is NaN, want":                         func(c *Cluster) { c.Now = math.NaN() },
		"nodes[2].recent is 2, want 0 to 1":        func(c *Cluster) { c.Nodes[2].Recent = 2 },
		"nodes[2].others.gpu is 1, want 0 to the":  func(c *Cluster) { c.Nodes[2].Others.GPU = 1 },
		"nodes[2].others.cpu is -1, want 0 to the": func(c *Cluster) { c.Nodes[2].Others.CPU = -1 },
		"functions[1].cold_share is -1":            func(c *Cluster) { c.Functions[1].ColdShare = -1 },
		"functions[1].last is 1e+09":               func(c *Cluster) { c.Functions[1].Last = 1e9 },
		"requests[0].workflow is 16, want 0 to 15": func(c *Cluster) { c.Requests[0].Workflow = 16 },
		"requests[0].priority is -1":               func(c *Cluster) { c.Requests[0].Priority = -1 },
		"requests[0].size is 0":                    func(c *Cluster) { c.Requests[0].Size = 0 },
		"requests[0].done[0].step is 99":           func(c *Cluster) { c.Requests[0].Done = []Done{{99, 0}} },
		"requests[0].done[0].node is 16, want 0 to 15, or -1": func(c *Cluster) {
			c.Requests[0].Done = []Done{{0, 16}}
		},
		"requests[0].done[1].step is 0, which is listed twice": func(c *Cluster) {
			c.Requests[0].Done = []Done{{0, 0}, {0, 0}}
		},
		"waiting[0].request is 9999":          func(c *Cluster) { c.Waiting[0].Request = 9999 },
		"waiting[1].step is ":                 func(c *Cluster) { c.Waiting[1] = c.Waiting[0] },
		"waiting[0].since is 1e+09":           func(c *Cluster) { c.Waiting[0].Since = 1e9 },
		"running[0].node is 77":               func(c *Cluster) { c.Running[0].Node = 77 },
		"running[0].amount is 4, want 0 to 3": func(c *Cluster) { c.Running[0].Amount = 4 },
		"running[0].expected is +Inf":         func(c *Cluster) { c.Running[0].Expected = math.Inf(1) },
		"running[1].step is ":                 func(c *Cluster) { c.Running[1].Waiting = c.Running[0].Waiting },
		"warm[0].function is -1":              func(c *Cluster) { c.Warm[0].Function = -1 },
		"takes":                               func(c *Cluster) { c.Warm[0].Instances = 1 << 19 },
	} {
		c := must.Get(ParseCluster(text))(t)
		change(c)
		if err := o.Observe(c, seen); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	c, _ := ParseCluster(text)
	if err := o.Observe(c, &envs.Observation{Kinds: make([]envs.KindObservation, 1)}); err == nil {
		t.Error("an observation of another spec is taken")
	}
	if err := o.Observe(c, seen); err != nil {
		t.Errorf("after all these the good one is refused: %v", err)
	}
	act := envs.NewAction(o.Spec())
	for want, a := range map[string][]float32{
		"invocation 63 is chosen, but": {63, 0, 0}, "action of scheduler 0": {1.5, 0, 0}, "action": {float32(math.NaN()), 0, 0},
	} {
		copy(act.Kinds[0], a)
		if _, err := o.Start(c, seen, act); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", a, err, want)
		}
	}
	for i := range c.Waiting {
		for n := range c.Nodes {
			if l := o.Layout(); l.Fits(&seen.Kinds[0], i, n) == 0 {
				copy(act.Kinds[0], []float32{float32(i), 0, float32(n)})
				if _, err := o.Start(c, seen, act); err == nil || !strings.Contains(err.Error(), "does not fit node") {
					t.Fatalf("invocation %d on node %d: %v", i, n, err)
				}
			}
		}
	}
	if _, err := ParseCluster([]byte(`{"ndoes": []}`)); err == nil || !strings.Contains(err.Error(), "ndoes") {
		t.Errorf("an unknown key: %v", err)
	}
	for config, want := range map[string]string{
		`{"window": 0}`: "window is 0", `{"workload": "tpch", "tpch": {"path": "x"}}`: "no", `{"winow": 1}`: "winow",
		`{"window": 4096, "nodes": [{"count": 4096}]}`: "window is 4096 for 4096 nodes, want at most",
	} {
		if _, err := OpenObserver([]byte(config), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", config, err, want)
		}
	}
	if _, err := OpenObserver([]byte(`{"workload": "azure"}`), []byte(`{"path": "x"}`)); err == nil ||
		!strings.Contains(err.Error(), "no file is opened") {
		t.Errorf("a file: %v", err)
	}
}

// No text panics, and what is taken gives finite numbers.
func FuzzCluster(f *testing.F) {
	o, text := crowd(f)
	f.Add(text)
	f.Add([]byte(`{"now": 1, "requests": [{"workflow": 1, "size": 1}], "waiting": [{"request": 0, "step": 0}]}`))
	seen := envs.NewObservation(o.Spec())
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseCluster(data)
		if err != nil || o.Observe(c, seen) != nil {
			return
		}
		g := seen.Kinds[0].Graphs[0]
		for i, s := range g.Nodes {
			for j, x := range s.Features[:s.Len*g.Space.Nodes[i].Width] {
				if x-x != 0 {
					t.Fatalf("feature %d of %s is %g for %s", j, g.Space.Nodes[i].Name, x, data)
				}
			}
		}
	})
}
