package steps

import (
	"runtime"
	"sync"
	"testing"
)

// Environments of one configuration share their workflows, also where they ask at the same time; a configuration that
// nobody uses any longer is forgotten.
func TestShelfIsShared(t *testing.T) {
	c := DefaultEnv()
	c.Apps, c.First = 3, 4711
	kept := func() int {
		shelves.Lock()
		defer shelves.Unlock()
		return len(shelves.by)
	}
	before := kept()
	func() {
		var all [4]*shelf
		var models [4][3]*Model
		var wait sync.WaitGroup
		for i := range all {
			wait.Go(func() {
				s, err := newShelf(c, nil)
				if err != nil {
					t.Error(err)
					return
				}
				all[i] = s
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
		for i := range all {
			if all[i] != all[0] || models[i] != models[0] {
				t.Errorf("environment %d has workflows of its own", i)
			}
		}
		c.SLO = []float64{2, 2}
		if other, err := newShelf(c, nil); err != nil || other == all[0] {
			t.Errorf("another configuration shares the workflows (%v)", err)
		}
		runtime.KeepAlive(all)
	}()
	for kept() > before { // cleanups run some time after the collection; were they never to, this would not end
		runtime.GC()
		runtime.Gosched()
	}
}
