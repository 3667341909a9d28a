package envs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// AppendBinary appends the state of all copies: environments, episodes under way and what they see.
func (v *Vector) AppendBinary(b []byte) ([]byte, error) {
	b = binary.LittleEndian.AppendUint64(b, v.opts.Seed)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(v.envs)))
	for i, e := range v.envs {
		b = binary.LittleEndian.AppendUint64(b, v.episodes[i])
		b = append(b, boolByte(v.ended[i]))
		b = v.stats[i].appendBinary(b)
		b = appendObservation(b, v.Obs.Env(i))
		at := len(b)
		b = binary.LittleEndian.AppendUint64(b, 0)
		var err error
		if b, err = e.AppendBinary(b); err != nil {
			return nil, fmt.Errorf("environment %d: %w", i, err)
		}
		binary.LittleEndian.PutUint64(b[at:], uint64(len(b)-at-8))
	}
	return b, nil
}

// UnmarshalBinary restores a state written by AppendBinary of a vector with the same environments, copies and seed. Where it
// fails, the vector is good for nothing but another UnmarshalBinary or Reset.
func (v *Vector) UnmarshalBinary(b []byte) error {
	r := &stateReader{b: b}
	if seed := r.uint64(); r.err == nil && seed != v.opts.Seed {
		return fmt.Errorf("envs: vector state is of seed %d, want %d", seed, v.opts.Seed)
	}
	if n := int(r.uint32()); r.err == nil && n != len(v.envs) {
		return fmt.Errorf("envs: vector state has %d copies, want %d", n, len(v.envs))
	}
	for i, e := range v.envs {
		v.episodes[i] = r.uint64()
		v.ended[i] = r.bytes(1)[0] != 0
		v.stats[i].read(r)
		readObservation(r, v.Obs.Env(i))
		n := r.uint64()
		if r.err == nil && n > uint64(len(r.b)) {
			r.err = errShort
		}
		if r.err != nil {
			return r.err
		}
		if err := e.UnmarshalBinary(r.bytes(int(n))); err != nil {
			return fmt.Errorf("environment %d: %w", i, err)
		}
	}
	if len(r.b) != 0 {
		return fmt.Errorf("envs: vector state has %d bytes too many", len(r.b))
	}
	return nil
}

var errShort = errors.New("envs: state is cut short")

// stateReader reads little-endian numbers and remembers the first failure; after it everything reads as zero.
type stateReader struct {
	b   []byte
	err error
}

var zeros [8]byte

func (r *stateReader) bytes(n int) []byte {
	if r.err == nil && n > len(r.b) {
		r.err = errShort
	}
	if r.err != nil {
		return zeros[:min(n, len(zeros))]
	}
	x := r.b[:n]
	r.b = r.b[n:]
	return x
}

func (r *stateReader) uint64() uint64 { return binary.LittleEndian.Uint64(r.bytes(8)) }
func (r *stateReader) uint32() uint32 { return binary.LittleEndian.Uint32(r.bytes(4)) }

func boolByte(x bool) byte {
	if x {
		return 1
	}
	return 0
}

func appendObservation(b []byte, o *Observation) []byte {
	for _, k := range o.Kinds {
		b = appendFloats(b, k.Values)
		for _, x := range k.Active {
			b = append(b, boolByte(x))
		}
		for _, x := range k.Mask {
			b = append(b, boolByte(x))
		}
		for _, x := range k.Legal {
			b = append(b, byte(x))
		}
		for _, g := range k.Graphs {
			b = appendGraph(b, g)
		}
	}
	return b
}

func appendGraph(b []byte, g *GraphValue) []byte {
	for i, n := range g.Nodes {
		b = binary.LittleEndian.AppendUint32(b, uint32(n.Len))
		b = appendFloats(b, n.Features[:n.Len*g.Space.Nodes[i].Width])
	}
	for i, e := range g.Edges {
		b = binary.LittleEndian.AppendUint32(b, uint32(e.Len))
		for j := range e.Len {
			b = binary.LittleEndian.AppendUint32(b, uint32(e.From[j]))
			b = binary.LittleEndian.AppendUint32(b, uint32(e.To[j]))
		}
		b = appendFloats(b, e.Features[:e.Len*g.Space.Edges[i].Width])
	}
	return b
}

func appendFloats(b []byte, x []float32) []byte {
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func readObservation(r *stateReader, o *Observation) {
	for _, k := range o.Kinds {
		r.floats(k.Values)
		for i := range k.Active {
			k.Active[i] = r.bytes(1)[0] != 0
		}
		for i := range k.Mask {
			k.Mask[i] = r.bytes(1)[0] != 0
		}
		for i := range k.Legal {
			k.Legal[i] = int8(r.bytes(1)[0])
		}
		for _, g := range k.Graphs {
			readGraph(r, g)
		}
	}
}

func readGraph(r *stateReader, g *GraphValue) {
	g.Clear()
	for i, k := range g.Space.Nodes {
		g.Nodes[i].Len = r.count(k.Capacity)
		r.floats(g.Nodes[i].Features[:g.Nodes[i].Len*k.Width])
	}
	for i, k := range g.Space.Edges {
		e := &g.Edges[i]
		e.Len = r.count(k.Capacity)
		for j := range e.Len {
			e.From[j], e.To[j] = int32(r.uint32()), int32(r.uint32())
		}
		r.floats(e.Features[:e.Len*k.Width])
	}
	if err := g.Space.Check(g); err != nil && r.err == nil {
		r.err = fmt.Errorf("envs: vector state: %w", err)
	}
}

func (r *stateReader) count(most int) int {
	n := r.uint32()
	if n > uint32(most) {
		r.err = fmt.Errorf("envs: vector state has a graph of %d items, capacity %d", n, most)
		return 0
	}
	return int(n)
}

func (r *stateReader) floats(x []float32) {
	for i := range x {
		x[i] = math.Float32frombits(r.uint32())
	}
}
