package models

import (
	"strconv"
	"sync"
	"time"

	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/envs"
)

// driftWindow is the time after which what was seen is forgotten: between one and two of it are kept.
const driftWindow = 5 * time.Minute

// Drift counts how often features lie outside the range in which 99.8 % of them lay in the evaluation. A share far above
// 0.002 says that the platform is not the one for which the policy was evaluated.
type Drift struct {
	parts []driftPart

	mu           sync.Mutex
	began        time.Time
	rows, before []int64 // by part: rows seen in this window and in the one before
}

// driftPart is the features of one kind of agents, or of one kind of nodes or edges.
type driftPart struct {
	kind, node, edge int // node and edge are −1 where the part is not of a graph's
	names            []string
	low, high        []float32
	outside, before  []int64
}

// newDrift returns what counts for a policy. Ranges of kinds that the spec does not have are left out: what opened the
// bundle has refused them.
func newDrift(spec *envs.Spec, seen []bundle.Seen) *Drift {
	d := &Drift{}
	for k := range spec.Kinds {
		kind := &spec.Kinds[k]
		for _, s := range seen {
			if s.Kind != kind.Name {
				continue
			}
			p := driftPart{kind: k, node: -1, edge: -1}
			names, prefix := kind.Features, ""
			if len(spec.Kinds) > 1 {
				prefix = kind.Name + "."
			}
			if g, ok := kind.Observation.(envs.Graph); ok {
				for i, n := range g.Nodes {
					if s.Part == "node."+n.Name && len(s.Features) == n.Width {
						p.node = i
						names, _, _ = envs.Columns(n.Features)
					}
				}
				for i, e := range g.Edges {
					if s.Part == "edge."+e.Name && len(s.Features) == e.Width {
						p.edge = i
						names, _, _ = envs.Columns(e.Features)
					}
				}
				if p.node < 0 && p.edge < 0 {
					continue
				}
				prefix += s.Part + "."
			} else if len(s.Features) != kind.Observation.Width() {
				continue
			}
			for i, f := range s.Features {
				name := f.Name
				switch {
				case name != "":
				case i < len(names):
					name = names[i]
				default:
					name = strconv.Itoa(i)
				}
				p.names = append(p.names, prefix+name)
				p.low, p.high = append(p.low, float32(f.Low)), append(p.high, float32(f.High))
			}
			p.outside, p.before = make([]int64, len(p.names)), make([]int64, len(p.names))
			d.parts = append(d.parts, p)
		}
	}
	d.rows, d.before = make([]int64, len(d.parts)), make([]int64, len(d.parts))
	return d
}

// Observe counts what is seen.
func (d *Drift) Observe(now time.Time, o *envs.Observation) {
	if len(d.parts) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.turn(now)
	for i := range d.parts {
		p := &d.parts[i]
		k := &o.Kinds[p.kind]
		switch {
		case p.node >= 0:
			n := &k.Graphs[0].Nodes[p.node]
			d.rows[i] += p.count(n.Features, n.Len, nil)
		case p.edge >= 0:
			e := &k.Graphs[0].Edges[p.edge]
			d.rows[i] += p.count(e.Features, e.Len, nil)
		default:
			d.rows[i] += p.count(k.Values, len(k.Active), k.Active)
		}
	}
}

// count counts n rows, or those that are active.
func (p *driftPart) count(values []float32, n int, active []bool) (rows int64) {
	w := len(p.low)
	for r := range n {
		if active != nil && !active[r] {
			continue
		}
		rows++
		for i, x := range values[r*w : (r+1)*w] {
			if x < p.low[i] || x > p.high[i] {
				p.outside[i]++
			}
		}
	}
	return rows
}

// turn begins a new window where this one is over.
func (d *Drift) turn(now time.Time) {
	switch age := now.Sub(d.began); {
	case age < driftWindow:
		return
	case age < 2*driftWindow:
		copy(d.before, d.rows)
	default:
		clear(d.before)
	}
	for i := range d.parts {
		p := &d.parts[i]
		clear(p.before)
		if d.before[i] > 0 {
			copy(p.before, p.outside)
		}
		clear(p.outside)
	}
	clear(d.rows)
	d.began = now
}

// Shares calls f with each feature's share outside its range, of those seen in the last minutes; features of which none
// was seen are left out.
func (d *Drift) Shares(now time.Time, f func(feature string, share float64)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.turn(now)
	for i := range d.parts {
		p := &d.parts[i]
		all := d.rows[i] + d.before[i]
		if all == 0 {
			continue
		}
		for j, name := range p.names {
			f(name, float64(p.outside[j]+p.before[j])/float64(all))
		}
	}
}
