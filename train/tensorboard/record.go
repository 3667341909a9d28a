package tensorboard

import (
	"encoding/binary"
	"hash/crc32"
)

// A TFRecord is the length of its data (8 bytes, little-endian), the masked CRC-32C of these 8 bytes, the data, and the
// masked CRC-32C of the data.
const recordHead = 12

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked returns a CRC as TFRecords store it: rotated and offset, so that a CRC over data with CRCs in it stays a
// good one.
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
