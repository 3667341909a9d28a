package heap

import (
	stdheap "container/heap"
	"math/rand/v2"
	"testing"
)

type pair struct{ order, number int }

func (p pair) Before(o pair) bool { return p.order < o.order }

// std is a heap of container/heap.
type std []pair

func (s std) Len() int           { return len(s) }
func (s std) Less(i, j int) bool { return s[i].Before(s[j]) }
func (s std) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *std) Push(x any)        { *s = append(*s, x.(pair)) }
func (s *std) Pop() any {
	n := len(*s) - 1
	x := (*s)[n]
	*s = (*s)[:n]
	return x
}

// Values come out as of container/heap, equal ones in the same sequence; nothing is kept of what has left.
func TestHeap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var h []pair
	var s std
	for n := range 20_000 {
		if r.IntN(20) < 11 || len(h) == 0 {
			x := pair{r.IntN(30), n}
			Push(&h, x)
			stdheap.Push(&s, x)
			continue
		}
		if got, want := Pop(&h), stdheap.Pop(&s).(pair); got != want {
			t.Fatalf("%v, want %v", got, want)
		}
		if left := h[:len(h)+1][len(h)]; left != (pair{}) {
			t.Fatalf("%v is kept", left)
		}
	}
	if len(h) != len(s) || len(h) == 0 {
		t.Errorf("%d are left, want %d", len(h), len(s))
	}
}

// A heap with room for them takes values and gives them without allocating.
func TestAllocations(t *testing.T) {
	h := make([]pair, 0, 8)
	if n := testing.AllocsPerRun(100, func() {
		for i := range 8 {
			Push(&h, pair{order: 8 - i})
		}
		for range 8 {
			Pop(&h)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
