package variants

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/internal/reuse"
)

// ID names the environment.
const ID = "stoker/Variants-v1"

// Env configures an application in one step: an agent for each function chooses its variant and its memory, and none
// sees what the others choose. Both are numbers from 0 to 1 over what the function has: its variants, and the sizes of
// the variant chosen that no other option dominates, ascending. So all that an agent can choose is legal, and what it
// means does not depend on the other agents.
//
// The reward, by default the same for all agents, is −10 times what the plan loses at the objective against the plan of
// the relaxed problem, as a share and at most 1; less, for each missed constraint, a penalty (10; a part of it where
// the constraint is missed by less than 5 %) and 10 times the share by which it is missed, at most 1. Where a
// constraint is missed the objective earns nothing, because missing a latency makes it easy to be cheaper than the best
// plan that keeps it. A penalty that grows from nothing tells agents near a bound which way it lies; the best that an
// imprecise policy can do then is to miss about one constraint in twenty.
type Env struct {
	shelf *shelf
	spec  *envs.Spec
	print uint64
	walk  walk
	plan  []int
	// Widths of what is shown of the problem and of a function.
	problem, function int
	episode
}

// Columns of an agent's observation: the problem, its function, and for each of its first variants what is known of it
// and its times and prices at some sizes.
const (
	slots   = 4 // variants
	grid    = 5 // sizes, evenly spread over a variant's own
	perSlot = 3 + 2*grid
)

// New returns an environment; call Reset before Step. own is as for [NewEach].
func New(c EnvConfig, own *Model) (*Env, error) {
	s, err := newShelf(c, own)
	if err != nil {
		return nil, err
	}
	if c.World != ByMeans {
		return nil, fmt.Errorf("%s: world is %s, want %s: plans are served in %s", ID, c.World, ByMeans, EachID)
	}
	e := &Env{shelf: s, print: s.fingerprint()}
	columns, mine := envs.Components(problemFeatures), envs.Components(functionFeatures)
	e.problem, e.function = len(columns), len(mine)
	for _, c := range mine {
		c.Name = "own " + c.Name
		columns = append(columns, c)
	}
	columns = append(columns, envs.Component{Name: "rate", Doc: "logarithm of the rate of time of the relaxed problem, " +
		"over cost by response time, a sixth of it", Unit: "as x/(|x|+1)"})
	for v := range slots {
		columns = append(columns, slotFeatures(v+1)...)
	}
	names, units, docs := envs.Columns(columns)
	most := c.Functions[1]
	e.spec = &envs.Spec{
		ID: ID, Doc: "The agents of an application's functions choose variant and memory, all at once.",
		Kinds: []envs.Kind{{
			Name: "function", Agents: most, Observation: envs.Unbounded(len(columns)), Action: envs.NewBox(2, 0, 1),
			Doc:      "One function of the application. Relative differences x are seen as x/(|x|+0.05).",
			Features: names, FeatureUnits: units, FeatureDocs: docs,
			Actions: []string{"variant", "memory"}, ActionUnits: []string{"of its range", "of its range"},
			ActionDocs: []string{"0 stands for the first variant, 1 for the last one",
				"0 stands for the smallest size of the variant, 1 for the largest one"},
		}},
		Step: envs.Timing{Unit: "plan"}, Info: quantities(), Constraint: "violated", Objective: "ideal",
	}
	return e, nil
}

func slotFeatures(v int) []envs.Component {
	name := func(form string, a ...any) string { return fmt.Sprintf("variant %d ", v) + fmt.Sprintf(form, a...) }
	out := []envs.Component{
		{Name: name("there"), Doc: "1 where the function has such a variant"},
		{Name: name("loss"), Unit: asRatio, Doc: "what the best plan of the relaxed problem with it loses at the objective; 1 " +
			"where there is none"},
		{Name: name("accuracy"), Unit: "share", Doc: "its accuracy"},
	}
	for k := range grid {
		part := float64(k) / (grid - 1)
		out = append(out, envs.Component{Name: name("time at %g", part), Unit: "as x/(x+1)",
			Doc: "what its runs add to the response time, over that of the present plan, at this part of its sizes"},
			envs.Component{Name: name("price at %g", part), Unit: "as x/(x+1)",
				Doc: "what its runs cost, over the cost of the present plan, at this part of its sizes"})
	}
	return out
}

// Spec implements [envs.Env].
func (e *Env) Spec() *envs.Spec { return e.spec }

// Model returns the application of the episode, Problem what is wanted of it.
func (e *Env) Model() *Model { return e.walk.menu.model }

// Problem returns what is wanted in this episode.
func (e *Env) Problem() Problem { return e.walk.asked }

// Present writes the plan of the relaxed problem to choice, options of the model.
func (e *Env) Present(choice []int) []int { return e.walk.present(choice) }

// Follow writes the actions that come nearest to a plan of the model's options. Options that others dominate are
// replaced by these. A margin has no meaning here.
func (e *Env) Follow(choice []int, _ float64, act *envs.Action) {
	n := e.walk.menu
	for f := range n.offers {
		i := max(n.offer(f, choice[f]), 0)
		v, k := n.offers[f][i].variant, 0
		for u := range v {
			if n.spans[f][u][1] > n.spans[f][u][0] {
				k++
			}
		}
		span := n.spans[f][v]
		act.Kinds[0][2*f] = (float32(k) + 0.5) / float32(n.left[f])
		act.Kinds[0][2*f+1] = float32(i-span[0]) / float32(max(span[1]-span[0]-1, 1))
	}
}

// Reset implements [envs.Env]. Option objective (a string) is time, cost or accuracy.
func (e *Env) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	objective, err := e.shelf.objective(seed, options)
	if err == nil {
		err = e.begin(episode{seed, objective, true, true})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", ID, err)
	}
	e.see(obs)
	return nil
}

func (e *Env) begin(from episode) error {
	n, err := e.shelf.menu(from.seed)
	if err != nil {
		return err
	}
	p, err := e.shelf.problem(n, &from)
	if err != nil {
		return err
	}
	e.episode = from
	e.walk.restart(n, p)
	e.plan = reuse.Slice(e.plan, len(n.offers))
	return nil
}

// see writes the observations.
func (e *Env) see(obs *envs.Observation) {
	k := &obs.Kinds[0]
	clear(k.Values)
	clear(k.Active)
	if !e.running {
		return
	}
	w, width := &e.walk, len(e.spec.Kinds[0].Features)
	problem, function := e.problem, e.function
	rate := math.Log(max(w.value[w.best[0]].rate*w.outcome.Seconds/max(w.outcome.USD, 1e-12), 1e-12)) / 6
	for f := range w.menu.offers {
		k.Active[f] = true
		x := k.Values[f*width : (f+1)*width]
		envs.WriteRow(problemFeatures, w, x[:problem])
		w.functionRow(f, x[problem:problem+function])
		x[problem+function] = float32(rate / (math.Abs(rate) + 1))
		e.slots(f, x[problem+function+1:])
	}
}

// slots writes what is known of the variants of function f.
func (e *Env) slots(f int, x []float32) {
	w := &e.walk
	for v, span := range w.menu.spans[f] {
		if span[1] == span[0] {
			continue
		}
		if len(x) == 0 {
			return
		}
		x[0], x[1] = 1, 1
		x[2] = float32(w.menu.model.Variants[f][v].Accuracy)
		for _, c := range w.best {
			if w.consistent(c, f, v) {
				x[1] = envs.Tight(w.problem.loss(w.value[c].out, w.outcome))
				break
			}
		}
		for k := range grid {
			o := &w.menu.offers[f][at(span, float64(k)/(grid-1))]
			x[3+2*k] = envs.Wide(w.share[f] * o.seconds / w.outcome.Seconds)
			x[4+2*k] = envs.Wide(o.usd / w.outcome.USD)
		}
		x = x[perSlot:]
	}
}

// at is the offer at a part of a variant's own sizes.
func at(span [2]int, part float64) int {
	return span[0] + int(math.Floor(float64(part*float64(span[1]-span[0]-1))+0.5))
}

// Step implements [envs.Env].
func (e *Env) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if !e.running {
		return fmt.Errorf("%s: step outside an episode, want Reset", ID)
	}
	w := &e.walk
	if err := envs.CheckAction(e.spec, func(_, f int) bool { return f < len(w.menu.offers) }, act); err != nil {
		return err
	}
	for f := range w.menu.offers {
		k := min(int(float64(act.Kinds[0][2*f])*float64(w.menu.left[f])), w.menu.left[f]-1)
		for _, span := range w.menu.spans[f] {
			if span[1] == span[0] {
				continue
			}
			if k == 0 {
				e.plan[f] = at(span, float64(act.Kinds[0][2*f+1]))
				break
			}
			k--
		}
	}
	got := w.evaluate(e.plan)
	ideal, err := e.shelf.ideal(&w.task)
	if err != nil {
		return fmt.Errorf("%s: %w", ID, err)
	}
	clear(out.Rewards[0])
	e.credit(e.reward(got), out.Rewards[0])
	e.running = false
	out.Terminated, out.Truncated, out.Elapsed = true, false, 0
	report(&w.problem, got, ideal, w.problem.Keeps(got), out.Info)
	e.see(obs)
	return nil
}

// oversteps is how much more than the penalty a missed constraint costs in reward where much is missing, slightly the
// share by which one is missed from which on it costs all of the penalty.
const (
	oversteps = 10
	slightly  = 0.05
)

// credit gives the agents their rewards for the plan, which is worth reward.
func (e *Env) credit(reward float64, to []float32) {
	w := &e.walk
	for f := range w.menu.offers {
		to[f] = float32(reward)
		if e.shelf.config.Credit == Difference {
			chosen := e.plan[f]
			e.plan[f] = w.now[f]
			to[f] = float32(reward - e.reward(w.evaluate(e.plan)))
			e.plan[f] = chosen
		}
	}
}

func (e *Env) reward(got Outcome) float64 {
	p := &e.walk.problem
	reward, kept := 0.0, true
	miss := func(keeps bool, by float64) {
		if !keeps {
			reward -= float64(e.shelf.config.Penalty*min(by/slightly, 1)) + float64(oversteps*min(by, 1))
			kept = false
		}
	}
	miss(within(got.Seconds, p.Latency), -left(got.Seconds, p.Latency))
	miss(within(got.USD, p.Budget), -left(got.USD, p.Budget))
	miss(got.Accuracy >= float64(p.Accuracy*(1-slack)), p.Accuracy-got.Accuracy)
	loss := min(max(p.loss(got, e.walk.first), -1), 1)
	if !kept {
		loss = max(loss, 0)
	}
	return reward - float64(gain*loss)
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

// State lists the state: the episode. What follows from it is made anew.
func (e *Env) State(c *state.Codec) {
	c.Same("configuration", e.print)
	state.Value(c, &e.episode)
	if !c.Filled() || !e.begun {
		c.Check(e.begun || !e.running, "an episode is under way that has not begun")
		return
	}
	if c.Check(e.objective >= 0 && e.objective < len(Objectives()), "objective %d", e.objective) {
		c.Fail(e.begin(e.episode))
	}
}
