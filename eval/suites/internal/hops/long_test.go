//go:build unix

package hops

import (
	"flag"
	"testing"

	"github.com/stoker-rl/stoker/eval/suite/suitetest"
)

var long = flag.Bool("long", false, "run the suite as stoker suite hops --quick does")

// The quick suite takes under two minutes, and leaves the same bytes with one worker and with several.
func TestQuick(t *testing.T) {
	if !*long {
		t.Skip("takes a minute: -long")
	}
	suitetest.Quick(t, Suite(), 10)
}
