package checkpoints_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/checkpoints/durable/durabletest"
	"github.com/stoker-rl/stoker/internal/must"
)

// saved returns a disk on which the run has been saved after each of the steps.
func saved(t *testing.T, steps ...int64) *durabletest.Disk {
	t.Helper()
	d := durabletest.New()
	s := must.Get(openStore(d, storeDir))(t)
	for _, k := range steps {
		must.Do(t, save(s, k, k == 1))
	}
	return d
}

// sound checks everything that must hold on a disk after any crash: the pointers name complete checkpoints among the
// allowed ones, every checkpoint folder is complete, and the run can continue. It returns the checkpoint that latest
// names.
func sound(d *durabletest.Disk, latest, best []int64) (int64, error) {
	r, err := checkpoints.CheckFS(d, storeDir+"/..")
	if r == nil {
		return 0, err
	}
	for _, f := range r.Findings {
		if f.Status == checkpoints.Problem && f.What != checkpoints.RunFile {
			return 0, fmt.Errorf("check: %s: %s", f.What, f.Detail)
		}
	}
	at := int64(0)
	for p, allowed := range map[checkpoints.Pointer][]int64{checkpoints.Latest: latest, checkpoints.Best: best} {
		dir, err := checkpoints.ReadPointer(d, storeDir, p)
		if err != nil {
			return 0, err
		}
		steps, err := expect(d, dir)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", p, err)
		}
		if !slices.Contains(allowed, steps) {
			return 0, fmt.Errorf("%s is step %d, want one of %v", p, steps, allowed)
		}
		if p == checkpoints.Latest {
			at = steps
		}
	}
	// Continue from there: save the next step and one more.
	s, err := openStore(d, storeDir)
	if err != nil {
		return 0, err
	}
	for k := at + 1; k <= 5; k++ {
		if err := save(s, k, false); err != nil {
			return 0, fmt.Errorf("going on from step %d: %w", at, err)
		}
	}
	entries, err := d.ReadDir(storeDir)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if durable.Leftover(e.Name()) {
			return 0, fmt.Errorf("%s is left over", e.Name())
		}
		if e.IsDir() {
			if _, err := expect(d, filepath.Join(storeDir, e.Name())); err != nil {
				return 0, err
			}
		}
	}
	return at, nil
}

// TestCrashAtEveryOperation stops the saving of step 4 after each operation and in the middle of each write, by killing
// the process and by cutting the power, and checks the disk. Before, the latest step is 3 and the best 1. Two are kept:
// step 2 is removed, and step 1 too where 4 becomes the best.
func TestCrashAtEveryOperation(t *testing.T) {
	stop := errors.New("the world ends here")
	base := saved(t, 1, 2, 3)
	base.SyncAll()
	old, done := 0, 0
	for _, best := range []bool{false, true} {
		bests := []int64{1}
		if best {
			bests = []int64{1, 4}
		}
		for _, half := range []bool{false, true} {
			for k := 0; ; k++ {
				d := base.Clone()
				last := durabletest.Op{}
				fsys := durabletest.WithHooks(d, durabletest.Hooks{Before: func(o durabletest.Op) error {
					switch {
					case o.N == k && half:
						last = o
						return &durabletest.Cut{Bytes: o.Bytes / 2, Err: stop}
					case o.N > k:
						return stop
					}
					last = o
					return nil
				}})
				s, err := openStore(fsys, storeDir)
				must.Do(t, err)
				err = save(s, 4, best)
				if half && err != nil && last.Kind != "write" {
					continue // it was not begun: the process ended after the operation before
				}
				look := func(what string, left *durabletest.Disk) {
					at, serr := sound(left, []int64{3, 4}, bests)
					if serr != nil {
						t.Errorf("best %v, %s at %v (half %v): %v", best, what, last, half, serr)
					}
					if err == nil && at != 4 {
						t.Errorf("best %v, %s: saved, but latest is step %d", best, what, at)
					}
					if at == 3 {
						old++
					} else {
						done++
					}
				}
				look("killed", d.Clone())
				for seed := range uint64(3) {
					look(fmt.Sprintf("power cut %d", seed), d.PowerCut(seed))
				}
				if err == nil {
					if k < 40 {
						t.Fatalf("only %d operations: the hooks do not see them", k)
					}
					break
				}
				if t.Failed() {
					return
				}
			}
		}
	}
	t.Logf("latest stayed %d times, moved on %d times", old, done)
	if old == 0 || done == 0 {
		t.Error("one of the two outcomes was never seen")
	}
}

// TestFullDiskAtEveryOperation makes each operation in turn fail, once or for good, in a process that continues: it
// returns the error, nothing saved before is lost, and the same process can save again when there is space.
func TestFullDiskAtEveryOperation(t *testing.T) {
	base := saved(t, 1, 2, 3)
	for _, forGood := range []bool{false, true} {
		for k := 1; ; k++ {
			d := base.Clone()
			full, hit := true, false
			fsys := durabletest.WithHooks(d, durabletest.Hooks{Before: func(o durabletest.Op) error {
				if full && (o.N == k || forGood && o.N > k && o.Kind != "remove") {
					hit = true
					return &durabletest.Cut{Bytes: o.Bytes / 2, Err: syscall.ENOSPC}
				}
				return nil
			}})
			s, err := openStore(fsys, storeDir)
			must.Do(t, err)
			err = save(s, 4, true)
			if !hit {
				must.Do(t, err)
				break
			}
			// Where a link fails the file is written instead; every other error must be returned.
			if err != nil && !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("operation %d: error %v does not say that the disk is full", k, err)
			}
			if _, err := sound(d.Clone(), []int64{3, 4}, []int64{1, 4}); err != nil {
				t.Errorf("operation %d fails (for good %v): %v", k, forGood, err)
			}
			full = false
			if err := save(s, 4, true); err != nil {
				t.Errorf("operation %d failed, then there was space: %v", k, err)
			}
			if at, err := sound(d, []int64{4}, []int64{4}); err != nil || at != 4 {
				t.Errorf("operation %d failed, then there was space: step %d, %v", k, at, err)
			}
		}
	}
}

// TestBytesDoNotDependOnInterruption: the last checkpoint is the same, byte for byte, whether the run was killed and
// resumed, saved at odd moments, or ran through.
func TestBytesDoNotDependOnInterruption(t *testing.T) {
	contents := func(d *durabletest.Disk, name string) string {
		dir := filepath.Join(storeDir, name)
		entries := must.Get(d.ReadDir(dir))(t)
		var b strings.Builder
		for _, e := range entries {
			raw := must.Get(durable.ReadFile(d, filepath.Join(dir, e.Name()), 1<<20))(t)
			fmt.Fprintf(&b, "%s: %q\n", e.Name(), raw)
		}
		return b.String()
	}
	want := contents(saved(t, 2, 4, 6), checkpoints.StepName(6))
	d := durabletest.New()
	for _, steps := range [][]int64{{2}, {3}, {4, 5}, {6}} {
		s, err := openStore(d, storeDir) // a new process each time
		must.Do(t, err)
		for _, k := range steps {
			must.Do(t, save(s, k, k == 1))
		}
	}
	if got := contents(d, checkpoints.StepName(6)); got != want {
		t.Errorf("interrupted:\n%s\nthrough:\n%s", got, want)
	}
	// And once without a base checkpoint to link from.
	if got := contents(saved(t, 6), checkpoints.StepName(6)); got != want {
		t.Errorf("without a base:\n%s\nthrough:\n%s", got, want)
	}
}
