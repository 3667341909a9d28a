package state

import (
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"unsafe"
)

// Stater is a type that lists the fields of its state, in a fixed order, by the functions of this package.
type Stater interface {
	State(c *Codec)
}

// Codec walks over the fields that a [Stater] lists. What it does with them depends on who made it: see [Copy],
// [Append] and [Load]. After a failure it leaves all fields alone.
type Codec struct {
	mode    mode
	err     error
	b       []byte   // saving: what is written so far; loading: what is left to read
	fields  []any    // copying: pointers to the fields of the source, nil for a number of Same
	numbers []uint64 // copying: lengths of fixed slices, and the numbers of Same
	at, num int      // copying: the next of fields and of numbers
}

type mode uint8

const (
	collecting mode = iota // the source of a copy: note where its fields are
	copying                // the target of a copy: take them over
	saving
	loading
	failed
)

var codecs = sync.Pool{New: func() any { return new(Codec) }}

// Value lists a field of plain data: a number, a truth value, or an array or struct of them, such as an rng.Stream or
// an rng.Key.
func Value[T any](c *Codec, p *T) {
	switch c.mode {
	case collecting:
		c.fields = append(c.fields, p)
	case copying:
		if c.at < len(c.fields) {
			if src, ok := c.fields[c.at].(*T); ok {
				*p = *src
				c.at++
				return
			}
		}
		c.mismatch(p)
	default:
		plain(c, p, 1)
	}
}

// Slice lists a slice of plain data, with its length.
func Slice[T any](c *Codec, p *[]T) {
	switch c.mode {
	case collecting:
		c.fields = append(c.fields, p)
	case copying:
		if c.at < len(c.fields) {
			if src, ok := c.fields[c.at].(*[]T); ok {
				*p = append((*p)[:0], *src...)
				c.at++
				return
			}
		}
		c.mismatch(p)
	default:
		if n, ok := c.length(len(*p), planOf[T]().size); ok {
			*p = resize(*p, n)
			plain(c, unsafe.SliceData(*p), n)
		}
	}
}

// Fixed lists the elements, plain data, of a slice or array whose length the configuration sets: another length is
// refused.
func Fixed[T any](c *Codec, s []T) {
	n, ok := len(s), true
	switch c.mode {
	case collecting:
		c.fields = append(c.fields, unsafe.SliceData(s))
		c.numbers = append(c.numbers, uint64(n))
	case copying:
		var src *T
		if src, ok = take[*T](c); ok {
			if n = int(c.number()); n == len(s) {
				copy(s, unsafe.Slice(src, n))
			}
		}
	default:
		if n, ok = c.length(n, planOf[T]().size); ok && n == len(s) {
			plain(c, unsafe.SliceData(s), n)
		}
	}
	if ok && n != len(s) {
		c.failf("a slice has %d elements, want %d", n, len(s))
	}
}

// Part lists a part that lists its own fields.
func (c *Codec) Part(s Stater) {
	if c.mode != failed {
		s.State(c)
	}
}

// Parts lists a slice of parts, with its length. Elements keep their buffers where the slice shrinks and grows again.
func Parts[T any, P interface {
	*T
	Stater
}](c *Codec, p *[]T) {
	switch c.mode {
	case collecting:
		c.fields = append(c.fields, p)
	case copying:
		if src, ok := take[*[]T](c); ok {
			*p = resize(*p, len(*src))
		}
	default:
		if n, ok := c.length(len(*p), 1); ok { // a part has a byte at least
			*p = resize(*p, n)
		}
	}
	for i := range *p {
		c.Part(P(&(*p)[i]))
	}
}

// Copier is what interfaces of copyable and savable things have, such as environments and policies.
type Copier[E any] interface {
	CopyFrom(src E) error
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// Member lists a part that is known by an interface. It is a [Codec.Part] where it is a Stater; else its own methods
// copy it, and it is saved with its length before it.
func Member[E Copier[E]](c *Codec, e E) {
	if s, ok := any(e).(Stater); ok {
		c.Part(s)
		return
	}
	switch c.mode {
	case collecting:
		c.fields = append(c.fields, e)
	case copying:
		if c.at < len(c.fields) {
			if src, ok := c.fields[c.at].(E); ok {
				c.at++
				c.Fail(e.CopyFrom(src))
				return
			}
		}
		c.mismatch(e)
	case saving:
		at := len(c.b)
		b, err := e.AppendBinary(binary.LittleEndian.AppendUint64(c.b, 0))
		if c.Fail(err); err == nil {
			binary.LittleEndian.PutUint64(b[at:], uint64(len(b)-at-8))
			c.b = b
		}
	case loading:
		if n, ok := c.length(0, 1); ok {
			c.Fail(e.UnmarshalBinary(c.b[:n:n]))
			c.b = c.b[n:]
		}
	}
}

// Same lists a number that must be the same on both sides, such as the fingerprint of a configuration. Begin with it:
// where it differs nothing is copied or loaded.
func (c *Codec) Same(what string, x uint64) {
	was := x
	switch c.mode {
	case collecting:
		c.fields = append(c.fields, nil)
		c.numbers = append(c.numbers, x)
	case copying:
		if c.at < len(c.fields) && c.fields[c.at] == nil {
			c.at++
			was = c.number()
		} else {
			c.mismatch(nil)
		}
	default:
		was = c.word(x)
	}
	if was != x && c.mode != failed {
		c.failf("of another %s (%d, want %d)", what, was, x)
	}
}

// Source is for fields that are copied by code of their own. While a copy is made it returns the source's p, else nil.
//
//	if o := state.Source(c, k); o != nil { … copy o to k … }
//	if c.Stored() { … list what is saved … }
func Source[T any](c *Codec, p *T) *T {
	switch c.mode {
	case collecting:
		c.fields = append(c.fields, p)
	case copying:
		src, _ := take[*T](c)
		return src
	}
	return nil
}

// Stored reports whether the state is being saved or loaded, and not copied. After a failure it is false, so that what
// it guards may index with the fields listed before.
func (c *Codec) Stored() bool { return c.mode == saving || c.mode == loading }

// Loaded reports whether the fields listed so far have been loaded: the time to check them, and before indexing with
// them.
func (c *Codec) Loaded() bool { return c.mode == loading }

// Filled reports whether the fields listed so far have been loaded or copied: the time to make what follows from them.
func (c *Codec) Filled() bool { return c.mode == copying || c.mode == loading }

// Fail refuses the state because of err; nil changes nothing. The first failure counts.
func (c *Codec) Fail(err error) {
	if err != nil && c.mode != failed {
		c.err, c.mode = err, failed
	}
}

// Check refuses the loaded state unless ok, with a message made by fmt.Sprintf. It is false after any failure. Its
// arguments may allocate: where copies must not, call it where the state is Loaded or Stored.
func (c *Codec) Check(ok bool, format string, args ...any) bool {
	if !ok && c.mode == loading {
		c.failf(format, args...)
	}
	return c.mode != failed
}

func (c *Codec) failf(format string, args ...any) { c.Fail(fmt.Errorf(format, args...)) }

// take returns the source's next field, false where it is of another type.
func take[P *T, T any](c *Codec) (P, bool) {
	if c.at < len(c.fields) {
		if p, ok := c.fields[c.at].(P); ok {
			c.at++
			return p, true
		}
	}
	c.mismatch(P(nil))
	return nil, false
}

// number returns the next number of the source, whose field has just been taken.
func (c *Codec) number() uint64 {
	c.num++
	return c.numbers[c.num-1]
}

func (c *Codec) mismatch(want any) {
	if c.at >= len(c.fields) {
		c.failf("only %d fields, want more", len(c.fields))
		return
	}
	c.failf("%s for field %d, want %s", formOf(c.fields[c.at]), c.at, formOf(want))
}

// formOf names the type of a field for an error.
func formOf(p any) string {
	if p == nil {
		return "a fingerprint"
	}
	return fmt.Sprintf("a %T", p)
}

var errShort = errors.New("ends too early")

// word writes x, or reads a number and returns it.
func (c *Codec) word(x uint64) uint64 {
	switch {
	case c.mode == saving:
		c.b = binary.LittleEndian.AppendUint64(c.b, x)
	case c.mode == loading && len(c.b) < 8:
		c.Fail(errShort)
	case c.mode == loading:
		x, c.b = binary.LittleEndian.Uint64(c.b), c.b[8:]
	}
	return x
}

// length writes n, or reads a length and checks that as many elements of size bytes each are left. The second result is
// false after a failure.
func (c *Codec) length(n, size int) (int, bool) {
	x := c.word(uint64(n))
	if c.mode == loading && x > uint64(len(c.b)/max(size, 1)) {
		c.Fail(errShort)
	}
	return int(x), c.mode != failed
}

// resize returns s with length n; what it held stays.
func resize[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	t := make([]T, n)
	copy(t, s[:cap(s)])
	return t
}
