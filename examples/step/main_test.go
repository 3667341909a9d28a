package main

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

func TestRun(t *testing.T) {
	var out strings.Builder
	must.Do(t, run(&out))
	for _, want := range []string{"6 function agents", "window 5 of 30 s: 5.00 USD/h", "return of the first agent"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
}
