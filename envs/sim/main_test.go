package sim

import (
	"flag"
	"os"
	"testing"
)

// TestMain fixes the seed and the number and length of the random checks, more with -long; rapid's own flags give
// others.
func TestMain(m *testing.M) {
	flag.Parse()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	checks, steps := "400", "30"
	if *long {
		checks, steps = "4000", "100"
	}
	for name, value := range map[string]string{"rapid.seed": "1", "rapid.checks": checks, "rapid.steps": steps,
		"rapid.nofailfile": "true"} {
		if given[name] {
			continue
		}
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
