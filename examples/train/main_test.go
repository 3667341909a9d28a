package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// The learned control comes within a tenth of the best one's cost.
func TestRun(t *testing.T) {
	var out strings.Builder
	must.Do(t, run(t.Context(), &out, t.TempDir()))
	_, line, _ := strings.Cut(out.String(), "episodes\n")
	var learned, best float64
	if _, err := fmt.Sscanf(line, "cost of an episode: %f learned, %f at best", &learned, &best); err != nil {
		t.Fatalf("%v in:\n%s", err, out.String())
	}
	if best <= 0 || learned > 1.1*best {
		t.Errorf("the learned control costs %.2f, want at most a tenth above %.2f", learned, best)
	}
}
