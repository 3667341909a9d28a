package envs

import "slices"

// Batch is the observations of n environments in one array per kind: Values is [n, agents, width].
type Batch struct {
	N     int
	Kinds []KindObservation
	views []Observation
}

// NewBatch returns empty observations for n environments, in which every choice is legal.
func NewBatch(s *Spec, n int) *Batch {
	kinds := make([]KindObservation, len(s.Kinds))
	for k, kind := range s.Kinds {
		kinds[k] = KindObservation{
			Values: make([]float32, n*kind.Agents*kind.Observation.Width()),
			Active: make([]bool, n*kind.Agents),
			Mask:   slices.Repeat([]bool{true}, n*kind.Agents*kind.Action.MaskWidth()),
			Legal:  make([]int8, n*kind.Agents*kind.Legal),
			Graphs: newGraphs(kind, n*kind.Agents),
		}
	}
	return BatchOf(s, n, kinds)
}

// BatchOf returns observations for n environments in buffers that are there, such as memory that another program sees.
// They are those of all environments, kind by kind.
func BatchOf(s *Spec, n int, kinds []KindObservation) *Batch {
	b := &Batch{N: n, Kinds: kinds, views: make([]Observation, n)}
	for i := range n {
		b.views[i].Kinds = make([]KindObservation, len(s.Kinds))
	}
	for k, kind := range s.Kinds {
		w, m, all := kind.Observation.Width(), kind.Action.MaskWidth(), &kinds[k]
		for i := range n {
			lo, hi := i*kind.Agents, (i+1)*kind.Agents
			v := KindObservation{
				Values: all.Values[lo*w : hi*w], Active: all.Active[lo:hi], Mask: all.Mask[lo*m : hi*m],
				Legal: all.Legal[lo*kind.Legal : hi*kind.Legal],
			}
			if all.Graphs != nil {
				v.Graphs = all.Graphs[lo:hi]
			}
			b.views[i].Kinds[k] = v
		}
	}
	for i := range b.views {
		b.views[i].own = slices.Clone(b.views[i].Kinds)
	}
	return b
}

// OutcomesOf returns the outcomes of n environments in buffers that are there: for each kind the rewards [n, agents], and
// info [n, len(Spec.Info)].
func OutcomesOf(s *Spec, n int, rewards [][]float32, info []float64) []Outcome {
	out := make([]Outcome, n)
	for i := range out {
		out[i].Info = info[i*len(s.Info) : (i+1)*len(s.Info)]
		out[i].Rewards = make([][]float32, len(s.Kinds))
		for k, kind := range s.Kinds {
			out[i].Rewards[k] = rewards[k][i*kind.Agents : (i+1)*kind.Agents]
		}
		out[i].keepOwn()
	}
	return out
}

// Env returns environment i's part of the batch.
func (b *Batch) Env(i int) *Observation { return &b.views[i] }

// CopyFrom makes o equal to src, which must be of the same spec.
func (o *Observation) CopyFrom(src *Observation) {
	for k := range src.Kinds {
		d, s := &o.Kinds[k], &src.Kinds[k]
		copy(d.Values, s.Values)
		copy(d.Active, s.Active)
		copy(d.Mask, s.Mask)
		copy(d.Legal, s.Legal)
		for i, g := range s.Graphs {
			d.Graphs[i].CopyFrom(g)
		}
	}
}

// ActionBatch is the actions of n environments: for each kind [n, agents, width].
type ActionBatch struct {
	N     int
	Kinds [][]float32
	views []Action
}

// NewActionBatch returns zero actions for n environments.
func NewActionBatch(s *Spec, n int) *ActionBatch {
	b := &ActionBatch{N: n, Kinds: make([][]float32, len(s.Kinds)), views: make([]Action, n)}
	for i := range n {
		b.views[i].Kinds = make([][]float32, len(s.Kinds))
	}
	for k, kind := range s.Kinds {
		w := kind.Agents * kind.Action.Width()
		b.Kinds[k] = make([]float32, n*w)
		for i := range n {
			b.views[i].Kinds[k] = b.Kinds[k][i*w : (i+1)*w]
		}
	}
	return b
}

// Env returns environment i's part of the batch.
func (b *ActionBatch) Env(i int) *Action { return &b.views[i] }
