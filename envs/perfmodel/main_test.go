package perfmodel

import (
	"flag"
	"testing"
)

// TestMain fixes the seed of the random checks; -rapid.seed gives another.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.seed": "1", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	m.Run()
}
