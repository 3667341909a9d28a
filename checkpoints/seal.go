package checkpoints

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
)

// NoSeal is the placeholder in a JSON file that [Seal] replaces by the file's checksum.
const NoSeal = "........"

// Seal replaces the last NoSeal in b by the CRC-32C of b, in hexadecimal. It is the value of the key "crc32c" in a
// small JSON file whose hash is in no manifest, such as [RunFile]. [CheckSeal] detects changes since.
func Seal(b []byte) {
	if at := bytes.LastIndex(b, []byte(NoSeal)); at >= 0 {
		copy(b[at:], fmt.Sprintf("%08x", crc32.Checksum(b, castagnoli)))
	}
}

// CheckSeal checks a JSON object sealed by [Seal]. One without the key "crc32c" is from an earlier version and passes.
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
