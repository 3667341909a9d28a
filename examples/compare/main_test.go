package main

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// The lower target costs more and violates less, beyond chance.
func TestRun(t *testing.T) {
	var out strings.Builder
	must.Do(t, run(t.Context(), &out))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "price: 80 % CPU minus 40 % CPU is -") ||
		!strings.HasSuffix(lines[0], ": better") || !strings.HasSuffix(lines[1], ": worse") {
		t.Errorf("want 80 %% CPU better by price and worse by violations:\n%s", out.String())
	}
}
