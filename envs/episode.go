package envs

import (
	"encoding/binary"
	"math"
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
	spec    *Spec
	ret     float64
	length  int64
	elapsed int64
	info    []float64 // running sums, maxima or last values
}

// NewEpisodeStatistics returns statistics of an episode that is about to start.
func NewEpisodeStatistics(s *Spec) *EpisodeStatistics {
	e := &EpisodeStatistics{spec: s, info: make([]float64, len(s.Info))}
	e.Reset()
	return e
}

// Reset forgets the episode so far.
func (e *EpisodeStatistics) Reset() {
	e.ret, e.length, e.elapsed = 0, 0, 0
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

func (e *EpisodeStatistics) copyFrom(src *EpisodeStatistics) {
	e.ret, e.length, e.elapsed = src.ret, src.length, src.elapsed
	copy(e.info, src.info)
}

func (e *EpisodeStatistics) appendBinary(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(e.ret))
	b = binary.LittleEndian.AppendUint64(b, uint64(e.length))
	b = binary.LittleEndian.AppendUint64(b, uint64(e.elapsed))
	for _, x := range e.info {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

func (e *EpisodeStatistics) read(r *stateReader) {
	e.ret = math.Float64frombits(r.uint64())
	e.length = int64(r.uint64())
	e.elapsed = int64(r.uint64())
	for i := range e.info {
		e.info[i] = math.Float64frombits(r.uint64())
	}
}
