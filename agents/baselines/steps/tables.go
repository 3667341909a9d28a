package steps

import "github.com/stoker-rl/stoker/envs/steps"

// tables keeps what a decider worked out for workflows, for as long as there are few of them: what is worked out follows
// from the workflow alone, so nothing depends on what is kept.
type tables[T any] struct {
	make func(*steps.Model) T
	kept map[*steps.Model]T
}

// mostTables bounds the workflows that are kept.
const mostTables = 128

func (t *tables[T]) of(m *steps.Model) T {
	if x, ok := t.kept[m]; ok {
		return x
	}
	if t.kept == nil || len(t.kept) >= mostTables {
		t.kept = make(map[*steps.Model]T, mostTables)
	}
	x := t.make(m)
	t.kept[m] = x
	return x
}

// resized returns a slice of n numbers, in x where it has room.
func resized[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}
