//go:build unix

package gnn

import (
	"flag"
	"testing"

	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/suite/suitetest"
)

var long = flag.Bool("long", false, "run the suites as stoker suite NAME --quick does")

// A quick suite takes under two minutes; what plays leaves the same bytes with one worker and with several, what
// measures time does not.
func TestQuickFig1(t *testing.T)       { quick(t, Fig1(), 0) }
func TestQuickFig3(t *testing.T)       { quick(t, Fig3(), 4) }
func TestQuickGeneralise(t *testing.T) { quick(t, Generalise(), 4) }

func quick(t *testing.T, s suite.Suite, files int) {
	if !*long {
		t.Skip("takes a minute: -long")
	}
	suitetest.Quick(t, s, files)
}
