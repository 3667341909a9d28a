package placement

import (
	"fmt"
	"sync"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/reuse"
)

// Observer makes observations of what a platform knows of its cluster, and starts of what a policy decides. It writes
// them with the environment's own code, so that a policy sees a platform as it saw the simulator. It simulates nothing.
// It may be used by several goroutines at once.
type Observer struct {
	s      *System
	layout Layout
	spec   *envs.Spec
	views  sync.Pool // of *view
}

// NewObserver returns the observer of [ID] with a configuration. It opens no workload, but for the workloads azure and
// tpch, whose functions are those of their data; w says which trace.
func NewObserver(c Config, w workload.Config) (*Observer, error) {
	s, err := newSystem(c, w)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ID, err)
	}
	o := &Observer{s: s, layout: s.layout()}
	o.spec = o.layout.describe()
	return o, nil
}

// OpenObserver is NewObserver from JSON: the configuration, which is laid over the environment's defaults, and the
// workload's. They are what the section environment of an exported policy has. It opens no file, and refuses what would
// take much memory.
func OpenObserver(config, load []byte) (*Observer, error) {
	c, w := Default(), workload.Default()
	if err := envs.ParseJSON(config, &c); err != nil {
		return nil, fmt.Errorf("%s: configuration: %w", ID, err)
	}
	if c.Workload == TPCH {
		return nil, fmt.Errorf("%s: %w", ID, bounds.Errorf("workload",
			"is %s, whose functions are those of a file, and none is opened here; want NewObserver", TPCH))
	}
	if c.Workload == Azure && len(load) > 0 {
		if err := envs.ParseJSON(load, &w); err != nil {
			return nil, fmt.Errorf("%s: workload: %w", ID, err)
		}
		if w.Path != "" {
			return nil, fmt.Errorf("%s: %w", ID, bounds.Errorf("workload.path", "is %q, and no file is opened here; want "+
				"NewObserver", w.Path))
		}
	}
	nodes := 0
	for _, n := range c.Nodes {
		nodes += min(max(n.Count, 0), mostPairs)
	}
	if pairs := nodes * min(max(c.Window, 0), mostPairs); pairs > mostPairs {
		return nil, fmt.Errorf("%s: %w", ID, bounds.Errorf("window", "is %d for %d nodes, want at most %d pairs of the two",
			c.Window, nodes, mostPairs))
	}
	return NewObserver(c, w)
}

// mostPairs is the most pairs of an invocation and a node: a short text can describe a graph of gigabytes.
const mostPairs = 1 << 22

// Spec is the environment's.
func (o *Observer) Spec() *envs.Spec { return o.spec }

// Layout says where numbers stand in an observation.
func (o *Observer) Layout() Layout { return o.layout }

// Functions lists the functions' names.
func (o *Observer) Functions() []string { return o.s.Functions() }

// Workflows lists the workflows' names.
func (o *Observer) Workflows() []string {
	out := make([]string, len(o.s.workflows))
	for i := range out {
		out[i] = o.s.workflows[i].name
	}
	return out
}

// Observe checks what is said of the cluster and writes what the scheduler sees into an observation of the spec. After
// the first times it does not allocate.
func (o *Observer) Observe(c *Cluster, out *envs.Observation) error {
	k := &o.spec.Kinds[0]
	if len(out.Kinds) != 1 || len(out.Kinds[0].Graphs) != 1 || len(out.Kinds[0].Legal) != k.Legal ||
		len(out.Kinds[0].Mask) != k.Action.MaskWidth() || len(out.Kinds[0].Active) != 1 {
		return fmt.Errorf("%s: the observation is not one of this environment's spec", ID)
	}
	v, ok := o.views.Get().(*view)
	if !ok {
		x := newView(o.s)
		v = &x
	}
	defer o.views.Put(v)
	if err := v.fill(c); err != nil {
		return fmt.Errorf("%s: cluster: %w", ID, err)
	}
	v.see(instant(c.Now), out)
	return nil
}

// fill makes the view of a cluster.
func (v *view) fill(c *Cluster) error {
	for _, n := range []struct {
		key       string
		got, want int
	}{{"nodes", len(c.Nodes), len(v.nodes)}, {"functions", len(c.Functions), len(v.functions)}} {
		if n.got != n.want {
			return bounds.Errorf(n.key, "are %d, want %d", n.got, n.want)
		}
	}
	if err := bounds.Between("now", c.Now, 0, mostTime); err != nil {
		return err
	}
	v.requests, v.window, v.active = v.requests[:0], v.window[:0], v.active[:0]
	v.sums = sums{}
	clear(v.pairs)
	clear(v.fits)
	clear(v.warm)
	for _, part := range [...]func(*Cluster) error{
		v.loadNodes, v.loadFunctions, v.loadRequests, v.loadRunning, v.loadWarm, v.loadWaiting,
	} {
		if err := part(c); err != nil {
			return err
		}
	}
	for n := range v.nodes {
		v.refit(int32(n))
	}
	return nil
}

func (v *view) loadNodes(c *Cluster) error {
	for n := range c.Nodes {
		x := &c.Nodes[n]
		if err := bounds.Between("recent", x.Recent, 0, 1); err != nil {
			return fmt.Errorf("nodes[%d].%w", n, err)
		}
		free := v.s.nodes[n].capacity
		for r, taken := range [...]int{x.Others.CPU, x.Others.Memory, x.Others.Network, x.Others.GPU} {
			if taken < 0 || taken > int(free[r]) {
				return fmt.Errorf("nodes[%d].others.%w", n, bounds.Errorf(ResourceNames[r], "is %d, want 0 to the node's %d", taken,
					free[r]))
			}
			free[r] -= int32(taken)
		}
		v.nodes[n] = node{free: free, recent: x.Recent}
	}
	return nil
}

func (v *view) loadFunctions(c *Cluster) error {
	for f := range c.Functions {
		x := &c.Functions[f]
		if err := bounds.Between("cold_share", x.ColdShare, 0, 1); err != nil {
			return fmt.Errorf("functions[%d].%w", f, err)
		}
		if err := bounds.Between("last", x.Last, -mostTime, c.Now); err != nil {
			return fmt.Errorf("functions[%d].%w", f, err)
		}
		v.functions[f] = newFunctionState()
		v.functions[f].cold = x.ColdShare
		if x.Last >= 0 {
			v.functions[f].since = instant(x.Last)
		}
	}
	return nil
}

// loadRequests makes the requests, with all of their invocations not started but those that are done.
func (v *view) loadRequests(c *Cluster) error {
	size := len(c.Requests) * v.s.steps
	v.invocations, v.levels = reuse.Slice(v.invocations, size), reuse.Slice(v.levels, size)
	v.rows = reuse.Slice(v.rows, size*v.layout.still())
	clear(v.levels)
	for i := range c.Requests {
		if err := v.loadRequest(int32(i), &c.Requests[i]); err != nil {
			return fmt.Errorf("requests[%d].%w", i, err)
		}
	}
	return nil
}

func (v *view) loadRequest(i int32, x *Request) error {
	if err := index("workflow", x.Workflow, len(v.s.workflows)); err != nil {
		return err
	}
	if err := index("priority", x.Priority, len(v.c.Priorities)); err != nil {
		return err
	}
	for _, n := range [...]struct {
		key            string
		x, least, most float64
	}{{"size", x.Size, 1e-3, 1e3}, {"arrived", x.Arrived, -mostTime, mostTime}, {"deadline", x.Deadline, -mostTime,
		mostTime}} {
		if err := bounds.Between(n.key, n.x, n.least, n.most); err != nil {
			return err
		}
	}
	t := &v.s.workflows[x.Workflow]
	q := request{
		workflow: int32(x.Workflow), priority: int32(x.Priority), left: int32(len(t.steps)), arrived: instant(x.Arrived),
		deadline: instant(x.Deadline), size: x.Size, work: float64(t.work * x.Size),
	}
	first := int(i) * v.s.steps
	for j := range t.steps {
		st := &t.steps[j]
		v.invocations[first+j] = invocation{
			request: i, step: int32(j), function: st.function, node: -1, amount: -1, pending: int32(len(st.after)),
			work: float64(st.work * x.Size),
		}
	}
	for d, x := range x.Done {
		if err := index("step", x.Step, len(t.steps)); err != nil {
			return fmt.Errorf("done[%d].%w", d, err)
		}
		if x.Node != -1 {
			if err := index("node", x.Node, len(v.nodes)); err != nil {
				return fmt.Errorf("done[%d].%w, or -1", d, err)
			}
		}
		k := &v.invocations[first+x.Step]
		if k.pending != 0 {
			return fmt.Errorf("done[%d].%w", d, bounds.Errorf("step", "is %d, which is listed twice, or before a step that it "+
				"comes after", x.Step))
		}
		k.node, k.pending = int32(x.Node), taken
		st := &t.steps[x.Step]
		for _, n := range st.next {
			v.invocations[first+int(n)].pending--
		}
		v.levels[first+int(st.level)]++
		q.work -= float64(st.weight * q.size)
		q.left--
	}
	v.requests = append(v.requests, q)
	return nil
}

// taken in place of the number of predecessors that are not done says that an invocation runs, waits or is done.
const taken = -1

// claim finds an invocation that waits or runs, and sees that there is no other.
func (v *view) claim(x *Waiting, now float64) (int32, error) {
	if err := index("request", x.Request, len(v.requests)); err != nil {
		return 0, err
	}
	q := &v.requests[x.Request]
	if err := index("step", x.Step, len(v.s.workflows[q.workflow].steps)); err != nil {
		return 0, err
	}
	if err := bounds.Between("since", x.Since, -mostTime, now); err != nil {
		return 0, err
	}
	i := int32(x.Request*v.s.steps + x.Step)
	k := &v.invocations[i]
	switch {
	case k.pending == taken:
		return 0, bounds.Errorf("step", "is %d of request %d, which is done or listed twice", x.Step, x.Request)
	case k.pending > 0:
		return 0, bounds.Errorf("step", "is %d of request %d, which comes after %d steps that are not done", x.Step,
			x.Request, k.pending)
	}
	k.pending, k.since = taken, instant(x.Since)
	for _, p := range v.s.workflows[q.workflow].steps[x.Step].after {
		k.input += float64(v.s.workflows[q.workflow].steps[p].output * q.size)
	}
	v.cached.waits(v, i)
	return i, nil
}

func (v *view) loadRunning(c *Cluster) error {
	for r := range c.Running {
		x := &c.Running[r]
		if err := v.run(x, c.Now); err != nil {
			return fmt.Errorf("running[%d].%w", r, err)
		}
	}
	return nil
}

func (v *view) run(x *Running, now float64) error {
	i, err := v.claim(&x.Waiting, now)
	if err != nil {
		return err
	}
	if err := index("node", x.Node, len(v.nodes)); err != nil {
		return err
	}
	if err := index("amount", x.Amount, len(v.c.Amounts)); err != nil {
		return err
	}
	if err := bounds.Between("expected", x.Expected, -mostTime, 2*mostTime); err != nil {
		return err
	}
	k := &v.invocations[i]
	k.node, k.amount, k.expected = int32(x.Node), int32(x.Amount), instant(x.Expected)
	for r, d := range v.s.functions[k.function].demand[k.amount] {
		k.shares[r] = share(d, v.s.nodes[x.Node].capacity[r])
	}
	v.occupy(k, 1)
	v.active = append(v.active, i)
	return v.enough(k.node)
}

// enough returns an error where a node lacks a resource.
func (v *view) enough(n int32) error {
	for r, x := range v.nodes[n].free {
		if x < 0 {
			return bounds.Errorf("node",
				"is %d, where what runs, is warm or is held by others takes %d of %s more than it has: %d", n,
				-x, ResourceNames[r], v.s.nodes[n].capacity[r])
		}
	}
	return nil
}

func (v *view) loadWarm(c *Cluster) error {
	for i, x := range c.Warm {
		err := index("function", x.Function, len(v.functions))
		if err == nil {
			err = index("node", x.Node, len(v.nodes))
		}
		if err == nil {
			err = bounds.Between("instances", float64(x.Instances), 0, 1<<20)
		}
		for k := 0; err == nil && k < x.Instances; k++ {
			v.keep(instance{function: int32(x.Function), node: int32(x.Node)}, 1)
			err = v.enough(int32(x.Node))
		}
		if err != nil {
			return fmt.Errorf("warm[%d].%w", i, err)
		}
	}
	return nil
}

func (v *view) loadWaiting(c *Cluster) error {
	for w := range c.Waiting {
		i, err := v.claim(&c.Waiting[w], c.Now)
		if err != nil {
			return fmt.Errorf("waiting[%d].%w", w, err)
		}
		l := &v.functions[v.invocations[i].function]
		l.waiting++
		if len(v.window) < v.c.Window {
			v.window = append(v.window, i)
			l.shown++
		}
	}
	return nil
}
