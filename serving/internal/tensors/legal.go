package tensors

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/serving/internal/wire"
)

// legal adds the tables that say which choices go together, one for each of the components: legal.invocation [i],
// legal.amount [i, a] and legal.node [i, a, n] for placement. The last says all; the others may be given with it.
//
// The observation holds them as counts: of the amounts of invocation i, from the smallest on, how many node n has room
// for. So a table must allow an amount only where it allows all smaller ones.
func (l *Layout) legal(kind int, prefix string) error {
	k := &l.spec.Kinds[kind]
	c := l.choices[kind]
	if len(c) != 3 || len(k.Actions) != 3 || k.Agents != 1 || k.MaskAfter == nil || k.Legal%c[2] != 0 ||
		k.Legal/c[2] >= c[0] || c[1] > math.MaxInt8 {
		return fmt.Errorf("kind %q of %s has a legality table of %d numbers, of a form that no tensor is known for", k.Name,
			l.spec.ID, k.Legal)
	}
	name := func(i int) string { return prefix + "legal." + k.Actions[i] }
	l.add(kind, starts, 0, Info{Name: name(0), Type: wire.Bool, Shape: []int64{-1}, Optional: true})
	l.add(kind, amounts, 0, Info{Name: name(1), Type: wire.Bool, Shape: []int64{-1, int64(c[1])}, Optional: true})
	l.add(kind, fits, 0, Info{Name: name(2), Type: wire.Bool, Shape: []int64{-1, int64(c[1]), -1}})
	return nil
}

// startable is the number of rows of a legality table: the first choices, which may be started.
func (l *Layout) startable(kind int) int { return l.spec.Kinds[kind].Legal / l.choices[kind][2] }

// readFits reads the table of the last component [i, a, n] as counts.
func (l *Layout) readFits(in *input, t *wire.Tensor, b *Batch) error {
	c, some := l.choices[in.kind], l.startable(in.kind)
	rows, nodes := int(t.Shape[0]), int(t.Shape[2])
	if rows > c[0] || nodes > c[2] {
		return fmt.Errorf("shape is %v, want at most [%d, %d, %d]", t.Shape, c[0], c[1], c[2])
	}
	table := b.truths(rows * c[1] * nodes)
	if err := t.ReadBools(table); err != nil {
		return err
	}
	legal := b.seen.Kinds[in.kind].Legal
	clear(legal)
	for i := range rows {
		for n := range nodes {
			count := 0
			for a := range c[1] {
				if !table[(i*c[1]+a)*nodes+n] {
					continue
				}
				if a != count {
					return fmt.Errorf("[%d, %d, %d] is true and [%d, %d, %d] is not: who has room for an amount has room for less", i,
						a, n, i, count, n)
				}
				count++
			}
			switch {
			case i < some:
				legal[i*c[2]+n] = int8(count)
			case count > 0 && i < c[0]-1: // the last row is that of waiting, whose other components mean nothing
				return fmt.Errorf("[%d, 0, %d] is true: only the first %d may be started", i, n, some)
			}
		}
	}
	return nil
}

// agree checks a table of the components before, where one is given, against the counts.
func (l *Layout) agree(in *input, t *wire.Tensor, b *Batch) error {
	c, some := l.choices[in.kind], l.startable(in.kind)
	rows, per := int(t.Shape[0]), 1
	if in.role == amounts {
		per = c[1]
	}
	if rows > c[0] {
		return fmt.Errorf("shape is %v, want at most %d rows", t.Shape, c[0])
	}
	table := b.truths(rows * per)
	if err := t.ReadBools(table); err != nil {
		return err
	}
	legal := b.seen.Kinds[in.kind].Legal
	for i := range min(rows, some) {
		most := 0
		for _, count := range legal[i*c[2] : (i+1)*c[2]] {
			most = max(most, int(count))
		}
		for a := range per {
			if table[i*per+a] != (a < most) {
				return fmt.Errorf("data[%d] is %t, the table of %s says %t", i*per+a, table[i*per+a],
					l.spec.Kinds[in.kind].Actions[2], a < most)
			}
		}
	}
	return nil
}

// masks writes the mask of an agent with a legality table: what is legal after at least one choice of the components
// before.
func (l *Layout) masks(kind int, b *Batch) error {
	k, o := &l.spec.Kinds[kind], &b.seen.Kinds[kind]
	clear(o.Mask)
	return l.after(k, o, l.choices[kind], o.Mask, b.partial[:0])
}

func (l *Layout) after(k *envs.Kind, o *envs.KindObservation, choices []int, all []bool, partial []float32) error {
	if len(partial) == len(choices) {
		return nil
	}
	n := choices[len(partial)]
	mask := make([]bool, n)
	if err := k.MaskAfter(o, 0, partial, mask); err != nil {
		return err
	}
	for i, ok := range mask {
		if !ok {
			continue
		}
		all[i] = true
		if err := l.after(k, o, choices, all[n:], append(partial, float32(i))); err != nil {
			return err
		}
	}
	return nil
}
