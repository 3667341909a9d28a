package steps

import (
	"slices"
	"sort"
)

// pool is the instances of a platform that run or are kept warm, by step and memory size: each list has the times at
// which its instances end what they run, ascending. Those that have ended are idle, and are kept for KeepAlive. The most
// recently used one is taken first, as AWS Lambda does.
type pool struct {
	platform *Platform
	sizes    int
	lists    [][]float64
	mb       []int // per list
	// What all instances of the lists take of the workers, idle ones included.
	cores, memory int
}

// reset empties the pool.
func (p *pool) reset(of *Platform, steps int) {
	p.platform, p.sizes, p.cores, p.memory = of, len(of.Memory), 0, 0
	n := steps * p.sizes
	p.lists, p.mb = resized(p.lists, n), resized(p.mb, n)
	for i := range p.lists {
		p.lists[i], p.mb[i] = p.lists[i][:0], of.Memory[i%p.sizes]
	}
}

// expire lets instances of a list go that have been idle for too long.
func (p *pool) expire(list int, now float64) {
	l := p.lists[list]
	gone := 0
	for gone < len(l) && l[gone] < now-p.platform.KeepAlive {
		gone++
	}
	if gone > 0 {
		p.lists[list] = append(l[:0], l[gone:]...)
		p.count(list, -gone)
	}
}

// count notes that n instances of a list are there more.
func (p *pool) count(list, n int) {
	p.cores += n * p.platform.coresOf(p.mb[list])
	p.memory += n * p.mb[list]
}

// idle is how many instances of a list are idle now.
func (p *pool) idle(list int, now float64) int {
	p.expire(list, now)
	l := p.lists[list]
	return sort.Search(len(l), func(i int) bool { return l[i] > now })
}

// take removes n idle instances of a list, the most recently used ones.
func (p *pool) take(list, n int, now float64) {
	k := p.idle(list, now)
	l := p.lists[list]
	p.lists[list] = append(l[:k-n], l[k:]...)
	p.count(list, -n)
}

// put adds an instance that ends what it runs at a time. Where the workers have no room for it, the instances that have
// been idle for longest go.
func (p *pool) put(list int, end, now float64) {
	i, _ := slices.BinarySearch(p.lists[list], end)
	p.lists[list] = slices.Insert(p.lists[list], i, end)
	p.count(list, 1)
	w := p.platform
	if w.Workers == 0 {
		return
	}
	for p.cores > w.Workers*w.Cores || p.memory > w.Workers*int(w.MemoryGB*1024) {
		oldest, at := now, -1
		for k, l := range p.lists {
			if len(l) > 0 && l[0] <= oldest {
				oldest, at = l[0], k
			}
		}
		if at < 0 {
			return // all are running
		}
		p.lists[at] = append(p.lists[at][:0], p.lists[at][1:]...)
		p.count(at, -1)
	}
}
