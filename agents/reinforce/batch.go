package reinforce

import (
	"math"

	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// batch is what an update learns from: the steps of its trajectories, one after another, with what follows from them.
type batch struct {
	trajectories []*trajectory
	fresh        int // the first of them, collected by the present policy; the rest are replayed

	refs           []stepRef // of the rows
	choice         []float32 // [rows, components]
	value, next    []float32 // V(s), and V'(s') of the next state, [rows]
	ret, advantage []float32 // G and A, [rows]
	own            []float32 // 1 for fresh steps, whose returns the value learns, else 0, [rows]
	weights        []float64 // of trajectories
	sequences      map[int]*returnSums
}

// returnSums adds up the returns of one sequence's trajectories by step.
type returnSums struct {
	sum   []float64
	count int
}

// begin lays the trajectories out: those in done, and draw of the old ones.
func (b *batch) begin(done, old []*trajectory, draw int, s *rng.Stream) {
	b.trajectories, b.fresh = append(b.trajectories[:0], done...), len(done)
	if len(old) > 0 {
		for range draw {
			b.trajectories = append(b.trajectories, old[s.IntN(len(old))])
		}
	}
	b.refs, b.choice, b.own, b.weights = b.refs[:0], b.choice[:0], b.own[:0], b.weights[:0]
	for i, t := range b.trajectories {
		b.choice = append(b.choice, t.choice...)
		own := float32(0)
		if i < b.fresh {
			own = 1
		}
		for step := range t.steps {
			b.refs, b.own = append(b.refs, stepRef{t, step}), append(b.own, own)
		}
		b.weights = append(b.weights, 1)
	}
	n := len(b.refs)
	for _, x := range []*[]float32{&b.value, &b.next, &b.ret, &b.advantage} {
		if cap(*x) < n {
			*x = make([]float32, n)
		}
		*x = (*x)[:n]
		clear(*x)
	}
}

// rows is the number of steps.
func (b *batch) rows() int { return len(b.refs) }

// freshRows is the number of steps that the present policy made; they come first.
func (b *batch) freshRows() int {
	n := 0
	for _, t := range b.trajectories[:b.fresh] {
		n += t.steps
	}
	return n
}

// returns writes G, backwards along each trajectory (Sutton and Barto, 2018, eq. 12.15):
//
//	G_t = r_t + γ_t·((1−λ)·V'(s_{t+1}) + λ·G_{t+1})
//
// G after the end is 0, or V' where the trajectory bootstraps.
func (b *batch) returns(lambda float64) {
	row := 0
	for _, t := range b.trajectories {
		g := 0.0
		if t.bootstrap {
			g = float64(b.next[row+t.steps-1])
		}
		for i := t.steps - 1; i >= 0; i-- {
			g = float64(t.reward[i]) + float64(t.discount[i])*((1-lambda)*float64(b.next[row+i])+lambda*g)
			b.ret[row+i] = float32(g)
		}
		row += t.steps
	}
}

// advantages writes A = w·(G − baseline), and 1 for a teacher's steps.
func (b *batch) advantages(baseline Baseline) {
	if baseline == Sequence {
		b.bySequence()
	}
	row := 0
	for k, t := range b.trajectories {
		for i := row; i < row+t.steps; i++ {
			switch g := float64(b.ret[i]); baseline {
			case Value:
				g -= float64(b.value[i])
				b.advantage[i] = float32(g)
			case Counterfactual:
				b.advantage[i] = t.counterfactual[i-row]
			case Sequence:
				p := b.sequences[t.sequence]
				b.advantage[i] = float32(g - p.sum[i-row]/float64(p.count))
			default:
				b.advantage[i] = float32(g)
			}
			b.advantage[i] *= float32(b.weights[k])
			if t.imitated {
				b.advantage[i] = 1
			}
		}
		row += t.steps
	}
}

// bySequence adds up returns by sequence and step; a trajectory that has ended adds 0. Replayed trajectories, which
// come from older policies, are left out.
func (b *batch) bySequence() {
	b.sequences = map[int]*returnSums{}
	row := 0
	for k, t := range b.trajectories {
		p := b.sequences[t.sequence]
		if p == nil {
			p = &returnSums{}
			b.sequences[t.sequence] = p
		}
		for len(p.sum) < t.steps {
			p.sum = append(p.sum, 0)
		}
		if k < b.fresh {
			p.count++
			for i := range t.steps {
				p.sum[i] += float64(b.ret[row+i])
			}
		}
		row += t.steps
	}
	for _, p := range b.sequences {
		p.count = max(1, p.count)
	}
}

// standardise makes the advantages' mean 0 and their deviation 1; a teacher's steps keep theirs.
func (b *batch) standardise() {
	own := make([]float32, 0, len(b.advantage))
	for i, p := range b.refs {
		if !p.t.imitated {
			own = append(own, b.advantage[i])
		}
	}
	mean, sd := moments(own)
	for i, p := range b.refs {
		if !p.t.imitated {
			b.advantage[i] = float32((float64(b.advantage[i]) - mean) / (sd + 1e-8))
		}
	}
}

func moments(x []float32) (mean, sd float64) {
	var sum, sum2 float64
	for _, v := range x {
		sum += float64(v)
	}
	mean = sum / float64(len(x))
	for _, v := range x {
		d := float64(v) - mean
		sum2 += d * d
	}
	return mean, math.Sqrt(sum2 / float64(len(x)))
}

// explained is the explained variance of the returns, 1 − Var(G − V)/Var(G), over the fresh steps.
func (b *batch) explained() float64 {
	n := b.freshRows()
	rest := make([]float32, n)
	for i := range rest {
		rest[i] = b.ret[i] - b.value[i]
	}
	_, all := moments(b.ret[:n])
	_, left := moments(rest)
	if all == 0 {
		return 0
	}
	return 1 - left*left/(all*all)
}

// weigh sets the weights of replayed trajectories, min(limit, Π π(a|s)/π_old(a|s)); logp is the present policy's
// ln π(a|s), [rows].
func (b *batch) weigh(logp []float32, limit float64) {
	row := 0
	for k, t := range b.trajectories {
		if k >= b.fresh {
			ln := 0.0
			for i := range t.steps {
				ln += float64(logp[row+i]) - float64(t.logp[i])
			}
			b.weights[k] = min(limit, portable.Exp(ln))
		}
		row += t.steps
	}
}
