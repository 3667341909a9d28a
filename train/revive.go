package train

import (
	"errors"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/engines"
)

// Reviver makes learners that go on with what a checkpoint has learned, in an environment that may differ from the one
// of training. They have its weights and statistics of observations; optimiser and replay are new.
type Reviver struct {
	dir    string
	x      *configs.Experiment
	row    catalog.Learner
	state  *agents.State
	engine nets.Engine
}

// Revive reads a checkpoint for the experiment x: the checkpoint's own, perhaps with other settings. It must be a full
// one, of a learner that learns from transitions.
func Revive(c *checkpoints.Checkpoint, x *configs.Experiment) (*Reviver, error) {
	if k := c.Header().Kind; k != checkpoints.Full {
		return nil, Usage("%s holds a %s only, want a full checkpoint: a learner needs its critics too", c.Dir(), k)
	}
	r := &Reviver{dir: c.Dir(), x: x}
	var err error
	if r.row, err = catalog.Of(x).Learner(x.Agent.Name); err != nil {
		return nil, err
	}
	if r.state, err = readLearner(c); err != nil {
		return nil, err
	}
	r.engine, err = engines.Open(engines.Native, engines.Options{Device: "cpu", Threads: 1})
	return r, err
}

// Learner makes a learner for environments such as one with the given spec. Its random streams follow from seed.
func (r *Reviver) Learner(spec *envs.Spec, seed uint64) (agents.Offline, error) {
	l, err := newLearner(r.x, r.row, agents.Context{
		Spec: spec, NumEnvs: 1, Train: r.engine, Act: r.engine, Seed: seed, Steps: math.MaxInt32,
	})
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", r.x.Agent.Name, err)
	}
	o, ok := l.(agents.Offline)
	if !ok {
		return nil, Usage("agent %s cannot go on learning from single windows; want one with a replay that takes actions as "+
			"they are, such as maddpg, trained without wrappers.normalize_observation and normalize_reward", r.x.Agent.Name)
	}
	if err := l.Adopt(r.state); err != nil {
		return nil, Usage("%s cannot serve this environment: %w", r.dir, err)
	}
	return o, nil
}

// Open makes a policy of the learner's kind from its file.
func (r *Reviver) Open(f *agents.PolicyFile, spec *envs.Spec) (envs.Policy, error) {
	e, err := engines.Open(engines.Native, engines.Options{Device: "cpu", Threads: 1})
	if err != nil {
		return nil, err
	}
	return r.row.Open(f, spec, e)
}

// Close frees the engine's memory.
func (r *Reviver) Close() error { return r.engine.Close() }

// initFrom gives a fresh learner what another run has learned; counters, optimiser and replay start anew.
func initFrom(w *world, path string) error {
	c, err := OpenCheckpoint(path)
	var refused *checkpoints.RefusedError
	switch {
	case errors.As(err, &refused):
		return fmt.Errorf("--init-from: %w", err)
	case err != nil:
		return Usage("--init-from: %w", err)
	}
	if k := c.Header().Kind; k != checkpoints.Full {
		return Usage("--init-from %s: it holds a %s only, want a full checkpoint: critics are needed too", path, k)
	}
	p, err := ReadPolicy(c)
	if err != nil {
		return fmt.Errorf("--init-from: %w", err)
	}
	if have := w.x.Agent.Name; p.Agent != have {
		return Usage("--init-from %s: its agent is %s, this run's is %s", path, p.Agent, have)
	}
	s, err := readLearner(c)
	if err != nil {
		return fmt.Errorf("--init-from: %w", err)
	}
	if err := w.learner.Adopt(s); err != nil {
		return Usage("--init-from %s: %w", path, err)
	}
	return nil
}
