package workflow

import "slices"

// Next returns for each function those whose work comes right after its own or within it: the functions that an edge or
// a call leads to, ascending. Loops are left out, and so is an edge that leads back to a function on the way to it, so
// that no function comes after itself.
func (w *Workflow) Next() [][]int {
	out := make([][]int, len(w.functions))
	for n, f := range w.function {
		out[f] = w.leads(out[f], int32(n))
	}
	const fresh, open, done = 0, 1, 2
	state := make([]int, len(out))
	var visit func(f int)
	visit = func(f int) {
		state[f] = open
		slices.Sort(out[f])
		out[f] = slices.DeleteFunc(slices.Compact(out[f]), func(g int) bool { return g == f })
		keep := make([]int, 0, len(out[f]))
		for _, g := range out[f] {
			if state[g] == fresh {
				visit(g)
			}
			if state[g] == done {
				keep = append(keep, g)
			}
		}
		out[f], state[f] = keep, done
	}
	visit(w.function[w.entry])
	return out
}

// leads appends the functions to which a node's edges and calls lead, without loops.
func (w *Workflow) leads(dst []int, n int32) []int {
	add := func(m int32) {
		if m != exit {
			dst = append(dst, w.function[m])
		}
	}
	for _, m := range w.next[n] {
		add(m)
	}
	for _, a := range w.alts[n] {
		if a.loop < 0 {
			add(a.to)
		}
	}
	for _, m := range w.calls[n] {
		add(m)
	}
	return dst
}
