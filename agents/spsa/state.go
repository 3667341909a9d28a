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
func (p *Pricer) rows() [5][]float64 {
	return [5][]float64{p.x, p.first, p.second, p.estimate, p.delta}
}

// rowBytes is the length of a component's numbers in a state.
const rowBytes = 5 * 8

// AppendBinary appends all that the pricer needs to go on bit for bit: the number of components, t, the estimates pending, what
// the metrics show, how far it is in a pair of the world's own windows, per component s_t, Adam's means, the pending estimate and Δ_t, and the stream of
// perturbations.
func (p *Pricer) AppendBinary(b []byte) ([]byte, error) {
	for _, x := range []uint64{
		uint64(len(p.x)), uint64(p.window), uint64(p.worlds), math.Float64bits(p.gradient), math.Float64bits(p.step), uint64(p.phase), math.Float64bits(p.plus),
	} {
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
const head = 7 * 8

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
	if len(rows) < rowBytes*len(p.x) {
		return 0, 0, nil, fmt.Errorf("spsa: state has %d bytes, want more than %d", len(b), head+rowBytes*len(p.x))
	}
	if window > maxWindows || worlds > maxWindows {
		return 0, 0, nil, fmt.Errorf("spsa: state has window %d and %d estimates, want at most %d", window, worlds, int64(maxWindows))
	}
	if g, e := word(b, 3), word(b, 4); !(g >= 0 && g <= math.MaxFloat64 && e >= 0 && e <= 1) {
		return 0, 0, nil, fmt.Errorf("spsa: state has gradient %g and step %g, want finite ones from 0, the step at most 1", g, e)
	}
	if phase, plus := binary.LittleEndian.Uint64(b[40:]), word(b, 6); phase >= uint64(p.cycle()) || math.IsNaN(plus) || math.IsInf(plus, 0) {
		return 0, 0, nil, fmt.Errorf("spsa: state is at window %d of a move's %d with profit %g, want one below and a finite profit", phase, p.cycle(), plus)
	}
	for k, name := range []string{"action", "first moment", "second moment", "estimate", "perturbation"} {
		for i := range p.x {
			x := word(rows, k*len(p.x)+i)
			if math.IsNaN(x) || math.IsInf(x, 0) || (k == 2 && x < 0) {
				return 0, 0, nil, fmt.Errorf("spsa: state has %s %g of %s", name, x, p.space.names[i])
			}
			if k == 4 && x != 0 && math.Abs(x) != 1 {
				return 0, 0, nil, fmt.Errorf("spsa: state has %s %g of %s, want -1, 0 or 1", name, x, p.space.names[i])
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
	if err := stream.UnmarshalBinary(rows[rowBytes*len(p.x):]); err != nil {
		return fmt.Errorf("spsa: perturbations: %w", err)
	}
	*p.stream = stream
	p.window, p.worlds, p.gradient, p.step = int64(window), int(worlds), word(b, 3), word(b, 4)
	p.phase, p.plus = int64(binary.LittleEndian.Uint64(b[40:])), word(b, 6)
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
