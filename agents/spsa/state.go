package spsa

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/rng"
)

// maxWindows bounds what a state counts, so that counting on from a forged one can't overflow.
const maxWindows = 1 << 60

// rows are the pricer's arrays that are saved, in the order of the state.
func (p *Pricer) rows() [4][]float64 { return [4][]float64{p.x, p.first, p.second, p.estimate} }

// AppendBinary appends all that the pricer needs to go on bit for bit: the number of components, t, the estimates pending, the stream
// of perturbations, what the metrics show, and per component s_t, Adam's means and the pending estimate.
func (p *Pricer) AppendBinary(b []byte) ([]byte, error) {
	for _, x := range []uint64{uint64(len(p.x)), uint64(p.window), uint64(p.worlds), math.Float64bits(p.gradient), math.Float64bits(p.step)} {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	for _, row := range p.rows() {
		for _, x := range row {
			b = appendFloat(b, x)
		}
	}
	return p.stream.AppendBinary(b)
}

// head is the length of a state before its rows.
const head = 5 * 8

// read checks a state and returns its words after the head, the stream's bytes last.
func (p *Pricer) read(b []byte) (window, worlds uint64, rows []byte, err error) {
	if len(b) < head {
		return 0, 0, nil, fmt.Errorf("spsa: state has %d bytes, want at least %d", len(b), head)
	}
	if n := binary.LittleEndian.Uint64(b); n != uint64(len(p.x)) {
		return 0, 0, nil, fmt.Errorf("spsa: state has %d components, the environment's action has %d", n, len(p.x))
	}
	window, worlds = binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
	rows = b[head:]
	if len(rows) < 32*len(p.x) {
		return 0, 0, nil, fmt.Errorf("spsa: state has %d bytes, want more than %d", len(b), head+32*len(p.x))
	}
	if window > maxWindows || worlds > maxWindows {
		return 0, 0, nil, fmt.Errorf("spsa: state has window %d and %d estimates, want at most %d", window, worlds, int64(maxWindows))
	}
	if g, e := word(b, 3), word(b, 4); !(g >= 0 && g <= math.MaxFloat64 && e >= 0 && e <= 1) {
		return 0, 0, nil, fmt.Errorf("spsa: state has gradient %g and step %g, want finite ones from 0, the step at most 1", g, e)
	}
	for k, name := range []string{"action", "first moment", "second moment", "estimate"} {
		for i := range p.x {
			x := word(rows, k*len(p.x)+i)
			if math.IsNaN(x) || math.IsInf(x, 0) || (k == 2 && x < 0) {
				return 0, 0, nil, fmt.Errorf("spsa: state has %s %g of %s", name, x, p.space.names[i])
			}
			if k == 0 && x != p.space.clip(i, x) {
				return 0, 0, nil, fmt.Errorf("spsa: state has %s %g, want at least %g and at most %g", p.space.names[i], x, p.space.low[i], p.space.high[i])
			}
		}
	}
	return window, worlds, rows, nil
}

func appendFloat(b []byte, x float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
}

func word(b []byte, i int) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:])) }

// UnmarshalBinary restores what AppendBinary wrote. Where it fails, nothing has changed.
func (p *Pricer) UnmarshalBinary(b []byte) error {
	window, worlds, rows, err := p.read(b)
	if err != nil {
		return err
	}
	var stream rng.Stream
	if err := stream.UnmarshalBinary(rows[32*len(p.x):]); err != nil {
		return fmt.Errorf("spsa: perturbations: %w", err)
	}
	*p.stream = stream
	p.window, p.worlds, p.gradient, p.step = int64(window), int(worlds), word(b, 3), word(b, 4)
	for k, row := range p.rows() {
		for i := range row {
			row[i] = word(rows, k*len(p.x)+i)
		}
	}
	return nil
}

// adopt takes the action of a state over, and nothing else.
func (p *Pricer) adopt(b []byte) error {
	_, _, rows, err := p.read(b)
	if err != nil {
		return err
	}
	for i := range p.x {
		p.x[i] = word(rows, i)
	}
	p.space.use(p.x, p.trials.act.Kinds[0], true)
	return nil
}
