package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"reflect"
	"sync"
	"unsafe"
)

// plan is how a type of plain data is written: its numbers in order of memory, without the gaps between them.
type plan struct {
	runs []run
	size int  // bytes written for one element
	same bool // what is written is the memory itself, on this machine
	err  error
}

// run is n numbers of one form, one after another, that begin at an offset.
type run struct {
	at, n int
	form  form
}

// form is a number's width in memory, or that it is more than its bits.
type form int

const (
	word  form = 0  // int, written in eight bytes
	truth form = -1 // a truth value, one byte, 0 or 1
)

var plans sync.Map // of *plan by reflect.Type

// planOf returns how T is written. It is made once for each type.
func planOf[T any]() *plan {
	t := reflect.TypeFor[T]()
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := new(plan)
	p.add(t, 0)
	p.same = little && bits.UintSize == 64
	for _, r := range p.runs {
		switch r.form {
		case word:
			p.size += 8 * r.n
		case truth:
			p.size += r.n
			p.same = false // loading looks at each
		default:
			p.size += int(r.form) * r.n
		}
	}
	p.same = p.same && p.size == int(t.Size()) // no gaps
	plans.Store(t, p)
	return p
}

// little says that this machine's memory has the order of bytes that is written.
var little = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// add lists the numbers of t at an offset.
func (p *plan) add(t reflect.Type, at int) {
	var f form
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			p.add(t.Field(i).Type, at+int(t.Field(i).Offset))
		}
		return
	case reflect.Array:
		for i := range t.Len() {
			p.add(t.Elem(), at+i*int(t.Elem().Size()))
		}
		return
	case reflect.Bool:
		f = truth
	case reflect.Int:
		f = word
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Float32, reflect.Float64,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		f = form(t.Size())
	default:
		p.err = fmt.Errorf("a %v is not plain data (numbers of fixed size, int, bool, arrays and structs of them)", t)
		return
	}
	if i := len(p.runs) - 1; i >= 0 && p.runs[i].form == f && p.runs[i].at+p.runs[i].n*int(t.Size()) == at {
		p.runs[i].n++
		return
	}
	p.runs = append(p.runs, run{at, 1, f})
}

// plain saves or loads n elements that begin at first.
func plain[T any](c *Codec, first *T, n int) {
	p := planOf[T]()
	switch {
	case c.mode == failed || n == 0:
		return
	case p.err != nil:
		c.Fail(p.err)
		return
	case c.mode == loading && n > len(c.b)/max(p.size, 1):
		c.Fail(errShort)
		return
	}
	stride := unsafe.Sizeof(*first)
	if p.same {
		memory := unsafe.Slice((*byte)(unsafe.Pointer(first)), n*int(stride))
		if c.mode == saving {
			c.b = append(c.b, memory...)
		} else {
			c.b = c.b[copy(memory, c.b):]
		}
		return
	}
	for i := range n {
		at := unsafe.Add(unsafe.Pointer(first), i*int(stride))
		if c.mode == saving {
			c.b = p.save(c.b, at)
		} else if err := p.load(c.b, at); err != nil {
			c.Fail(err)
			return
		} else {
			c.b = c.b[p.size:]
		}
	}
}

// save appends the element at x.
func (p *plan) save(b []byte, x unsafe.Pointer) []byte {
	for _, r := range p.runs {
		at := unsafe.Add(x, r.at)
		switch r.form {
		case word:
			for _, v := range unsafe.Slice((*int)(at), r.n) {
				b = binary.LittleEndian.AppendUint64(b, uint64(v))
			}
		case 1, truth:
			b = append(b, unsafe.Slice((*byte)(at), r.n)...)
		case 2:
			for _, v := range unsafe.Slice((*uint16)(at), r.n) {
				b = binary.LittleEndian.AppendUint16(b, v)
			}
		case 4:
			for _, v := range unsafe.Slice((*uint32)(at), r.n) {
				b = binary.LittleEndian.AppendUint32(b, v)
			}
		case 8:
			for _, v := range unsafe.Slice((*uint64)(at), r.n) {
				b = binary.LittleEndian.AppendUint64(b, v)
			}
		}
	}
	return b
}

var (
	errTruth = errors.New("a truth value is neither 0 nor 1")
	errInt   = errors.New("a number is beyond this machine's int")
)

// load reads the element at x from the beginning of b, which is long enough.
func (p *plan) load(b []byte, x unsafe.Pointer) error {
	for _, r := range p.runs {
		at := unsafe.Add(x, r.at)
		switch r.form {
		case word:
			for i := range unsafe.Slice((*int)(at), r.n) {
				v := int64(binary.LittleEndian.Uint64(b[8*i:]))
				if int64(int(v)) != v {
					return errInt
				}
				unsafe.Slice((*int)(at), r.n)[i] = int(v)
			}
			b = b[8*r.n:]
			continue
		case truth:
			for _, v := range b[:r.n] {
				if v > 1 {
					return errTruth
				}
			}
			copy(unsafe.Slice((*byte)(at), r.n), b)
			b = b[r.n:]
			continue
		case 1:
			copy(unsafe.Slice((*byte)(at), r.n), b)
		case 2:
			for i := range unsafe.Slice((*uint16)(at), r.n) {
				unsafe.Slice((*uint16)(at), r.n)[i] = binary.LittleEndian.Uint16(b[2*i:])
			}
		case 4:
			for i := range unsafe.Slice((*uint32)(at), r.n) {
				unsafe.Slice((*uint32)(at), r.n)[i] = binary.LittleEndian.Uint32(b[4*i:])
			}
		case 8:
			for i := range unsafe.Slice((*uint64)(at), r.n) {
				unsafe.Slice((*uint64)(at), r.n)[i] = binary.LittleEndian.Uint64(b[8*i:])
			}
		}
		b = b[int(r.form)*r.n:]
	}
	return nil
}
