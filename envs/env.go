package envs

import (
	"encoding"
	"fmt"
	"slices"
)

// Env is a world with N ≥ 1 agents. It is used by one goroutine at a time. After a warm-up neither Reset nor Step nor
// CopyFrom allocates.
type Env interface {
	// Spec describes the environment; it does not change and must not be modified.
	Spec() *Spec
	// Reset starts an episode whose every draw follows from seed, and writes the first observation. Options may choose the
	// episode's scenario; an unknown option is an error.
	Reset(seed uint64, options Options, obs *Observation) error
	// Step applies the actions of the active agents. An action outside its space, or a choice that the masks forbid, is an
	// error and changes nothing. After an episode has ended Step is an error until Reset.
	Step(act *Action, obs *Observation, out *Outcome) error
	// CopyFrom makes this environment equal to src, random state included. src must have been made from an equal
	// configuration.
	CopyFrom(src Env) error
	// AppendBinary and UnmarshalBinary save and restore what CopyFrom copies.
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// Options choose an episode's scenario by name; nil leaves all to the environment. Each environment documents its own.
type Options map[string]any

// Spec is what an environment is before any episode.
type Spec struct {
	// ID is the versioned name, for example "stoker/Sizing-v2". Changed dynamics are a new version.
	ID string
	// Doc says in a sentence what is decided, by whom and when.
	Doc string
	// Kinds of agents. Agents are numbered through within a kind.
	Kinds []Kind
	// Step says how long a step lasts.
	Step Timing
	// MaxSteps is the number of steps at which episodes are truncated, 0 where there is none: because nothing is
	// truncated, or because episodes are cut by time and steps differ in length.
	MaxSteps int
	// Info lists what Outcome.Info holds, in order.
	Info []Quantity
	// Samples lists the distributions that [Sampler] reports.
	Samples []Quantity
	// Objective is the quantity of Info that policies are judged by, and Constraint the one that has to be kept at least
	// as well first, such as a share of violations. Empty are the return, and no constraint. A configuration can name
	// others.
	Objective, Constraint string
	// Levels are values of quantities that are known beforehand; figures show them as lines.
	Levels []Level
}

// Level is a value of a quantity that is known beforehand: what a service promises, or the best that is possible.
type Level struct {
	// Of is the quantity of Info, or [ReturnLevel] for the return of an episode.
	Of    string  `json:"of"`
	Value float64 `json:"value"`
	// Doc says in a few words what is known.
	Doc string `json:"doc"`
}

// ReturnLevel in place of a quantity's name means the return of an episode.
const ReturnLevel = "return"

// Kind is agents with the same spaces.
type Kind struct {
	Name string
	// Doc says what holds for all numbers of an observation or an action, such as how an image is laid out.
	Doc    string
	Agents int // the most there can be; those not present are inactive
	// Names are the agents' names, such as those of a workflow's functions; nil where they have none.
	Names []string
	// Observation and Action are the spaces of one agent.
	Observation, Action Space
	// Features and Actions name the components, where they have names.
	Features, Actions []string
	// FeatureUnits and ActionUnits are their units, where these are known: empty texts for pure numbers.
	FeatureUnits, ActionUnits []string
	// FeatureDocs and ActionDocs say what the components mean: how a feature is made, what the ends of an action's range
	// stand for on the platform, what each choice does. [Columns] gives names, units and docs from a list.
	FeatureDocs, ActionDocs []string
	// Neighbours lists for each agent those that it interacts with; nil where all do.
	Neighbours [][]int
	// Next lists for each agent those whose work comes right after its own or within it: the functions that a request
	// visits next, or that its function calls. No agent comes after itself. nil where there is no such order.
	Next [][]int
	// Points is set where choices are nodes of the observed graph. It has an entry for each component of the action: the
	// node kind (an index into [Graph].Nodes) whose node c is choice c, or −1 where the component is a plain choice. There
	// are at least as many choices as the kind's capacity; those beyond it, such as waiting, are plain options. A mask
	// never allows a node that is not there. nil where no choice is a node.
	Points []int
	// MaskAfter is set where the legal choices of a component depend on the components before it. It writes the legal
	// choices of component len(partial) to mask, which has an entry for each of that component's choices, for an agent
	// that sees obs. It depends on the observation alone, so that replayed, served and copied observations have masks too.
	// It may be called from several goroutines and does not allocate. Mask then allows what is legal after at least one
	// choice of the components before.
	MaskAfter func(obs *KindObservation, agent int, partial []float32, mask []bool) error `json:"-"`
	// Legal is the number of entries of an agent's legality table, [KindObservation].Legal, from which MaskAfter tells
	// what is legal; 0 where there is none.
	Legal int
}

// Component is one number of an observation or an action.
type Component struct{ Name, Unit, Doc string }

// Columns are the names, units and docs of components, as [Kind] lists them.
func Columns(components []Component) (names, units, docs []string) {
	for _, c := range components {
		names, units, docs = append(names, c.Name), append(units, c.Unit), append(docs, c.Doc)
	}
	return names, units, docs
}

// Timing says how long a step lasts.
type Timing struct {
	// Unit is the word for a step: "window", "slot", "step".
	Unit string
	// Fixed is the length in microseconds, 0 where steps differ or time has no meaning.
	Fixed int64
}

// Reduce says how an episode's number comes from its steps' numbers.
type Reduce string

// Reductions of a quantity over an episode.
const (
	Mean Reduce = "mean" // over steps
	Sum  Reduce = "sum"
	Last Reduce = "last"
	Max  Reduce = "max"
	// PerTime is Σ value·elapsed / Σ elapsed.
	PerTime Reduce = "per time"
)

// Better says which direction of a quantity is good.
type Better string

// Directions.
const (
	Lower   Better = "lower"
	Higher  Better = "higher"
	Neither Better = ""
)

// Quantity is one number that a step reports.
type Quantity struct {
	Name   string `json:"name"`
	Unit   string `json:"unit"`
	Better Better `json:"better"`
	Reduce Reduce `json:"reduce"`
	Doc    string `json:"doc"`
	// Bounds are the least and the greatest value that a step's number and an episode's can have.
	Bounds Bounds `json:"bounds"`
	// AssumesService says that values can be compared only where the load is served: a policy that serves nothing has a
	// low price.
	AssumesService bool `json:"assumes_service,omitempty"`
}

// Observation is what the agents see. The slices belong to the caller and may be parts of larger arrays: environments
// write into them and do not replace them.
type Observation struct {
	Kinds []KindObservation

	own []KindObservation // the buffers as they were made, by which [Guard] finds replaced ones
}

// KindObservation is what the agents of one kind see.
type KindObservation struct {
	// Values is [agents, Observation.Width()]; rows of inactive agents are zero, and so are their masks, tables, graphs
	// and rewards.
	Values []float32
	// Active marks the agents that are present.
	Active []bool
	// Mask is [agents, Action.MaskWidth()]: true for legal choices. An active agent has at least one legal choice for
	// each component. It is all true from the start: an environment whose choices are always legal never writes it, any
	// other writes it whole at each Reset and Step. Empty for continuous actions; policies take an empty mask to mean
	// that all choices are legal.
	Mask []bool
	// Legal is [agents, Kind.Legal]: small integers that say which choices go together, such as how many of the amounts of
	// an invocation a node has room for. The environment documents them. Networks do not read them.
	Legal []int8
	// Graphs holds a graph for each agent where the observation space is a [Graph].
	Graphs []*GraphValue
}

// Action is what the agents do: for each kind [agents, Action.Width()]. Rows of inactive agents are not read.
type Action struct {
	Kinds [][]float32
}

// Outcome is the result of a step.
type Outcome struct {
	// Rewards holds for each kind one reward per agent.
	Rewards [][]float32
	// Terminated: the world has ended, nothing follows. Truncated: the episode was cut, the world would go on.
	Terminated, Truncated bool
	// Elapsed is the time that the step took, in microseconds.
	Elapsed int64
	// Info holds the quantities of Spec.Info.
	Info []float64

	// The buffers as they were made, by which [Guard] finds replaced ones.
	ownRewards [][]float32
	ownInfo    []float64
}

// Sampler is implemented (see [As]) by environments that report whole distributions, such as the latencies of the last
// step's requests.
type Sampler interface {
	// AppendSamples appends the last step's values of Spec().Samples[i] to dst.
	AppendSamples(i int, dst []float64) []float64
}

// Traced is implemented (see [As]) by environments whose episodes draw one of several recorded traces. An evaluation's
// sample is then of traces: episodes from one trace are alike.
type Traced interface {
	// Traces are the names of the traces; none where an episode draws none, or a random process.
	Traces() []string
	// TraceOf is the index of the trace that an episode draws.
	TraceOf(seed uint64) int
}

// DrawTracer is implemented (see [As]) by environments that can report their draws, for the check that two policies
// face the same ones.
type DrawTracer interface {
	// TraceDraws calls f with every draw that follows: what it is for, its coordinates and its value. nil stops it.
	TraceDraws(f func(purpose string, a, b, c uint64, value float64))
}

// MaskOf is an agent's part of Mask, for width choices in all; nil, which allows all, where there is no mask.
func (o *KindObservation) MaskOf(agent, width int) []bool {
	if len(o.Mask) == 0 {
		return nil
	}
	return o.Mask[agent*width : (agent+1)*width]
}

// NewObservation returns an empty observation of the right sizes, in which every choice is legal.
func NewObservation(s *Spec) *Observation { return NewBatch(s, 1).Env(0) }

func newGraphs(k Kind, n int) []*GraphValue {
	g, ok := k.Observation.(Graph)
	if !ok {
		return nil
	}
	out := make([]*GraphValue, n)
	for i := range out {
		out[i] = NewGraphValue(g)
	}
	return out
}

// NewAction returns a zero action of the right sizes.
func NewAction(s *Spec) *Action { return NewActionBatch(s, 1).Env(0) }

// NewOutcome returns an empty outcome of the right sizes.
func NewOutcome(s *Spec) *Outcome {
	o := &Outcome{Rewards: make([][]float32, len(s.Kinds)), Info: make([]float64, len(s.Info))}
	for i, k := range s.Kinds {
		o.Rewards[i] = make([]float32, k.Agents)
	}
	o.keepOwn()
	return o
}

// restore puts back buffers that an environment has replaced.
func (o *Observation) restore() { o.Kinds = append(o.Kinds[:0], o.own...) }

func (o *Outcome) restore() { o.Rewards, o.Info = append(o.Rewards[:0], o.ownRewards...), o.ownInfo }

// keepOwn remembers the buffers.
func (o *Outcome) keepOwn() { o.ownRewards, o.ownInfo = slices.Clone(o.Rewards), o.Info }

// CheckAction returns an error where an active agent's action is outside its space, naming kind, agent and component.
// Environments call it first in Step. It does not look at masks.
func CheckAction(s *Spec, active func(kind, agent int) bool, a *Action) error {
	if len(s.Kinds) == 1 && s.Kinds[0].Agents == 1 && len(a.Kinds) == 1 && len(a.Kinds[0]) == 1 {
		if d, ok := s.Kinds[0].Action.(Discrete); ok && isChoice(a.Kinds[0][0], d.N) {
			return nil // as what follows finds, too
		}
	}
	for i := range s.Kinds {
		k := &s.Kinds[i]
		w := k.Action.Width()
		if len(a.Kinds) != len(s.Kinds) || len(a.Kinds[i]) != k.Agents*w {
			return fmt.Errorf("%s: action has the wrong size, want %d agents × %d for kind %q", s.ID, k.Agents, w, k.Name)
		}
		for j := range k.Agents {
			if active != nil && !active(i, j) {
				continue
			}
			if err := k.Action.Contains(a.Kinds[i][j*w : (j+1)*w]); err != nil {
				return fmt.Errorf("%s: action of %s %d: %w", s.ID, k.Name, j, err)
			}
		}
	}
	return nil
}

// InfoIndex returns where a quantity stands in Outcome.Info.
func (s *Spec) InfoIndex(name string) (int, error) {
	for i, q := range s.Info {
		if q.Name == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%s reports no quantity %q", s.ID, name)
}

// Agents returns the number of agents of all kinds.
func (s *Spec) Agents() int {
	n := 0
	for _, k := range s.Kinds {
		n += k.Agents
	}
	return n
}
