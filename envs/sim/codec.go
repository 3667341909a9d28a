package sim

import (
	"encoding/binary"
	"errors"
	"math"
)

// codec writes or reads a state, so that one description of each type serves both. Reading past the end sets err
// and gives zeros.
type codec struct {
	b    []byte
	read bool
	err  error
}

var errShort = errors.New("ends too early")

func (c *codec) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.b = nil
}

func (c *codec) u64(p *uint64) {
	if !c.read {
		c.b = binary.LittleEndian.AppendUint64(c.b, *p)
	} else if len(c.b) < 8 {
		c.fail(errShort)
	} else {
		*p, c.b = binary.LittleEndian.Uint64(c.b), c.b[8:]
	}
}

func (c *codec) u32(p *uint32) {
	if !c.read {
		c.b = binary.LittleEndian.AppendUint32(c.b, *p)
	} else if len(c.b) < 4 {
		c.fail(errShort)
	} else {
		*p, c.b = binary.LittleEndian.Uint32(c.b), c.b[4:]
	}
}

func (c *codec) u8(p *uint8) {
	if !c.read {
		c.b = append(c.b, *p)
	} else if len(c.b) < 1 {
		c.fail(errShort)
	} else {
		*p, c.b = c.b[0], c.b[1:]
	}
}

// small is a count that is mostly short.
func (c *codec) small(p *uint64) {
	if !c.read {
		c.b = binary.AppendUvarint(c.b, *p)
	} else if v, n := binary.Uvarint(c.b); n <= 0 {
		c.fail(errShort)
	} else {
		*p, c.b = v, c.b[n:]
	}
}

func (c *codec) i64(p *int64) { u := uint64(*p); c.u64(&u); *p = int64(u) }
func (c *codec) i32(p *int32) { u := uint32(*p); c.u32(&u); *p = int32(u) }
func (c *codec) time(p *Time) { u := uint64(*p); c.u64(&u); *p = Time(u) }
func (c *codec) wide(p *wide) { c.u64(&p.hi); c.u64(&p.lo) }
func (c *codec) list(p *list) { c.i32(&p.head); c.i32(&p.tail) }
func (c *codec) link(p *link) { c.i32(&p.prev); c.i32(&p.next) }
func (c *codec) node(p *Node) { c.i32(&p.CPU); c.i32(&p.Memory); c.i32(&p.GPU) }
func (c *codec) f64(p *float64) {
	u := math.Float64bits(*p)
	c.u64(&u)
	*p = math.Float64frombits(u)
}

func (c *codec) bool(p *bool) {
	u := uint8(b2i(*p))
	c.u8(&u)
	if u > 1 {
		c.fail(errors.New("holds a truth value that is neither 0 nor 1"))
	}
	*p = u == 1
}

// slice codes a slice whose elements take at least size bytes each.
func slice[T any](c *codec, p *[]T, size int, each func(*codec, *T)) {
	n := uint64(len(*p))
	c.u64(&n)
	if c.read {
		if n > uint64(len(c.b)/size) {
			c.fail(errShort)
			n = 0
		}
		*p = make([]T, n)
	}
	for i := range *p {
		each(c, &(*p)[i])
	}
}

func (c *codec) moments(p *moments) {
	c.wide(&p.sum)
	c.wide(&p.square)
	c.time(&p.max)
}

func (c *codec) tally(p *Tally) {
	for _, n := range []*int64{
		&p.Arrived, &p.Started, &p.Waited, &p.Cold, &p.Completed, &p.Late, &p.Rejected, &p.TimedOut, &p.Killed, &p.ColdStarts, &p.Expired,
	} {
		c.i64(n)
	}
}

func (c *codec) sizing(p *Sizing) {
	c.i32(&p.CPU)
	c.i32(&p.Memory)
	c.i32(&p.GPU)
	c.i32(&p.Concurrency)
	c.f64(&p.Speed)
	c.f64(&p.Contention.Cores)
	c.f64(&p.Contention.Alpha)
	c.i32(&p.Min)
	c.i32(&p.Max)
}

// sketch codes a sketch whose size is known.
func (c *codec) sketch(k *Sketch) {
	lo, hi := uint64(k.lo), uint64(k.hi)
	c.small(&lo)
	c.small(&hi)
	if c.read {
		if lo > hi || hi > uint64(len(k.counts)) {
			c.fail(errors.New("holds a sketch beyond its size"))
			return
		}
		k.lo, k.hi, k.n = int(lo), int(hi), 0
	}
	for i := lo; i < hi; i++ {
		c.small(&k.counts[i])
		if c.read {
			k.n += k.counts[i]
		}
	}
}
