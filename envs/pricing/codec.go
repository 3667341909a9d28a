package pricing

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"math"
)

// codec copies states, or turns them into bytes and back, field by field.
type codec struct {
	mode codecMode
	b    []byte
	err  error
}

type codecMode uint8

const (
	copying codecMode = iota // from the second to the first
	saving                   // the first
	loading                  // into the first
)

var errShort = errors.New("the saved state ends too early")

func (c *codec) word(x uint64) uint64 {
	if c.mode == saving {
		c.b = binary.LittleEndian.AppendUint64(c.b, x)
		return x
	}
	if len(c.b) < 8 {
		c.err = errShort
		return 0
	}
	x = binary.LittleEndian.Uint64(c.b)
	c.b = c.b[8:]
	return x
}

func (c *codec) half(x int32) int32 {
	if c.mode == saving {
		c.b = binary.LittleEndian.AppendUint32(c.b, uint32(x))
		return x
	}
	if len(c.b) < 4 {
		c.err = errShort
		return 0
	}
	x = int32(binary.LittleEndian.Uint32(c.b))
	c.b = c.b[4:]
	return x
}

func (c *codec) int64(dst, src *int64) {
	if c.mode == copying {
		*dst = *src
		return
	}
	*dst = int64(c.word(uint64(*dst)))
}

func (c *codec) int32(dst, src *int32) {
	if c.mode == copying {
		*dst = *src
		return
	}
	*dst = c.half(*dst)
}

// sized brings dst to its length: that of src, that which was saved, or its own.
func sized[T any](c *codec, dst, src *[]T) {
	switch c.mode {
	case copying:
		*dst = append((*dst)[:0], *src...)
	case saving:
		c.half(int32(len(*dst)))
	case loading:
		n := int(c.half(0))
		if n < 0 || n > len(c.b) { // each element takes four bytes at least
			c.err, n = errShort, 0
		}
		if n > cap(*dst) {
			*dst = make([]T, n)
		}
		*dst = (*dst)[:n]
	}
}

func (c *codec) int32s(dst, src *[]int32) {
	sized(c, dst, src)
	if c.mode != copying {
		for i := range *dst {
			(*dst)[i] = c.half((*dst)[i])
		}
	}
}

func (c *codec) float64s(dst, src *[]float64) {
	sized(c, dst, src)
	if c.mode != copying {
		for i, x := range *dst {
			(*dst)[i] = math.Float64frombits(c.word(math.Float64bits(x)))
		}
	}
}

func (c *codec) lists(dst, src *[]list) {
	sized(c, dst, src)
	if c.mode != copying {
		for i := range *dst {
			l := &(*dst)[i]
			l.at, l.n = c.half(l.at), c.half(l.n)
		}
	}
}

func (c *codec) arenas(dst, src *arena) {
	sized(c, &dst.places, &src.places)
	if c.mode != copying {
		for i := range dst.places {
			p := &dst.places[i]
			p.before, p.after = c.half(p.before), c.half(p.after)
		}
	}
}

func (c *codec) allVGPUs(dst, src *[]vgpu) {
	sized(c, dst, src)
	if c.mode != copying {
		for i := range *dst {
			v := &(*dst)[i]
			v.host, v.last, v.since, v.ripe = c.half(v.host), c.half(v.last), c.half(v.since), int8(c.half(int32(v.ripe)))
			v.state, v.role = vgpuState(c.half(int32(v.state))), role(c.half(int32(v.role)))
		}
	}
}

func (c *codec) allJobs(dst, src *[]jobs) {
	sized(c, dst, src)
	if c.mode != copying {
		for i := range *dst {
			j := &(*dst)[i]
			j.arrived, j.fn, j.length, j.n = c.half(j.arrived), c.half(j.fn), c.half(j.length), c.half(j.n)
			j.state = jobState(c.half(int32(j.state)))
		}
	}
}

// seal appends a sum over a saved state, and unseal checks and removes it.
func seal(b []byte, from int) []byte {
	return binary.LittleEndian.AppendUint64(b, sum(b[from:]))
}

func unseal(b []byte) ([]byte, error) {
	if len(b) < 8 {
		return nil, errShort
	}
	body := b[:len(b)-8]
	if binary.LittleEndian.Uint64(b[len(b)-8:]) != sum(body) {
		return nil, errors.New("the saved state is damaged: its sum is wrong")
	}
	return body, nil
}

func sum(b []byte) uint64 {
	h := fnv.New64a()
	h.Write(b)
	return h.Sum64()
}
