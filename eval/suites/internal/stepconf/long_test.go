//go:build unix

package stepconf

import (
	"testing"

	"github.com/stoker-rl/stoker/eval/suite/suitetest"
)

// A quick suite takes under two minutes and leaves the same bytes with one worker and with several.
func TestQuick(t *testing.T) {
	if !*long {
		t.Skip("takes a minute: -long")
	}
	suitetest.Quick(t, Suite(), 4)
}
