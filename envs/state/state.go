package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
)

// Format is the version of saved states. It rises when the bytes of a state change their meaning.
const Format = 2

// A saved state: magic, Format, length of the kind's name and the name, length of the body, body, CRC-32C of all before
// it.
const (
	magic  = "STKS"
	sumLen = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Copy makes dst's state equal to src's. It does not allocate once dst has held as much. src is not changed, so that
// several goroutines may copy from it. Where the two are of different configurations, dst stays as it was.
func Copy(dst, src Stater) error {
	if dst == src {
		return nil
	}
	c := codecs.Get().(*Codec)
	defer c.free()
	c.mode = collecting
	src.State(c)
	if c.mode != failed {
		c.mode = copying
		dst.State(c)
	}
	if c.mode == copying && c.at < len(c.fields) {
		c.failf("%d fields, want %d", len(c.fields), c.at)
	}
	if c.err != nil {
		return fmt.Errorf("copied state: %w", c.err)
	}
	return nil
}

// Append appends the state of s, of a named kind such as an environment's id, to b.
func Append(b []byte, kind string, s Stater) ([]byte, error) {
	if len(kind) > 255 {
		return nil, fmt.Errorf("the kind %.20q… has %d bytes, want at most 255", kind, len(kind))
	}
	start := len(b)
	b = binary.LittleEndian.AppendUint32(append(b, magic...), Format)
	b = append(append(b, byte(len(kind))), kind...)
	at := len(b)
	b, err := save(binary.LittleEndian.AppendUint64(b, 0), s)
	if err != nil {
		return nil, fmt.Errorf("%s: saving: %w", kind, err)
	}
	binary.LittleEndian.PutUint64(b[at:], uint64(len(b)-at-8))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli)), nil
}

// Load restores a state that [Append] wrote for the same kind. A damaged or foreign one is refused, and s stays as it
// was.
func Load(b []byte, kind string, s Stater) error {
	if err := restore(b, kind, s); err != nil {
		return fmt.Errorf("%s: saved state of %d bytes: %w", kind, len(b), err)
	}
	return nil
}

func restore(b []byte, kind string, s Stater) error {
	body, err := open(b, kind)
	if err != nil {
		return err
	}
	was, err := save(make([]byte, 0, len(body)), s)
	if err != nil {
		return err
	}
	if err := load(body, s); err != nil {
		if back := load(was, s); back != nil { // cannot happen where a type accepts its own states
			return fmt.Errorf("%w; and the state before it cannot be restored: %w", err, back)
		}
		return err
	}
	return nil
}

var (
	errCut     = errors.New("cut short")
	errDamaged = errors.New("damaged: its checksum does not match")
)

// open checks a saved state's header and checksum and returns its body.
func open(b []byte, kind string) ([]byte, error) {
	const head = len(magic) + 4 + 1
	if len(b) < head {
		return nil, errCut
	}
	if m := string(b[:len(magic)]); m != magic {
		return nil, fmt.Errorf("begins with %q, want %q: saved by Stoker before format %d, or by another program",
			m, magic, Format)
	}
	switch v := binary.LittleEndian.Uint32(b[len(magic):]); {
	case v < Format:
		return nil, fmt.Errorf("saved by an older version of Stoker, format %d, this one reads format %d", v, Format)
	case v > Format:
		return nil, fmt.Errorf("saved by a newer version of Stoker, format %d, this one reads format %d", v, Format)
	}
	at := head + int(b[head-1])
	if len(b) < at+8+sumLen {
		return nil, errCut
	}
	end := len(b) - sumLen
	if n := binary.LittleEndian.Uint64(b[at:]); n != uint64(end-at-8) {
		return nil, fmt.Errorf("%d bytes of fields, its header says %d", end-at-8, n)
	}
	if binary.LittleEndian.Uint32(b[end:]) != crc32.Checksum(b[:end], castagnoli) {
		return nil, errDamaged
	}
	if k := string(b[head:at]); k != kind {
		return nil, fmt.Errorf("of a %q, want a %q", k, kind)
	}
	return b[at+8 : end], nil
}

// Fingerprint returns a hash (FNV-1a) of the state of s: equal states have equal fingerprints, on every machine.
func Fingerprint(s Stater) (uint64, error) {
	b, err := save(nil, s)
	if err != nil {
		return 0, fmt.Errorf("fingerprint: %w", err)
	}
	h := fnv.New64a()
	h.Write(b)
	return h.Sum64(), nil
}

// save appends the fields of s.
func save(b []byte, s Stater) ([]byte, error) {
	c := codecs.Get().(*Codec)
	defer c.free()
	c.mode, c.b = saving, b
	s.State(c)
	return c.b, c.err
}

// load fills in the fields of s.
func load(b []byte, s Stater) error {
	c := codecs.Get().(*Codec)
	defer c.free()
	c.mode, c.b = loading, b
	s.State(c)
	if c.mode == loading && len(c.b) > 0 {
		c.failf("%d bytes are left over", len(c.b))
	}
	return c.err
}

// free gives the codec back, with its room but without what it points at.
func (c *Codec) free() {
	clear(c.fields)
	*c = Codec{fields: c.fields[:0], numbers: c.numbers[:0]}
	codecs.Put(c)
}
