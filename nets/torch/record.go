//go:build libtorch

package torch

import (
	"fmt"

	"github.com/stoker-rl/stoker/nets"
)

// recorded implements [nets.Recorded]: it calls the function each time. What only the device can tell, such as a wrong choice, is asked when
// all has run, so that nothing within waits for the device.
type recorded struct {
	e      *engine
	name   string
	update func()

	checks  []*choiceCheck // of its losses, in their order
	checked int            // how many of them this run has used
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
	r.run()
	if err := r.e.Err(); err != nil {
		return fmt.Errorf("recorded update %q: %w", r.name, err)
	}
	return nil
}

func (r *recorded) run() {
	defer func(outer *recorded) { r.e.recording = outer }(r.e.recording)
	r.e.recording, r.checked = r, 0
	r.update()
	r.e.settleChecks(r)
}
