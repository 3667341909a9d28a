package serve

import "github.com/stoker-rl/stoker/rng"

// Namer makes the keys of tasks' draws for one purpose, those of [Visit.Key]. It keeps what the visits of a request have
// in common, which is half of the work. What it keeps follows from the purpose and the requests: it is no state.
type Namer struct {
	under rng.Key
	of    []named // per run of a request
}

// named is a request's part of the keys.
type named struct {
	a, b uint64
	key  rng.Key
	set  bool
}

// Set sets the purpose.
func (n *Namer) Set(under rng.Key) {
	n.under = under
	clear(n.of)
}

// Key is the key of a task's draw.
func (n *Namer) Key(v *Visit) rng.Key {
	for int(v.Run) >= len(n.of) {
		n.of = append(n.of, named{})
	}
	p := &n.of[v.Run]
	if !p.set || p.a != v.A || p.b != v.B {
		*p = named{v.A, v.B, n.under.With(v.A).With(v.B), true}
	}
	return v.within(p.key)
}
