package steps

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
)

// ID names the environment.
const ID = "stoker/Steps-v1"

// Env configures a request's workflow step by step. A step of the environment decides one step of the workflow: steps
// that are ready together are decided one after the other without time passing, and after the last of them as much time
// passes as it takes until another one is ready or the request ends. The action points at an option of the step's front;
// with form full it says memory, instances and processes.
//
// The reward is −1 times the price of the step in units of [Model.Unit]; where the request ends later than its SLO, less
// the price of a miss in the same units. SLO and price of a miss are drawn for each request, and are seen.
type Env struct {
	Game
	spec *envs.Spec
	view view
	full *full // with form full
}

// New returns an environment; call Reset before Step.
func New(c EnvConfig, with Given) (*Env, error) {
	g, err := newGame(ID, c, with)
	if err != nil {
		return nil, err
	}
	e := &Env{Game: *g}
	if c.Contention == Seen {
		e.view.contention = &contention{}
	}
	e.spec = &envs.Spec{
		ID: ID, Doc: "Choose memory, instances and processes of one step of a running workflow after the other.",
		Kinds: []envs.Kind{{
			Name: "configurator", Agents: 1, Observation: e.shelf.space(), Action: envs.Discrete{N: mostOptions},
			Actions: []string{"option"}, ActionUnits: []string{""},
			ActionDocs: []string{"the configuration of the step to decide, by its node in the graph"},
			Points:     []int{OptionNode},
		}},
		Step: envs.Timing{Unit: "decision"}, Info: quantities(), Constraint: "missed", Objective: "excess",
	}
	if c.Form == FullForm {
		if err := e.widen(); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// widen lets the action say all configurations.
func (e *Env) widen() error {
	n, err := e.shelf.entry(0)
	if err != nil {
		return err
	}
	if e.full, err = newFull(&n.known.Platform); err != nil {
		return err
	}
	k := &e.spec.Kinds[0]
	k.Action, k.Points, k.Legal, k.MaskAfter = e.full.space(), nil, e.full.legal(), e.full.after
	k.Actions, k.ActionUnits = []string{"memory", "instances", "processes"}, []string{"", "", ""}
	k.ActionDocs = []string{fmt.Sprintf("the size of an instance: one of %v MB", e.full.memory),
		"0 stands for one instance", "0 stands for one process in each instance"}
	return nil
}

// Spec implements [envs.Env].
func (e *Env) Spec() *envs.Spec { return e.spec }

// Say writes the action of an option, or where the option is not on the step's front, that of the one on it that is nearest
// by P90.
func (e *Env) Say(option int, act *envs.Action) {
	if e.says(option, act) {
		return
	}
	s, m := e.NextStep(), e.Model()
	wanted, least := m.Option(s, option).P90, math.Inf(1)
	for i, o := range m.Options[s] {
		if far := math.Abs(o.P90 - wanted); far < least {
			act.Kinds[0][0], least = float32(i), far
		}
	}
}

// Follow writes the action of an option. Where the option is not on the step's front, it also calls Take.
func (e *Env) Follow(option int, act *envs.Action) {
	if !e.says(option, act) {
		e.Take(option)
	}
}

// says writes the action of an option, and reports whether there is one or nothing is to decide.
func (e *Env) says(option int, act *envs.Action) bool {
	clear(act.Kinds[0])
	s, m := e.NextStep(), e.Model()
	switch {
	case s < 0:
	case e.full != nil:
		e.full.write(m.configuration(s, option), act.Kinds[0])
	case option < len(m.Options[s]):
		act.Kinds[0][0] = float32(option)
	default:
		return false
	}
	return true
}

// Reset implements [envs.Env]. There are no options.
func (e *Env) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	if err := e.reset(seed, options); err != nil {
		return err
	}
	return e.see(obs)
}

func (e *Env) see(obs *envs.Observation) error {
	k := &obs.Kinds[0]
	k.Active[0] = e.running
	clear(k.Mask)
	if !e.running {
		clear(k.Legal)
		k.Graphs[0].Clear()
		return nil
	}
	if e.full != nil {
		e.full.table(e.Model(), e.NextStep(), k.Legal, k.Mask)
		return e.view.show(k.Graphs[0], &e.Game)
	}
	for i := range e.Model().Options[e.NextStep()] {
		k.Mask[i] = true
	}
	return e.view.show(k.Graphs[0], &e.Game)
}

// Step implements [envs.Env].
func (e *Env) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if !e.running {
		return fmt.Errorf("%s: step outside an episode, want Reset", ID)
	}
	if err := envs.CheckAction(e.spec, nil, act); err != nil {
		return err
	}
	option := int(act.Kinds[0][0])
	if e.full != nil && e.forced == 0 {
		var err error
		if option, err = e.full.option(e.Model(), e.NextStep(), act.Kinds[0]); err != nil {
			return fmt.Errorf("%s: %w", ID, err)
		}
	}
	if err := e.decide(option, out); err != nil {
		return err
	}
	return e.see(obs)
}

// CopyFrom implements [envs.Env].
func (e *Env) CopyFrom(src envs.Env) error {
	s, ok := src.(*Env)
	if !ok {
		return fmt.Errorf("%s: copy from a %T", ID, src)
	}
	return state.Copy(e, s)
}

// AppendBinary implements [envs.Env].
func (e *Env) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, ID, e) }

// UnmarshalBinary implements [envs.Env]. A state that is refused changes nothing.
func (e *Env) UnmarshalBinary(b []byte) error { return state.Load(b, ID, e) }

// full is the action of [Env] that says memory, instances and processes one after the other. Which numbers of instances a
// step can have depends on the memory, and which numbers of processes on both: the legality table has, per size, the most
// instances and the most processes that its cores let an instance have, and per number of instances the most processes
// that its tasks let it have.
type full struct {
	memory               []int
	instances, processes int
}

// newFull returns the action for a platform.
func newFull(p *Platform) (*full, error) {
	if p.MaxInstances > math.MaxInt8 {
		return nil, bounds.Errorf("form", "is full, which has room for %d instances of a step; the platform allows %d: want "+
			"form: front", math.MaxInt8, p.MaxInstances)
	}
	return &full{p.Memory, p.MaxInstances, p.MaxProcesses}, nil
}

// space is the space of the action.
func (a *full) space() envs.MultiDiscrete {
	return envs.MultiDiscrete{N: []int{len(a.memory), a.instances, a.processes}}
}

// legal is the length of the legality table.
func (a *full) legal() int { return 2*len(a.memory) + a.instances }

// table writes the legality table of a step, and the masks of what is legal after some choice of what comes before.
func (a *full) table(m *Model, step int, legal []int8, mask []bool) {
	n := len(a.memory)
	mostInstances, mostCores := 0, 0
	for k, mb := range a.memory {
		most, cores := m.MostInstances(step, mb), 0
		if most > 0 {
			cores = m.MostProcesses(step, mb, 1)
		}
		legal[k], legal[n+k], mask[k] = int8(most), int8(cores), most > 0
		mostInstances, mostCores = max(mostInstances, most), max(mostCores, cores)
	}
	largest := a.memory[n-1]
	for p := 1; p <= a.instances; p++ {
		legal[2*n+p-1] = 0
		if mask[n+p-1] = p <= mostInstances; mask[n+p-1] {
			legal[2*n+p-1] = int8(m.MostProcesses(step, largest, p))
		}
	}
	for q := 1; q <= a.processes; q++ {
		mask[n+a.instances+q-1] = q <= mostCores
	}
}

// after is the [envs.Kind.MaskAfter]. It reads the legality table.
func (a *full) after(obs *envs.KindObservation, agent int, partial []float32, mask []bool) error {
	n := len(a.memory)
	legal := obs.Legal[agent*a.legal() : (agent+1)*a.legal()]
	for i, v := range partial {
		if most := [2]int{n, a.instances}[i]; !(v >= 0 && int(v) < most) {
			return fmt.Errorf("%s: component %d is %g, want 0 to %d", ID, i, v, most-1)
		}
	}
	switch len(partial) {
	case 0:
		for k := range mask {
			mask[k] = legal[k] > 0
		}
	case 1:
		for k := range mask {
			mask[k] = k < int(legal[int(partial[0])])
		}
	default:
		most := min(legal[n+int(partial[0])], legal[2*n+int(partial[1])])
		if partial[1] >= float32(legal[int(partial[0])]) {
			most = 0
		}
		for k := range mask {
			mask[k] = k < int(most)
		}
	}
	if !slices.Contains(mask, true) {
		return fmt.Errorf("%s: no choice is legal after %v", ID, partial)
	}
	return nil
}

// option is the option that an action says.
func (a *full) option(m *Model, step int, act []float32) (int, error) {
	return m.Pack(step, a.memory[int(act[0])], int(act[1])+1, int(act[2])+1)
}

// write writes the action of a configuration.
func (a *full) write(c configuration, act []float32) {
	act[0], act[1], act[2] = float32(slices.Index(a.memory, c.mb)), float32(c.instances-1), float32(c.processes-1)
}
