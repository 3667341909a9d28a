package train

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/checkpoints/durable/durabletest"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

var (
	long  = flag.Bool("long", false, "crash, kill and damage runs everywhere, not here and there")
	every = flag.Int("every", 1, "with -long, crash at one of so many operations, others for each learner")
)

var errEnd = errors.New("the world ends here")

// endAfter is a disk on which nothing changes after its first n operations, the last of them half done where half is
// set: what a process that is killed there does not do. It remembers that operation.
func endAfter(d durable.FS, n int, half bool, last *durabletest.Op) durable.FS {
	return durabletest.WithHooks(d, durabletest.Hooks{Before: func(o durabletest.Op) error {
		if o.N <= n {
			*last = o
		}
		switch {
		case o.N == n && half:
			return &durabletest.Cut{Bytes: o.Bytes / 2, Err: errEnd}
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

// tally counts crashes and what came of them.
type tally struct {
	Name string `json:"name"`
	// Operations that change the disk in an uninterrupted run; each fails, or is the last, in a run of its own.
	Operations int `json:"operations"`
	Crashes    int `json:"crashes"`
	Begun      int `json:"begun_again"`
	Resumed    int `json:"resumed"`
	Differ     int `json:"differ"`
	Lost       int `json:"lost"` // checkpoints that had been there before the crash and were not behind it
}

// crashes says after which operation the k-th series of crashes begins, and how many there are from one crash to the
// next: 1 with -long, else so many that one or two fall in each series, others in each.
func crashes(k int) (first, stride int) {
	if *long {
		return 1 + k%*every, *every
	}
	return 1 + 83*k%293, 293
}

// taken reports whether the k-th combination goes through series i of the four: killed, killed in the middle of a write,
// a disk full once, and a disk full for good. Without -long each combination goes through one.
func taken(k, i int) bool { return *long || k%4 == i }

// end makes sure that a run is the same as if nothing had happened.
func (y *tally) end(t *testing.T, l lab, what, text string, want map[string]string) {
	t.Helper()
	if err := l.goOn(t, text); err != nil {
		t.Errorf("%s: %s: %v", y.Name, what, err)
		y.Differ++
		return
	}
	if d := differs(l.outcome(t), want); d != "" {
		t.Errorf("%s: %s: %s", y.Name, what, d)
		y.Differ++
	}
	l.sound(t)
}

// A run is killed after each operation on the disk in turn, and in the middle of each write; and the power is cut,
// which takes away what was not synced. Whatever is left, the run can go on, and ends with the bytes of one that
// nothing happened to.
//
// Without -long it is every some operations only, for a part of the learners.
func TestKilledAtEveryOperation(t *testing.T) {
	var all []tally
	for k, c := range combinations() {
		if !taken(k, 0) && !taken(k, 1) {
			continue
		}
		y := tally{Name: c.name}
		text := c.brief()
		want := finished(t, parse(t, text))
		for i, half := range []bool{false, true} {
			if !taken(k, i) {
				continue
			}
			for n, stride := crashes(2*k + i); ; n += stride {
				l, last := newLab(t), durabletest.Op{}
				o := l.options()
				o.FS = endAfter(l.disk, n, half, &last)
				_, err := Start(context.Background(), parse(t, text), o)
				if err == nil {
					y.Operations = max(y.Operations, last.N)
					break
				}
				if !errors.Is(err, errEnd) {
					t.Fatalf("%s: at %v: %v", c.name, last, err)
				}
				y.powerCuts(t, l, fmt.Sprintf("%v (half %v)", last, half), n, text, want)
			}
		}
		if y.Operations < 200 {
			t.Errorf("%s: a run takes %d operations only: the hooks don't see them", c.name, y.Operations)
		}
		all = append(all, y)
	}
	claim(
		t,
		"killed after every write, fsync, rename and other operation on the disk and in the middle of every write, "+
			"with what "+
			"was not synced kept, lost, and kept by lot",
		"operations",
		all,
	)
}

// powerCuts resumes from what a process leaves that was ended after n operations: killed, and with the power cut in
// two ways.
func (y *tally) powerCuts(t *testing.T, l lab, last string, n int, text string, want map[string]string) {
	t.Helper()
	reached := int64(0)
	for i, d := range []*durabletest.Disk{l.disk.Clone(), l.disk.PowerCut(0), l.disk.PowerCut(uint64(2 + n))} {
		what := []string{"killed", "power cut", "power cut by lot"}[i] + " at " + last
		l.disk = memory{d}
		at := l.latest()
		y.Crashes++
		if at >= 0 {
			y.Resumed++
		} else {
			y.Begun++
		}
		if i == 0 {
			reached = at
		} else if (reached > 0 && at < 0) || (reached >= 12 && at < 6) {
			t.Errorf("%s: %s: the process had saved step %d, but only %d is left", y.Name, what, reached, at)
			y.Lost++
		}
		y.end(t, l, what, text, want)
	}
}

// The disk is full at each operation in turn, for once or from then on. The run ends with an error that says so, its
// last checkpoint is whole, and when there is space again it resumes to the bytes of an undisturbed run.
func TestFullDiskAtEveryOperation(t *testing.T) {
	var all []tally
	for k, c := range combinations() {
		if !taken(k, 2) && !taken(k, 3) {
			continue
		}
		y := tally{Name: c.name}
		text := c.brief()
		want := finished(t, parse(t, text))
		for i, forGood := range []bool{false, true} {
			if !taken(k, 2+i) {
				continue
			}
			for n, stride := crashes(2*k + i); y.fillUp(t, n, forGood, text, want); n += stride {
				y.Operations = max(y.Operations, n)
			}
		}
		all = append(all, y)
	}
	claim(
		t,
		"a disk that is full at every operation, for once or for good, then has space again; the run said so, once, "+
			"and its last checkpoint was whole",
		"operations",
		all,
	)
}

// fillUp fills the disk at operation n, and says whether the run had as many.
func (y *tally) fillUp(t *testing.T, n int, forGood bool, text string, want map[string]string) bool {
	t.Helper()
	l, last, hit := newLab(t), durabletest.Op{}, false
	o := l.options()
	o.FS = durabletest.WithHooks(l.disk, durabletest.Hooks{Before: func(op durabletest.Op) error {
		// Removing, cutting and closing need no space.
		if slices.Contains([]string{"remove", "truncate", "close"}, op.Kind) || op.N < n || (hit && !forGood) {
			return nil
		}
		if !hit {
			last, hit = op, true
		}
		return &durabletest.Cut{Bytes: op.Bytes / 2, Err: syscall.ENOSPC}
	}})
	res, err := Start(context.Background(), parse(t, text), o)
	what := fmt.Sprintf("no space at %v (for good %v)", last, forGood)
	if !hit {
		must.Do(t, err)
		return false
	}
	// Without an error it was a link, which is made up for by writing.
	if err != nil && (!errors.Is(err, syscall.ENOSPC) || strings.Count(err.Error(), "no space left") != 1) {
		t.Fatalf("%s: %s: error %v does not say so, once", y.Name, what, err)
	}
	if res != nil && res.Checkpoint != "" {
		if _, err := checkpoints.OpenFS(l.disk, res.Checkpoint); err != nil {
			t.Fatalf("%s: %s: the checkpoint that is said to be whole: %v", y.Name, what, err)
		}
	}
	y.Crashes++
	if l.latest() >= 0 {
		y.Resumed++
	} else {
		y.Begun++
	}
	y.end(t, l, what, text, want)
	return true
}

// claim keeps what was seen of all combinations.
func claim(t *testing.T, what, unit string, all []tally) {
	t.Helper()
	var sum tally
	for _, y := range all {
		sum.Operations += y.Operations
		sum.Crashes += y.Crashes
		sum.Begun += y.Begun
		sum.Resumed += y.Resumed
		sum.Differ += y.Differ
		sum.Lost += y.Lost
	}
	if sum.Begun == 0 || sum.Resumed == 0 {
		t.Errorf("begun again %d times, resumed %d times: one of the two never happened", sum.Begun, sum.Resumed)
	}
	if *long && *every > 1 {
		unit += fmt.Sprintf(", one of %d in each combination", *every)
	}
	proof.Claim(t, proof.Row{
		Topic: "resume",
		Claim: fmt.Sprintf(
			"every learner on sizing, CartPole and simple_spread (%d combinations), %s: last checkpoint, its name, "+
				"best and metrics.jsonl equal "+
				"those of an uninterrupted run",
			len(all),
			what,
		),
		Bound: "0 differ, 0 saved checkpoints lost",
		Measured: fmt.Sprintf("%d differ, %d lost, of %d crashes at %d %s (%d begun again, %d resumed)",
			sum.Differ, sum.Lost, sum.Crashes, sum.Operations, unit, sum.Begun, sum.Resumed),
		Holds: sum.Differ == 0 && sum.Lost == 0,
	})
	keepJSON(t, all)
}

// keepJSON writes what a test saw in detail beside its claims, where they are kept.
func keepJSON(t *testing.T, v any) {
	t.Helper()
	dir := os.Getenv(proof.Folder)
	if dir == "" {
		return
	}
	b, err := json.MarshalIndent(v, "", "  ")
	must.Do(t, err)
	must.Do(t, os.WriteFile(filepath.Join(dir, t.Name()+".json"), append(b, '\n'), 0o666))
}
