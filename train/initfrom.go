package train

import (
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/checkpoints"
)

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
