package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
)

// Options say how a bundle is opened. The zero value opens any bundle, with the guard on.
type Options struct {
	// Digest is the SHA-256 that the bundle must have, as [Policy.Digest] and sha256sum print it, with or without
	// "sha256:" before it; empty where any is taken.
	Digest string
	// MaxBytes is the most bytes of the bundle's tensors; 0 stands for 256 MiB.
	MaxBytes int64
	// MaxAge is how old an observation may be, see [Request].At; 0 where any age is taken.
	MaxAge time.Duration
	// NoGuard lets the policy decide whatever it sees, unless it fails or its action is not legal.
	NoGuard bool
	// Shadow lets the fallback act in every decision, while the policy decides too and is counted.
	Shadow bool
	// Workers is how many decisions are made at once; 0 stands for GOMAXPROCS. Others wait.
	Workers int
	// Sequences is how many sequences are kept at once where the policy or its fallback has a state, 0 stands for 1,024.
	// Idle is how long one is kept after its last decision, 0 stands for an hour.
	Sequences int
	Idle      time.Duration
	// Kernels is the family of inner loops, as nets/native names them; empty for the best that this CPU has.
	Kernels string
	// Agents, Worlds and Fallbacks are rows of a program's own. They come before those of the tables.
	Agents    []Agent
	Worlds    []World
	Fallbacks []Fallback
}

// Policy is an opened bundle. Its methods may be called from many goroutines.
type Policy struct {
	file   *bundle.File
	digest string
	spec   *envs.Spec
	opts   Options
	agent  Agent
	stored *agents.PolicyFile
	row    *World // what is known of the environment, nil where nothing is
	world  envs.Env
	rule   *Fallback // nil where the bundle has none
	guard  *guard    // nil where it is off
	// Of each component of each kind's action.
	choices [][]int
	ranges  [][]envs.Bounds
	whole   [][]bool
	free    chan *worker // nil entries are workers to be made
	counts  counters
	making  sync.Mutex // rules are made one after another: they read the world
	face    func() (Face, error)
	buffers sync.Pool // of *buffers

	mu        sync.Mutex
	sequences map[string]*sequence
}

// worker is what one decision at a time needs.
type worker struct {
	policy envs.Policy      // nil where policies belong to sequences
	rule   envs.Policy      // nil where there is none, or rules belong to sequences
	seen   envs.Observation // for the fallback, with what is out of range brought back
	other  envs.Action      // what the one who does not act would do
	mask   []bool
	fits   func(*envs.Action) error // nil where nothing is beyond the machines, or the guard is off
}

// Open opens the bundle in a file: it checks its digests, builds the policy and shows it the bundle's self-test. Errors
// name the place. Nothing in a bundle is executed, and no other file is opened.
func Open(file string, o Options) (*Policy, error) {
	f, digest, err := bundle.Open(file, bundle.Limits{Bytes: o.MaxBytes, Digest: o.Digest})
	if err != nil {
		return nil, err
	}
	p, err := newPolicy(f, digest, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// OpenBytes is Open for a bundle in memory, which must not change afterwards.
func OpenBytes(b []byte, o Options) (*Policy, error) {
	f, err := bundle.Decode(b, bundle.Limits{Bytes: o.MaxBytes, Digest: o.Digest})
	if err != nil {
		return nil, err
	}
	return newPolicy(f, bundle.Digest(b), o)
}

func newPolicy(f *bundle.File, digest string, o Options) (*Policy, error) {
	p := &Policy{file: f, digest: digest, opts: o, sequences: map[string]*sequence{}}
	if o.Workers < 0 || o.Sequences < 0 || o.MaxAge < 0 || o.Idle < 0 {
		return nil, errors.New("policy: Workers, Sequences, MaxAge and Idle must not be negative")
	}
	if err := p.describe(); err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	p.face = sync.OnceValues(p.newFace)
	p.stored = &agents.PolicyFile{Agent: f.Agent.Name, EnvID: f.Agent.Env, Description: f.Agent.Description,
		Arrays: map[string]agents.Array{}}
	for name, a := range f.Arrays {
		p.stored.Arrays[name] = agents.Array(a)
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	p.free = make(chan *worker, o.Workers)
	for range o.Workers {
		p.free <- nil
	}
	if err := p.selfTest(); err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	return p, nil
}

// describe finds all that the bundle names: spec, agent, world, fallback.
func (p *Policy) describe() error {
	f := p.file
	var err error
	if p.agent, err = agent(f.Agent.Name, f.Agent.Description, p.opts.Agents); err != nil {
		return fmt.Errorf("stoker.agent: %w", err)
	}
	if p.row, err = world(f.Environment.ID, p.opts.Worlds); err != nil {
		return fmt.Errorf("stoker.environment: %w", err)
	}
	if p.row != nil {
		if p.world, err = p.row.New(f.Environment.Config, f.Environment.Workload); err != nil {
			return fmt.Errorf("stoker.environment: %w", err)
		}
	}
	if p.spec, err = envs.DecodeSpec(f.Spec, p.masks); err != nil {
		return fmt.Errorf("stoker.%w", err)
	}
	if p.spec.ID != f.Environment.ID {
		return fmt.Errorf("stoker.spec: id is %q, but stoker.environment has %q", p.spec.ID, f.Environment.ID)
	}
	if err := checkSizes(f.Agent.Description, p.spec); err != nil {
		return fmt.Errorf("stoker.agent: description: %w", err)
	}
	for i := range p.spec.Kinds {
		p.choices = append(p.choices, envs.Choices(p.spec.Kinds[i].Action))
		p.ranges = append(p.ranges, envs.Ranges(p.spec.Kinds[i].Action))
		p.whole = append(p.whole, wholes(p.spec.Kinds[i].Action))
	}
	if p.world != nil {
		if err := alike(p.spec, p.world.Spec()); err != nil {
			return fmt.Errorf("stoker.spec: %w", err)
		}
	}
	if !p.opts.NoGuard {
		if p.guard, err = newGuard(p.spec, f.Seen); err != nil {
			return fmt.Errorf("stoker.seen: %w", err)
		}
	}
	if f.Fallback == nil {
		if p.opts.Shadow {
			return errors.New("stoker.fallback: there is none, so that nothing can act in place of the policy: export it " +
				"with one, or open it without shadow mode")
		}
		return nil
	}
	if p.world == nil {
		return fmt.Errorf("stoker.fallback: %q is made for %s, which this program does not know", f.Fallback.Name, p.spec.ID)
	}
	r, err := fallback(f.Fallback.Name, p.spec.ID, p.opts.Fallbacks)
	if err != nil {
		return fmt.Errorf("stoker.fallback: %w", err)
	}
	p.rule = &r
	return nil
}

// masks takes the functions of dependent masks from the world.
func (p *Policy) masks(s *envs.Spec, kind int) (func(*envs.KindObservation, int, []float32, []bool) error, error) {
	if p.world == nil {
		return nil, fmt.Errorf("legal choices of %s depend on choices before them, and this program does not know %s", s.ID,
			s.ID)
	}
	if kinds := p.world.Spec().Kinds; kind < len(kinds) && kinds[kind].MaskAfter != nil {
		return kinds[kind].MaskAfter, nil
	}
	return nil, fmt.Errorf("legal choices of %s do not depend on each other in this program", s.ID)
}

// alike says where two specs of one environment differ in what is seen and done.
func alike(a, b *envs.Spec) error {
	if len(a.Kinds) != len(b.Kinds) {
		return fmt.Errorf("has %d kinds of agents, this program's %s has %d", len(a.Kinds), b.ID, len(b.Kinds))
	}
	for i := range a.Kinds {
		k, l := &a.Kinds[i], &b.Kinds[i]
		for _, c := range []struct {
			what      string
			got, want any
			same      bool
		}{
			{"agents", k.Agents, l.Agents, k.Agents == l.Agents},
			{"features", k.Features, l.Features, slices.Equal(k.Features, l.Features)},
			{"actions", k.Actions, l.Actions, slices.Equal(k.Actions, l.Actions)},
			{"legal", k.Legal, l.Legal, k.Legal == l.Legal},
			{"observation", k.Observation, l.Observation, sameSpace(k.Observation, l.Observation)},
			{"action", k.Action, l.Action, sameSpace(k.Action, l.Action)},
		} {
			if !c.same {
				return fmt.Errorf("kinds[%d].%s: %v, but %s with this configuration has %v here: exported by another release",
					i, c.what, c.got, b.ID, c.want)
			}
		}
	}
	return nil
}

// sameSpace compares what policies depend on: components, bounds of actions, and the features of graphs; not the texts.
func sameSpace(a, b envs.Space) bool {
	g, ok := a.(envs.Graph)
	if !ok {
		return a.MaskWidth() == b.MaskWidth() && slices.Equal(envs.Ranges(a), envs.Ranges(b))
	}
	h, ok := b.(envs.Graph)
	named := func(x, y envs.Component) bool { return x.Name == y.Name }
	return ok && slices.EqualFunc(g.Nodes, h.Nodes, func(x, y envs.NodeKind) bool {
		return x.Name == y.Name && x.Width == y.Width && x.Capacity == y.Capacity &&
			slices.EqualFunc(x.Features, y.Features, named)
	}) && slices.EqualFunc(g.Edges, h.Edges, func(x, y envs.EdgeKind) bool {
		return x.Name == y.Name && x.From == y.From && x.To == y.To && x.Width == y.Width && x.Capacity == y.Capacity &&
			slices.EqualFunc(x.Features, y.Features, named)
	})
}

// newWorker makes a worker.
func (p *Policy) newWorker() (*worker, error) {
	w := &worker{seen: *envs.NewObservation(p.spec), other: *envs.NewAction(p.spec)}
	widest := 0
	for _, choices := range p.choices {
		for _, n := range choices {
			widest = max(widest, n)
		}
	}
	w.mask = make([]bool, widest)
	var err error
	if p.row != nil && p.row.Fits != nil && p.guard != nil {
		if w.fits, err = p.row.Fits(p.file.Environment.Config, p.file.Environment.Workload); err != nil {
			return nil, fmt.Errorf("stoker.environment: %w", err)
		}
	}
	if !p.agent.State {
		if w.policy, err = p.newLearned(); err != nil {
			return nil, err
		}
	}
	if p.rule != nil && !p.rule.State {
		if w.rule, err = p.newRule(); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// newLearned makes the learned policy.
func (p *Policy) newLearned() (envs.Policy, error) {
	engine := native.New(native.Options{Threads: 1, Kernels: p.opts.Kernels})
	if err := engine.Err(); err != nil {
		return nil, err
	}
	a, err := p.agent.open(p.stored, p.spec, engine)
	if err != nil {
		return nil, fmt.Errorf("stoker.agent: %w", err)
	}
	return a, a.Reset(0)
}

// newRule makes the fallback.
func (p *Policy) newRule() (envs.Policy, error) {
	p.making.Lock()
	defer p.making.Unlock()
	r, err := p.rule.New(p.file.Fallback.Config, p.world)
	if err != nil {
		return nil, fmt.Errorf("stoker.fallback: %s: %w", p.rule.Name, err)
	}
	return r, r.Reset(0)
}

// Digest is the SHA-256 of the bundle, which names it.
func (p *Policy) Digest() string { return p.digest }

// Spec describes what is seen and done. It must not be modified.
func (p *Policy) Spec() *envs.Spec { return p.spec }

// Bundle is what the policy was opened from. It must not be modified.
func (p *Policy) Bundle() *bundle.File { return p.file }

// Stateful says that decisions depend on those before them: [Request].Sequence tells sequences apart.
func (p *Policy) Stateful() bool { return p.agent.State || p.rule != nil && p.rule.State }

// NewObservation and NewAction return buffers for [Policy.Decide].
func (p *Policy) NewObservation() *envs.Observation { return envs.NewObservation(p.spec) }

// NewAction returns a buffer for an action.
func (p *Policy) NewAction() *envs.Action { return envs.NewAction(p.spec) }

// maxActivations is the most numbers that one forward pass may keep. A bundle of a few kilobytes can describe a wide
// network with one input for millions of agents.
const maxActivations = 1 << 26

// checkSizes refuses a description whose networks would keep too much for the spec's agents, nodes and edges.
func checkSizes(description json.RawMessage, s *envs.Spec) error {
	rows := 1
	for i := range s.Kinds {
		n := s.Kinds[i].Agents
		if g, ok := s.Kinds[i].Observation.(envs.Graph); ok {
			for _, k := range g.Nodes {
				n += k.Capacity
			}
			for _, k := range g.Edges {
				n += k.Capacity
			}
		}
		rows += n
	}
	var tree any
	if err := json.Unmarshal(description, &tree); err != nil {
		return err
	}
	return walk(tree, func(a nets.Arch) error {
		// Every layer has a bias, as wide as what it gives.
		width := 0
		for _, p := range a.Parameters() {
			if len(p.Shape) == 1 {
				width += p.Size()
			}
		}
		if all := float64(width) * float64(max(rows, a.AgentCount())); all > maxActivations {
			return fmt.Errorf("a network of kind %s with layers of %d numbers in all, for %d agents, nodes and edges: %.3g "+
				"numbers in one pass, want at most %d", a.Kind(), width, max(rows, a.AgentCount()), all, maxActivations)
		}
		return nil
	})
}

// walk calls f with every architecture in a description, wherever its agent keeps it.
func walk(tree any, f func(nets.Arch) error) error {
	switch t := tree.(type) {
	case []any:
		for _, x := range t {
			if err := walk(x, f); err != nil {
				return err
			}
		}
	case map[string]any:
		if _, ok := t["arch"]; ok && t["kind"] != nil && len(t) == 2 {
			text, err := json.Marshal(t)
			if err != nil {
				return err
			}
			a, err := nets.DecodeArch(text)
			if err != nil {
				return err
			}
			return f(a)
		}
		for _, key := range slices.Sorted(maps.Keys(t)) {
			if err := walk(t[key], f); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	return nil
}
