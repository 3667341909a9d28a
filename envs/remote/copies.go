package remote

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
)

// mostCopies bounds the copies of one process.
const mostCopies = 1 << 16

// copies are an environment's, which goroutines step. What they see and tell lies in the memory that the client sees; commands
// and actions are read from there once.
type copies struct {
	Options
	spec     *envs.Spec
	block    *block
	guard    *envs.Guard
	choices  [][]int // of the components of each kind's actions, 0 where one is continuous
	envs     []envs.Env
	obs      *envs.Batch
	graphs   []*graphs // of each kind, nil where it sees none
	act      *envs.ActionBatch
	outcomes []envs.Outcome
	running  []bool   // an episode is under way
	begun    []uint64 // the seed of a copy's episode
	episodes []uint64 // how many a copy has begun
	errs     []error
	actors   map[string][]actor
	// Of the step under way.
	commands []uint8
	seeds    []uint64
	replaced int
	// In the memory: what the client asks for, and what it is told.
	ask struct {
		commands []uint8
		seeds    []uint64
		actions  [][]float32
	}
	mean                  []float64
	terminated, truncated []bool
	elapsed               []int64
	substituted           []int32
	bell                  bell
	took                  time.Duration // the last step, by one worker
	simple                bool          // one agent that makes one choice
	legalNow              []bool        // scratch: the choices of a component
}

func newCopies(build func() (envs.Env, error), o Options) (*copies, error) {
	n := o.Copies
	if n < 1 || n > mostCopies {
		return nil, fmt.Errorf("copies is %d, want 1 to %d", n, mostCopies)
	}
	c := &copies{Options: o, envs: make([]envs.Env, n), running: make([]bool, n), begun: make([]uint64, n),
		episodes: make([]uint64, n), errs: make([]error, n), commands: make([]uint8, n), seeds: make([]uint64, n),
		actors: map[string][]actor{}}
	for i := range c.envs {
		var err error
		if c.envs[i], err = build(); err != nil {
			return nil, err
		}
	}
	c.spec = c.envs[0].Spec()
	c.guard, c.act = envs.NewGuard(c.spec), envs.NewActionBatch(c.spec, n)
	for k := range c.spec.Kinds {
		c.choices = append(c.choices, envs.Choices(c.spec.Kinds[k].Action))
		c.legalNow = slices.Grow(c.legalNow, slices.Max(c.choices[k]))
	}
	first := &c.spec.Kinds[0]
	_, choice := first.Action.(envs.Discrete)
	c.simple = choice && len(c.spec.Kinds) == 1 && first.Agents == 1 && first.MaskAfter == nil
	if err := c.share(newBlock(c.spec, n)); err != nil {
		return nil, err
	}
	return c, nil
}

// share gets the memory of a block and puts there what the client is to see.
func (c *copies) share(b *block) error {
	b.memory = make([]byte, b.bytes) // for itself
	if c.Memory != nil {
		var err error
		if b.memory, err = c.Memory(b.bytes); err != nil {
			return err
		}
	}
	n := len(c.envs)
	c.block = b
	c.ask.commands, c.ask.seeds = in[uint8](b, "commands"), in[uint64](b, "seeds")
	kinds, rewards := envs.NewBatch(c.spec, n).Kinds, make([][]float32, len(c.spec.Kinds))
	for k := range kinds {
		name, o := c.spec.Kinds[k].Name, &kinds[k]
		c.ask.actions = append(c.ask.actions, in[float32](b, name+"/action"))
		mask := o.Mask
		o.Values, o.Active, o.Mask = in[float32](b, name+"/observation"), in[bool](b, name+"/active"), in[bool](b, name+"/mask")
		copy(o.Mask, mask)
		rewards[k] = in[float32](b, name+"/reward")
		c.graphs = append(c.graphs, nil)
		if g, ok := c.spec.Kinds[k].Observation.(envs.Graph); ok {
			c.graphs[k] = graphsIn(b, name, g)
		}
	}
	c.obs = envs.BatchOf(c.spec, n, kinds)
	c.outcomes = envs.OutcomesOf(c.spec, n, rewards, in[float64](b, "info"))
	c.mean, c.elapsed, c.substituted = in[float64](b, "reward"), in[int64](b, "elapsed"), in[int32](b, "substituted")
	c.terminated, c.truncated = in[bool](b, "terminated"), in[bool](b, "truncated")
	c.bell = newBell(b)
	return nil
}

// answer appends what a frame is answered by.
func (c *copies) answer(dst []byte, kind uint32, body []byte) ([]byte, error) {
	switch kind {
	case Step:
		return dst, c.settle()
	case Decide:
		return c.decide(dst, body)
	}
	if len(body) < 4 {
		return nil, fmt.Errorf("the frame has %d bytes, want a copy's number in 4", len(body))
	}
	i, rest := int(binary.NativeEndian.Uint32(body)), body[4:]
	if i >= len(c.envs) {
		return nil, fmt.Errorf("there is no copy %d, want one from 0 to %d", i, len(c.envs)-1)
	}
	at := &saved{c.envs[i], c.obs.Env(i)}
	switch kind {
	case Save:
		if !c.running[i] {
			return nil, fmt.Errorf("copy %d has no episode under way, want a reset first", i)
		}
		return state.Append(dst, savedKind, at)
	case Load:
		if err := state.Load(rest, savedKind, at); err != nil {
			return nil, fmt.Errorf("copy %d: %w", i, err)
		}
		c.begin(i)
		c.running[i] = true
		c.show(i)
		return dst, nil
	case Mask:
		return c.mask(dst, i, rest)
	}
	return nil, fmt.Errorf("a frame of kind %d is no request", kind)
}

// saved is a copy in the middle of an episode: its state and what is seen there, which an environment does not tell again.
type saved struct {
	env envs.Env
	obs *envs.Observation
}

// State implements [state.Stater].
func (s *saved) State(c *state.Codec) {
	state.Member(c, s.env)
	c.Part(s.obs)
}

// savedKind names states of copies.
const savedKind = "remote copy"

// mask appends the legal choices of the component after those that are given.
func (c *copies) mask(dst []byte, i int, body []byte) ([]byte, error) {
	if len(body) < 8 || len(body)%4 != 0 {
		return nil, fmt.Errorf("the frame has %d bytes, want the numbers of a kind and an agent in 4 each, and choices in 4 each", len(body))
	}
	k, j := int(binary.NativeEndian.Uint32(body)), int(binary.NativeEndian.Uint32(body[4:]))
	partial := make([]float32, len(body)/4-2)
	if _, err := binary.Decode(body[8:], binary.NativeEndian, partial); err != nil {
		return nil, err
	}
	if k >= len(c.spec.Kinds) || j >= c.spec.Kinds[k].Agents {
		return nil, fmt.Errorf("there is no agent %d of kind %d", j, k)
	}
	kind, o := &c.spec.Kinds[k], &c.obs.Env(i).Kinds[k]
	if len(partial) >= len(c.choices[k]) || c.choices[k][len(partial)] == 0 {
		return nil, fmt.Errorf("%d choices are given: %s has no choice after these", len(partial), kind.Name)
	}
	for m, x := range partial {
		if n := c.choices[k][m]; !(x >= 0 && x < float32(n)) || x != float32(int(x)) {
			return nil, fmt.Errorf("component %d is %g, want a whole number in [0, %d)", m, x, n)
		}
	}
	mask := make([]bool, c.choices[k][len(partial)])
	if kind.MaskAfter != nil {
		if err := kind.MaskAfter(o, j, partial, mask); err != nil {
			return nil, err
		}
	} else {
		from := 0
		for _, n := range c.choices[k][:len(partial)] {
			from += n
		}
		copy(mask, o.MaskOf(j, kind.Action.MaskWidth())[from:])
	}
	return binary.Append(dst, binary.NativeEndian, mask)
}

// Actor decides for one copy, such as a baseline. A planner reads the environment and does not change it.
type Actor interface {
	// Reset starts an episode of a workload seed.
	Reset(seed uint64) error
	Act(env envs.Env, obs *envs.Observation, act *envs.Action, deterministic bool) error
}

// actor is an Actor and the episode that it was reset for.
type actor struct {
	Actor
	episode uint64
}

// decide writes what the actor of a name does in all copies where the client reads and writes actions.
func (c *copies) decide(dst, body []byte) ([]byte, error) {
	if len(body) < 4 {
		return nil, fmt.Errorf("the frame has %d bytes, want 1 in 4 where actions are not drawn, and a name", len(body))
	}
	deterministic, name := binary.NativeEndian.Uint32(body) != 0, string(body[4:])
	all, ok := c.actors[name]
	if !ok {
		if c.Actor == nil {
			return nil, errors.New("this server has no actors")
		}
		for _, e := range c.envs {
			a, err := c.Actor(name, e)
			if err != nil {
				return nil, err
			}
			all = append(all, actor{Actor: a})
		}
		c.actors[name] = all
	}
	for i := range all {
		if !c.running[i] {
			continue
		}
		a, act := &all[i], c.act.Env(i)
		if a.episode != c.episodes[i] {
			if err := a.Reset(c.begun[i]); err != nil {
				return nil, fmt.Errorf("copy %d: %s: %w", i, name, err)
			}
			a.episode = c.episodes[i]
		}
		if err := a.Act(c.envs[i], c.obs.Env(i), act, deterministic); err != nil {
			return nil, fmt.Errorf("copy %d: %s: %w", i, name, err)
		}
	}
	for k, a := range c.ask.actions {
		copy(a, c.act.Kinds[k])
	}
	return dst, nil
}
