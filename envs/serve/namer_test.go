package serve_test

import (
	"testing"

	"github.com/stoker-rl/stoker/envs/serve"
	"github.com/stoker-rl/stoker/rng"
)

// A namer makes the keys of the visits themselves, also where runs are used again, in any order, and after another
// purpose is set.
func TestNamer(t *testing.T) {
	var n serve.Namer
	s := rng.NewStream(1, "test/visits")
	seen := map[uint64]bool{}
	for i := range 20000 {
		under := rng.New(uint64(i/4000), "test/purpose")
		if i%4000 == 0 {
			n.Set(under)
		}
		v := serve.Visit{A: uint64(s.IntN(3)), B: uint64(s.IntN(3)), Run: int32(s.IntN(4)), Node: int32(s.IntN(3)),
			Number: int32(s.IntN(2)), Task: int32(s.IntN(3))}
		if got, want := n.Key(&v).Uint64(), v.Key(under).Uint64(); got != want {
			t.Fatalf("visit %+v has the key %x, want %x", v, got, want)
		}
		seen[v.Key(under).Uint64()] = true
	}
	if len(seen) != 5*3*3*3*2*3 {
		t.Errorf("%d different keys, want %d", len(seen), 5*3*3*3*2*3)
	}
}
