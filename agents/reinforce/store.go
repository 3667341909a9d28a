package reinforce

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/envs"
)

// recurring is implemented (see [envs.As]) by environments whose episodes recur. Set is the number of the present one,
// negative where every episode is new.
type recurring interface{ Set() int }

// store holds trajectories: one for each running agent, the finished ones of the next update, and old ones for replay.
type store struct {
	m        model
	discount choice.Discount
	scale    float32
	cut      int
	baseline string

	running  []*trajectory
	done     []*trajectory
	old      []*trajectory // oldest first
	capacity int           // of old
	free     []*trajectory
}

func newStore(c *Config, m model, copies int) *store {
	s := &store{
		m: m, discount: choice.Discount{Gamma: c.Gamma, Seconds: c.GammaSeconds}, scale: float32(c.RewardScale),
		cut: c.Cut, baseline: c.Baseline, capacity: c.Replay.Trajectories,
		running: make([]*trajectory, copies*m.kind().Agents),
	}
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
	if err := s.check(i, rewards, after); err != nil {
		return err
	}
	discount, width := float32(s.discount.Of(v.Terminated[i], v.Elapsed[i])), len(s.m.components())
	for j, here := range before.Active {
		if !here {
			continue
		}
		row := i*k.Agents + j
		t := s.running[row]
		t.sequence, t.imitated = d.sequence, d.imitated
		s.m.record(t.obs, before, j)
		t.mask = append(t.mask, s.m.legal(row)...)
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

// check refuses what would poison the weights: a reward or an observation that is not finite.
func (s *store) check(i int, rewards []float32, after *envs.KindObservation) error {
	for j, x := range rewards {
		if x-x != 0 {
			return fmt.Errorf("environment %d: reward of %s %d is %g, want a finite number", i, s.m.kind().Name, j, x)
		}
	}
	return s.m.check(i, after)
}

// sequence is the number of the present episode of env among those that recur.
func (s *store) sequence(env envs.Env) (int, error) {
	r, ok := envs.As[recurring](env)
	if s.baseline != Sequence || !ok {
		return 0, nil
	}
	n := r.Set()
	if n < 0 {
		return 0, fmt.Errorf("every episode of %s has a sequence of its own, want sequences that recur for baseline: %s",
			env.Spec().ID, Sequence)
	}
	return n, nil
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

// release ends an update: the trajectories learned from are kept for replay, except a teacher's, and the memory of those
// too old is used again.
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

// AppendBinary implements encoding.BinaryAppender: the number of finished and of kept trajectories, and all of them after those on
// their way.
func (s *store) AppendBinary(b []byte) ([]byte, error) {
	b = binary.LittleEndian.AppendUint64(b, uint64(len(s.done)))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(s.old)))
	for _, list := range [][]*trajectory{s.running, s.done, s.old} {
		for _, t := range list {
			b = t.appendTo(b)
		}
	}
	return b, nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (s *store) UnmarshalBinary(b []byte) error {
	done, b, err := number(b)
	if err != nil {
		return err
	}
	kept, b, err := number(b)
	if err != nil {
		return err
	}
	// Each takes dozens of bytes: more than there are bytes can't be.
	if done > uint64(len(b)) || kept > uint64(min(len(b), s.capacity)) {
		return fmt.Errorf("%d trajectories to learn from and %d to replay in %d bytes, want at most %d to replay", done, kept, len(b), s.capacity)
	}
	read := func(n int) ([]*trajectory, error) {
		list := make([]*trajectory, n)
		for i := range list {
			list[i] = &trajectory{obs: s.m.newObservations()}
			t := list[i]
			if b, err = t.read(b, s.m.components()); err != nil {
				return nil, err
			}
			if (len(t.counterfactual) > 0) != (s.baseline == Counterfactual && t.steps > 0) {
				return nil, fmt.Errorf("a trajectory of %d steps has %d counterfactual advantages", t.steps, len(t.counterfactual))
			}
		}
		return list, nil
	}
	lists := [3][]*trajectory{}
	for i, n := range []int{len(s.running), int(done), int(kept)} {
		if lists[i], err = read(n); err != nil {
			return err
		}
	}
	for i, t := range lists[0] {
		if t.ended() {
			return fmt.Errorf("trajectory %d is on its way and has an end", i)
		}
	}
	for _, t := range slices.Concat(lists[1], lists[2]) {
		if t.steps == 0 || !t.ended() {
			return errors.New("a finished trajectory has no steps or no end")
		}
	}
	if len(b) > 0 {
		return fmt.Errorf("%d bytes follow the trajectories", len(b))
	}
	s.running, s.done, s.old = lists[0], lists[1], lists[2]
	return nil
}
