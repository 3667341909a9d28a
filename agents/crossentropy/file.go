package crossentropy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
)

// Read returns the configuration of a baseline from a file that stoker search wrote. An error names the file, and what of the
// configuration is wrong.
func Read[C any](baseline, file string) (c C, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return c, fmt.Errorf("%s: file: %w", baseline, err)
	}
	return Parse[C](baseline, file, b)
}

// Parse is [Read] from a file's content; name is for errors.
func Parse[C any](baseline, name string, b []byte) (c C, err error) {
	var f struct {
		Baseline string `json:"baseline"`
		Rival    string `json:"rival"` // the key's name in files of before
		Config   C      `json:"config"`
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return c, fmt.Errorf("%s: file %s: %w, want one that stoker search %s wrote", baseline, name, err, baseline)
	}
	if f.Baseline = cmp.Or(f.Baseline, f.Rival); f.Baseline != baseline {
		return c, fmt.Errorf("%s: file %s is of baseline %q, want one that stoker search %s wrote", baseline, name, f.Baseline, baseline)
	}
	if v, ok := any(&f.Config).(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return c, fmt.Errorf("%s: file %s: config.%w", baseline, name, err)
		}
	}
	return f.Config, nil
}
