package models

import (
	"fmt"
	"sync"

	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/serving/tensors"
)

// unitsOf returns what turns the actions of an environment into its platform's units; nil where they are in these.
func unitsOf(e *bundle.Environment) (tensors.Units, error) {
	if e.ID != sizing.ID && e.ID != sizing.CountedID {
		return nil, nil //nolint:nilnil // there is nothing to convert, and nothing is wrong
	}
	o, err := sizing.OpenObserver(e.ID, e.Config, e.Workload)
	if err != nil {
		return nil, fmt.Errorf("stoker.environment: %w", err)
	}
	u := &settings{observer: o}
	u.free.New = func() any {
		s := make([]sizing.Settings, o.Spec().Kinds[0].Agents)
		return &s
	}
	return u, nil
}

// settings are the units of a sizing platform: cores, MB, replicas, concurrency.
type settings struct {
	observer *sizing.Observer
	free     sync.Pool // of *[]sizing.Settings
}

func (u *settings) Columns(int) int { return 4 }

func (u *settings) Decode(_ int, act *envs.Action, to []float32) error {
	all := u.free.Get().(*[]sizing.Settings)
	defer u.free.Put(all)
	if err := u.observer.Settings(act, *all); err != nil {
		return err
	}
	for i, s := range *all {
		to[4*i], to[4*i+1] = float32(s.Cores), float32(s.MB)
		to[4*i+2], to[4*i+3] = float32(s.Replicas), float32(s.Concurrency)
	}
	return nil
}
