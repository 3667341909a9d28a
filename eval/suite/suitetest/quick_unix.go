//go:build unix

package suitetest

import (
	"fmt"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/tools/proof"
)

// Quick claims that the quick suite takes under two minutes of a core and, where files is not 0, that it leaves more
// than so many files and the same bytes in them with one worker and with several.
func Quick(t *testing.T, s suite.Suite, files int) {
	t.Helper()
	workers := []int{1}
	if files > 0 {
		workers = append(workers, runtime.GOMAXPROCS(0)+1)
	}
	var dirs []string
	var took, busy time.Duration
	for _, n := range workers {
		dirs = append(dirs, filepath.Join(t.TempDir(), fmt.Sprint(n)))
		began, before := time.Now(), processorTime(t)
		run(t, s, dirs[len(dirs)-1], n, nil)
		took, busy = time.Since(began), processorTime(t)-before
	}
	if files > 0 {
		differ, all := differing(t, dirs[0], dirs[1])
		proof.Claim(t, proof.Row{
			Topic: "ways in", Claim: "stoker suite " + s.Name + " --quick: the same files with one worker and with several",
			Bound: "equal bytes", Measured: fmt.Sprintf("%d of %d files differ", differ, all), Holds: differ == 0 && all > files,
		})
	}
	proof.Claim(t, proof.Row{
		Topic: "ways in", Claim: "stoker suite " + s.Name + " --quick: processor time",
		Bound: "under two minutes of one core",
		Measured: fmt.Sprintf("%.0f s; it took %.0f s on %d cores as busy with other work as they were", busy.Seconds(),
			took.Seconds(), runtime.GOMAXPROCS(0)),
		Holds: busy < 2*time.Minute,
	})
}

// processorTime is how long this process has kept processors busy so far.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
