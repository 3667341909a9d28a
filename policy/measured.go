package policy

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/envs"
)

// ErrNoFace marks errors of a policy whose environment has no observer that this program can make.
var ErrNoFace = errors.New("measurements cannot be observed")

// Face is how a platform's measurements meet a policy. It may be used by several goroutines at once.
type Face interface {
	// Observe reads measurements from JSON and writes what the agents see of them.
	Observe(measured []byte, seen *envs.Observation) (Measured, error)
	// Example is measurements, to be written as JSON, that are observed about as seen is. The fields of its type may have
	// tags unit.
	Example(seen *envs.Observation) any
}

// Measured is measurements that were observed.
type Measured interface {
	// Done is what an action does on the platform, to be written as JSON.
	Done(act *envs.Action) (any, error)
	// Place says of a number that is seen which measurement it is made from, and gives it and its bounds in the platform's
	// unit; where there is no such measurement, the number stays, with the name of whom it is of.
	Place(w Where) Where
}

// buffers are those of one decision on measurements.
type buffers struct {
	seen *envs.Observation
	out  *envs.Action
}

// DecideMeasured is DecideFor on what a platform measured: the JSON of sizing.Meters, pricing.Meters,
// pricing.SlotMeters or placement.Cluster. It returns what is done, to be written as JSON: a list of [Sized], of
// pricing.TierPrice or of pricing.Switches, or a placement.Start. Seen, Out and Shadow of the request are not read.
// What is wrong with the JSON is [ErrInput].
func (p *Policy) DecideMeasured(ctx context.Context, measured []byte, r Request) (d Decision, done any, err error) {
	face, err := p.face()
	if err != nil {
		return d, nil, fmt.Errorf("policy: %w: %w", ErrNoFace, err)
	}
	b, ok := p.buffers.Get().(*buffers)
	if !ok {
		b = &buffers{p.NewObservation(), p.NewAction()}
	}
	defer p.buffers.Put(b)
	m, err := face.Observe(measured, b.seen)
	if err != nil {
		p.counts.refused.Add(1)
		return d, nil, fmt.Errorf("policy: %w: %w", ErrInput, err)
	}
	r.Seen, r.Out, r.Shadow = b.seen, b.out, nil
	d, err = p.DecideFor(ctx, r)
	if d.Where.Kind != "" && d.Where.Part != "action" {
		d.Where = m.Place(d.Where)
	}
	switch {
	case errors.Is(err, ErrGuarded) && (d.Reason == OutOfRange || d.Reason == NotFinite):
		return d, nil, guarded(d, nil) // with the place of now
	case err != nil:
		return d, nil, err
	}
	if done, err = m.Done(b.out); err != nil {
		return d, nil, fmt.Errorf("policy: %w", err)
	}
	return d, done, nil
}

// newFace makes the face of the bundle's environment.
func (p *Policy) newFace() (Face, error) {
	if p.row == nil || p.row.Face == nil {
		return nil, fmt.Errorf("there is no observer for %s", p.spec.ID)
	}
	return p.row.Face(p.file.Environment.Config, p.file.Environment.Workload)
}
