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

// Codec walks over the fields that a [Stater] lists. What it does with them depends on who made it: see [Copy], [Append] and
// [Load]. After a failure it leaves all fields alone.
type Codec struct {
	mode mode
	err  error
	b    []byte  // saving: what is written so far; loading: what is left to read
	refs []field // copying: the fields of the source
	at   int     // copying: the next of refs
}

type mode uint8

const (
	collecting mode = iota // the source of a copy: note where its fields are
	copying                // the target of a copy: take them over
	saving
	loading
)

// field is one listed field of a copy's source: a pointer to it, or to its first element where n counts them.
type field struct {
	at any
	n  int
}

var codecs = sync.Pool{New: func() any { return new(Codec) }}

// Value lists a field of plain data: a number, a truth value, or an array or struct of them, such as an rng.Stream or an
// rng.Key.
func Value[T any](c *Codec, p *T) {
	switch c.mode {
	case collecting:
		c.refs = append(c.refs, field{p, 0})
	case copying:
		if src := take[*T](c); src != nil {
			*p = *src
		}
	default:
		plain(c, p, 1)
	}
}

// Slice lists a slice of plain data, with its length.
func Slice[T any](c *Codec, p *[]T) {
	switch c.mode {
	case collecting:
		c.refs = append(c.refs, field{p, 0})
	case copying:
		if src := take[*[]T](c); src != nil {
			*p = append((*p)[:0], *src...)
		}
	default:
		if n, ok := c.length(len(*p), planOf[T]().size); ok {
			*p = resize(*p, n)
			plain(c, unsafe.SliceData(*p), n)
		}
	}
}

// Fixed lists the elements, plain data, of a slice or array whose length the configuration sets: another length is refused.
func Fixed[T any](c *Codec, s []T) {
	switch c.mode {
	case collecting:
		c.refs = append(c.refs, field{unsafe.SliceData(s), len(s)})
	case copying:
		if n := c.next().n; n != len(s) {
			c.failf("a slice has %d elements, want %d", n, len(s))
		} else if src := take[*T](c); src != nil {
			copy(s, unsafe.Slice(src, n))
		}
	default:
		if n, ok := c.length(len(s), planOf[T]().size); ok && n != len(s) {
			c.failf("a slice has %d elements, want %d", n, len(s))
		} else if ok {
			plain(c, unsafe.SliceData(s), n)
		}
	}
}

// Part lists a part that lists its own fields.
func (c *Codec) Part(s Stater) {
	if c.err == nil {
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
		c.refs = append(c.refs, field{p, 0})
	case copying:
		if src := take[*[]T](c); src != nil {
			*p = resize(*p, len(*src))
		}
	default:
		if n, ok := c.length(len(*p), 1); ok { // a part has a byte at least
			*p = resize(*p, n)
		}
	}
	for i := range *p {
		if c.err != nil {
			return
		}
		P(&(*p)[i]).State(c)
	}
}

// Copier is what interfaces of copyable and savable things have, such as environments and policies.
type Copier[E any] interface {
	CopyFrom(src E) error
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// Member lists a part that is known by an interface. It is a [Codec.Part] where it is a Stater; else its own methods copy it, and
// it is saved with its length before it.
func Member[E Copier[E]](c *Codec, e E) {
	if s, ok := any(e).(Stater); ok {
		c.Part(s)
		return
	}
	switch c.mode {
	case collecting:
		c.refs = append(c.refs, field{e, 0})
	case copying:
		if f, ok := c.next().at.(E); ok {
			c.at++
			c.Fail(e.CopyFrom(f))
		} else {
			c.mismatch(e)
		}
	case saving:
		c.blob(e)
	case loading:
		if n, ok := c.length(0, 1); ok {
			c.Fail(e.UnmarshalBinary(c.b[:n:n]))
			c.b = c.b[n:]
		}
	}
}

// blob writes a length and what e appends.
func (c *Codec) blob(e encoding.BinaryAppender) {
	if c.err != nil {
		return
	}
	at := len(c.b)
	b, err := e.AppendBinary(binary.LittleEndian.AppendUint64(c.b, 0))
	if err != nil {
		c.Fail(err)
		return
	}
	binary.LittleEndian.PutUint64(b[at:], uint64(len(b)-at-8))
	c.b = b
}

// Same lists a number that must be the same on both sides, such as the fingerprint of a configuration. Begin with it: where it
// differs nothing is copied or loaded.
func (c *Codec) Same(what string, x uint64) {
	was := x
	switch c.mode {
	case collecting:
		c.refs = append(c.refs, field{same{}, int(x)})
	case copying:
		f := c.next()
		if _, ok := f.at.(same); !ok {
			c.mismatch(same{})
			return
		}
		was = uint64(f.n)
		c.at++
	default:
		was = c.word(x)
	}
	if was != x && c.err == nil {
		c.failf("of another %s (fingerprint %016x, want %016x)", what, was, x)
	}
}

// same marks a number of [Codec.Same] among a source's fields.
type same struct{}

// Source is for fields that are copied by code of their own. While a copy is made it returns the source's p, else nil.
//
//	if o := state.Source(c, k); o != nil { … copy o to k … }
//	if c.Stored() { … list what is saved … }
func Source[T any](c *Codec, p *T) *T {
	switch c.mode {
	case collecting:
		c.refs = append(c.refs, field{p, 0})
	case copying:
		return take[*T](c)
	}
	return nil
}

// Stored reports whether the state is being saved or loaded, not copied.
func (c *Codec) Stored() bool { return c.mode >= saving }

// Loaded reports whether the fields listed so far have been loaded: the time to check them, and before indexing with them.
func (c *Codec) Loaded() bool { return c.mode == loading && c.err == nil }

// Filled reports whether the fields listed so far have been loaded or copied: the time to make what follows from them.
func (c *Codec) Filled() bool { return (c.mode == copying || c.mode == loading) && c.err == nil }

// Fail refuses the state because of err; nil changes nothing. The first failure counts.
func (c *Codec) Fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// Check refuses what is loaded unless ok, with a message made by fmt.Sprintf. It returns whether loading goes on.
func (c *Codec) Check(ok bool, format string, args ...any) bool {
	if !ok && c.Loaded() {
		c.failf(format, args...)
	}
	return c.err == nil
}

func (c *Codec) failf(format string, args ...any) { c.Fail(fmt.Errorf(format, args...)) }

// next is the source's field that comes next, empty where there is none or something has failed.
func (c *Codec) next() field {
	if c.err != nil || c.at >= len(c.refs) {
		return field{}
	}
	return c.refs[c.at]
}

// take returns the source's next field; nil after a failure.
func take[P *T, T any](c *Codec) P {
	if c.err == nil && c.at < len(c.refs) {
		if p, ok := c.refs[c.at].at.(P); ok {
			c.at++
			return p
		}
	}
	c.mismatch(P(nil))
	return nil
}

func (c *Codec) mismatch(want any) {
	if c.at >= len(c.refs) {
		c.failf("only %d fields, want more", len(c.refs))
		return
	}
	c.failf("a %T for field %d, want a %T", c.refs[c.at].at, c.at, want)
}

var errShort = errors.New("ends too early")

// word writes x, or reads a number and returns it.
func (c *Codec) word(x uint64) uint64 {
	switch {
	case c.err != nil:
	case c.mode == saving:
		c.b = binary.LittleEndian.AppendUint64(c.b, x)
	case len(c.b) < 8:
		c.err = errShort
	default:
		x, c.b = binary.LittleEndian.Uint64(c.b), c.b[8:]
	}
	return x
}

// length writes n, or reads a length and checks that as many elements of size bytes each are left. The second result is
// false after a failure.
func (c *Codec) length(n, size int) (int, bool) {
	x := c.word(uint64(n))
	if c.mode == loading && c.err == nil && x > uint64(len(c.b)/max(size, 1)) {
		c.Fail(errShort)
	}
	return int(x), c.err == nil
}

// resize returns s with length n; what it held stays.
func resize[T any](s []T, n int) []T {
	if n <= len(s) {
		return s[:n]
	}
	if n <= cap(s) {
		return s[:n]
	}
	t := make([]T, n)
	copy(t, s[:cap(s)])
	return t
}
