package envs_test

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
)

// Sizes of the placement toy: the window of invocations, functions, nodes, amounts of a resource, and invocations of an
// episode.
const (
	window    = 64
	functions = 8
	nodes     = 16
	amounts   = 4
	served    = 90
)

// placement is the GNN paper's cluster: a scheduler sees a graph and says which invocation gets how much of which node,
// or lets time pass. State, in x: for each invocation in the window its number, function, work left, node (-1 while it
// waits) and amount; what each node has free; invocations in the window; invocations arrived.
type placement struct{ toy }

type invocation []float64

func (p *placement) invocation(i int) invocation { return p.x[5*i : 5*i+5] }

func (v invocation) waits() bool { return v[3] < 0 }

func (p *placement) free() []float64   { return p.x[5*window : 5*window+nodes] }
func (p *placement) held() *float64    { return &p.x[5*window+nodes] }
func (p *placement) arrived() *float64 { return &p.x[5*window+nodes+1] }

var clusterGraph = envs.Graph{
	Nodes: []envs.NodeKind{
		{Name: "invocation", Width: 3, Capacity: window},
		{Name: "function", Width: 1, Capacity: functions},
		{Name: "node", Width: 1, Capacity: nodes},
	},
	Edges: []envs.EdgeKind{
		{Name: "dependency", From: 1, To: 1, Capacity: functions},
		{Name: "allocation", From: 0, To: 2, Width: 1, Capacity: window},
		{Name: "temporal", From: 0, To: 0, Capacity: window},
		{Name: "sharing", From: 1, To: 2, Capacity: functions * nodes},
	},
}

var clusterSpec = envs.Spec{
	ID: "test/Placement-v1", Doc: "A scheduler places invocations on nodes, one at a time, until it lets time pass.",
	Kinds: []envs.Kind{{
		Name: "scheduler", Agents: 1, Observation: clusterGraph,
		// One choice more than invocations: to wait.
		Action: envs.MultiDiscrete{N: []int{window + 1, amounts, nodes}}, Actions: []string{"invocation", "amount", "node"},
		Points:    []int{0, -1, 2},
		MaskAfter: placementMask,
	}},
	Step: envs.Timing{Unit: "decision"},
	Info: []envs.Quantity{{Name: "in service", Unit: "invocations", Reduce: envs.PerTime}},
}

func newPlacement() (envs.Env, error) {
	return &placement{toy{spec: &clusterSpec, x: make([]float64, 5*window+nodes+2)}}, nil
}

// placementMask reads the graph: what waits stands in the invocations' first feature, what is free in the nodes' only
// one. Amount a takes a+1 units.
func placementMask(obs *envs.KindObservation, agent int, partial []float32, mask []bool) error {
	g := obs.Graphs[agent]
	free := g.Nodes[2].Features[:g.Nodes[2].Len]
	var most float32
	for _, x := range free {
		most = max(most, x)
	}
	wait := len(partial) > 0 && partial[0] == window
	for c := range mask {
		switch len(partial) {
		case 0:
			mask[c] = c == window || (c < g.Nodes[0].Len && g.Nodes[0].Features[3*c] == 1 && most >= 1)
		case 1:
			mask[c] = wait && c == 0 || !wait && most >= float32(c+1)
		default:
			mask[c] = wait && c == 0 || !wait && free[c] >= partial[1]+1
		}
	}
	return nil
}

func (p *placement) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	if err := p.begin(seed, options); err != nil {
		return err
	}
	for i := range p.free() {
		p.free()[i] = amounts
	}
	for range window {
		p.arrive()
	}
	return p.see(obs)
}

// arrive lets the next invocation into the window; it does nothing where there is no next one, or no room.
func (p *placement) arrive() {
	n := *p.arrived()
	if n == served || *p.held() == window {
		return
	}
	v := p.invocation(int(*p.held()))
	v[0], v[1], v[3], v[4] = n, float64(int(functions*p.draw("function", uint64(n), 0, 0))), -1, 0
	v[2] = 1 + float64(int(8*p.draw("work", uint64(n), 0, 0)))
	*p.held()++
	*p.arrived()++
}

func (p *placement) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if err := p.admit(nil, act); err != nil {
		return err
	}
	which, amount, node := int(act.Kinds[0][0]), int(act.Kinds[0][1]), int(act.Kinds[0][2])
	out.Rewards[0][0], out.Info[0] = 0, 0
	if which < window {
		v := p.invocation(which)
		if which >= int(*p.held()) || !v.waits() || p.free()[node] < float64(amount+1) {
			return fmt.Errorf("invocation %d cannot have %d units of node %d", which, amount+1, node)
		}
		v[3], v[4] = float64(node), float64(amount+1)
		p.free()[node] -= float64(amount + 1)
		p.end(out, false, false, 0)
		return p.see(obs)
	}
	if amount != 0 || node != 0 {
		return fmt.Errorf("waiting takes amount 0 of node 0, not %d of %d", amount, node)
	}
	out.Rewards[0][0], out.Info[0] = -float32(*p.held()), p.pass()
	p.arrive()
	p.end(out, *p.held() == 0, false, 1_000_000)
	return p.see(obs)
}

// pass lets a second pass and removes what is done, keeping the order of arrival.
func (p *placement) pass() (running float64) {
	kept := 0
	for i := range int(*p.held()) {
		v := p.invocation(i)
		if !v.waits() {
			running++
			v[2] -= v[4]
		}
		if v[2] <= 0 {
			p.free()[int(v[3])] += v[4]
			continue
		}
		copy(p.invocation(kept), v)
		kept++
	}
	clear(p.x[5*kept : 5*window])
	*p.held() = float64(kept)
	return running
}

// see writes the graph.
func (p *placement) see(obs *envs.Observation) error {
	k := &obs.Kinds[0]
	k.Active[0] = true
	g := k.Graphs[0]
	g.Clear()
	for _, free := range p.free() {
		_, f, err := g.AddNode(2)
		if err != nil {
			return err
		}
		f[0] = float32(free)
	}
	for i := range functions {
		if _, _, err := g.AddNode(1); err != nil {
			return err
		}
		if i > 0 {
			if _, err := g.AddEdge(0, int32(i-1), int32(i)); err != nil {
				return err
			}
		}
	}
	for i := range int(*p.held()) {
		if err := p.seeInvocation(g, i); err != nil {
			return err
		}
	}
	return p.mask(k)
}

func (p *placement) seeInvocation(g *envs.GraphValue, i int) error {
	v := p.invocation(i)
	id, f, err := g.AddNode(0)
	if err != nil {
		return err
	}
	if v.waits() {
		f[0] = 1
	}
	f[1], f[2] = float32(v[1]), float32(v[2])
	if i > 0 {
		if _, err := g.AddEdge(2, id-1, id); err != nil {
			return err
		}
	}
	if v.waits() {
		return nil
	}
	e, err := g.AddEdge(1, id, int32(v[3]))
	if err != nil {
		return err
	}
	e[0] = float32(v[4])
	// A function runs on a node once, however many of its invocations do.
	for j := range i {
		if u := p.invocation(j); u[1] == v[1] && u[3] == v[3] {
			return nil
		}
	}
	_, err = g.AddEdge(3, int32(v[1]), int32(v[3]))
	return err
}

// mask writes what is legal after some beginning.
func (p *placement) mask(k *envs.KindObservation) error {
	if err := placementMask(k, 0, nil, k.Mask[:window+1]); err != nil {
		return err
	}
	most, waiting := 0.0, false
	for _, free := range p.free() {
		most = max(most, free)
	}
	for i := range int(*p.held()) {
		waiting = waiting || p.invocation(i).waits()
	}
	for a := range amounts {
		k.Mask[window+1+a] = a == 0 || waiting && most >= float64(a+1)
	}
	for n := range nodes {
		k.Mask[window+1+amounts+n] = n == 0 || waiting && p.free()[n] >= 1
	}
	return nil
}
