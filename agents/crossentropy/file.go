package crossentropy

import (
	"encoding/json"
	"fmt"
	"os"
)

// Read returns the configuration of a rival from a file that stoker search wrote. An error names the file, and what of the
// configuration is wrong.
func Read[C any](rival, file string) (c C, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return c, fmt.Errorf("%s: file: %w", rival, err)
	}
	return Parse[C](rival, file, b)
}

// Parse is [Read] from a file's content; name is for errors.
func Parse[C any](rival, name string, b []byte) (c C, err error) {
	var f struct {
		Rival  string `json:"rival"`
		Config C      `json:"config"`
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return c, fmt.Errorf("%s: file %s: %w, want one that stoker search %s wrote", rival, name, err, rival)
	}
	if f.Rival != rival {
		return c, fmt.Errorf("%s: file %s is of rival %q, want one that stoker search %s wrote", rival, name, f.Rival, rival)
	}
	if v, ok := any(&f.Config).(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return c, fmt.Errorf("%s: file %s: config.%w", rival, name, err)
		}
	}
	return f.Config, nil
}
