package normalise

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// table standardises rows by statistics that do not change: (x − shift)·scale within ±clip.
type table struct {
	shift, scale []float32
	clip         float32
}

// apply standardises a row in place.
func (t *table) apply(row []float32) {
	for i, x := range row {
		row[i] = min(max(float32((x-t.shift[i])*t.scale[i]), -t.clip), t.clip)
	}
}

// Policy is a policy that standardises what it sees by fixed statistics. It implements [agents.Policy].
type Policy struct {
	agents.Policy
	tables []*table         // of each kind; nil where observations stay as they are
	seen   envs.Observation // what the policy inside is shown; buffers are used again
}

// Act implements [envs.Policy].
func (p *Policy) Act(obs *envs.Observation, act *envs.Action, deterministic bool) error {
	if p.seen.Kinds == nil {
		p.seen.Kinds = make([]envs.KindObservation, len(obs.Kinds))
	}
	for k, t := range p.tables {
		values := p.seen.Kinds[k].Values
		p.seen.Kinds[k] = obs.Kinds[k]
		if t == nil {
			continue
		}
		values = append(values[:0], obs.Kinds[k].Values...)
		for j, here := range obs.Kinds[k].Active {
			if here {
				t.apply(values[j*len(t.shift) : (j+1)*len(t.shift)])
			}
		}
		p.seen.Kinds[k].Values = values
	}
	return p.Policy.Act(&p.seen, act, deterministic)
}

// arrayPrefix begins the names of the arrays that hold statistics: with the number of the kind and shift, scale or clip
// behind it.
const arrayPrefix = "normalise."

// Export implements [agents.Policy]: the statistics are arrays beside the weights.
func (p *Policy) Export() (*agents.PolicyFile, error) {
	f, err := p.Policy.Export()
	if err != nil {
		return nil, err
	}
	out := *f
	out.Arrays = maps.Clone(f.Arrays)
	for k, t := range p.tables {
		if t == nil {
			continue
		}
		for what, data := range map[string][]float32{"shift": t.shift, "scale": t.scale, "clip": {t.clip}} {
			out.Arrays[fmt.Sprintf("%s%d.%s", arrayPrefix, k, what)] = agents.Array{Shape: []int{len(data)}, Data: data}
		}
	}
	return &out, nil
}

// CopyFrom implements [envs.Policy].
func (p *Policy) CopyFrom(src envs.Policy) error {
	s, ok := src.(*Policy)
	if !ok {
		return fmt.Errorf("normalise: copy from a %T, want a %T", src, p)
	}
	same := func(a, b *table) bool {
		if a == nil || b == nil {
			return a == b
		}
		return a.clip == b.clip && slices.Equal(a.shift, b.shift) && slices.Equal(a.scale, b.scale)
	}
	if !slices.EqualFunc(p.tables, s.tables, same) {
		return fmt.Errorf("normalise: copy from a policy with other statistics, want the same policy")
	}
	return p.Policy.CopyFrom(s.Policy)
}

// Open makes the policy of a file for an environment: by open alone where the file has no statistics, else a policy
// that standardises what it sees for the one that open makes.
func Open(f *agents.PolicyFile, spec *envs.Spec,
	open func(*agents.PolicyFile, *envs.Spec) (agents.Policy, error)) (agents.Policy, error) {
	inner, clip, there := without(f)
	if !there {
		return open(f, spec)
	}
	if !(clip > 0) {
		return nil, fmt.Errorf("statistics of observations with clip %g, want more than 0", clip)
	}
	spec, norms, err := normalised(spec, float64(clip))
	if err != nil {
		return nil, err
	}
	p := &Policy{}
	if p.tables, err = tables(f, norms, clip); err != nil {
		return nil, err
	}
	p.Policy, err = open(inner, spec)
	return p, err
}

// Clip is the bound of the standardised observations that a policy sees, 0 where it sees them as they are.
func Clip(f *agents.PolicyFile) float32 {
	_, clip, _ := without(f)
	return clip
}

// without returns the file without statistics of observations, their bound, and whether there are any.
func without(f *agents.PolicyFile) (inner *agents.PolicyFile, clip float32, there bool) {
	g := *f
	g.Arrays = map[string]agents.Array{}
	for name, a := range f.Arrays {
		if !strings.HasPrefix(name, arrayPrefix) {
			g.Arrays[name] = a
		} else if strings.HasSuffix(name, ".clip") && len(a.Data) == 1 {
			clip = a.Data[0]
		}
	}
	return &g, clip, len(g.Arrays) < len(f.Arrays)
}

// tables reads the statistics of the kinds that norms has some of.
func tables(f *agents.PolicyFile, norms []*envs.Normalizer, clip float32) ([]*table, error) {
	list := make([]*table, len(norms))
	for k, m := range norms {
		if m == nil {
			continue
		}
		t := &table{clip: clip}
		for what, data := range map[string]*[]float32{"shift": &t.shift, "scale": &t.scale} {
			name := fmt.Sprintf("%s%d.%s", arrayPrefix, k, what)
			if *data = f.Arrays[name].Data; len(*data) != m.Width() {
				return nil, fmt.Errorf("array %q has %d numbers, want %d", name, len(*data), m.Width())
			}
		}
		list[k] = t
	}
	return list, nil
}

// insight is that of the policy inside, by observations before they are standardised.
type insight struct {
	agents.Insight
	table *table // nil where observations stay as they are
	seen  []float32
	raw   []float32
	by    []float32
}

var _ agents.Transparent = (*Policy)(nil)

// Insight implements [agents.Transparent].
func (p *Policy) Insight(act nets.Engine, rows int) (agents.Insight, error) {
	inside, ok := p.Policy.(agents.Transparent)
	if !ok {
		return nil, fmt.Errorf("policy %s gives no gradients of its decisions", p.Name())
	}
	if len(p.tables) != 1 {
		return nil, fmt.Errorf("policy %s has %d kinds of agents, want one", p.Name(), len(p.tables))
	}
	in, err := inside.Insight(act, rows)
	if err != nil {
		return nil, err
	}
	return &insight{Insight: in, table: p.tables[0]}, nil
}

// standard is what the policy inside sees.
func (x *insight) standard(seen []float32) []float32 {
	x.raw, x.seen = append(x.raw[:0], seen...), append(x.seen[:0], seen...)
	if x.table != nil {
		w := len(x.table.shift)
		for at := 0; at+w <= len(x.seen); at += w {
			x.table.apply(x.seen[at : at+w])
		}
	}
	return x.seen
}

// Forward implements [agents.Insight].
func (x *insight) Forward(seen []float32) ([]float32, error) {
	return x.Insight.Forward(x.standard(seen))
}

// Gradient implements [agents.Insight]: it is zero where an observation is cut.
func (x *insight) Gradient(weights []float32) ([]float32, error) {
	by, err := x.Insight.Gradient(weights)
	if err != nil || x.table == nil {
		return by, err
	}
	x.by = append(x.by[:0], by...)
	w := len(x.table.shift)
	for i := range x.by {
		k := i % w
		if z := float32((x.raw[i] - x.table.shift[k]) * x.table.scale[k]); z < -x.table.clip || z > x.table.clip {
			x.by[i] = 0
			continue
		}
		x.by[i] *= x.table.scale[k]
	}
	return x.by, nil
}

// Attention implements [agents.Insight].
func (x *insight) Attention(seen []float32) ([]float32, error) {
	return x.Insight.Attention(x.standard(seen))
}
