package workload

import (
	"math"

	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// The processes below have a piecewise constant rate. Their arrivals come from time rescaling: within each minute, draw
// a Poisson process of rate 1 as the sums of exponential draws E_0 + E_1 + …, and place arrival k where the cumulative
// rate reaches the k-th sum. Each minute starts new sums. The exponential distribution is memoryless, so this does not
// change the process, and any minute can be drawn by itself.

// mapper maps a Poisson process of rate 1 to one with a piecewise constant rate.
type mapper struct {
	k    rng.Key // of the stream and minute
	n    uint64
	left float64 // cumulative rate until the next arrival
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

// poissonProcess has one stream of constant rate.
type poissonProcess struct {
	rate   float64 // per second
	length int
}

func (p *poissonProcess) streams() int              { return 1 }
func (p *poissonProcess) minutes() int              { return p.length }
func (p *poissonProcess) expected(_, _ int) float64 { return 60 * p.rate }

func (p *poissonProcess) draw(dst []int32, k rng.Key, stream, minute int, scale float64) []int32 {
	m := newMapper(dst, k, stream, minute)
	m.piece(0, float64(Minute), p.rate*scale/float64(Second))
	return m.dst
}

// periodicProcess has one stream of rate·(1 + amplitude·sin(2π(t-phase)/period)) arrivals per second. The rate is
// constant over each second, at its value in the second's middle.
type periodicProcess struct {
	rate   float64
	wave   Wave
	length int
}

func (p *periodicProcess) streams() int { return 1 }
func (p *periodicProcess) minutes() int { return p.length }

// at returns the rate per second at a second of the workload.
func (p *periodicProcess) at(second int) float64 {
	minutes := (float64(second) + 0.5) / 60
	turn := (minutes - p.wave.Phase) / p.wave.Period
	turn -= math.Floor(turn)
	return p.rate * (1 + float64(p.wave.Amplitude*portable.Sin(2*math.Pi*turn)))
}

func (p *periodicProcess) expected(_, minute int) float64 {
	var n float64
	for s := range 60 {
		n += p.at(60*minute + s)
	}
	return n
}

func (p *periodicProcess) draw(dst []int32, k rng.Key, stream, minute int, scale float64) []int32 {
	m := newMapper(dst, k, stream, minute)
	for s := range 60 {
		m.piece(float64(int64(s)*Second), float64(int64(s+1)*Second), p.at(60*minute+s)*scale/float64(Second))
	}
	return m.dst
}

// burstyProcess has one stream, a two-state Markov-modulated Poisson process: times at a base rate alternate with
// bursts of factor times that rate, and both have exponential lengths. The state is drawn again from its stationary
// distribution at the beginning of every block of burstBlock minutes, so that a minute can be drawn without all earlier
// ones. This keeps the mean and the distribution of each minute's arrivals; only the correlation between blocks is
// lost.
type burstyProcess struct {
	rate   float64
	burst  Burst
	length int
}

// burstBlock is the length in minutes of a block with its own initial state.
const burstBlock = 60

func (p *burstyProcess) streams() int { return 1 }
func (p *burstyProcess) minutes() int { return p.length }

// share returns the share of time spent in bursts.
func (p *burstyProcess) share() float64 { return p.burst.On / (p.burst.On + p.burst.Off) }

func (p *burstyProcess) expected(_, _ int) float64 {
	return 60 * p.rate * (1 + float64(p.share()*(p.burst.Factor-1)))
}

func (p *burstyProcess) draw(dst []int32, k rng.Key, stream, minute int, scale float64) []int32 {
	m := newMapper(dst, k, stream, minute)
	state := k.With(uint64(stream)).With(1<<40 + uint64(minute/burstBlock))
	on := state.With(0).Float64() < p.share()
	begin := float64(int64(minute%burstBlock) * Minute) // of this minute, from the beginning of the block
	end := begin + float64(Minute)
	at := 0.0
	for j := uint64(1); at < end; j++ {
		mean, rate := p.burst.Off, p.rate*scale
		if on {
			mean, rate = p.burst.On, p.rate*scale*p.burst.Factor
		}
		next := at + float64(state.With(j).Exp()*mean*float64(Second))
		if next > begin {
			m.piece(max(at, begin)-begin, min(next, end)-begin, rate/float64(Second))
		}
		at, on = next, !on
	}
	return m.dst
}
