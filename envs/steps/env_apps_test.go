package steps

import (
	"sync"
	"testing"

	"github.com/stoker-rl/stoker/internal/cached"
	"github.com/stoker-rl/stoker/internal/must"
)

// Environments of one configuration share their workflows, also where they ask at the same time.
func TestShelfIsShared(t *testing.T) {
	c := DefaultEnv()
	c.Apps, c.First = 3, 4711
	var models [4][3]*Model
	var wait sync.WaitGroup
	for i := range models {
		wait.Go(func() {
			s, err := newShelf(c, nil)
			if err != nil {
				t.Error(err)
				return
			}
			for n := range uint64(3) {
				e, err := s.entry(n)
				if err != nil {
					t.Error(err)
					return
				}
				models[i][n] = e.known
			}
		})
	}
	wait.Wait()
	for i := range models {
		if models[i] != models[0] {
			t.Errorf("environment %d has workflows of its own", i)
		}
	}
	c.SLO = []float64{2, 2}
	other := must.Get(newShelf(c, nil))(t)
	if e, err := other.entry(0); err != nil || e.known == models[0][0] {
		t.Errorf("another configuration shares the workflows (%v)", err)
	}
}

// However many workflows there are, only those that were asked for last are kept, and one that is made again is the same.
func TestShelfIsBounded(t *testing.T) {
	defer func(all *cached.Cache[numbered, *entry]) { entries = all }(entries)
	entries = cached.NewCache[numbered, *entry](4)
	c := DefaultEnv()
	c.Apps, c.Steps = 9, []int{3, 4}
	s := must.Get(newShelf(c, nil))(t)
	var units [9]float64
	for seed := range uint64(20) {
		e := must.Get(s.entry(seed))(t)
		if u := unitOf(e.known); seed < 9 {
			units[seed] = u
		} else if u != units[seed%9] {
			t.Errorf("workflow %d has unit %v, and %v when it is made again", seed%9, units[seed%9], u)
		}
		if n := entries.Len(); n != min(int(seed)+1, 4) {
			t.Errorf("after %d workflows %d are kept, want at most 4", seed+1, n)
		}
	}
}
