package steps

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
)

// FlatID names the environment.
const FlatID = "stoker/StepsFlat-v1"

// Flat is the world of [Env] for learners that know no graphs: the observation is a vector, and the action says how
// long the step may take. A plan for the rest of the workflow, made beforehand, gives the step a time. Choice k allows
// a multiple of this time, from a half to twice, and the step gets its cheapest option that keeps the allowed time at
// P90. Two more choices are the fastest option and the cheapest one.
type Flat struct {
	Game
	spec  *envs.Spec
	view  view
	offer [flatChoices]int // the option of each choice
	step  []float32        // features of the step to decide, those of its state included
	first int              // features of the request
}

// Choices of [Flat].
const (
	fastestChoice  = 0
	cheapestChoice = flatChoices - 1
	flatChoices    = flatFactors + 2
	flatFactors    = 17
)

// stateFeatures is the number of features of a step that say where it stands.
const stateFeatures = 5

// factors are the multiples of the plan's time.
var factors = [flatFactors]float64{0.5, 0.55, 0.6, 0.66, 0.72, 0.78, 0.85, 0.92, 1, 1.08, 1.18, 1.28, 1.4, 1.54, 1.68, 1.83, 2}

// NewFlat returns an environment; call Reset before Step.
func NewFlat(c EnvConfig, with Given) (*Flat, error) {
	if c.Form == FullForm {
		return nil, bounds.Errorf("form", "is full, want front: an action here says how long a step may take")
	}
	if c.Contention == Seen {
		return nil, bounds.Errorf("contention", "is seen, want hidden: what is seen of a cluster is in the graph of %s", ID)
	}
	g, err := newGame(FlatID, c, with)
	if err != nil {
		return nil, err
	}
	e := &Flat{Game: *g}
	columns := envs.Components(requestFeatures)
	e.first, e.step = len(columns), make([]float32, len(stepFeatures))
	for _, x := range envs.Components(stepFeatures)[stateFeatures:] { // the state of the step to decide is known
		x.Name = "step " + x.Name
		columns = append(columns, x)
	}
	columns = append(columns, envs.Component{Name: "plan", Doc: "the plan for what is left: 0 is the cheapest one, 1 the quickest"})
	for k := range flatChoices {
		columns = append(columns, choiceFeatures(k)...)
	}
	names, units, docs := envs.Columns(columns)
	e.spec = &envs.Spec{
		ID: FlatID, Doc: "Choose how long one step of a running workflow after the other may take.",
		Kinds: []envs.Kind{{
			Name: "configurator", Agents: 1, Observation: envs.Unbounded(len(columns)), Action: envs.Discrete{N: flatChoices},
			Features: names, FeatureUnits: units, FeatureDocs: docs,
			Actions: []string{"time"}, ActionUnits: []string{""},
			ActionDocs: []string{fmt.Sprintf("how long the step may take at P90: choice 0 is its fastest option, %d its cheapest, and the "+
				"others are its cheapest within %g to %g times what a plan for the rest gives it", cheapestChoice, factors[0],
				factors[flatFactors-1])},
		}},
		Step: envs.Timing{Unit: "decision"}, Info: quantities(), Constraint: "missed", Objective: "excess",
	}
	return e, nil
}

func choiceFeatures(k int) []envs.Component {
	name := func(what string) string {
		switch k {
		case fastestChoice:
			return "fastest " + what
		case cheapestChoice:
			return "cheapest " + what
		}
		return fmt.Sprintf("within %g %s", factors[k-1], what)
	}
	return []envs.Component{
		{Name: name("p90"), Unit: "of the time left", Doc: "the 90th percentile of the time of this choice's option"},
		{Name: name("price"), Unit: byUnit, Doc: "its price"},
		{Name: name("prospect"), Unit: asRatio, Doc: "expected price of it, the rest and a miss, above the least of all choices, " +
			"over the unit of price"},
		{Name: name("late"), Unit: "probability", Doc: "that the request ends late, with the plan for the rest of that expectation"},
	}
}

// Spec implements [envs.Env].
func (e *Flat) Spec() *envs.Spec { return e.spec }

// Say writes the action whose option is nearest to an option by P90.
func (e *Flat) Say(option int, act *envs.Action) {
	act.Kinds[0][0] = 0
	s := e.NextStep()
	if s < 0 {
		return
	}
	options, least := e.Model().Options[s], math.Inf(1)
	wanted := e.Model().Option(s, option).P90
	for k, i := range e.offer {
		if far := math.Abs(options[i].P90 - wanted); far < least {
			act.Kinds[0][0], least = float32(k), far
		}
	}
}

// Follow writes the action of an option, and calls Take where it is that of none.
func (e *Flat) Follow(option int, act *envs.Action) {
	act.Kinds[0][0] = 0
	if e.NextStep() < 0 {
		return
	}
	if k := slices.Index(e.offer[:], option); k >= 0 {
		act.Kinds[0][0] = float32(k)
		return
	}
	e.Take(option)
}

// Reset implements [envs.Env]. There are no options.
func (e *Flat) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	if err := e.reset(seed, options); err != nil {
		return err
	}
	e.see(obs)
	return nil
}

// Step implements [envs.Env].
func (e *Flat) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if !e.running {
		return fmt.Errorf("%s: step outside an episode, want Reset", FlatID)
	}
	if err := envs.CheckAction(e.spec, nil, act); err != nil {
		return err
	}
	if err := e.decide(e.offer[int(act.Kinds[0][0])], out); err != nil {
		return err
	}
	e.see(obs)
	return nil
}

func (e *Flat) see(obs *envs.Observation) {
	k := &obs.Kinds[0]
	k.Active[0] = e.running
	clear(k.Values)
	if !e.running {
		return
	}
	s, at, m := e.NextStep(), e.Moment(), e.Model()
	plan := e.offers()
	x := k.Values
	e.view.requestRow(&e.Game, x)
	x = x[e.first:]
	e.view.stepRow(&e.Game, s, e.step)
	x = x[copy(x, e.step[stateFeatures:]):]
	x[0] = float32(plan) / (numLevels - 1)
	x = x[1:]
	e.view.lookAt(&e.Game, s, e.offer[:])
	least, unit := math.Inf(1), unitOf(m)
	for k := range e.view.prospects {
		least = min(least, e.view.prospects[k].USD)
	}
	over := max(at.SLO-at.Now, at.SLO/100)
	for k, i := range e.offer {
		o, p := &m.Options[s][i], &e.view.prospects[k]
		x[0], x[1] = within(o.P90/over), envs.Wide(o.USD/unit)
		x[2], x[3] = envs.Tight((p.USD-least)/unit), float32(p.Late)
		x = x[4:]
	}
}

// offers finds the option of each choice, and returns the plan that they are made from: the cheapest whose time fits into
// what is left.
func (e *Flat) offers() int {
	s, at, m := e.NextStep(), e.Moment(), e.Model()
	l, k := e.view.plans(&e.Game), 0
	for k < numLevels-1 && l.plans[k].seconds[s]+l.plans[k].after[s] > at.SLO-at.Now {
		k++
	}
	options := m.Options[s]
	e.offer[fastestChoice], e.offer[cheapestChoice] = 0, len(options)-1
	planned, i := options[l.plans[k].option[s]].P90, 0
	for f, factor := range factors {
		for i+1 < len(options) && options[i+1].P90 <= float64(factor*planned) {
			i++
		}
		e.offer[1+f] = i
	}
	return k
}

// CopyFrom implements [envs.Env].
func (e *Flat) CopyFrom(src envs.Env) error {
	s, ok := src.(*Flat)
	if !ok {
		return fmt.Errorf("%s: copy from a %T", FlatID, src)
	}
	return state.Copy(e, s)
}

// AppendBinary implements [envs.Env].
func (e *Flat) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, FlatID, e) }

// UnmarshalBinary implements [envs.Env]. A state that is refused changes nothing.
func (e *Flat) UnmarshalBinary(b []byte) error { return state.Load(b, FlatID, e) }

// State lists the state: that of the game. The offers follow from it.
func (e *Flat) State(c *state.Codec) {
	e.Game.State(c)
	if c.Filled() && e.running {
		e.offers()
	}
}
