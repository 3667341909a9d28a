// Package statetest helps tests of types that list their state. It takes saved states apart and puts them together
// again, so that tests and fuzz targets reach what the checksum protects, and it counts the allocations of copies. What
// makes and reads saved states is package state.
package statetest

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
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

// FieldsRead fails a test with forged fields where loading them gave an error about a checksum. Such an error means that
// they were never read: they hold a saved state with a checksum of its own, or [Forge] makes a wrong one. Other errors,
// and nil, are fine.
func FieldsRead(t testing.TB, err error) {
	t.Helper()
	if err != nil && strings.Contains(err.Error(), "checksum does not match") {
		t.Errorf("the forged fields were not read: %v", err)
	}
}

// Allocations returns how often a copy by f allocates after a warm-up: the least of several runs, since the garbage
// collector and the race detector take codecs out of their pool now and then.
func Allocations(f func()) float64 {
	least := testing.AllocsPerRun(1, f)
	for range 20 {
		least = min(least, testing.AllocsPerRun(1, f))
	}
	return least
}

func bodyAt(saved []byte) int { return kindAt + 1 + int(saved[kindAt]) + 8 }
