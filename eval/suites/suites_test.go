package suites

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/eval/suite"
)

// Every suite has a name of its own by which it is found; a wrong one is answered with those that there are.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range All() {
		if seen[s.Name] {
			t.Errorf("two suites are called %s", s.Name)
		}
		seen[s.Name] = true
		if got, err := suite.Find(All(), s.Name); err != nil || got.Name != s.Name || s.Seeds < 20 || s.QuickSeeds > s.Seeds {
			t.Errorf("%s: found %s (%v), %d seeds and %d quick ones", s.Name, got.Name, err, s.Seeds, s.QuickSeeds)
		}
	}
	if _, err := suite.Find(All(), "hop"); err == nil || !strings.Contains(err.Error(), `did you mean "hops"? there are: `) {
		t.Errorf("%v, want an error that lists the suites", err)
	}
}
