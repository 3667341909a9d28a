package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/tools/proof"
)

var long = flag.Bool("long", false, "run every package's tests under the race detector and cgo's pointer checks (an hour, "+
	"and a C compiler), and the commands of pages with their full trainings (minutes)")

// The tests of every package pass under the race detector, and those that reach C under cgo's strictest checks of the
// pointers passed; a data race or a wrong pointer fails the test in which it happens.
func TestDetectors(t *testing.T) {
	if !*long {
		t.Skip("only with -long")
	}
	const torch = "OMP_WAIT_POLICY=PASSIVE"
	for _, c := range []struct {
		claim, what string
		env, args   []string
	}{
		{"race detector, all packages", "go test -race ./...", []string{"GOWORK=off"}, []string{"-race", "-timeout",
			"2h", "./..."}},
		{"race detector, libtorch engine and training on it", "go test -race -tags libtorch", []string{torch},
			[]string{"-race", "-tags", "libtorch", "-timeout", "2h", "./nets/...", "./train"}},
		{"cgo's pointer checks (cgocheck2), libtorch engine", "GOEXPERIMENT=cgocheck2 go test -tags libtorch",
			[]string{torch, "GOEXPERIMENT=cgocheck2"},
			[]string{"-tags", "libtorch", "-timeout", "2h", "./nets/torch", "./nets/engines", "./nets/libtorch/..."}},
	} {
		cmd := exec.CommandContext(t.Context(), "go", append([]string{"test", "-count", "1"}, c.args...)...)
		cmd.Env = append(append(os.Environ(), "CGO_ENABLED=1"), c.env...)
		out, err := cmd.CombinedOutput()
		passed := strings.Count("\n"+string(out), "\nok ")
		proof.Claim(t, proof.Row{
			Topic: "numerics", Claim: c.claim, Bound: "clean",
			Measured: fmt.Sprintf("%d packages pass, %d reports", passed, strings.Count(string(out),
				"WARNING: DATA RACE")+strings.Count(string(out), "cgo argument has Go pointer")),
			Holds: err == nil && passed > 0, Command: "go test . -run '^TestDetectors$' -long -v -timeout 0",
		})
		if err != nil {
			t.Errorf("%s: %v\n%s", c.what, err, out)
		}
	}
}
