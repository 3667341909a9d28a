package reinforce

import (
	"errors"
	"fmt"
	"sync"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
)

// imitation lets another policy, the teacher, play the first episodes: one teacher for each copy of the environment. A
// nil imitation does nothing.
type imitation struct {
	steps    int64 // episodes that begin before this step are the teacher's
	seeds    rng.Key
	width    int // of one agent's action
	agents   int
	teachers []agents.Teacher
	acts     []*envs.Action
	begun    []bool // by copy: the teacher was reset for the present episode
	teaches  []bool // by copy: the present episode is the teacher's
	episodes []uint64
}

func newImitation(c Imitate, ctx *agents.Context) (*imitation, error) {
	if ctx.Teacher == nil {
		return nil, errors.New("this context makes no teacher")
	}
	n := ctx.NumEnvs
	k := &ctx.Spec.Kinds[0]
	s := &imitation{
		steps: c.Steps, seeds: rng.New(ctx.Seed, "reinforce: teacher"), agents: k.Agents, width: k.Action.Width(),
		begun: make([]bool, n), teaches: make([]bool, n), episodes: make([]uint64, n),
	}
	for range n {
		t, err := ctx.Teacher(c.Policy)
		if err != nil {
			return nil, err
		}
		s.teachers, s.acts = append(s.teachers, t), append(s.acts, envs.NewAction(ctx.Spec))
	}
	return s, nil
}

// act asks the teachers of the episodes that are theirs; steps is the number of environment steps so far.
func (s *imitation) act(v *envs.Vector, steps int64) error {
	if s == nil {
		return nil
	}
	teaching := false
	for i, t := range s.teachers {
		if !s.begun[i] {
			s.begun[i], s.teaches[i] = true, steps < s.steps
			if err := t.Reset(s.seeds.With(uint64(i)).With(s.episodes[i]).Uint64()); err != nil {
				return fmt.Errorf("%s: %w", t.Name(), err)
			}
			s.episodes[i]++
		}
		teaching = teaching || s.teaches[i]
	}
	if !teaching {
		return nil
	}
	return s.show(v)
}

// show asks the teachers in parallel: each has its own environment.
func (s *imitation) show(v *envs.Vector) error {
	var all sync.WaitGroup
	errs := make([]error, len(s.teachers))
	for i, t := range s.teachers {
		if s.teaches[i] {
			all.Go(func() { errs[i] = t.Show(v.Env(i), v.Obs.Env(i), s.acts[i]) })
		}
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("environment %d: %s: %w", i, s.teachers[i].Name(), err)
		}
	}
	return nil
}

// action is what the teacher does in a row; nil where the learner chooses itself.
func (s *imitation) action(row int) []float32 {
	if s == nil || !s.teaches[row/s.agents] {
		return nil
	}
	j := row % s.agents
	return s.acts[row/s.agents].Kinds[0][j*s.width : (j+1)*s.width]
}

// active reports whether copy i's episode is the teacher's.
func (s *imitation) active(i int) bool { return s != nil && s.teaches[i] }

// end ends copy i's episode.
func (s *imitation) end(i int) {
	if s != nil {
		s.begun[i] = false
	}
}

// State implements [state.Stater].
func (s *imitation) State(c *state.Codec) {
	state.Fixed(c, s.begun)
	state.Fixed(c, s.teaches)
	state.Fixed(c, s.episodes)
	for _, t := range s.teachers {
		state.Member(c, teacherState{t})
	}
}

// teacherState lets a teacher's own methods save it.
type teacherState struct{ agents.Teacher }

// CopyFrom fails: learners are saved and loaded, never copied.
func (t teacherState) CopyFrom(teacherState) error {
	return fmt.Errorf("%s: a teacher cannot be copied", t.Name())
}
