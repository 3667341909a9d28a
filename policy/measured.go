package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/sizing"
)

// ErrNoFace marks errors of a policy whose environment has no observer that this program can make.
var ErrNoFace = errors.New("measurements cannot be observed")

// Face makes an observation of what a platform measured, as JSON, and returns what an action then does there: a value
// to be written as JSON. It may be used by several goroutines at once.
type Face func(measured []byte, seen *envs.Observation) (done func(act *envs.Action) (any, error), err error)

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
	finish, err := face(measured, b.seen)
	if err != nil {
		p.counts.refused.Add(1)
		return d, nil, fmt.Errorf("policy: %w: %w", ErrInput, err)
	}
	r.Seen, r.Out, r.Shadow = b.seen, b.out, nil
	if d, err = p.DecideFor(ctx, r); err != nil {
		return d, nil, err
	}
	if done, err = finish(b.out); err != nil {
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

// Sized is what is done for one function of a workflow.
type Sized struct {
	// Function is its name; where workflows are side by side, with its workflow's.
	Function string `json:"function"`
	sizing.Settings
}

func sizingFace(id string) func(config, load json.RawMessage) (Face, error) {
	return func(config, load json.RawMessage) (Face, error) {
		o, err := sizing.OpenObserver(id, config, load)
		if err != nil {
			return nil, err
		}
		names := o.Spec().Kinds[0].Names
		return func(measured []byte, seen *envs.Observation) (func(*envs.Action) (any, error), error) {
			m, err := sizing.ParseMeters(measured)
			if err == nil {
				err = o.Observe(m, seen)
			}
			return func(act *envs.Action) (any, error) {
				settings, out := make([]sizing.Settings, len(names)), make([]Sized, len(names))
				if err := o.Settings(act, settings); err != nil {
					return nil, err
				}
				for i, s := range settings {
					out[i] = Sized{names[i], s}
				}
				return out, nil
			}, err
		}, nil
	}
}

func pricingFace(config, _ json.RawMessage) (Face, error) {
	o, err := pricing.OpenObserver(config)
	if err != nil {
		return nil, err
	}
	return func(measured []byte, seen *envs.Observation) (func(*envs.Action) (any, error), error) {
		m, err := pricing.ParseMeters(measured)
		if err == nil {
			err = o.Observe(m, seen)
		}
		return func(act *envs.Action) (any, error) {
			out := make([]pricing.TierPrice, len(m.Tiers))
			return out, o.Prices(act, out)
		}, err
	}, nil
}

func slotsFace(config, _ json.RawMessage) (Face, error) {
	o, err := pricing.OpenSlotObserver(config)
	if err != nil {
		return nil, err
	}
	return func(measured []byte, seen *envs.Observation) (func(*envs.Action) (any, error), error) {
		m, err := pricing.ParseSlotMeters(measured)
		if err == nil {
			err = o.Observe(m, seen)
		}
		return func(act *envs.Action) (any, error) {
			out := make([]pricing.Switches, o.Spec().Kinds[0].Agents)
			return out, o.Switches(act, m, out)
		}, err
	}, nil
}

func placementFace(config, load json.RawMessage) (Face, error) {
	o, err := placement.OpenObserver(config, load)
	if err != nil {
		return nil, err
	}
	return func(measured []byte, seen *envs.Observation) (func(*envs.Action) (any, error), error) {
		c, err := placement.ParseCluster(measured)
		if err == nil {
			err = o.Observe(c, seen)
		}
		return func(act *envs.Action) (any, error) { return o.Start(c, seen, act) }, err
	}, nil
}
