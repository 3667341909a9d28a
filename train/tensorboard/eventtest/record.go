package eventtest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// ErrTorn says that a file ends inside a record: it is being written, or its writer was killed.
var ErrTorn = errors.New("ends inside a record")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked is a CRC-32C as TFRecords store it.
func masked(data []byte) uint32 {
	c := crc32.Checksum(data, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// record takes the first TFRecord off b: its length in 8 bytes, their masked CRC, the data, and the data's.
func record(b []byte) (data, rest []byte, err error) {
	if len(b) < 12 {
		return nil, nil, ErrTorn
	}
	if binary.LittleEndian.Uint32(b[8:]) != masked(b[:8]) {
		return nil, nil, errors.New("the checksum of a record's length is wrong: damaged")
	}
	n := binary.LittleEndian.Uint64(b)
	b = b[12:]
	if n > uint64(len(b)) || n+4 > uint64(len(b)) {
		return nil, nil, ErrTorn
	}
	if binary.LittleEndian.Uint32(b[n:]) != masked(b[:n]) {
		return nil, nil, fmt.Errorf("the checksum of a record of %d bytes is wrong: damaged", n)
	}
	return b[:n], b[n+4:], nil
}
