// Package statetest takes saved states apart and puts them together again, so that tests and fuzz targets reach what
// lies behind the checksum. What makes and reads them is package state.
package statetest

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
)

// A saved state's layout, as package state writes it.
const (
	kindAt = 4 + 4 // after magic and version: the length of the kind's name, the name, the length of the body, the body
	sumLen = 4
)

// Body returns the fields of a state that [state.Append] wrote. They belong to saved.
func Body(saved []byte) []byte {
	return saved[bodyAt(saved) : len(saved)-sumLen]
}

// Forge returns a saved state like another, but with other fields, and the length and checksum that go with them.
func Forge(saved, body []byte) []byte {
	at := bodyAt(saved)
	b := append(slices.Clone(saved[:at]), body...)
	binary.LittleEndian.PutUint64(b[at-8:], uint64(len(body)))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

func bodyAt(saved []byte) int { return kindAt + 1 + int(saved[kindAt]) + 8 }
