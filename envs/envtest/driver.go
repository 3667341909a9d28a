package envtest

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
)

// driver steps one environment with random legal actions, drawn from its own stream.
type driver struct {
	c       *checker
	env     envs.Env
	spec    *envs.Spec
	obs     *envs.Observation
	act     *envs.Action
	out     *envs.Outcome
	sampler *envs.ActionSampler
	stream  *rng.Stream
	steps   int
	size    int // of the last record
}

// newDriver builds an environment.
func (c *checker) newDriver() (*driver, error) {
	env, err := c.build()
	if err != nil {
		return nil, fmt.Errorf("building the environment: %w", err)
	}
	return c.drive(env)
}

func (c *checker) drive(env envs.Env) (*driver, error) {
	s := env.Spec()
	sampler, err := envs.NewActionSampler(s)
	if err != nil {
		return nil, err
	}
	return &driver{
		c: c, env: env, spec: s, obs: envs.NewObservation(s), act: envs.NewAction(s), out: envs.NewOutcome(s),
		sampler: sampler,
		stream:  rng.NewStream(0, "envtest actions"),
	}, nil
}

// reset starts an episode. policy is the seed of the stream of actions.
func (d *driver) reset(seed, policy uint64) error {
	*d.stream = *rng.NewStream(policy, "envtest actions")
	d.steps = 0
	d.out.Terminated, d.out.Truncated = false, false
	if err := d.env.Reset(seed, d.c.Reset, d.obs); err != nil {
		return fmt.Errorf("reset with seed %d: %w", seed, err)
	}
	return nil
}

// choose draws a legal action into d.act.
func (d *driver) choose() error {
	if err := d.sampler.Sample(d.stream, d.obs, d.act); err != nil {
		return fmt.Errorf("step %d: %w", d.steps, err)
	}
	return nil
}

// apply steps with the action in d.act.
func (d *driver) apply() error {
	if err := d.env.Step(d.act, d.obs, d.out); err != nil {
		return fmt.Errorf("step %d refused a legal action: %w", d.steps, err)
	}
	d.steps++
	return nil
}

func (d *driver) step() error {
	if err := d.choose(); err != nil {
		return err
	}
	return d.apply()
}

func (d *driver) ended() bool { return d.out.Terminated || d.out.Truncated }

// run takes n steps, or fewer if the episode ends, and calls each after every step.
func (d *driver) run(n int, each func()) error {
	for range n {
		if d.ended() {
			break
		}
		if err := d.step(); err != nil {
			return err
		}
		if each != nil {
			each()
		}
	}
	return nil
}

// trace is what an episode emitted: one record for Reset, then one per step.
type trace [][]byte

// trace runs an episode to its end or to the step limit. It calls before, unless that is nil, before every Reset and
// Step; before may write into the buffers.
func (d *driver) trace(seed, policy uint64, before func()) (trace, error) {
	if before != nil {
		before()
	}
	if err := d.reset(seed, policy); err != nil {
		return nil, err
	}
	return d.rest(trace{d.record(nil)}, before)
}

// rest continues the episode to its end or to the step limit and appends to t.
func (d *driver) rest(t trace, before func()) (trace, error) {
	for d.steps < d.c.Steps && !d.ended() {
		if err := d.choose(); err != nil {
			return nil, err
		}
		if before != nil {
			before()
		}
		if err := d.apply(); err != nil {
			return nil, err
		}
		t = append(t, d.record(d.out))
	}
	return t, nil
}

// record is what was emitted, in a buffer of its own.
func (d *driver) record(out *envs.Outcome) []byte {
	b := record(make([]byte, 0, d.size), d.obs, out)
	d.size = len(b)
	return b
}

// differ returns the first step at which two traces differ, or -1 if they are equal.
func differ(a, b trace) int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || string(a[i]) != string(b[i]) {
			return i
		}
	}
	return -1
}

// record appends the bits of what a step emitted.
func record(b []byte, o *envs.Observation, out *envs.Outcome) []byte {
	for _, k := range o.Kinds {
		b = appendFloats(b, k.Values)
		b = appendBools(b, k.Active)
		b = appendBools(b, k.Mask)
		for _, x := range k.Legal {
			b = append(b, byte(x))
		}
		for _, g := range k.Graphs {
			for i, n := range g.Nodes {
				b = binary.LittleEndian.AppendUint32(b, uint32(n.Len))
				b = appendFloats(b, n.Features[:n.Len*g.Space.Nodes[i].Width])
			}
			for i, e := range g.Edges {
				b = binary.LittleEndian.AppendUint32(b, uint32(e.Len))
				for j := range e.Len {
					b = binary.LittleEndian.AppendUint32(b, uint32(e.From[j]))
					b = binary.LittleEndian.AppendUint32(b, uint32(e.To[j]))
				}
				b = appendFloats(b, e.Features[:e.Len*g.Space.Edges[i].Width])
			}
		}
	}
	if out == nil {
		return b
	}
	for _, r := range out.Rewards {
		b = appendFloats(b, r)
	}
	b = appendBools(b, []bool{out.Terminated, out.Truncated})
	b = binary.LittleEndian.AppendUint64(b, uint64(out.Elapsed))
	for _, x := range out.Info {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

func appendFloats(b []byte, x []float32) []byte {
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func appendBools(b []byte, x []bool) []byte {
	for _, v := range x {
		if v {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	return b
}

// episodes runs one episode per seed in one environment and calls each after Reset and after every step.
func (c *checker) episodes(each func(d *driver, seed uint64)) error {
	d, err := c.newDriver()
	if err != nil {
		return err
	}
	for _, seed := range c.Seeds {
		if err := d.reset(seed, seed); err != nil {
			return err
		}
		each(d, seed)
		if err := d.run(c.Steps, func() { each(d, seed) }); err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
		if c.enough() {
			break
		}
	}
	return nil
}
