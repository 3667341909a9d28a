package sizing

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/rng"
)

// Many is several workflows side by side, as one environment: its agents are the functions of all of them, one workflow
// after another. Each workflow runs on machines of its own, under its own draws of the same workload, with its own QoS
// and its own reward for its functions. No function has a neighbour in another workflow. What a step reports is the
// mean over the workflows.
type Many struct {
	worlds []*Env
	first  []int // the first agent of each workflow, and the number of all
	spec   *envs.Spec
	// Buffers that hold nothing between calls.
	obs   envs.Observation
	act   envs.Action
	out   []*envs.Outcome
	price envs.Action
}

// Open returns stoker/Sizing-v2: a [Many] where the configuration lists workflows, else an [Env].
func Open(c Config, w workload.Config) (envs.Env, error) { return openAny(ID, c, w) }

// OpenCounted is Open for stoker/Sizing-v3.
func OpenCounted(c Config, w workload.Config) (envs.Env, error) { return openAny(CountedID, c, w) }

func openAny(id string, c Config, w workload.Config) (envs.Env, error) {
	if len(c.Workflows) == 0 {
		e, err := open(id, c, w)
		if err != nil {
			return nil, err // not e: an interface around a nil pointer would not be nil
		}
		return e, nil
	}
	m, err := newMany(id, c, w)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// each returns the configurations of the workflows that c lists side by side; c alone where it lists none. The first
// generated workflow has the seed given, each further one the next; Sizes has their numbers of functions, Slack their
// thresholds, Services which are of services.
func (c Config) each() []Config {
	if len(c.Workflows) == 0 {
		return []Config{c}
	}
	out := make([]Config, len(c.Workflows))
	var none workflow.Graph
	generated := 0
	for i, name := range c.Workflows {
		out[i] = c
		out[i].Workflow, out[i].Workflows, out[i].Sizes = name, nil, nil
		if name == Generated {
			out[i].Generated.Seed += uint64(generated)
			if generated < len(c.Sizes) {
				out[i].Generated.Functions = c.Sizes[generated]
			}
			if len(c.Slack) > 1 {
				out[i].Slack = c.Slack[generated : generated+1]
			}
			if len(c.Services) > 1 {
				out[i].Services = c.Services[generated : generated+1]
			}
			generated++
		}
		if name != Own {
			out[i].Graph = none
		}
	}
	return out
}

// validateMany reports what is wrong with a list of workflows.
func (c *Config) validateMany() error {
	if c.Features != Described {
		return bounds.Errorf("features", "is %s, want %s where workflows are side by side: only these are the same for all",
			c.Features, Described)
	}
	if len(c.Graph.Nodes) > 0 && !slices.Contains(c.Workflows, Own) {
		return bounds.Errorf("graph", "is given, want none where workflows is %v, without %s", c.Workflows, Own)
	}
	if len(c.Laws) > 0 {
		return bounds.Errorf("laws", "has %d entries, want none where workflows are side by side", len(c.Laws))
	}
	generated := 0
	for _, name := range c.Workflows {
		if name == Generated {
			generated++
		}
	}
	if n := len(c.Sizes); n > 0 && n != generated {
		return bounds.Errorf("generated_sizes", "is %v, want a number for each generated workflow of workflows, %d", c.Sizes,
			generated)
	}
	if n := len(c.Slack); n > 1 && n != generated {
		return bounds.Errorf("generated_slack", "is %v, want one number, or one for each generated workflow of workflows, %d",
			c.Slack, generated)
	}
	if n := len(c.Services); n > 1 && n != generated {
		return bounds.Errorf("generated_services", "is %v, want one value, or one for each generated workflow of workflows, %d",
			c.Services, generated)
	}
	for i, one := range c.each() {
		if err := one.Validate(); err != nil {
			return fmt.Errorf("workflows[%d] (%s): %w", i, one.Workflow, err)
		}
	}
	return nil
}

func newMany(id string, c Config, w workload.Config) (*Many, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	source, err := workload.OpenFor(w, c.Serves)
	if err != nil {
		return nil, err
	}
	m := &Many{first: []int{0}}
	var flows []*flowObserver
	for i, one := range c.each() {
		e, err := NewWith(id, one, source)
		if err != nil {
			return nil, fmt.Errorf("workflows[%d] (%s): %w", i, one.Workflow, err)
		}
		m.worlds, flows = append(m.worlds, e), append(flows, e.observer)
		m.first = append(m.first, m.first[i]+e.spec.Kinds[0].Agents)
		m.out = append(m.out, envs.NewOutcome(e.spec))
	}
	m.obs.Kinds, m.act.Kinds, m.price.Kinds = make([]envs.KindObservation, 1), make([][]float32, 1), make([][]float32, 1)
	m.spec = joined(flows, m.first)
	return m, nil
}

// joined joins the specs of several workflows; first has the first agent of each, and the number of all.
func joined(flows []*flowObserver, first []int) *envs.Spec {
	s := *flows[0].spec
	k := s.Kinds[0]
	k.Agents, k.Names, k.Neighbours, k.Next = first[len(flows)], nil, nil, nil
	s.Doc = "The agents of the functions of several workflows, side by side, choose what Sizing's do."
	for i, w := range flows {
		one := &w.spec.Kinds[0]
		for _, name := range one.Names {
			k.Names = append(k.Names, fmt.Sprintf("%d %s/%s", i, w.cfg.Workflow, name))
		}
		k.Neighbours = append(k.Neighbours, shifted(one.Neighbours, first[i])...)
		k.Next = append(k.Next, shifted(one.Next, first[i])...)
	}
	k.Doc += " The functions of one workflow follow those of another; they share neither machines nor requests."
	s.Kinds = []envs.Kind{k}
	s.Info = slices.Clone(s.Info)
	for i := range s.Info {
		s.Info[i].Doc = "mean over the workflows: " + s.Info[i].Doc
	}
	s.Levels = nil // each workflow has its own
	return &s
}

// shifted adds a number to all entries.
func shifted(lists [][]int, by int) [][]int {
	out := make([][]int, len(lists))
	for i, l := range lists {
		out[i] = make([]int, len(l))
		for j, x := range l {
			out[i][j] = x + by
		}
	}
	return out
}

// Spec implements [envs.Env].
func (m *Many) Spec() *envs.Spec { return m.spec }

// Workflows returns the environments of the workflows, in their order. They must not be stepped.
func (m *Many) Workflows() []*Env { return m.worlds }

// First returns the number of the first agent of each workflow, and then the number of all agents.
func (m *Many) First() []int { return m.first }

// SeedOf is the seed of a workflow's part of an episode.
func SeedOf(seed uint64, world int) uint64 {
	if world == 0 {
		return seed
	}
	return rng.New(seed, "sizing/workflow").With(uint64(world)).Uint64()
}

// part points the buffer of observations at a workflow's part of obs.
func (m *Many) part(i int, obs *envs.Observation) *envs.Observation {
	k, from, to := &obs.Kinds[0], m.first[i], m.first[i+1]
	w := m.spec.Kinds[0].Observation.Width()
	m.obs.Kinds[0] = envs.KindObservation{Values: k.Values[from*w : to*w : to*w], Active: k.Active[from:to:to]}
	return &m.obs
}

// rows is a workflow's part of an action.
func (m *Many) rows(i int, a []float32) []float32 {
	w := m.spec.Kinds[0].Action.Width()
	return a[m.first[i]*w : m.first[i+1]*w : m.first[i+1]*w]
}

// View is one workflow's part of the buffers of a [Many].
type View struct {
	Observation envs.Observation
	Action      envs.Action
}

// NewView returns a view of nothing.
func NewView() *View {
	return &View{envs.Observation{Kinds: make([]envs.KindObservation, 1)}, envs.Action{Kinds: make([][]float32, 1)}}
}

// Look points a view at a workflow's part of an observation and an action.
func (m *Many) Look(i int, obs *envs.Observation, act *envs.Action, at *View) {
	at.Observation.Kinds[0] = m.part(i, obs).Kinds[0]
	at.Action.Kinds[0] = m.rows(i, act.Kinds[0])
}

// Reset implements [envs.Env]. Options are those of [Env.Reset]; they hold for all workflows. Each workflow has a seed
// of its own that follows from seed; the first has seed itself.
func (m *Many) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	for i, e := range m.worlds {
		if err := e.Reset(SeedOf(seed, i), options, m.part(i, obs)); err != nil {
			return err
		}
	}
	return nil
}

// Step implements [envs.Env].
func (m *Many) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if err := envs.CheckAction(m.spec, nil, act); err != nil {
		return err
	}
	for i, e := range m.worlds {
		m.act.Kinds[0] = m.rows(i, act.Kinds[0])
		one := m.out[i]
		if err := e.Step(&m.act, m.part(i, obs), one); err != nil {
			return err
		}
		copy(out.Rewards[0][m.first[i]:], one.Rewards[0])
		if i == 0 {
			out.Info = append(out.Info[:0], one.Info...)
			out.Terminated, out.Truncated, out.Elapsed = one.Terminated, one.Truncated, one.Elapsed
			continue
		}
		for q, x := range one.Info {
			out.Info[q] += x
		}
	}
	for q := range out.Info {
		out.Info[q] /= float64(len(m.worlds))
	}
	return nil
}

// AppendSamples implements [envs.Sampler]: the latencies of the last window's successes in all workflows, in seconds,
// ascending.
func (m *Many) AppendSamples(i int, dst []float64) []float64 {
	from := len(dst)
	for _, e := range m.worlds {
		dst = e.AppendSamples(i, dst)
	}
	slices.Sort(dst[from:])
	return dst
}

// PriceOf returns the mean of the workflows' prices of an action in USD per hour, without execution times.
func (m *Many) PriceOf(act *envs.Action) (float64, error) {
	if err := envs.CheckAction(m.spec, nil, act); err != nil {
		return 0, err
	}
	sum := 0.0
	for i, e := range m.worlds {
		m.price.Kinds[0] = m.rows(i, act.Kinds[0])
		x, err := e.PriceOf(&m.price)
		if err != nil {
			return 0, err
		}
		sum += x
	}
	return sum / float64(len(m.worlds)), nil
}

// Workload implements [envs.Loaded]: each workflow has this load.
func (m *Many) Workload() envs.Load { return m.worlds[0].Workload() }

// Serves implements [envs.Loaded]: what the workflow that serves least does.
func (m *Many) Serves() (float64, error) { return least(m.worlds, (*Env).Serves) }

// Unmet implements [envs.Demanding]: the QoS of the first workflow that nothing meets.
func (m *Many) Unmet() (string, error) {
	for i, e := range m.worlds {
		if text, err := e.Unmet(); text != "" || err != nil {
			return fmt.Sprintf("workflow %d (%s): %s", i, e.cfg.Workflow, text), err
		}
	}
	return "", nil
}

// least is the smallest number of several.
func least[T any](of []T, number func(T) (float64, error)) (float64, error) {
	low := 0.0
	for i, x := range of {
		n, err := number(x)
		if err != nil {
			return 0, err
		}
		if i == 0 || n < low {
			low = n
		}
	}
	return low, nil
}

// TraceDraws implements [envs.DrawTracer]. What a draw is for begins with the number of its workflow.
func (m *Many) TraceDraws(f func(purpose string, a, b, c uint64, value float64)) {
	for i, e := range m.worlds {
		if f == nil {
			e.TraceDraws(nil)
			continue
		}
		e.TraceDraws(func(purpose string, a, b, c uint64, value float64) {
			f(fmt.Sprintf("workflow %d %s", i, purpose), a, b, c, value)
		})
	}
}

// CopyFrom implements [envs.Env].
func (m *Many) CopyFrom(src envs.Env) error { return envs.CopyState(m, src) }

// AppendBinary implements [envs.Env].
func (m *Many) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, m.spec.ID, m) }

// UnmarshalBinary implements [envs.Env].
func (m *Many) UnmarshalBinary(b []byte) error { return state.Load(b, m.spec.ID, m) }

// State implements [state.Stater].
func (m *Many) State(c *state.Codec) {
	c.Same("workflows", uint64(len(m.worlds)))
	for _, e := range m.worlds {
		c.Part(e)
	}
}
