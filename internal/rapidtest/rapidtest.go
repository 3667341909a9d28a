// Package rapidtest makes random checks (pgregory.net/rapid) the same in every run. Importing rapid is the caller's part:
// its flags are set here.
package rapidtest

import (
	"flag"
	"testing"
)

// Main is a TestMain that fixes the seed of random checks; -rapid.seed gives another.
func Main(m *testing.M) {
	for name, value := range map[string]string{"rapid.seed": "1", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	m.Run()
}
