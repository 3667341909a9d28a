package tensorboard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A TFRecord is the length of its data (8 bytes, little-endian), the masked CRC-32C of these 8 bytes, the data, and the
// masked CRC-32C of the data.
const (
	recordHead = 12
	recordTail = 4
	// maxRecord bounds what a reader accepts: an event is a few hundred bytes, one with a long text a few thousand.
	maxRecord = 256 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked returns a CRC as TFRecords store it: rotated and offset, so that a CRC over data with CRCs in it stays a good one.
func masked(data []byte) uint32 {
	c := crc32.Checksum(data, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// sealRecord completes a record whose data stands in b behind recordHead bytes left free.
func sealRecord(b []byte) []byte {
	data := b[recordHead:]
	binary.LittleEndian.PutUint64(b, uint64(len(data)))
	binary.LittleEndian.PutUint32(b[8:], masked(b[:8]))
	return binary.LittleEndian.AppendUint32(b, masked(data))
}

// ErrTorn says that a file ends inside a record: it is being written, or its writer was killed.
var ErrTorn = errors.New("ends inside a record")

// readRecord returns the data of the next record in buf or a larger slice, io.EOF at the end of a file, ErrTorn in the
// middle of a record.
func readRecord(r io.Reader, buf []byte) ([]byte, error) {
	var head [recordHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, torn(err)
	}
	if got, want := binary.LittleEndian.Uint32(head[8:]), masked(head[:8]); got != want {
		return nil, errors.New("the checksum of a record's length is wrong: damaged")
	}
	n := binary.LittleEndian.Uint64(head[:])
	if n > maxRecord {
		return nil, fmt.Errorf("a record has %d bytes, more than the %d allowed", n, maxRecord)
	}
	// The length vouches for itself only: memory is taken as the bytes come.
	buf = buf[:0]
	const step = 1 << 20
	for rest := int(n) + recordTail; rest > 0; {
		part := min(rest, step)
		at := len(buf)
		buf = append(buf, make([]byte, part)...)
		if _, err := io.ReadFull(r, buf[at:]); err != nil {
			if errors.Is(err, io.EOF) {
				return nil, ErrTorn
			}
			return nil, torn(err)
		}
		rest -= part
	}
	data := buf[:n]
	if binary.LittleEndian.Uint32(buf[n:]) != masked(data) {
		return nil, errors.New("the checksum of a record is wrong: damaged")
	}
	return data, nil
}

func torn(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrTorn
	}
	return err
}
