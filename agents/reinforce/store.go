package reinforce

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/envs"
)

// recurring is implemented (see [envs.As]) by environments whose episodes recur: the number of the present one, negative where
// every episode is another.
type recurring interface{ Set() int }

// store holds trajectories: one for each agent that is on its way, the finished ones that wait for an update, and old ones where there is
// replay.
type store struct {
	m        model
	discount choice.Discount
	scale    float32
	cut      int
	sets     bool // recurring episodes must be told apart
	value    bool // what was cut can go on in a value
	twins    bool // choices are judged as they are made
	running  []*trajectory
	done     []*trajectory
	kept     []*trajectory // oldest first
	most     int           // kept
	free     []*trajectory
}

func newStore(c *Config, m model, copies int) *store {
	s := &store{
		m: m, discount: choice.Discount{Gamma: c.Gamma, Seconds: c.GammaSeconds}, scale: float32(c.RewardScale), cut: c.Cut,
		sets: c.Baseline == Sequence, value: c.Baseline == Value, twins: c.Baseline == Twin, most: c.Replay.Trajectories,
		running: make([]*trajectory, copies*m.kind().Agents),
	}
	for i := range s.running {
		s.running[i] = s.fresh()
	}
	return s
}

// observe adds what the agents of copy i went through; logp is ln π of what they chose, gain what twins say of it, taught that another policy chose.
func (s *store) observe(v *envs.Vector, i int, logp []float32, gain float32, set int, taught bool) error {
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
		t.set, t.taught = set, taught
		s.m.keep(t.seen, before, j)
		t.mask = append(t.mask, s.m.legal(row)...)
		t.choice, t.logp = append(t.choice, acts[j*width:(j+1)*width]...), append(t.logp, logp[j])
		if s.twins {
			t.gain = append(t.gain, gain)
		}
		t.steps++
		gone := !after.Active[j] || v.Terminated[i]
		follows := discount
		if gone {
			follows = 0
		}
		t.reward, t.discount = append(t.reward, rewards[j]*s.scale), append(t.discount, follows)
		if gone || v.Truncated[i] || t.steps == s.cut {
			t.goes = !gone && s.value
			s.m.keep(t.seen, after, j)
			s.done, s.running[row] = append(s.done, t), s.fresh()
		}
	}
	return nil
}

// check refuses what would poison the weights: a reward or something seen that is no finite number.
func (s *store) check(i int, rewards []float32, after *envs.KindObservation) error {
	for j, x := range rewards {
		if x-x != 0 {
			return fmt.Errorf("environment %d: reward of %s %d is %g, want a finite number", i, s.m.kind().Name, j, x)
		}
	}
	return s.m.check(i, after)
}

// set is the number of the present episode of env among those that recur.
func (s *store) set(env envs.Env) (int, error) {
	r, ok := envs.As[recurring](env)
	if !s.sets || !ok {
		return 0, nil
	}
	n := r.Set()
	if n < 0 {
		return 0, fmt.Errorf("every episode of %s has a sequence of its own, want sequences that recur for baseline: %s", env.Spec().ID, Sequence)
	}
	return n, nil
}

func (s *store) fresh() *trajectory {
	n := len(s.free)
	if n == 0 {
		return &trajectory{seen: s.m.newSeen()}
	}
	t := s.free[n-1]
	s.free = s.free[:n-1]
	return t
}

// release ends an update: what waited for it is kept for replay, unless another policy did it, and what is too old serves again.
func (s *store) release() {
	for _, t := range s.done {
		if t.taught {
			t.clear()
			s.free = append(s.free, t)
		} else {
			s.kept = append(s.kept, t)
		}
	}
	s.done = s.done[:0]
	old := max(0, len(s.kept)-s.most)
	for _, t := range s.kept[:old] {
		t.clear()
		s.free = append(s.free, t)
	}
	s.kept = s.kept[:copy(s.kept, s.kept[old:])]
}

// AppendBinary implements encoding.BinaryAppender: the number of finished and of kept trajectories, and all of them after those on
// their way.
func (s *store) AppendBinary(b []byte) ([]byte, error) {
	b = binary.LittleEndian.AppendUint64(b, uint64(len(s.done)))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(s.kept)))
	for _, list := range [][]*trajectory{s.running, s.done, s.kept} {
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
	if done > uint64(len(b)) || kept > uint64(min(len(b), s.most)) {
		return fmt.Errorf("%d trajectories to learn from and %d to replay in %d bytes, want at most %d to replay", done, kept, len(b), s.most)
	}
	read := func(n int) ([]*trajectory, error) {
		list := make([]*trajectory, n)
		for i := range list {
			list[i] = &trajectory{seen: s.m.newSeen()}
			t := list[i]
			if b, err = t.read(b, s.m.components()); err != nil {
				return nil, err
			}
			if (len(t.gain) > 0) != (s.twins && t.steps > 0) {
				return nil, fmt.Errorf("a trajectory of %d steps has %d judgements by twins", t.steps, len(t.gain))
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
	s.running, s.done, s.kept = lists[0], lists[1], lists[2]
	return nil
}
