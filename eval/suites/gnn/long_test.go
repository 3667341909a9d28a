//go:build unix

package gnn

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

var long = flag.Bool("long", false, "run the suites as stoker suite NAME --quick does")

// A quick suite takes under two minutes; what plays leaves the same bytes with one worker and with several.
func TestQuickFig1(t *testing.T)       { quick(t, Fig1(), false) }
func TestQuickFig3(t *testing.T)       { quick(t, Fig3(), true) }
func TestQuickGeneralise(t *testing.T) { quick(t, Generalise(), true) }

func quick(t *testing.T, s suite.Suite, repeats bool) {
	if !*long {
		t.Skip("takes a minute: -long")
	}
	workers := []int{1}
	if repeats {
		workers = append(workers, runtime.GOMAXPROCS(0)+1)
	}
	var (
		dirs []string
		took time.Duration
		busy float64
	)
	for _, n := range workers {
		dirs = append(dirs, filepath.Join(t.TempDir(), fmt.Sprint(n)))
		began, before := time.Now(), processorTime(t)
		if _, err := suite.Run(t.Context(), s, suite.Options{Quick: true, Workers: n}, dirs[len(dirs)-1], suite.Made{}); err != nil {
			t.Fatal(err)
		}
		took, busy = time.Since(began), processorTime(t)-before
	}
	if repeats {
		files, differ := differences(t, dirs[0], dirs[1])
		proof.Claim(t, proof.Row{
			Topic: "ways in", Claim: "stoker suite " + s.Name + " --quick: the same files with one worker and with several",
			Bound: "equal bytes", Measured: fmt.Sprintf("%d of %d files differ", differ, files), Holds: differ == 0 && files > 4,
		})
	}
	proof.Claim(t, proof.Row{
		Topic: "ways in", Claim: "stoker suite " + s.Name + " --quick: processor time",
		Bound:    "under two minutes of one core",
		Measured: fmt.Sprintf("%.0f s; it took %.0f s on %d cores as busy with other work as they were", busy, took.Seconds(), runtime.GOMAXPROCS(0)), Holds: busy < 120,
	})
}

// differences counts files, and those that differ between two folders.
func differences(t *testing.T, one, other string) (files, differ int) {
	t.Helper()
	list, err := os.ReadDir(one)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		a, err := os.ReadFile(filepath.Join(one, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(other, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files++
		if !bytes.Equal(a, b) {
			differ++
		}
	}
	return files, differ
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
