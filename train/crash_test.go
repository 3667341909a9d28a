package train

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/checkpoints/durable/durabletest"
)

// brief is a run that does everything once or twice: logs, evaluates, saves a scheduled and a best checkpoint, prunes.
const brief = `
name: brief
env: {id: stoker/SimpleSpread-v1, steps: 4}
agent: {name: maddpg, mix: none, hidden: [3], batch: 2, replay: 9, update_every: 4, random_steps: 3, learning_starts: 3}
train: {steps: 16, copies: 2, log_every: 5, evaluate: {every: 7, episodes: 1}, checkpoint: {every: 6, keep: 1}}
`

var long = flag.Bool("long", false, "kill runs at every operation and at 200 moments, not at some")

// stride is the number of operations from one crash to the next: a prime, so that not the same ones fall in every save.
func stride() int {
	if *long {
		return 1
	}
	return 31
}

var errEnd = errors.New("the world ends here")

// endAfter is a disk on which nothing changes after its first n operations, the last of them half done where half is set: what a
// process that is killed there does not do. It remembers that operation.
func endAfter(d durable.FS, n int, half bool, last *durable.Op) durable.FS {
	return durable.WithHooks(d, durable.Hooks{Before: func(o durable.Op) error {
		if o.N <= n {
			*last = o
		}
		switch {
		case o.N == n && half:
			return &durable.Cut{Bytes: o.Bytes / 2, Err: errEnd}
		case o.N > n:
			return errEnd
		}
		return nil
	}})
}

// latest is the step of the latest checkpoint, -1 where there is no run.
func (l lab) latest() int64 {
	at, err := checkpoints.Find(l.disk, l.dir(), checkpoints.Latest)
	if err != nil {
		return -1
	}
	c, err := checkpoints.OpenFS(l.disk, at)
	if err != nil {
		return -1
	}
	return c.Header().Counters["steps"]
}

// goOn does what a user does after a crash: resumes the run where there is one, else starts it again.
func (l lab) goOn(t *testing.T, text string) error {
	if _, err := l.disk.Lstat(l.dir()); err == nil {
		_, err = Resume(context.Background(), l.dir(), l.options())
		return err
	}
	_, err := Start(context.Background(), parse(t, text), l.options())
	return err
}

// A run is killed after each operation on the disk in turn, and in the middle of each write; and the power is cut, which takes away
// what was not synced. Whatever is left, the run can go on, and ends with the bytes of one that nothing happened to.
//
// Without -long it is every some operations only, others for whole and for half ones.
func TestKilledAtEveryOperation(t *testing.T) {
	want := finished(t, parse(t, brief))
	begun, resumed := 0, 0
	for i, half := range []bool{false, true} {
		for n := 5 * i; ; n += stride() {
			l, last := newLab(t), durable.Op{}
			o := l.options()
			o.FS = endAfter(l.disk, n, half, &last)
			_, err := Start(context.Background(), parse(t, brief), o)
			if err == nil {
				if n < 200 {
					t.Errorf("a run takes %d operations only: the hooks don't see them", n)
				}
				break
			}
			if !errors.Is(err, errEnd) {
				t.Fatalf("at %v: %v", last, err)
			}
			reached := int64(0)
			for i, d := range []*durabletest.Disk{l.disk.Clone(), l.disk.PowerCut(0), l.disk.PowerCut(uint64(2 + n))} {
				what := fmt.Sprintf("%s at %v (half %v)", []string{"killed", "power cut", "power cut by lot"}[i], last, half)
				l.disk = memory{d}
				at := l.latest()
				if at >= 0 {
					resumed++
				} else {
					begun++
				}
				if i == 0 {
					reached = at
				} else if (reached > 0 && at < 0) || (reached >= 12 && at < 6) {
					t.Fatalf("%s: the process had saved step %d, but only %d is left", what, reached, at)
				}
				if err := l.goOn(t, brief); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				same(t, what, l.outcome(t), want)
				l.sound(t)
			}
		}
	}
	t.Logf("begun again %d times, resumed %d times", begun, resumed)
	if begun == 0 || resumed == 0 {
		t.Error("one of the two never happened")
	}
}

// The disk is full at each operation in turn, for once or from then on. The run ends with an error that says so, its last
// checkpoint is whole, and when there is space again it goes on to the bytes of one that nothing happened to.
func TestFullDiskAtEveryOperation(t *testing.T) {
	want := finished(t, parse(t, brief))
	told, borne := 0, 0
	for i, forGood := range []bool{false, true} {
		for n := 1 + 5*i; ; n += stride() {
			l, last, hit := newLab(t), durable.Op{}, false
			o := l.options()
			o.FS = durable.WithHooks(l.disk, durable.Hooks{Before: func(op durable.Op) error {
				// Removing, cutting and closing need no space.
				if slices.Contains([]string{"remove", "truncate", "close"}, op.Kind) || op.N < n || (hit && !forGood) {
					return nil
				}
				if !hit {
					last, hit = op, true
				}
				return &durable.Cut{Bytes: op.Bytes / 2, Err: syscall.ENOSPC}
			}})
			res, err := Start(context.Background(), parse(t, brief), o)
			what := fmt.Sprintf("no space at %v (for good %v)", last, forGood)
			if !hit {
				must(t, err)
				break
			}
			switch {
			case err == nil:
				borne++ // a link, which is made up for by writing
			case !errors.Is(err, syscall.ENOSPC) || strings.Count(err.Error(), "no space left") != 1:
				t.Fatalf("%s: error %v does not say so, once", what, err)
			default:
				told++
			}
			if res != nil && res.Checkpoint != "" {
				if _, err := checkpoints.OpenFS(l.disk, res.Checkpoint); err != nil {
					t.Fatalf("%s: the checkpoint that is said to be whole: %v", what, err)
				}
			}
			if err := l.goOn(t, brief); err != nil {
				t.Fatalf("%s, then there was space: %v", what, err)
			}
			same(t, what, l.outcome(t), want)
			l.sound(t)
		}
	}
	t.Logf("told %d times, borne %d times", told, borne)
	if told == 0 {
		t.Error("no operation ever failed")
	}
}
