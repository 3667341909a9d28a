package reinforce

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/internal/learning"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
)

// trajectory is one agent's steps from a beginning to an end or a cut. Its memory is used again.
type trajectory struct {
	row       int  // of the agent, over all copies; no part of the state
	sequence  int  // number of the recurring episode, 0 where the environment names none
	bootstrap bool // it was cut or truncated: the return continues in the value of the last observation
	imitated  bool // a teacher chose the actions
	steps     int
	obs       observations // by step, and the last one after the end
	// By step: the mask, [steps, choices], the choice, [steps, components], the scaled reward, the discount of what
	// follows, and ln π of the choice when it was made.
	mask                           []bool
	choice, reward, discount, logp []float32
	counterfactual                 []float32 // advantages of that baseline, else empty
}

func (t *trajectory) clear() {
	t.row, t.sequence, t.bootstrap, t.imitated, t.steps = 0, 0, false, false, 0
	t.obs.clear()
	t.mask = t.mask[:0]
	for _, s := range t.columns() {
		*s = (*s)[:0]
	}
}

func (t *trajectory) columns() [5]*[]float32 {
	return [5]*[]float32{&t.choice, &t.reward, &t.discount, &t.logp, &t.counterfactual}
}

// ended reports whether the observation after the end is there.
func (t *trajectory) ended() bool { return t.obs.rows() > t.steps }

// State implements [state.Stater]. The store calls check.
func (t *trajectory) State(c *state.Codec) {
	state.Value(c, &t.sequence)
	state.Value(c, &t.bootstrap)
	state.Value(c, &t.imitated)
	state.Value(c, &t.steps)
	c.Part(t.obs)
	state.Slice(c, &t.mask)
	for _, s := range t.columns() {
		state.Slice(c, s)
	}
}

// check says what is wrong with a loaded trajectory whose actions have components with so many choices each.
func (t *trajectory) check(components []int, counterfactual bool) error {
	if t.steps < 0 || t.obs.rows() < t.steps || t.obs.rows() > t.steps+1 {
		return fmt.Errorf("%d steps with %d observations, want as many or one more", t.steps, t.obs.rows())
	}
	choices := 0
	for _, n := range components {
		choices += n
	}
	want := [5]int{t.steps * len(components), t.steps, t.steps, t.steps, 0}
	if counterfactual {
		want[4] = t.steps
	}
	for i, name := range [5]string{"choices", "rewards", "discounts", "ln π", "counterfactual advantages"} {
		if got := len(*t.columns()[i]); got != want[i] {
			return fmt.Errorf("%d steps have %d %s, want %d", t.steps, got, name, want[i])
		}
	}
	if len(t.mask) != t.steps*choices {
		return fmt.Errorf("%d steps have a mask of %d, want %d", t.steps, len(t.mask), t.steps*choices)
	}
	if t.bootstrap && !t.ended() {
		return errors.New("it bootstraps without a last observation")
	}
	for i, c := range t.choice {
		if n := components[i%len(components)]; !(c >= 0 && c < float32(n)) {
			return fmt.Errorf("choice %d is %g, want 0 to %d", i, c, n-1)
		}
	}
	return nil
}

// recurring is implemented (see [envs.As]) by environments whose episodes recur. Set is the number of the present one,
// negative where every episode is new.
type recurring interface{ Set() int }

// store holds trajectories: one for each running agent, the finished ones of the next update, and old ones for replay.
type store struct {
	m        model
	discount learning.Discount
	scale    float32
	cut      int
	baseline Baseline

	running  []*trajectory
	done     []*trajectory
	old      []*trajectory // oldest first
	capacity int           // of old
	mostDone int           // that wait when a state is saved
	free     []*trajectory
}

func newStore(c *Config, m model, copies int) *store {
	s := &store{
		m: m, discount: learning.Discount{Gamma: c.Gamma, Seconds: c.GammaSeconds}, scale: float32(c.RewardScale),
		cut: c.Cut, baseline: c.Baseline, capacity: c.Replay.Trajectories,
		running: make([]*trajectory, copies*m.kind().Agents),
	}
	s.mostDone = max(c.Episodes, c.Imitate.Episodes) + len(s.running)
	for i := range s.running {
		s.running[i] = s.take()
	}
	return s
}

// decision is what the learner knows of one copy's last action: ln π of each agent's choice, its advantage where the
// baseline is counterfactual, the recurring episode, and whether a teacher chose.
type decision struct {
	logp           []float32
	counterfactual float32
	sequence       int
	imitated       bool
}

// observe adds the last transition of copy i's agents.
func (s *store) observe(v *envs.Vector, i int, d decision) error {
	k := s.m.kind()
	before, after := &v.Before.Env(i).Kinds[0], &v.After.Env(i).Kinds[0]
	acts, rewards := v.Act.Env(i).Kinds[0], v.Rewards[0][i*k.Agents:(i+1)*k.Agents]
	discount, width := float32(s.discount.Of(v.Terminated[i], v.Elapsed[i])), len(s.m.components())
	legal := s.m.Legal()
	all := len(legal) / len(s.running)
	for j, here := range before.Active {
		if !here {
			continue
		}
		row := i*k.Agents + j
		t := s.running[row]
		t.row, t.sequence, t.imitated = row, d.sequence, d.imitated
		s.m.record(t.obs, before, j)
		t.mask = append(t.mask, legal[row*all:(row+1)*all]...)
		t.choice, t.logp = append(t.choice, acts[j*width:(j+1)*width]...), append(t.logp, d.logp[j])
		if s.baseline == Counterfactual {
			t.counterfactual = append(t.counterfactual, d.counterfactual)
		}
		t.steps++
		gone := !after.Active[j] || v.Terminated[i]
		next := discount
		if gone {
			next = 0
		}
		t.reward, t.discount = append(t.reward, rewards[j]*s.scale), append(t.discount, next)
		if gone || v.Truncated[i] || t.steps == s.cut {
			t.bootstrap = !gone && s.baseline == Value
			s.m.record(t.obs, after, j)
			s.done, s.running[row] = append(s.done, t), s.take()
		}
	}
	return nil
}

// sequence is the number of the present episode of env among those that recur.
func (s *store) sequence(env envs.Env) (int, error) {
	r, ok := envs.As[recurring](env)
	if s.baseline != Sequence || !ok {
		return 0, nil
	}
	n := r.Set()
	if n < 0 {
		return 0, bounds.Errorf("baseline", "is %s, and every episode of %s has a sequence of its own: want sequences that recur "+
			"(env.sets of stoker/DeepRM-v1), or another baseline", Sequence, env.Spec().ID)
	}
	return n, nil
}

// recurs is the error of [store.sequence], before anything is trained.
func (s *store) recurs(ctx *agents.Context) error {
	if s.baseline != Sequence || ctx.NewEnv == nil {
		return nil
	}
	env, err := ctx.NewEnv()
	if err == nil {
		err = env.Reset(ctx.Seed, nil, envs.NewObservation(env.Spec()))
	}
	if err == nil {
		_, err = s.sequence(env)
	}
	return err
}

// take returns an empty trajectory.
func (s *store) take() *trajectory {
	n := len(s.free)
	if n == 0 {
		return &trajectory{obs: s.m.newObservations()}
	}
	t := s.free[n-1]
	s.free = s.free[:n-1]
	return t
}

// release ends an update: the trajectories learned from are kept for replay, except a teacher's, and the memory of
// those too old is used again.
func (s *store) release() {
	for _, t := range s.done {
		if t.imitated {
			t.clear()
			s.free = append(s.free, t)
		} else {
			s.old = append(s.old, t)
		}
	}
	s.done = s.done[:0]
	excess := max(0, len(s.old)-s.capacity)
	for _, t := range s.old[:excess] {
		t.clear()
		s.free = append(s.free, t)
	}
	s.old = s.old[:copy(s.old, s.old[excess:])]
}

// forget drops what was played since the last update.
func (s *store) forget() {
	for _, t := range s.running {
		t.clear()
	}
	for _, t := range s.done {
		t.clear()
		s.free = append(s.free, t)
	}
	s.done = s.done[:0]
}

// State implements [state.Stater].
func (s *store) State(c *state.Codec) {
	for i, t := range s.running {
		s.part(c, "running", i, t)
	}
	s.list(c, "finished", &s.done, s.mostDone)
	s.list(c, "replayed", &s.old, s.capacity)
	if c.Loaded() {
		c.Fail(s.checkEnds())
	}
}

// list lists up to most trajectories, with their number.
func (s *store) list(c *state.Codec, what string, list *[]*trajectory, most int) {
	n := len(*list)
	state.Value(c, &n)
	if !c.Check(n >= 0 && n <= most, "%d %s trajectories, want at most %d", n, what, most) {
		return
	}
	for i := n; i < len(*list); i++ {
		(*list)[i].clear()
		s.free = append(s.free, (*list)[i])
	}
	*list = (*list)[:min(n, len(*list))]
	for i := range n {
		if i == len(*list) {
			*list = append(*list, s.take())
		}
		if !s.part(c, what, i, (*list)[i]) {
			return
		}
	}
}

// part lists one trajectory. It returns whether the codec goes on.
func (s *store) part(c *state.Codec, what string, i int, t *trajectory) bool {
	c.Part(t)
	if !c.Loaded() {
		return c.Check(true, "")
	}
	err := t.check(s.m.components(), s.baseline == Counterfactual)
	return c.Check(err == nil, "%s trajectory %d: %v", what, i, err)
}

// checkEnds says which loaded trajectory has an end and should not, or the other way round.
func (s *store) checkEnds() error {
	for i, t := range s.running {
		if t.ended() {
			return fmt.Errorf("running trajectory %d has an end", i)
		}
	}
	for i, t := range slices.Concat(s.done, s.old) {
		if t.steps == 0 || !t.ended() {
			return fmt.Errorf("finished or replayed trajectory %d has no steps or no end", i)
		}
	}
	return nil
}
