//go:build unix

package hops

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/proof"
)

var long = flag.Bool("long", false, "run the suite as stoker suite hops --quick does")

// The quick suite takes under two minutes, and leaves the same bytes with one worker and with several.
func TestQuick(t *testing.T) {
	if !*long {
		t.Skip("takes a minute: -long")
	}
	dirs := []string{filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "several")}
	var took time.Duration
	var busy float64
	for i, workers := range []int{1, runtime.GOMAXPROCS(0) + 1} {
		began, before := time.Now(), processorTime(t)
		if _, err := suite.Run(t.Context(), Suite(), suite.Options{Quick: true, Workers: workers}, dirs[i], suite.Made{}); err != nil {
			t.Fatal(err)
		}
		took, busy = time.Since(began), processorTime(t)-before
	}
	files, differ := 0, 0
	list, err := os.ReadDir(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		a, err := os.ReadFile(filepath.Join(dirs[0], e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dirs[1], e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files++
		if !bytes.Equal(a, b) {
			differ++
		}
	}
	proof.Claim(t, proof.Row{
		Topic: "ways in", Claim: "stoker suite hops --quick: the same files with one worker and with several",
		Bound: "equal bytes", Measured: fmt.Sprintf("%d of %d files differ", differ, files), Holds: differ == 0 && files > 10,
	})
	proof.Claim(t, proof.Row{
		Topic: "ways in", Claim: "stoker suite hops --quick: processor time",
		Bound:    "under two minutes of one core",
		Measured: fmt.Sprintf("%.0f s; it took %.0f s on %d cores as busy with other work as they were", busy, took.Seconds(), runtime.GOMAXPROCS(0)), Holds: busy < 120,
	})
}

// processorTime is how long this process has kept processors busy so far, in seconds.
func processorTime(t *testing.T) float64 {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}
