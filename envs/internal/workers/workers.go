// Package workers steps copies of an environment on several goroutines.
package workers

import "sync"

// Group is goroutines that each own a fixed range of copies; nil steps none.
type Group struct {
	start []chan struct{}
	done  sync.WaitGroup
}

// Start starts n goroutines for the copies. Step steps one, and touches nothing that belongs to another.
func Start(n, copies int, step func(int)) *Group {
	g := &Group{start: make([]chan struct{}, n)}
	for k := range n {
		g.start[k] = make(chan struct{}, 1)
		lo, hi := k*copies/n, (k+1)*copies/n
		go func() {
			for range g.start[k] {
				for i := lo; i < hi; i++ {
					step(i)
				}
				g.done.Done()
			}
		}()
	}
	return g
}

// Run steps every copy once.
func (g *Group) Run() {
	g.done.Add(len(g.start))
	for _, c := range g.start {
		c <- struct{}{}
	}
	g.done.Wait()
}

// Stop ends the goroutines.
func (g *Group) Stop() {
	for _, c := range g.start {
		close(c)
	}
}
