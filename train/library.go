package train

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/sizing/library"
)

// copiesOf is the number of environments that step together. One that learns from a library steps none, and has one to
// know what it sizes.
func copiesOf(x *configs.Experiment) int {
	if x.Train.Library.Path != "" {
		return 1
	}
	return x.Train.Copies
}

// offlineOf is the learner as one that learns from a library, nil where the experiment names none.
func offlineOf(x *configs.Experiment, l agents.Learner) (agents.Offline, error) {
	if x.Train.Library.Path == "" {
		return nil, nil //nolint:nilnil // most runs learn in their environment
	}
	o, ok := l.(agents.Offline)
	if !ok {
		return nil, Usage("train.library: agent %s cannot learn from a library; want one with a replay that takes actions as "+
			"they are, such as maddpg, and no wrappers.normalize_observation or normalize_reward", x.Agent.Name)
	}
	return o, nil
}

// fill puts the library's rows into the replay, and notes its digest in the configuration.
func (w *world) fill() error {
	if w.offline == nil {
		return nil
	}
	at := w.x.Train.Library
	l, err := library.Read(at.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Missing(at.Path, "a library (train.library.path, --library)")
	case err != nil:
		return fmt.Errorf("train.library: %w", err)
	case at.Digest != "" && at.Digest != l.Digest:
		return Usage("train.library.digest is %s, but %s has %s: it is another file", at.Digest, at.Path, l.Digest)
	}
	y := *w.x
	y.Train.Library.Digest = l.Digest
	w.x = &y
	e, err := library.One(w.vector.Env(0))
	if err != nil {
		return Usage("train.library: %w", err)
	}
	list, err := Transitions(l, e)
	if err != nil {
		return fmt.Errorf("train.library: %w", err)
	}
	if n := w.learner.Replay().Capacity(); n < len(list) {
		return Usage("agent.replay is %d, but %s has %d rows: all of them are to be learned from", n, at.Path, len(list))
	}
	for i := range list {
		if err := w.offline.Take(&list[i]); err != nil {
			return fmt.Errorf("train.library: row %d: %w", i+1, err)
		}
	}
	return nil
}

// Transitions are the rows of a library as steps in an environment: each row's configuration, chosen after the row
// before it (see [library.Before]), and rewarded as the environment does. Rows that follow no other are left out.
func Transitions(l *library.Library, e *sizing.Env) ([]agents.Transition, error) {
	rows, err := l.Fit(e)
	if err != nil {
		return nil, err
	}
	list, err := RowTransitions(rows, e)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s: no window follows another one of the same episode", l.Path)
	}
	return list, err
}

// RowTransitions is [Transitions] of rows in the environment's layout.
func RowTransitions(rows []library.Row, e *sizing.Env) ([]agents.Transition, error) {
	var out []agents.Transition
	for i, k := range library.Before(rows, e.Fresh()) {
		if k < 0 {
			continue
		}
		t := agents.Transition{
			Before: rows[k].Observation, After: rows[i].Observation, Action: rows[i].Action,
			Rewards: make([]float32, len(e.Functions())), Elapsed: int64(sizing.Window),
		}
		if err := e.Judge(rows[i].Users, e.DialOf(rows[i].Observation), rows[i].Info, t.Rewards); err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}
