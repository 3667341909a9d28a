package remote

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/internal/workers"
	"github.com/stoker-rl/stoker/envs/state"
)

// mostCopies bounds the copies of one process.
const mostCopies = 1 << 16

// copies are an environment's, which goroutines step.
type copies struct {
	Options
	spec     *envs.Spec
	block    *block
	guard    *envs.Guard
	choices  [][]int // of the components of each kind's actions, 0 where one is continuous
	envs     []envs.Env
	obs      *envs.Batch
	act      *envs.ActionBatch
	outcomes []*envs.Outcome
	running  []bool // an episode is under way
	errs     []error
	// Of the step under way.
	commands    []uint8
	seeds       []uint64
	substituted []int32
	// What the block has of all copies.
	rewards               [][]float32
	terminated, truncated []bool
	elapsed               []int64
	info                  []float64
	workers               *workers.Group
	legalNow              []bool // scratch: the choices of a component
}

func newCopies(build func() (envs.Env, error), o Options) (*copies, error) {
	n := o.Copies
	if n < 1 || n > mostCopies {
		return nil, fmt.Errorf("copies is %d, want 1 to %d", n, mostCopies)
	}
	c := &copies{Options: o, envs: make([]envs.Env, n), outcomes: make([]*envs.Outcome, n), running: make([]bool, n),
		errs: make([]error, n), commands: make([]uint8, n), seeds: make([]uint64, n), substituted: make([]int32, n),
		terminated: make([]bool, n), truncated: make([]bool, n), elapsed: make([]int64, n)}
	for i := range c.envs {
		var err error
		if c.envs[i], err = build(); err != nil {
			return nil, err
		}
	}
	c.spec = c.envs[0].Spec()
	c.block, c.guard = newBlock(c.spec, n), envs.NewGuard(c.spec)
	c.obs, c.act = envs.NewBatch(c.spec, n), envs.NewActionBatch(c.spec, n)
	c.info, c.rewards = make([]float64, n*len(c.spec.Info)), make([][]float32, len(c.spec.Kinds))
	for k := range c.spec.Kinds {
		c.choices = append(c.choices, envs.Choices(c.spec.Kinds[k].Action))
		c.legalNow = slices.Grow(c.legalNow, slices.Max(c.choices[k]))
		c.rewards[k] = make([]float32, n*c.spec.Kinds[k].Agents)
	}
	for i := range n {
		c.outcomes[i] = envs.NewOutcome(c.spec)
	}
	if w := min(o.Workers, n); w > 1 {
		c.workers = workers.Start(w, n, c.one)
	}
	return c, nil
}

// close ends the workers.
func (c *copies) close() {
	if c.workers != nil {
		c.workers.Stop()
	}
}

// answer appends what a frame is answered by.
func (c *copies) answer(dst []byte, kind uint32, body []byte) ([]byte, error) {
	if kind == Step {
		return c.step(dst, body)
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
		c.note(i)
		return c.tell(dst), nil
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

// step reads the commands of all copies, checks them, and carries them out. A wrong one changes nothing.
func (c *copies) step(dst, body []byte) ([]byte, error) {
	n := len(c.envs)
	want := n + 8*n
	for _, a := range c.act.Kinds {
		want += 4 * len(a)
	}
	if len(body) != want {
		return nil, fmt.Errorf("a step has %d bytes, want %d: a command, a seed and the actions of %d copies", len(body), want, n)
	}
	copy(c.commands, body)
	body = body[n:]
	read := func(to any, size int) {
		if _, err := binary.Decode(body[:size], binary.NativeEndian, to); err != nil {
			panic(err) // the length is checked
		}
		body = body[size:]
	}
	read(c.seeds, 8*n)
	for _, a := range c.act.Kinds {
		read(a, 4*len(a))
	}
	for i := range c.envs {
		if err := c.check(i); err != nil {
			return nil, fmt.Errorf("copy %d: %w", i, err)
		}
	}
	c.run()
	for i, err := range c.errs {
		if err != nil {
			return nil, fmt.Errorf("copy %d: %w", i, err)
		}
	}
	return c.tell(dst), nil
}

// run carries out the commands of all copies.
func (c *copies) run() {
	if c.workers != nil {
		c.workers.Run()
		return
	}
	for i := range c.envs {
		c.one(i)
	}
}

// check reports what is wrong with a copy's command. Choices that the masks forbid are replaced, or reported.
func (c *copies) check(i int) error {
	c.substituted[i] = 0
	switch c.commands[i] {
	case Begin, Leave:
		return nil
	case Advance:
	default:
		return fmt.Errorf("there is no command %d, want at most %d", c.commands[i], Leave)
	}
	if !c.running[i] {
		return errors.New("no episode is under way, want a reset first")
	}
	act, obs := c.act.Env(i), c.obs.Env(i)
	for k := range c.spec.Kinds {
		round(c.spec.Kinds[k].Action, act.Kinds[k])
	}
	active := func(kind, agent int) bool { return obs.Kinds[kind].Active[agent] }
	if err := envs.CheckAction(c.spec, active, act); err != nil {
		return err
	}
	for k := range c.spec.Kinds {
		for j, present := range obs.Kinds[k].Active {
			if !present {
				continue
			}
			if err := c.legal(i, k, j); err != nil {
				return err
			}
		}
	}
	return nil
}

// round rounds whole numbers of a box as policies of Stoker do, away from zero at a half.
func round(s envs.Space, rows []float32) {
	b, ok := s.(envs.Box)
	if !ok || b.Integer == nil {
		return
	}
	for i, x := range rows {
		if b.Integer[i%len(b.Integer)] {
			rows[i] = float32(math.Round(float64(x)))
		}
	}
}

// legal sees to it that the choices of an agent are legal.
func (c *copies) legal(i, k, j int) error {
	kind, o := &c.spec.Kinds[k], &c.obs.Env(i).Kinds[k]
	w := kind.Action.Width()
	row, all := c.act.Env(i).Kinds[k][j*w:(j+1)*w], o.MaskOf(j, kind.Action.MaskWidth())
	for m, n := range c.choices[k] {
		if n == 0 {
			continue
		}
		var mask []bool
		if kind.MaskAfter != nil {
			mask = c.legalNow[:n]
			if err := kind.MaskAfter(o, j, row[:m], mask); err != nil {
				return err
			}
		} else if all != nil {
			mask, all = all[:n], all[n:]
		}
		switch first := slices.Index(mask, true); {
		case mask == nil || mask[int(row[m])] || first < 0:
		case !c.Substitute:
			return fmt.Errorf("%s %d: choice %g of component %d is forbidden, want one that the mask allows, such as %d", kind.Name,
				j, row[m], m, first)
		default:
			row[m] = float32(first)
			c.substituted[i]++
		}
	}
	return nil
}

// one carries out the command of a copy; it touches nothing that belongs to another one.
func (c *copies) one(i int) {
	c.errs[i] = nil
	obs, out := c.obs.Env(i), c.outcomes[i]
	switch c.commands[i] {
	case Leave:
		return
	case Begin:
		c.begin(i)
		c.errs[i] = c.envs[i].Reset(c.seeds[i], nil, obs)
	default:
		if c.errs[i] = c.envs[i].Step(c.act.Env(i), obs, out); c.errs[i] == nil {
			c.errs[i] = c.guard.Outcome(out)
		}
		c.terminated[i], c.truncated[i], c.elapsed[i] = out.Terminated, out.Truncated, out.Elapsed
	}
	if c.errs[i] == nil {
		c.errs[i] = c.guard.Observation(obs)
	}
	c.running[i] = c.errs[i] == nil && !c.terminated[i] && !c.truncated[i]
	c.note(i)
}

// begin clears what is told of a copy's last step.
func (c *copies) begin(i int) {
	out := c.outcomes[i]
	c.terminated[i], c.truncated[i], c.elapsed[i], c.substituted[i] = false, false, 0, 0
	for _, r := range out.Rewards {
		clear(r)
	}
	clear(out.Info)
}

// note puts rewards and quantities of a copy's last step where they are told.
func (c *copies) note(i int) {
	out := c.outcomes[i]
	for k, r := range out.Rewards {
		copy(c.rewards[k][i*len(r):], r)
	}
	copy(c.info[i*len(out.Info):], out.Info)
}

// tell appends the block.
func (c *copies) tell(dst []byte) []byte {
	w := writer{dst: dst, b: c.block}
	for k := range c.spec.Kinds {
		o := &c.obs.Kinds[k]
		w.put(o.Values)
		w.put(o.Active)
		w.put(o.Mask)
		if g, ok := c.spec.Kinds[k].Observation.(envs.Graph); ok {
			w.graphs(g, o.Graphs)
		}
		w.put(c.rewards[k])
	}
	w.put(c.terminated)
	w.put(c.truncated)
	w.put(c.elapsed)
	w.put(c.info)
	w.put(c.substituted)
	return w.dst
}

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
