package checkpoints_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/checkpoints/durable/durabletest"
)

// killVar is the environment variable that makes this test program save the next checkpoint in the run folder that it
// names, and kill itself after the number of operations in killAfterVar.
const (
	killVar      = "STOKER_TEST_SAVE_AND_DIE"
	killAfterVar = "STOKER_TEST_DIE_AFTER"
)

func saveAndDie(run string) int {
	fail := func(err error) int {
		fmt.Println(err)
		return 1
	}
	after, err := strconv.Atoi(os.Getenv(killAfterVar))
	if err != nil {
		return fail(err)
	}
	if _, err := durable.AcquireLock(filepath.Join(run, checkpoints.LockFile)); err != nil {
		return fail(err)
	}
	// The previous process's leftovers are removed first, without counting: otherwise the count would include operations
	// that are not part of saving.
	dir := filepath.Join(run, checkpoints.CheckpointsDir)
	if err := durable.Sweep(durable.OS{}, dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	fsys := durabletest.WithHooks(durable.OS{}, durabletest.Hooks{After: func(o durabletest.Op) {
		if o.N >= after { // an operation that fails (removing what is not there) does not come here
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				_ = self.Kill()
			}
			select {} // the signal is on its way
		}
	}})
	s, err := openStore(fsys, dir)
	if err != nil {
		return fail(err)
	}
	steps := int64(1)
	if at, err := checkpoints.ReadPointer(fsys, dir, checkpoints.Latest); err == nil {
		last, err := expect(fsys, at)
		if err != nil {
			return fail(err)
		}
		steps = last + 1
	}
	if err := save(s, steps, steps%5 == 1); err != nil {
		return fail(err)
	}
	return 0
}

// TestKilledAtEveryOperation does on a real disk, with processes that are really killed, what
// TestCrashAtEveryOperation does in memory: each process saves the next checkpoint and is killed one operation later
// than the one before, until one gets through; three times over, from an empty folder on.
func TestKilledAtEveryOperation(t *testing.T) {
	run := t.TempDir()
	dir := filepath.Join(run, checkpoints.CheckpointsDir)
	latest := int64(0)
	killed := 0
	for after, through := 1, 0; through < 3; after++ {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), killVar+"="+run, killAfterVar+"="+strconv.Itoa(after))
		out, err := cmd.CombinedOutput()
		if len(out) > 0 {
			t.Fatalf("killed after %d: it says %s", after, out)
		}
		if err == nil {
			through++
			after = 0
		} else {
			killed++
		}
		r, err := checkpoints.Check(run)
		if r == nil {
			if after < 3 {
				continue // not even the folder is there
			}
			t.Fatal(err)
		}
		for _, f := range r.Findings {
			if f.Status == checkpoints.Problem && f.What != checkpoints.RunFile {
				t.Fatalf("killed after %d: %s: %s", after, f.What, f.Detail)
			}
		}
		at, err := checkpoints.ReadPointer(durable.OS{}, dir, checkpoints.Latest)
		if err != nil {
			if latest == 0 {
				continue
			}
			t.Fatalf("killed after %d: %v", after, err)
		}
		steps, err := expect(durable.OS{}, at)
		if err != nil || steps != latest && steps != latest+1 {
			t.Fatalf("killed after %d: latest is step %d, was %d: %v", after, steps, latest, err)
		}
		latest = steps
	}
	t.Logf("%d processes killed, latest is step %d", killed, latest)
	if killed < 100 || latest < 10 {
		t.Error("that is too few to have been everywhere")
	}
}
