package rng

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
)

// Stream is a key consumed in order: a math/rand/v2 Source whose whole state is 24 bytes.
type Stream struct {
	key Key
	n   uint64
}

var _ rand.Source = (*Stream)(nil)

// NewStream returns the stream of a purpose under a seed.
func NewStream(seed uint64, purpose string) *Stream { return New(seed, purpose).Stream() }

// Uint64 returns the next number, uniform over 64 bits.
func (s *Stream) Uint64() uint64 {
	s.n++
	return s.key.With(s.n).Uint64()
}

// Float64 returns the next number in [0, 1).
func (s *Stream) Float64() float64 { return float64(s.Uint64()>>11) * 0x1p-53 }

// Open returns the next number in (0, 1): safe under a logarithm.
func (s *Stream) Open() float64 { return (float64(s.Uint64()>>12) + 0.5) * 0x1p-52 }

// IntN returns the next number in [0, n). n must be positive.
func (s *Stream) IntN(n int) int { s.n++; return s.key.With(s.n).IntN(n) }

// Norm returns the next number from the standard normal law.
func (s *Stream) Norm() float64 { s.n++; return s.key.With(s.n).Norm() }

// Exp returns the next number from the exponential law of mean 1.
func (s *Stream) Exp() float64 { s.n++; return s.key.With(s.n).Exp() }

// Words fills dst with uniform words of 32 bits, several times as fast as numbers one by one: it takes one number of
// the stream as the seed of SplitMix64 (Steele, Lea and Flood, 2014), which gives two words a step.
func (s *Stream) Words(dst []uint32) { WordsFrom(s.Uint64(), 0, dst) }

// WordsFrom fills dst with the words that [Stream.Words] makes of the stream's number x, beginning with word at. So
// several goroutines can each make a part of one draw.
func WordsFrom(x uint64, at int, dst []uint32) {
	x += uint64(at/2) * splitMix
	if at%2 == 1 && len(dst) > 0 {
		dst[0] = uint32(mix(x, splitMix))
		dst, x = dst[1:], x+splitMix
	}
	for i := 0; i+1 < len(dst); i += 2 {
		y := mix(x, splitMix)
		dst[i], dst[i+1] = uint32(y>>32), uint32(y)
		x += splitMix
	}
	if i := len(dst) - 1; i%2 == 0 {
		dst[i] = uint32(mix(x, splitMix) >> 32)
	}
}

// splitMix is SplitMix64's step.
const splitMix = 0x9e3779b97f4a7c15

// Rand returns a math/rand/v2 generator over the stream, for Perm and Shuffle.
func (s *Stream) Rand() *rand.Rand { return rand.New(s) }

// streamBytes is the length of a saved stream: two words of key and the counter.
const streamBytes = 24

// AppendBinary appends the stream's state.
func (s *Stream) AppendBinary(b []byte) ([]byte, error) {
	b = binary.LittleEndian.AppendUint64(b, s.key.a)
	b = binary.LittleEndian.AppendUint64(b, s.key.b)
	return binary.LittleEndian.AppendUint64(b, s.n), nil
}

// UnmarshalBinary restores a state written by AppendBinary.
func (s *Stream) UnmarshalBinary(b []byte) error {
	if len(b) != streamBytes {
		return fmt.Errorf("rng: stream state has %d bytes, want %d", len(b), streamBytes)
	}
	s.key = Key{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
	s.n = binary.LittleEndian.Uint64(b[16:])
	if s.key == (Key{}) {
		return errors.New("rng: stream state has an empty key")
	}
	return nil
}
