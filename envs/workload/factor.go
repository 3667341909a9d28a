package workload

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Factor multiplies a workload's arrivals. In files it is a number above 0, or auto.
type Factor float64

// Auto is the factor that brings the workload to [Config.TargetUtilisation] of what the environment's action ranges
// serve. [OpenFor] replaces it by a number.
const Auto Factor = -1

// auto is how files write [Auto].
const auto = "auto"

// Words are the texts that stand for a factor in files, beside numbers.
func (Factor) Words() []string { return []string{auto} }

// String returns the number, or auto.
func (f Factor) String() string {
	if f == Auto {
		return auto
	}
	return strconv.FormatFloat(float64(f), 'g', -1, 64)
}

// UnmarshalText reads a number above 0, or auto.
func (f *Factor) UnmarshalText(b []byte) error {
	if string(b) == auto {
		*f = Auto
		return nil
	}
	x, err := strconv.ParseFloat(string(b), 64)
	if err != nil || !(x > 0) || math.IsInf(x, 0) {
		return fmt.Errorf("it is %q, want a number above 0, or auto", b)
	}
	*f = Factor(x)
	return nil
}

// MarshalYAML writes a number, or auto.
func (f Factor) MarshalYAML() (any, error) {
	if f == Auto {
		return auto, nil
	}
	return float64(f), nil
}

// MarshalJSON writes a number, or "auto".
func (f Factor) MarshalJSON() ([]byte, error) {
	if f == Auto {
		return json.Marshal(auto)
	}
	return json.Marshal(float64(f))
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (f *Factor) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		return f.UnmarshalText([]byte(s))
	}
	return f.UnmarshalText(b)
}
