package suites

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/suites/gnn"
	"github.com/stoker-rl/stoker/eval/suites/hops"
)

// All lists the suites.
func All() []suite.Suite {
	return []suite.Suite{
		hops.Suite(),
		gnn.Fig1(),
		gnn.Fig3(),
		gnn.Generalise(),
	}
}

// Find returns the suite of a name.
func Find(name string) (suite.Suite, error) {
	var known []string
	for _, s := range All() {
		if s.Name == name {
			return s, nil
		}
		known = append(known, s.Name)
	}
	slices.Sort(known)
	return suite.Suite{}, fmt.Errorf("no suite %q; there are: %s", name, strings.Join(known, ", "))
}
