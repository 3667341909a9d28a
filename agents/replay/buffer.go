// Package replay is the replay memory: transitions as rows of float32 in named columns. New rows overwrite the oldest, and
// the caller owns the stream that samples them.
//
// Rows are numbered from 0 since the beginning of the run. A checkpoint saves them as append-only segments by number, so
// that the next checkpoint links what the last one wrote.
//
// Not here: what the columns mean (the learners), files (package checkpoints).
package replay

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/rng"
)

// Column is one field of a row: Width numbers.
type Column struct {
	Name  string
	Width int
}

// Buffer is a ring of rows.
type Buffer struct {
	columns []Column
	offset  []int
	width   int
	cap     int64
	rows    []float32
	next    int64 // number of the next row
}

// maxNumbers bounds a buffer at 4 TiB, far below where making it would panic. It has memory for a few rows at first, and
// twice as much whenever it is full.
const maxNumbers, few = 1 << 40, 4096

// New returns an empty buffer of at most capacity rows.
func New(columns []Column, capacity int) (*Buffer, error) {
	if capacity < 1 {
		return nil, fmt.Errorf("replay: capacity is %d rows, want at least 1", capacity)
	}
	b := &Buffer{columns: columns, cap: int64(capacity)}
	for _, c := range columns {
		if c.Width < 1 {
			return nil, fmt.Errorf("replay: column %q has width %d, want at least 1", c.Name, c.Width)
		}
		b.offset = append(b.offset, b.width)
		b.width += c.Width
	}
	if b.width > 0 && int64(capacity) > maxNumbers/int64(b.width) {
		return nil, fmt.Errorf("replay: %d rows of %d numbers are more than any machine holds: want at most %d numbers",
			capacity, b.width, int64(maxNumbers))
	}
	return b, nil
}

// Len is the number of rows held, Capacity the most there can be.
func (b *Buffer) Len() int { return int(min(b.next, b.cap)) }

// Capacity is the most rows that the buffer holds.
func (b *Buffer) Capacity() int { return int(b.cap) }

// Columns returns the columns; they must not be modified.
func (b *Buffer) Columns() []Column { return b.columns }

// First is the number of the oldest row held, Next that of the row to come.
func (b *Buffer) First() int64 { return max(0, b.next-b.cap) }

// Next is the number of rows ever added.
func (b *Buffer) Next() int64 { return b.next }

// Add makes room for one row, which replaces the oldest where the buffer is full, and returns its columns to fill in
// through [Row.Column].
func (b *Buffer) Add() Row {
	if i := b.next % b.cap; int(i+1)*b.width > len(b.rows) {
		// Not before: who evaluates, exports, checks or hardly trains a learner never fills its buffer, of a gigabyte maybe,
		// and a short training may have one that is larger than the machine.
		was := b.rows
		n := min(max(few, int64(2*len(was)/b.width), i+1), b.cap)
		b.rows = make([]float32, int(n)*b.width)
		huge(b.rows)
		copy(b.rows, was)
	}
	r := b.at(b.next)
	b.next++
	return r
}

// Row is one row of a buffer.
type Row struct {
	b      *Buffer
	values []float32
}

// Column returns the row's part of column i.
func (r Row) Column(i int) []float32 {
	return r.values[r.b.offset[i] : r.b.offset[i]+r.b.columns[i].Width]
}

func (b *Buffer) at(n int64) Row {
	i := int(n % b.cap)
	return Row{b, b.rows[i*b.width : (i+1)*b.width]}
}

// Sample draws len(index) row numbers uniformly, with replacement, from those held.
func (b *Buffer) Sample(s *rng.Stream, index []int64) error {
	n := b.Len()
	if n == 0 {
		return fmt.Errorf("replay: sampling from an empty buffer")
	}
	for i := range index {
		index[i] = b.First() + int64(s.IntN(n))
	}
	return nil
}

// Gather copies column c of the numbered rows into dst as [parts, len(index), width/parts]: a column that holds
// [agents, features] becomes agent-major, as networks take it.
func (b *Buffer) Gather(c int, index []int64, parts int, dst []float32) {
	w := b.columns[c].Width / parts
	for i, n := range index {
		row := b.at(n).Column(c)
		for p := range parts {
			copy(dst[(p*len(index)+i)*w:][:w], row[p*w:])
		}
	}
}

// Width is that of a row, Offset where column c begins in it.
func (b *Buffer) Width() int { return b.width }

// Offset is where column c begins in a row.
func (b *Buffer) Offset(c int) int { return b.offset[c] }

// line is the number of float32 in a cache line, ahead the number of rows that Rows prefetches.
const line, ahead = 16, 16

// Rows copies whole rows, one after another, into dst. Several goroutines may do so at once. Rows drawn at random are
// rarely in a cache, so Rows touches every cache line of the next rows before it copies them: the misses overlap.
func (b *Buffer) Rows(index []int64, dst []float32) {
	for len(index) > 0 {
		some := index[:min(ahead, len(index))]
		b.touch(some)
		for _, n := range some {
			dst = dst[copy(dst, b.at(n).values):]
		}
		index = index[len(some):]
	}
}

// touch reads a number of every cache line of some rows. It must not be inlined: the compiler would drop the unused sum.
//
//go:noinline
func (b *Buffer) touch(index []int64) float32 {
	var sum float32
	for _, n := range index {
		row := b.at(n).values
		for i := 0; i < len(row); i += line {
			sum += row[i]
		}
	}
	return sum
}

// RowBytes is the size of a saved row.
func (b *Buffer) RowBytes() int { return 4 * b.width }

// AppendRow appends row n, which must be held, as little-endian float32.
func (b *Buffer) AppendRow(n int64, dst []byte) []byte {
	for _, x := range b.at(n).values {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
	}
	return dst
}

// maxRows bounds the numbers of rows, so that counting on from a forged one can't overflow.
const maxRows = 1 << 60

// Restore empties the buffer and sets the number of the first row that SetRow will bring.
func (b *Buffer) Restore(first int64) error {
	if first < 0 || first > maxRows {
		return fmt.Errorf("replay: the first row has number %d, want 0 to %d", first, int64(maxRows))
	}
	b.next = first
	return nil
}

// SetRow adds the next row from its saved form.
func (b *Buffer) SetRow(src []byte) error {
	if len(src) != b.RowBytes() {
		return fmt.Errorf("replay: saved row has %d bytes, want %d", len(src), b.RowBytes())
	}
	r := b.Add()
	for i := range r.values {
		r.values[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
	return nil
}
