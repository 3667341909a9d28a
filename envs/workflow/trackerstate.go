package workflow

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
)

// trackerKind is the name of a saved tracker in the state codec.
const trackerKind = "workflow tracker"

// CopyFrom makes t equal to another tracker of the same workflow.
func (t *Tracker) CopyFrom(src *Tracker) error { return state.Copy(t, src) }

// AppendBinary appends the tracker's state.
func (t *Tracker) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, trackerKind, t) }

// UnmarshalBinary restores a saved state of the same workflow. It refuses a damaged state, or one of another workflow,
// and then leaves t unchanged.
func (t *Tracker) UnmarshalBinary(b []byte) error { return state.Load(b, trackerKind, t) }

// State implements [state.Stater]. Cells of runs that are not in flight are empty and not saved.
func (t *Tracker) State(c *state.Codec) {
	c.Same("workflow", t.w.fingerprint)
	state.Value(c, &t.draws)
	state.Slice(c, &t.runs)
	state.Slice(c, &t.free)
	if !c.Stored() {
		state.Slice(c, &t.cells)
		return
	}
	n := t.width()
	if c.Loaded() {
		t.key = rng.New(t.seed, "workflow")
		t.cells = slices.Grow(t.cells[:0], n*len(t.runs))[:n*len(t.runs)]
	}
	for r := range t.runs {
		if t.runs[r].used {
			state.Fixed(c, t.cells[r*n:][:n])
		}
	}
	if c.Loaded() {
		c.Fail(t.consistent())
	}
}

// consistent checks the invariants that later events rely on.
func (t *Tracker) consistent() error {
	used := 0
	for _, r := range t.runs {
		if r.used {
			used++
		} else if r != (run{}) {
			return fmt.Errorf("a run is not in flight, but has %d active visits", r.active)
		}
	}
	if used+len(t.free) != len(t.runs) {
		return fmt.Errorf("%d runs of which %d are in flight and %d free", len(t.runs), used, len(t.free))
	}
	seen := make([]bool, len(t.runs))
	for _, r := range t.free {
		if r < 0 || int(r) >= len(t.runs) || t.runs[r].used || seen[r] {
			return fmt.Errorf("run %d of %d is free twice, or in flight, or beyond the last", r, len(t.runs))
		}
		seen[r] = true
	}
	for r := range t.runs {
		if !t.runs[r].used {
			continue
		}
		if err := t.consistentRun(int32(r)); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tracker) consistentRun(r int32) error {
	active := int32(0)
	for m, in := range t.w.indegree {
		c := t.cell(r, int32(m))
		if c.phase != idle {
			active++
		}
		callees := int32(len(t.w.calls[m]))
		under := func(k int32) bool { return t.cell(r, k).phase != idle }
		ok := c.open >= 0 && c.open <= in && c.number >= 0 && c.phase < phases && (c.phase == idle || c.number > 0)
		switch {
		case !ok:
		case c.phase == calling:
			ok = c.calls >= 1 && c.calls <= callees
			if ok && t.w.mode[m] == OneByOne {
				ok = under(t.w.calls[m][c.calls-1])
			}
			running := int32(0)
			for _, k := range t.w.calls[m] {
				if under(k) {
					running++
				}
			}
			ok = ok && (running == c.calls || t.w.mode[m] == OneByOne && running == 1)
		default:
			ok = !slices.ContainsFunc(t.w.calls[m], under)
		}
		if !ok {
			return fmt.Errorf("run %d cannot have node %q in phase %d with %d visits begun and %d calls",
				r, t.w.NodeName(m), c.phase, c.number, c.calls)
		}
	}
	for p, k := range t.w.routes.walks {
		g := t.cell(r, int32(len(t.w.indegree)+p))
		if g.open < 0 || g.open > k.enter || g.calls < 0 || int(g.calls) >= len(t.w.indegree) ||
			g.taken && t.w.routes.walk[g.calls] != int32(p) {
			return fmt.Errorf("run %d cannot enter a cyclic part at node %d with %d edges to come", r, g.calls, g.open)
		}
	}
	if active == 0 || active != t.runs[r].active {
		return fmt.Errorf("run %d has %d active visits, says %d", r, active, t.runs[r].active)
	}
	return nil
}
