package workflow

// Visit is one run of a node within a request. Number counts the node's runs in that request from 0; it
// tells a loop's draws apart.
type Visit struct{ Node, Number int32 }

// Step is what follows from an event. Its slices belong to the caller and are used again by the next event: keep
// one Step per simulator.
type Step struct {
	// Start are the visits that begin now: hand each to its function.
	Start []Visit
	// Returned are the visits whose invocation ends now: their place on their instance is free. A visit that makes
	// calls returns after its callees; any other returns as soon as its work is done.
	Returned []Visit
	// Finished says that the request is over and its run is given back.
	Finished bool
}

// Tracker follows requests through a workflow. Branches and loops are decided by draws keyed by (seed, user,
// request, node, number), so that they are the same under every policy. Its state is pooled: after
// warm-up it does not allocate.
type Tracker struct {
	w *Workflow
}

// NewTracker returns a tracker with no request in flight.
func NewTracker(w *Workflow, seed uint64) *Tracker { return &Tracker{w: w} }

// Reset drops all requests and starts again with a seed.
func (t *Tracker) Reset(seed uint64) {}

// Begin starts a request and fills out with its first visit. The run it returns stands for the request until a
// Step says Finished, or Cancel. User and request name it in the draws: user 0 in open loop.
func (t *Tracker) Begin(user, request uint64, out *Step) (run int32) { return 0 }

// Done says that a node's own work (service, without its calls) is done, and fills out with what follows. It fails where
// the run or the node is not running.
func (t *Tracker) Done(run, node int32, out *Step) error { return nil }

// Cancel drops a request, whatever it is doing: one that was refused or ran out of time. Visits it had begun are the
// simulator's to remove.
func (t *Tracker) Cancel(run int32) error { return nil }

// Live returns the number of requests in flight.
func (t *Tracker) Live() int { return 0 }

// CopyFrom makes t equal to another tracker of the same workflow.
func (t *Tracker) CopyFrom(src *Tracker) error { return nil }

// AppendBinary appends the tracker's state.
func (t *Tracker) AppendBinary(b []byte) ([]byte, error) { return b, nil }

// UnmarshalBinary restores a state of the same workflow. A damaged one is refused and leaves t as it was.
func (t *Tracker) UnmarshalBinary(b []byte) error { return nil }
