//go:build libtorch

package torch

import (
	"fmt"

	"github.com/stoker-rl/stoker/nets"
)

// recorded implements [nets.Recorded]: it calls the function each time.
type recorded struct {
	e      *engine
	name   string
	update func()
}

// Record implements [nets.Engine].
func (e *engine) Record(name string, update func()) nets.Recorded {
	return &recorded{e: e, name: name, update: update}
}

// Run implements [nets.Recorded].
func (r *recorded) Run() error {
	if r.update == nil {
		return fmt.Errorf("nets/torch: recorded update %q has no function", r.name)
	}
	r.update()
	if err := r.e.Err(); err != nil {
		return fmt.Errorf("recorded update %q: %w", r.name, err)
	}
	return nil
}
