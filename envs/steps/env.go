package steps

import (
	"fmt"

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

// Follow writes the action of an option. Where the option is not on the step's front, it also calls Take.
func (e *Env) Follow(option int, act *envs.Action) {
	clear(act.Kinds[0])
	s, m := e.NextStep(), e.Model()
	switch {
	case s < 0:
	case e.full != nil:
		e.full.write(m.configuration(s, option), act.Kinds[0])
	case option < len(m.Options[s]):
		act.Kinds[0][0] = float32(option)
	default:
		e.Take(option)
	}
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
