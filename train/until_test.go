package train

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// until trains the run called a until a step, from its latest checkpoint where it has one.
func (l lab) until(t testing.TB, text string, step int64) (*Result, error) {
	t.Helper()
	o := l.options()
	o.Until = step
	if _, err := l.disk.Lstat(l.dir()); err == nil {
		return Resume(context.Background(), l.dir(), o)
	}
	return Start(context.Background(), parse(t, text), o)
}

// A run of any learner that stops at some of its planned steps, and goes on, leaves the bytes of one that did not stop.
func TestUntilIsOneGo(t *testing.T) {
	for i, c := range combinations() {
		text := c.brief()
		l := newLab(t)
		for _, step := range []int64{int64(1 + i%3), 7, 0} {
			res, err := l.until(t, text, step)
			if err != nil {
				t.Fatalf("%s until %d: %v", c.name, step, err)
			}
			if want := map[bool]int64{true: 16, false: step + step%2}[step == 0]; res.Steps != want || res.Planned != 16 {
				t.Errorf("%s until %d of 2 copies: %d of %d steps, want %d", c.name, step, res.Steps, res.Planned, want)
			}
		}
		same(t, c.name, l.outcome(t), finished(t, parse(t, text)))
		l.sound(t)
	}
}

// A run that is paused says so, has nothing to do until it is asked for more, and is not judged as if it had ended.
func TestPaused(t *testing.T) {
	for name, text := range small {
		l := newLab(t)
		first := must.Get(l.until(t, text, 20))(t)
		before := l.outcome(t)
		if res, err := l.until(t, text, 19); err != nil || res.From != first.Steps || res.Steps != first.Steps {
			t.Errorf("%s: asked for what it has: %+v, %v", name, res, err)
		}
		same(t, name+" asked for what it has", l.outcome(t), before)
		for _, bad := range []int64{-1, 1000} {
			if _, err := l.until(t, text, bad); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "--until is ") {
				t.Errorf("%s until %d: %v", name, bad, err)
			}
		}
		same(t, name+" after what is wrong", l.outcome(t), before)
		if l.resume(t); differs(l.outcome(t), finished(t, parse(t, text))) != "" {
			t.Errorf("%s: resumed, it is another run than one go", name)
		}
	}
	fresh := newLab(t)
	if _, err := fresh.until(t, small["lqr"], 41); !errors.Is(err, ErrUsage) {
		t.Errorf("until a step beyond those planned: %v", err)
	}
	if _, err := fresh.disk.Lstat(fresh.dir()); err == nil {
		t.Error("a refused run left a folder")
	}
}
