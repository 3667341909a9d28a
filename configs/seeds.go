package configs

import (
	"fmt"
	"strconv"
	"strings"
)

// maxSeeds bounds a list of seeds, so that a slip of the finger doesn't start a year of work.
const maxSeeds = 100_000

// ParseSeeds reads a list of seeds such as "7", "1-20" or "1,2,10-12", in its order and without repetition.
func ParseSeeds(s string) ([]uint64, error) {
	var out []uint64
	seen := map[uint64]bool{}
	for part := range strings.SplitSeq(s, ",") {
		lo, hi, ranged := strings.Cut(strings.TrimSpace(part), "-")
		a, err := strconv.ParseUint(lo, 10, 64)
		b := a
		if err == nil && ranged {
			b, err = strconv.ParseUint(hi, 10, 64)
		}
		if err != nil {
			return nil, fmt.Errorf("%q is not a list of seeds, want for example 7, 1-20 or 1,2,10-12", s)
		}
		if b < a {
			return nil, fmt.Errorf("%q runs backwards, want %d-%d", part, b, a)
		}
		if b-a >= maxSeeds || len(out)+int(b-a) >= maxSeeds {
			return nil, fmt.Errorf("%q names more than %d seeds", s, maxSeeds)
		}
		for x := a; x <= b; x++ {
			if seen[x] {
				return nil, fmt.Errorf("%q names seed %d twice", s, x)
			}
			seen[x] = true
			out = append(out, x)
		}
	}
	return out, nil
}
