package envs

import (
	"math"

	"github.com/stoker-rl/stoker/envs/state"
)

// Episode sums up one finished episode.
type Episode struct {
	// Env is the copy's number, Seed the episode's.
	Env  int
	Seed uint64
	// Return is the sum over steps of the mean reward of the agents (all agents of all kinds, inactive ones as zero).
	Return float64
	Length int64
	// Elapsed is in microseconds.
	Elapsed    int64
	Terminated bool
	// Info holds the quantities of Spec.Info, reduced over the episode as they say.
	Info []float64
}

// EpisodeStatistics follows one environment's episode step by step.
type EpisodeStatistics struct {
	spec *Spec
	sums
	info []float64 // running sums, maxima or last values
}

// sums is what every episode's statistics hold.
type sums struct {
	ret             float64
	length, elapsed int64
}

// NewEpisodeStatistics returns statistics of an episode that is about to start.
func NewEpisodeStatistics(s *Spec) *EpisodeStatistics {
	e := &EpisodeStatistics{spec: s, info: make([]float64, len(s.Info))}
	e.Reset()
	return e
}

// Reset forgets the episode so far.
func (e *EpisodeStatistics) Reset() {
	e.sums = sums{}
	for i, q := range e.spec.Info {
		e.info[i] = 0
		if q.Reduce == Max {
			e.info[i] = math.Inf(-1)
		}
	}
}

// Add takes in one step.
func (e *EpisodeStatistics) Add(o *Outcome) {
	var sum float64
	n := 0
	for _, r := range o.Rewards {
		for _, x := range r {
			sum += float64(x)
		}
		n += len(r)
	}
	e.ret += sum / float64(n)
	e.length++
	e.elapsed += o.Elapsed
	for i, q := range e.spec.Info {
		switch x := o.Info[i]; q.Reduce {
		case Last:
			e.info[i] = x
		case Max:
			e.info[i] = max(e.info[i], x)
		case PerTime:
			e.info[i] += float64(x * float64(o.Elapsed))
		default:
			e.info[i] += x
		}
	}
}

// Fill writes the episode so far into out, whose Info must have the spec's length.
func (e *EpisodeStatistics) Fill(out *Episode) {
	out.Return, out.Length, out.Elapsed = e.ret, e.length, e.elapsed
	for i, q := range e.spec.Info {
		x := e.info[i]
		switch q.Reduce {
		case Mean:
			x /= float64(max(e.length, 1))
		case PerTime:
			x /= float64(max(e.elapsed, 1))
		case Max:
			if e.length == 0 {
				x = 0
			}
		}
		out.Info[i] = x
	}
}

// State implements [state.Stater].
func (e *EpisodeStatistics) State(c *state.Codec) {
	state.Value(c, &e.sums)
	state.Fixed(c, e.info)
}
