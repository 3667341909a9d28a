package variants

import (
	"errors"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
)

// EachID names the environment.
const EachID = "stoker/VariantsEach-v1"

// Each configures an application function by function. An episode is a problem (least time, least cost or greatest
// accuracy: OptiServe, eqs. 4.3 to 4.5) of an application; a step chooses variant and memory of one function. Functions
// with several variants are decided first, then those whose price depends most on the choice.
//
// Beside the decisions there is a present plan for the functions that are left. An option is legal where the plan with
// this option keeps the constraints, or where the best plan for the constraints would. So every episode can end within
// the constraints. The present plan is that of the relaxed problem: time has a rate in USD per second, each function
// takes the option with the least price plus rate times time, and the rate is the least that keeps the constraint. It
// is computed anew after each step.
//
// The reward of a step is −10 times what the present plan lost at the objective, as a share of the present plan at the
// beginning. The return is thus −10 times the relative loss of the episode's plan against the relaxed one: positive
// where it is better.
type Each struct {
	shelf *shelf
	spec  *envs.Spec
	print uint64
	walk  walk
	taken []int32 // the options that were chosen, in order
	spare []int32
	episode
}

// episode is what is saved of an episode; the rest follows.
type episode struct {
	seed           uint64
	objective      int // among Objectives
	begun, running bool
}

// gain is the return that one per cent of the objective is a hundredth of.
const gain = 10

// NewEach returns an environment; call Reset before Step. own is the application where c.Workflow is not generated,
// else nil.
func NewEach(c EnvConfig, own *Model) (*Each, error) {
	s, err := newShelf(c, own)
	if err != nil {
		return nil, err
	}
	e := &Each{shelf: s, print: s.fingerprint()}
	e.spec = &envs.Spec{
		ID: EachID, Doc: "Choose variant and memory of one function of an application after the other.",
		Kinds: []envs.Kind{{
			Name: "planner", Agents: 1, Observation: s.space(), Action: envs.Discrete{N: c.Options},
			Doc:     "Relative differences x are seen as x/(|x|+0.05): from −1 to 1.",
			Actions: []string{"option"}, ActionUnits: []string{""}, ActionDocs: []string{"the option of the function that is next, by its node in the graph"},
			Points: []int{OptionNode},
		}},
		Step: envs.Timing{Unit: "function"}, Info: quantities(), Constraint: "violated", Objective: "ideal",
	}
	if c.World == Served {
		e.spec.Objective = "excess"
	}
	return e, nil
}

// Spec implements [envs.Env].
func (e *Each) Spec() *envs.Spec { return e.spec }

// Model returns the application of the episode, Problem what is wanted of it.
func (e *Each) Model() *Model { return e.walk.menu.model }

// Problem returns what is wanted in this episode.
func (e *Each) Problem() Problem { return e.walk.asked }

// Follow writes the action that comes nearest to a plan of the model's options: that of the next function, or one that
// beats it; where the mask forbids it, that of the present plan. margin is the part of the allowed percentile with which
// it was planned: the next larger one is chosen.
func (e *Each) Follow(choice []int, margin float64, act *envs.Action) {
	w := &e.walk
	if w.choosing() {
		k := 0
		for k < len(margins)-1 && (margins[k] < margin-1e-9 || !w.views[k].legal) {
			k++
		}
		act.Kinds[0][0] = float32(k)
		return
	}
	f := w.function()
	if f < 0 {
		return
	}
	i := w.menu.offer(f, choice[f])
	if i < 0 || !w.views[i].legal {
		i = w.now[f]
	}
	act.Kinds[0][0] = float32(i)
}

// Present writes the present plan to choice, options of the model.
func (e *Each) Present(choice []int) []int { return e.walk.present(choice) }

// Reset implements [envs.Env]. Option objective (a string) is time, cost or accuracy.
func (e *Each) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	objective, err := e.shelf.objective(seed, options)
	if err != nil {
		return fmt.Errorf("%s: %w", EachID, err)
	}
	if err := e.begin(episode{seed, objective, true, true}); err != nil {
		return fmt.Errorf("%s: %w", EachID, err)
	}
	return e.see(obs)
}

// begin starts an episode.
func (e *Each) begin(from episode) error {
	n, err := e.shelf.menu(from.seed)
	if err != nil {
		return err
	}
	e.episode, e.taken = from, e.taken[:0]
	p, err := e.shelf.problem(n, &from)
	if err == nil {
		e.walk.restart(n, p)
		e.walk.penalty = e.shelf.dialled(from.seed)
	}
	return err
}

func (e *Each) see(obs *envs.Observation) error {
	k := &obs.Kinds[0]
	k.Active[0] = e.running
	clear(k.Mask)
	if !e.running {
		k.Graphs[0].Clear()
		return nil
	}
	e.walk.mask(k.Mask)
	return e.walk.show(k.Graphs[0])
}

// Step implements [envs.Env].
func (e *Each) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if !e.running {
		return fmt.Errorf("%s: step outside an episode, want Reset", EachID)
	}
	if err := envs.CheckAction(e.spec, nil, act); err != nil {
		return err
	}
	i := int(act.Kinds[0][0])
	if i >= len(e.walk.views) || !e.walk.views[i].legal {
		return fmt.Errorf("%s: option %d cannot be chosen: the mask forbids it", EachID, i)
	}
	w := &e.walk
	before, usd := w.problem.loss(w.outcome, w.ideal), w.outcome.USD
	w.take(i)
	e.taken = append(e.taken, int32(i))
	e.running = !w.over()
	out.Rewards[0][0] = float32(gain * (before - w.problem.loss(w.outcome, w.ideal)))
	out.Terminated, out.Truncated, out.Elapsed = !e.running, false, 0
	if err := e.judge(usd, out); err != nil {
		return fmt.Errorf("%s: %w", EachID, err)
	}
	return e.see(obs)
}

// judge reports what the present plan gives, at the end with all that it takes. usd is what the plan before the step costs
// by the model.
func (e *Each) judge(usd float64, out *envs.Outcome) error {
	w := &e.walk
	switch {
	case w.menu.service != nil:
		out.Rewards[0][0] = w.dearer(usd, w.outcome.USD)
		report(&w.asked, w.outcome, w.first, true, out.Info)
		if e.running {
			return nil
		}
		w.evaluate(w.now)
		m, err := w.menu.service.serve(w.choice, e.seed)
		if err != nil {
			return err
		}
		if w.penalty == 0 {
			out.Rewards[0][0] = float32(measured(&w.asked, &m, w.first, e.shelf.config.Penalty, missedBy, out.Info))
			return nil
		}
		reward := measured(&w.asked, &m, w.first, w.penalty, missedPart*w.penalty, out.Info) / math.Sqrt(w.penalty)
		out.Rewards[0][0] = float32(reward) - w.dearer(w.first.USD, usd)
		return nil
	case e.running:
		report(&w.problem, w.outcome, w.ideal, true, out.Info)
		return nil
	}
	ideal, err := e.shelf.ideal(&w.task)
	report(&w.problem, w.outcome, ideal, w.problem.Keeps(w.outcome), out.Info)
	return err
}

// dearer is the reward, before an episode's end, of a step that takes the plan from one cost by the model to another where
// the episode draws its penalty. At the end what such steps have earned is subtracted: the return is the same, and each
// choice is credited at once for the price that it has.
func (w *walk) dearer(from, to float64) float32 {
	if w.penalty == 0 {
		return 0
	}
	return float32(priced * (from - to) / w.first.USD / math.Sqrt(w.penalty))
}

// CopyFrom implements [envs.Env].
func (e *Each) CopyFrom(src envs.Env) error {
	s, ok := src.(*Each)
	if !ok {
		return fmt.Errorf("%s: copy from a %T", EachID, src)
	}
	return state.Copy(e, s)
}

// AppendBinary implements [envs.Env].
func (e *Each) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, EachID, e) }

// UnmarshalBinary implements [envs.Env]. A state that is refused changes nothing.
func (e *Each) UnmarshalBinary(b []byte) error { return state.Load(b, EachID, e) }

// State lists the state: the episode and the decisions. What follows from them is made anew.
func (e *Each) State(c *state.Codec) {
	c.Same("configuration", e.print)
	state.Value(c, &e.episode)
	state.Slice(c, &e.taken)
	if c.Filled() {
		e.spare = append(e.spare[:0], e.taken...)
		c.Fail(e.restore(e.episode, e.spare))
	}
}

// restore plays an episode up to where it was saved.
func (e *Each) restore(from episode, taken []int32) error {
	if !from.begun {
		e.episode, e.taken = from, e.taken[:0]
		if from.running || len(taken) > 0 {
			return errors.New("an episode is under way that has not begun")
		}
		return nil
	}
	if from.objective < 0 || from.objective >= len(Objectives()) {
		return fmt.Errorf("objective %d, want 0 to %d", from.objective, len(Objectives())-1)
	}
	if err := e.begin(from); err != nil {
		return err
	}
	w := &e.walk
	for k, i := range taken {
		if i < 0 || int(i) >= len(w.views) || !w.views[i].legal {
			return fmt.Errorf("decision %d is option %d, which cannot be chosen", k, i)
		}
		w.take(int(i))
		e.taken = append(e.taken, i)
	}
	if from.running == w.over() {
		return fmt.Errorf("%d of %d functions are decided, and the episode's end is not that", len(taken), len(w.decided))
	}
	return nil
}
