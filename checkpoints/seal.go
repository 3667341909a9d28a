package checkpoints

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
)

// NoSeal stands in a JSON file where [Seal] puts the file's checksum.
const NoSeal = "........"

// Seal puts the CRC-32C of b, in hexadecimal, in the place of the last NoSeal in it: the value of the key "crc32c" of a
// small JSON file that no manifest vouches for, such as [RunFile]. [CheckSeal] finds what has changed since.
func Seal(b []byte) {
	if at := bytes.LastIndex(b, []byte(NoSeal)); at >= 0 {
		copy(b[at:], fmt.Sprintf("%08x", crc32.Checksum(b, castagnoli)))
	}
}

// CheckSeal checks a JSON object that [Seal] has sealed. One without "crc32c" is of an earlier version and passes.
func CheckSeal(b []byte) error {
	var v struct {
		Sum *string `json:"crc32c"`
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	if v.Sum == nil {
		return nil
	}
	at := bytes.LastIndex(b, []byte(`"`+*v.Sum+`"`)) + 1
	if len(*v.Sum) != len(NoSeal) || at < 1 {
		return fmt.Errorf("crc32c is %q, want %d hexadecimal digits", *v.Sum, len(NoSeal))
	}
	blank := bytes.Clone(b)
	copy(blank[at:], NoSeal)
	if sum := fmt.Sprintf("%08x", crc32.Checksum(blank, castagnoli)); sum != *v.Sum {
		return fmt.Errorf("its checksum is %s, recorded is %s: damaged or edited", sum, *v.Sum)
	}
	return nil
}
