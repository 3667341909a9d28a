package reinforce

import (
	"errors"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs/state"
)

// packed holds rows of observed numbers, one after another, without loss. Wide rows that are mostly zeros or runs of
// equal numbers, such as images, are run-length coded: an image of 4,480 numbers takes a twentieth of its memory.
//
// A row is a head and words. The head is the number of runs. Each run takes two words: first·2¹⁶ + length, and the bits
// of the number that it repeats; zeros between runs are left out. The head [plain] stands before the index of a row
// that is stored as it is.
type packed struct {
	words []uint32
	ends  []int     // of rows, in words
	plain []float32 // rows as they are
}

const (
	plain = math.MaxUint32
	// packs is the width from which on rows are tried to be packed, fits the widths whose numbers' refs fit into half a
	// word.
	packs, fits = 256, 1 << 16
)

// rows is the number of rows.
func (p *packed) rows() int { return len(p.ends) }

func (p *packed) clear() { p.words, p.ends, p.plain = p.words[:0], p.ends[:0], p.plain[:0] }

// add appends a row; all have one width.
func (p *packed) add(row []float32) {
	if len(row) < packs || len(row) >= fits || !p.runs(row) {
		p.words = append(p.words, plain, uint32(len(p.plain)/len(row)))
		p.plain = append(p.plain, row...)
	}
	p.ends = append(p.ends, len(p.words))
}

// runs appends a row as runs, or nothing where that is not shorter.
func (p *packed) runs(row []float32) bool {
	head := len(p.words)
	w := append(p.words, 0)
	for i := 0; i < len(row); {
		if len(row)-i >= 8 && zeros((*[8]float32)(row[i:])) {
			i += 8
			continue
		}
		x := math.Float32bits(row[i])
		from := i
		for i++; i < len(row) && math.Float32bits(row[i]) == x; i++ {
		}
		if x != 0 {
			w = append(w, uint32(from)<<16|uint32(i-from), x)
		}
	}
	p.words = w
	if len(w)-head > len(row) {
		p.words = w[:head]
		return false
	}
	w[head] = uint32(len(w)-head-1) / 2
	return true
}

// zeros reports whether all eight numbers are 0.
func zeros(x *[8]float32) bool {
	b := math.Float32bits
	return b(x[0])|b(x[1])|b(x[2])|b(x[3])|b(x[4])|b(x[5])|b(x[6])|b(x[7]) == 0
}

// get writes row i.
func (p *packed) get(i int, row []float32) {
	from := 0
	if i > 0 {
		from = p.ends[i-1]
	}
	w := p.words[from:p.ends[i]]
	if w[0] == plain {
		copy(row, p.plain[int(w[1])*len(row):])
		return
	}
	clear(row)
	for w = w[1:]; len(w) > 1; w = w[2:] {
		x := math.Float32frombits(w[1])
		at := w[0] >> 16
		run := row[at : at+w[0]&0xffff]
		for j := range run {
			run[j] = x
		}
	}
}

// State implements [state.Stater]. The caller knows the width and calls check.
func (p *packed) State(c *state.Codec) {
	state.Slice(c, &p.words)
	state.Slice(c, &p.plain)
	state.Slice(c, &p.ends)
}

// check says what is wrong with loaded rows of width numbers.
func (p *packed) check(width int) error {
	at := 0
	for i, want := range p.ends {
		end, err := p.rowEnd(at, width)
		if err == nil && end != want {
			err = fmt.Errorf("ends at word %d, want %d", want, end)
		}
		if err != nil {
			return fmt.Errorf("observation %d: %w", i, err)
		}
		at = end
	}
	if rows := len(p.ends); at < len(p.words) || len(p.plain) > rows*width {
		return fmt.Errorf("%d words and %d numbers for %d observations of %d numbers each",
			len(p.words), len(p.plain), rows, width)
	}
	return nil
}

// rowEnd returns where the row that begins at a word ends.
func (p *packed) rowEnd(at, width int) (end int, err error) {
	if at == len(p.words) {
		return 0, errors.New("is missing")
	}
	head := p.words[at]
	n := uint64(head) * 2
	if head == plain {
		n = 1
	}
	at++
	if n > uint64(len(p.words)-at) {
		return 0, fmt.Errorf("takes %d words, of which there are %d", n, len(p.words)-at)
	}
	end = at + int(n)
	if head == plain {
		if (uint64(p.words[at])+1)*uint64(width) > uint64(len(p.plain)) {
			return 0, fmt.Errorf("is plain row %d of %d numbers", p.words[at], len(p.plain))
		}
		return end, nil
	}
	for ; at < end; at += 2 {
		if last := p.words[at]>>16 + p.words[at]&0xffff; last > uint32(width) {
			return 0, fmt.Errorf("a run ends at number %d of %d", last, width)
		}
	}
	return end, nil
}
