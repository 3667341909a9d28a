package policy

import (
	"math"
	"strconv"
	"sync/atomic"

	"github.com/stoker-rl/stoker/checkpoints/bundle"
)

// limits are the limits of the features of one kind of rows. They are empty where nothing is known: then only numbers
// that are not finite are refused.
type limits struct {
	kind, part string
	names      []string
	agents     []string // their names; none for nodes and edges of graphs
	width      int
	ranges     []bundle.Range // what was met
	low, high  []float32      // what is taken
	// From the 0.1 % to the 99.9 % quantile, and how often a feature lay outside, of how many rows.
	usualLow, usualHigh []float32
	outside             []atomic.Uint64
	rows                atomic.Uint64
}

// set takes ranges: a feature may leave its range by half of it.
func (l *limits) set(ranges []bundle.Range) {
	l.ranges, l.outside = ranges, make([]atomic.Uint64, len(ranges))
	for _, r := range ranges {
		// Rounding to float32 must not make a constant feature leave its range.
		slack := float64(0.5*(r.Greatest-r.Least)) + 1e-6*max(math.Abs(r.Least), math.Abs(r.Greatest))
		l.low = append(l.low, float32(r.Least-slack))
		l.high = append(l.high, float32(r.Greatest+slack))
		l.usualLow, l.usualHigh = append(l.usualLow, float32(r.Low)), append(l.usualHigh, float32(r.High))
	}
}

// look looks at rows, and says which number must not be seen.
func (l *limits) look(rows []float32, active []bool) (Reason, Where) {
	n, count, first := l.width, uint64(0), -1
	if l.low == nil {
		for i, x := range rows {
			if x-x != 0 && (active == nil || active[i/n]) {
				return NotFinite, l.where(rows, i)
			}
		}
		return "", Where{}
	}
	low, high := l.usualLow[:n], l.usualHigh[:n]
	for i := range len(rows) / max(1, n) {
		if active != nil && !active[i] {
			continue
		}
		count++
		for j, x := range rows[i*n : (i+1)*n] {
			if x >= low[j] && x <= high[j] {
				continue
			}
			l.outside[j].Add(1)
			if first < 0 && !(x >= l.low[j] && x <= l.high[j]) {
				first = i*n + j
			}
		}
	}
	l.rows.Add(count)
	switch {
	case first < 0:
		return "", Where{}
	case rows[first]-rows[first] != 0:
		return NotFinite, l.where(rows, first)
	}
	return OutOfRange, l.where(rows, first)
}

// name is that of a feature, its number where it has none.
func (l *limits) name(feature int) string {
	if len(l.names) > 0 {
		return l.names[feature]
	}
	return "feature " + strconv.Itoa(feature)
}

// where describes a number of some rows.
func (l *limits) where(rows []float32, at int) Where {
	w := Where{Kind: l.kind, Part: l.part, Row: at / l.width, Feature: at % l.width, Value: float64(rows[at]),
		Low: math.Inf(-1), High: math.Inf(1)}
	w.Name = l.name(w.Feature)
	if w.Row < len(l.agents) {
		w.Of = l.agents[w.Row]
	}
	if l.low != nil {
		w.Low, w.High = float64(l.low[w.Feature]), float64(l.high[w.Feature])
	}
	return w
}

// tame brings the numbers of active rows back into the range that was met, and replaces those that are not finite by
// the median, or by 0 where nothing is known.
func (l *limits) tame(rows []float32, active []bool) {
	for i, x := range rows {
		row, j := i/l.width, i%l.width
		switch {
		case active != nil && !active[row]:
		case x-x == 0 && l.low != nil:
			rows[i] = min(max(x, float32(l.ranges[j].Least)), float32(l.ranges[j].Greatest))
		case x-x == 0:
		case l.low != nil:
			rows[i] = float32(l.ranges[j].Median)
		default:
			rows[i] = 0
		}
	}
}
