package workload

import (
	"math"

	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// The processes below have a rate that is constant between switches. Within each minute a unit-rate Poisson process,
// the sum of exponential draws E_0 + E_1 + …, is mapped through the cumulative rate: arrival k lies where that has
// grown to the sum's k-th value. Starting afresh at every minute changes nothing, since the exponential law has no
// memory, and lets any minute be drawn by itself.

// mapper places a unit-rate process under a rate given piece by piece.
type mapper struct {
	k    rng.Key // of the stream and minute
	n    uint64
	left float64 // of the unit-rate process until the next arrival
	dst  []int32
}

func newMapper(dst []int32, k rng.Key, stream, minute int) mapper {
	k = k.With(uint64(stream)).With(uint64(minute))
	return mapper{k: k, left: k.With(0).Exp(), dst: dst}
}

// piece appends the arrivals between two microseconds of the minute at a rate per microsecond.
func (m *mapper) piece(from, to, rate float64) {
	for mass := float64(rate * (to - from)); m.left < mass; mass = float64(rate * (to - from)) {
		from += m.left / rate
		m.dst = append(m.dst, int32(min(int64(from), Minute-1)))
		m.n++
		m.left = m.k.With(m.n).Exp()
	}
	m.left -= float64(rate * (to - from))
}

// poissonLaw has one stream of constant rate.
type poissonLaw struct {
	rate   float64 // per second
	length int
}

func (l *poissonLaw) streams() int              { return 1 }
func (l *poissonLaw) minutes() int              { return l.length }
func (l *poissonLaw) expected(_, _ int) float64 { return 60 * l.rate }

func (l *poissonLaw) draw(dst []int32, k rng.Key, stream, minute int) []int32 {
	m := newMapper(dst, k, stream, minute)
	m.piece(0, float64(Minute), l.rate/float64(Second))
	return m.dst
}

// periodicLaw has one stream whose rate is rate·(1 + amplitude·sin(2π(t-phase)/period)), constant over each second at
// its value in the second's middle.
type periodicLaw struct {
	rate   float64
	wave   Wave
	length int
}

func (l *periodicLaw) streams() int { return 1 }
func (l *periodicLaw) minutes() int { return l.length }

// at returns the rate per second at a second of the workload.
func (l *periodicLaw) at(second int) float64 {
	minutes := (float64(second) + 0.5) / 60
	turn := (minutes - l.wave.Phase) / l.wave.Period
	turn -= math.Floor(turn)
	return l.rate * (1 + float64(l.wave.Amplitude*portable.Sin(2*math.Pi*turn)))
}

func (l *periodicLaw) expected(_, minute int) float64 {
	var n float64
	for s := range 60 {
		n += l.at(60*minute + s)
	}
	return n
}

func (l *periodicLaw) draw(dst []int32, k rng.Key, stream, minute int) []int32 {
	m := newMapper(dst, k, stream, minute)
	for s := range 60 {
		m.piece(float64(int64(s)*Second), float64(int64(s+1)*Second), l.at(60*minute+s)/float64(Second))
	}
	return m.dst
}

// burstyLaw has one stream that is a two-state Markov-modulated Poisson process: exponential times at a base rate and
// in bursts of factor times that rate. So that any minute can be drawn without its past, the state starts afresh from
// its stationary law at the beginning of every block of burstBlock minutes: the mean and each minute's law are those of
// the process, only what one block remembers of the one before is lost.
type burstyLaw struct {
	rate   float64
	burst  Burst
	length int
}

const burstBlock = 60

func (l *burstyLaw) streams() int { return 1 }
func (l *burstyLaw) minutes() int { return l.length }

// share returns the share of time spent in bursts.
func (l *burstyLaw) share() float64 { return l.burst.On / (l.burst.On + l.burst.Off) }

func (l *burstyLaw) expected(_, _ int) float64 {
	return 60 * l.rate * (1 + float64(l.share()*(l.burst.Factor-1)))
}

func (l *burstyLaw) draw(dst []int32, k rng.Key, stream, minute int) []int32 {
	m := newMapper(dst, k, stream, minute)
	state := k.With(uint64(stream)).With(1<<40 + uint64(minute/burstBlock))
	on := state.With(0).Float64() < l.share()
	begin := float64(int64(minute%burstBlock) * Minute) // of this minute, in the block
	end := begin + float64(Minute)
	at := 0.0
	for j := uint64(1); at < end; j++ {
		mean, rate := l.burst.Off, l.rate
		if on {
			mean, rate = l.burst.On, l.rate*l.burst.Factor
		}
		next := at + float64(state.With(j).Exp()*mean*float64(Second))
		if next > begin {
			m.piece(max(at, begin)-begin, min(next, end)-begin, rate/float64(Second))
		}
		at, on = next, !on
	}
	return m.dst
}
