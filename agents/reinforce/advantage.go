package reinforce

import (
	"math"

	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// lesson is what an update learns from: the steps of its trajectories, one after another, with what follows from them.
type lesson struct {
	trajectories []*trajectory
	fresh        int // of them are the present policy's own; the rest is replayed

	places         []place   // of the rows
	choice         []float32 // [rows, components]
	value, next    []float32 // V(s), and V'(s') of the next state, [rows]
	ret, advantage []float32 // G and what multiplies ∇ ln π, [rows]
	own            []float32 // 1 for steps of the present policy, whose returns the value learns, [rows]
	weights        []float64 // of trajectories
	group          map[int]*progress
}

// progress is the sum of returns by step, over the trajectories of one sequence.
type progress struct {
	sum   []float64
	count int
}

// begin lays the trajectories out.
func (l *lesson) begin(done, kept []*trajectory, draw int, s *rng.Stream) {
	l.trajectories, l.fresh = append(l.trajectories[:0], done...), len(done)
	if len(kept) > 0 {
		for range draw {
			l.trajectories = append(l.trajectories, kept[s.IntN(len(kept))])
		}
	}
	l.places, l.choice, l.own, l.weights = l.places[:0], l.choice[:0], l.own[:0], l.weights[:0]
	for i, t := range l.trajectories {
		l.choice = append(l.choice, t.choice...)
		own := float32(0)
		if i < l.fresh {
			own = 1
		}
		for step := range t.steps {
			l.places, l.own = append(l.places, place{t, step}), append(l.own, own)
		}
		l.weights = append(l.weights, 1)
	}
	n := len(l.places)
	for _, x := range []*[]float32{&l.value, &l.next, &l.ret, &l.advantage} {
		if cap(*x) < n {
			*x = make([]float32, n)
		}
		*x = (*x)[:n]
		clear(*x)
	}
}

// rows is the number of steps.
func (l *lesson) rows() int { return len(l.places) }

// returns writes G, backwards along each trajectory:
//
//	G_t = r_t + γ_t·((1−λ)·V'(s_{t+1}) + λ·G_{t+1}),   G after the end is 0, or V' where the trajectory goes on
//
// λ = 1 is the return, λ = 0 the target of TD(0), between them the λ-return (Sutton and Barto, 2018, eq. 12.15).
func (l *lesson) returns(lambda float64) {
	row := 0
	for _, t := range l.trajectories {
		g := 0.0
		if t.goes {
			g = float64(l.next[row+t.steps-1])
		}
		for i := t.steps - 1; i >= 0; i-- {
			g = float64(t.reward[i]) + float64(t.discount[i])*((1-lambda)*float64(l.next[row+i])+lambda*g)
			l.ret[row+i] = float32(g)
		}
		row += t.steps
	}
}

// advantages writes w·(G − baseline), and 1 for what another policy did.
func (l *lesson) advantages(baseline string) {
	if baseline == Sequence {
		l.bySequence()
	}
	row := 0
	for k, t := range l.trajectories {
		for i := row; i < row+t.steps; i++ {
			switch g := float64(l.ret[i]); baseline {
			case Value:
				g -= float64(l.value[i])
				l.advantage[i] = float32(g)
			case Twin:
				l.advantage[i] = t.gain[i-row]
			case Sequence:
				p := l.group[t.set]
				l.advantage[i] = float32(g - p.sum[i-row]/float64(p.count))
			default:
				l.advantage[i] = float32(g)
			}
			l.advantage[i] *= float32(l.weights[k])
			if t.taught {
				l.advantage[i] = 1
			}
		}
		row += t.steps
	}
}

// bySequence adds up returns by sequence and step; a trajectory that has ended adds 0. Replayed ones are not asked: they are another
// policy's.
func (l *lesson) bySequence() {
	l.group = map[int]*progress{}
	row := 0
	for k, t := range l.trajectories {
		p := l.group[t.set]
		if p == nil {
			p = &progress{count: 0}
			l.group[t.set] = p
		}
		for len(p.sum) < t.steps {
			p.sum = append(p.sum, 0)
		}
		if k < l.fresh {
			p.count++
			for i := range t.steps {
				p.sum[i] += float64(l.ret[row+i])
			}
		}
		row += t.steps
	}
	for _, p := range l.group {
		p.count = max(1, p.count)
	}
}

// standardise makes the advantages' mean 0 and their deviation 1, those of what was taught aside.
func (l *lesson) standardise() {
	own := make([]float32, 0, len(l.advantage))
	for i, p := range l.places {
		if !p.t.taught {
			own = append(own, l.advantage[i])
		}
	}
	mean, sd := moments(own)
	for i, p := range l.places {
		if !p.t.taught {
			l.advantage[i] = float32((float64(l.advantage[i]) - mean) / (sd + 1e-8))
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

// explained is the share of the returns' variance that the value explains, over the present policy's own steps.
func (l *lesson) explained() float64 {
	var n int
	for _, t := range l.trajectories[:l.fresh] {
		n += t.steps
	}
	rest := make([]float32, n)
	for i := range rest {
		rest[i] = l.ret[i] - l.value[i]
	}
	_, all := moments(l.ret[:n])
	_, left := moments(rest)
	if all == 0 {
		return 0
	}
	return 1 - left*left/(all*all)
}

// weigh sets the weights of replayed trajectories, min(cap, Π π(a|s)/π_old(a|s)); logp is the present policy's ln π(a|s), [rows].
func (l *lesson) weigh(logp []float32, limit float64) {
	row := 0
	for k, t := range l.trajectories {
		if k >= l.fresh {
			ln := 0.0
			for i := range t.steps {
				ln += float64(logp[row+i]) - float64(t.logp[i])
			}
			l.weights[k] = min(limit, portable.Exp(ln))
		}
		row += t.steps
	}
}
