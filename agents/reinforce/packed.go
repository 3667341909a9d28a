package reinforce

import (
	"encoding/binary"
	"fmt"
	"math"
)

// packed is rows of observed numbers, one after another. Wide rows of which most numbers are 0 or like their neighbours, as those of images
// are, lie as runs: an image of 4,480 numbers takes a tenth of its memory, and of the time to write and read that. No bit is lost.
//
// A row is a head and words. The head is the number of runs, each of which takes two words, first·2¹⁶ + length and the bits of the number that
// it repeats; zeros between runs are left out. The head plain stands before the bits of all numbers.
type packed struct {
	words []uint32
	ends  []int // of rows, in words
}

const (
	plain = math.MaxUint32
	// packs is the width from which on rows are tried to be packed, fits the widths whose numbers' places fit into half a word.
	packs, fits = 256, 1 << 16
)

// rows is the number of rows.
func (p *packed) rows() int { return len(p.ends) }

func (p *packed) clear() { p.words, p.ends = p.words[:0], p.ends[:0] }

// add appends a row.
func (p *packed) add(row []float32) {
	if len(row) < packs || len(row) >= fits || !p.runs(row) {
		p.words = append(p.words, plain)
		for _, x := range row {
			p.words = append(p.words, math.Float32bits(x))
		}
	}
	p.ends = append(p.ends, len(p.words))
}

// runs appends a row as runs, or nothing where that isn't shorter.
func (p *packed) runs(row []float32) bool {
	head := len(p.words)
	w := append(p.words, 0)
	for i := 0; i < len(row); {
		if zeros(row[i:]) {
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

// zeros says that eight numbers lie ahead, and all of them are 0.
func zeros(x []float32) bool {
	if len(x) < 8 {
		return false
	}
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
		for j, x := range w[1:] {
			row[j] = math.Float32frombits(x)
		}
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

// appendTo appends the number of words, and the words.
func (p *packed) appendTo(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(len(p.words)))
	for _, x := range p.words {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}

// read takes what appendTo wrote, rows of width numbers, off b.
func (p *packed) read(b []byte, rows, width int) ([]byte, error) {
	size, b, err := number(b)
	if err != nil {
		return nil, err
	}
	if size > uint64(len(b))/4 || size < uint64(rows) {
		return nil, fmt.Errorf("%d rows of what was seen are %d words; %d bytes are left", rows, size, len(b))
	}
	p.clear()
	for range size {
		p.words = append(p.words, binary.LittleEndian.Uint32(b))
		b = b[4:]
	}
	for at := 0; p.rows() < rows; {
		if at == len(p.words) {
			return nil, fmt.Errorf("row %d of what was seen is missing", p.rows())
		}
		end, err := check(p.words, at, width)
		if err != nil {
			return nil, fmt.Errorf("row %d of what was seen: %w", p.rows(), err)
		}
		p.ends = append(p.ends, end)
		at = end
	}
	if rows > 0 && p.ends[rows-1] < len(p.words) || rows == 0 && size > 0 {
		return nil, fmt.Errorf("%d words follow what was seen", len(p.words))
	}
	return b, nil
}

// check returns where the row that begins at a word ends.
func check(words []uint32, at, width int) (end int, err error) {
	head := words[at]
	n := uint64(head) * 2
	if head == plain {
		n = uint64(width)
	}
	at++
	if n > uint64(len(words)-at) {
		return 0, fmt.Errorf("it takes %d words, of which there are %d", n, len(words)-at)
	}
	end = at + int(n)
	if head == plain {
		return end, nil
	}
	for ; at < end; at += 2 {
		if last := words[at]>>16 + words[at]&0xffff; last > uint32(width) {
			return 0, fmt.Errorf("a run ends at number %d of %d", last, width)
		}
	}
	return end, nil
}
