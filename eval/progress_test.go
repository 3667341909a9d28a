package eval

import (
	"math"
	"testing"
	"time"
)

// Nine rules of a second and one oracle of a hundred seconds, ten episodes each, two at a time: after the first episode
// of each, the share of the work and the time left are those of the costs, not of the counts.
func TestProgressWeighsByCost(t *testing.T) {
	var last Progress
	m := &meter{report: func(p Progress) { last = p }}
	for range 10 {
		m.all, m.done, m.took = append(m.all, 10), append(m.done, 0), append(m.took, 0)
	}
	for i := range 9 {
		m.add(i, time.Second)
	}
	if last.Known || last.Done != 9 || last.All != 100 {
		t.Errorf("before the oracle's first episode: %+v, want 9 of 100 and no time", last)
	}
	m.add(9, 100*time.Second)
	p := m.progress(109 * time.Second / 2)
	if want := 109.0 / 1090; !p.Known || math.Abs(p.Work-want) > 1e-9 {
		t.Errorf("%+v, want a share of %g", p, want)
	}
	if want := 981 * time.Second / 2; (p.Left - want).Abs() > time.Millisecond {
		t.Errorf("%v are left, want %v", p.Left, want)
	}
	for i, n := range m.all {
		for m.done[i] < n {
			m.add(i, time.Second)
		}
	}
	if last.Work != 1 || last.Left != 0 || last.Done != last.All {
		t.Errorf("at the end: %+v", last)
	}
}

// The first episode of every contestant is begun before any second one, so that their costs are known early; each
// episode is played once.
func TestBlocksBeginWithOneOfEach(t *testing.T) {
	r := Request{Contestants: []Contestant{{Versions: make([]Version, 2)}, {Versions: make([]Version, 1)}}, Seeds: []uint64{1, 2, 3}, Workers: 2}
	blocks := r.blocks()
	if blocks[0] != (block{0, 1}) || blocks[1] != (block{6, 7}) {
		t.Errorf("the first blocks are %v, want those of jobs 0 and 6", blocks[:2])
	}
	played := map[int]int{}
	for _, b := range blocks {
		for i := b.from; i < b.to; i++ {
			played[i]++
		}
	}
	for i := range 9 {
		if played[i] != 1 {
			t.Errorf("job %d is played %d times", i, played[i])
		}
	}
}
