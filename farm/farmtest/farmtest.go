// Package farmtest holds what every form of a farm must do, as a test.
package farmtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-rl/stoker/farm"
	"github.com/stoker-rl/stoker/internal/must"
)

// Unit returns a unit that is valid.
func Unit(name string, seed uint64) farm.Unit {
	return farm.Unit{Name: name, Kind: farm.Train, Config: []byte(`{"train": {"steps": 40}}`), Seed: seed, Revision: "r", Kernels: "k"}
}

func result(worker, text string) farm.Result {
	return farm.Result{Worker: worker, Files: []farm.File{{Name: "a", Hash: farm.HashOf([]byte(text)), Size: int64(len(text))}}}
}

// lease leases a unit, whose name must be as wanted.
func lease(t *testing.T, f farm.Farm, worker, name string) *farm.Lease {
	t.Helper()
	l := must.Get(f.Lease(t.Context(), worker))(t)
	if l.Unit.Name != name {
		t.Fatalf("leased unit %s, want %s", l.Unit.Name, name)
	}
	return l
}

func done(t *testing.T, f farm.Farm, l *farm.Lease, r farm.Result) {
	t.Helper()
	r.Key, r.Name = l.Key, l.Unit.Name
	must.Do(t, f.Done(t.Context(), l, r))
}

// Run runs the tests. Open returns a farm as its coordinator and as a worker have it. Expire waits until the leases given so
// far are over; where it is nil, the tests run in bubbles of testing/synctest.
func Run(t *testing.T, open func(t *testing.T) (coordinator, worker farm.Farm), expire func(t *testing.T)) {
	bubble := expire == nil
	if bubble {
		expire = func(*testing.T) {
			time.Sleep(farm.LeaseTime)
			synctest.Wait()
		}
	}
	for name, test := range map[string]func(*testing.T, opener, func(*testing.T)){
		"units go out, results come back":                goOut,
		"a unit that is handed back goes on elsewhere":   handedBack,
		"a unit is carried out anew":                     anew,
		"files":                                          files,
		"files of a folder":                              folder,
		"a second result is compared":                    second,
		"a unit under which workers vanish is put aside": aside,
		"waits end":                                      waits,
		"what workers do is told":                        told,
	} {
		t.Run(name, func(t *testing.T) {
			if bubble {
				synctest.Test(t, func(t *testing.T) { test(t, open, expire) })
			} else {
				test(t, open, expire)
			}
		})
	}
}

// opener returns a farm as its coordinator and as a worker have it.
type opener func(t *testing.T) (coordinator, worker farm.Farm)

func goOut(t *testing.T, open opener, _ func(*testing.T)) {
	c, w := open(t)
	var tasks []farm.Task
	for i := range 3 {
		tasks = append(tasks, farm.Task{Unit: Unit(fmt.Sprint("u", i), uint64(i))})
	}
	must.Do(t, c.Submit(t.Context(), tasks...))
	for i := range 3 {
		l := lease(t, w, "w", fmt.Sprint("u", i))
		must.Do(t, w.Extend(l))
		done(t, w, l, result("w", fmt.Sprint(i)))
	}
	for i := range 3 {
		r := must.Get(c.Result(t.Context()))(t)
		u := Unit("", uint64(i))
		if r.Key != u.Key() || r.Worker != "w" || r.Files[0].Hash != farm.HashOf([]byte(fmt.Sprint(i))) {
			t.Errorf("result %d is %+v", i, r)
		}
	}
	must.Do(t, c.Close())
	if _, err := w.Lease(t.Context(), "w"); !errors.Is(err, farm.ErrEnded) {
		t.Errorf("a lease after the end: %v, want ErrEnded", err)
	}
}

func handedBack(t *testing.T, open opener, _ func(*testing.T)) {
	c, w := open(t)
	must.Do(t, c.Submit(t.Context(), farm.Task{Unit: Unit("u", 1)}))
	kept := result("", "half").Files
	for range 2 * farm.MaxVanished { // nobody vanished
		must.Do(t, w.Return(t.Context(), lease(t, w, "w", "u"), kept))
	}
	l := lease(t, w, "v", "u")
	if len(l.Kept) != 1 || l.Kept[0] != kept[0] {
		t.Errorf("kept: %v, want %v", l.Kept, kept)
	}
	done(t, w, l, result("v", "x"))
	if r := must.Get(c.Result(t.Context()))(t); r.Worker != "v" || r.Aside {
		t.Errorf("%+v", r)
	}
}

func anew(t *testing.T, open opener, _ func(*testing.T)) {
	c, w := open(t)
	for _, text := range []string{"x", "y"} { // no conflict: the first result was of no use
		must.Do(t, c.Submit(t.Context(), farm.Task{Unit: Unit("u", 1)}))
		done(t, w, lease(t, w, "w", "u"), result("w", text))
		if r := must.Get(c.Result(t.Context()))(t); r.Files[0].Hash != farm.HashOf([]byte(text)) {
			t.Errorf("%+v, want the result %s", r, text)
		}
	}
}

func files(t *testing.T, open opener, _ func(*testing.T)) {
	c, w := open(t)
	u := Unit("u", 1)
	text := bytes.Repeat([]byte("0123456789abcdef"), 40_000)
	file := farm.File{Name: "f", Hash: farm.HashOf(text), Size: int64(len(text))}
	for range 2 { // twice is harmless
		must.Do(t, w.Put(t.Context(), u.Key(), file, bytes.NewReader(text)))
	}
	r := must.Get(c.Get(t.Context(), u.Key(), file))(t)
	if got := must.Get(io.ReadAll(r))(t); !bytes.Equal(got, text) {
		t.Errorf("%d bytes came back, want %d", len(got), len(text))
	}
	must.Do(t, r.Close())
	must.Do(t, c.Drop(t.Context(), u.Key(), []farm.File{file}))
	if _, err := c.Get(t.Context(), u.Key(), file); !errors.Is(err, farm.ErrGone) {
		t.Errorf("a dropped file: %v, want ErrGone", err)
	}
}

func folder(t *testing.T, open opener, _ func(*testing.T)) {
	c, w := open(t)
	u := Unit("u", 1)
	from, to := t.TempDir(), t.TempDir()
	var list []farm.File
	for name, size := range map[string]int{"none": 0, "one": 1, "many": 70_000, "some": 60_000} {
		must.Do(t, os.WriteFile(filepath.Join(from, name), bytes.Repeat([]byte(name[:1]), size), 0o600))
		list = append(list, must.Get(farm.ReadFile(from, name))(t))
	}
	must.Do(t, farm.PutFiles(t.Context(), w, u.Key(), from, list))
	must.Do(t, farm.GetFiles(t.Context(), c, u.Key(), to, list))
	for _, f := range list {
		if got := must.Get(farm.ReadFile(to, f.Name))(t); got != f {
			t.Errorf("%+v came back, want %+v", got, f)
		}
	}
	other := slices.Clone(list)
	for i := range other {
		other[i].Size++
	}
	if err := farm.GetFiles(t.Context(), c, u.Key(), t.TempDir(), other); err == nil {
		t.Error("files of other sizes come")
	}
	must.Do(t, c.Drop(t.Context(), u.Key(), list))
	for _, f := range farm.Stored(list) {
		if _, err := c.Get(t.Context(), u.Key(), f); err == nil {
			t.Errorf("%s: it was dropped, and is still there", f.Name)
		}
	}
}

func second(t *testing.T, open opener, expire func(*testing.T)) {
	for text, conflict := range map[string]bool{"x": false, "y": true, "gone": false} {
		c, w := open(t)
		must.Do(t, c.Submit(t.Context(), farm.Task{Unit: Unit("u", 1)}))
		first := lease(t, w, "one", "u")
		expire(t)
		second := lease(t, w, "two", "u")
		done(t, w, second, result("two", "x"))
		slow := result("one", text) // it was only slow
		if text == "gone" {         // and its files were dropped
			slow.Error, slow.Gone, slow.Files = "the file is not there", true, nil
		}
		done(t, w, first, slow)
		if !conflict {
			if r := must.Get(c.Result(t.Context()))(t); r.Worker != "two" {
				t.Errorf("%+v", r)
			}
			continue
		}
		var err error
		for err == nil {
			_, err = c.Result(t.Context())
		}
		var differ *farm.Conflict
		if !errors.As(err, &differ) || !strings.Contains(err.Error(), "two and one") {
			t.Errorf("error %v, want a conflict that names both workers", err)
		}
	}
}

func aside(t *testing.T, open opener, expire func(*testing.T)) {
	c, w := open(t)
	must.Do(t, c.Submit(t.Context(), farm.Task{Unit: Unit("bad", 1)}))
	for i := range farm.MaxVanished {
		lease(t, w, fmt.Sprint("w", i), "bad")
		expire(t)
	}
	must.Do(t, c.Submit(t.Context(), farm.Task{Unit: Unit("good", 2)}))
	done(t, w, lease(t, w, "w", "good"), result("w", "x"))
	ctx, cancel := context.WithCancel(t.Context())
	var idle sync.WaitGroup
	idle.Go(func() { _, _ = w.Lease(ctx, "idle") }) // who looks for work finds out
	defer idle.Wait()
	defer cancel()
	got := map[string]farm.Result{}
	for range 2 {
		r := must.Get(c.Result(t.Context()))(t)
		got[r.Name] = r
	}
	if r := got["bad"]; !r.Aside || !strings.Contains(r.Error, "w0, w1, w2") {
		t.Errorf("the bad unit: %+v", r)
	}
	if r := got["good"]; r.Error != "" {
		t.Errorf("the good unit: %+v", r)
	}
}

func waits(t *testing.T, open opener, _ func(*testing.T)) {
	c, w := open(t)
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	_, result := c.Result(ctx)
	_, leased := w.Lease(ctx, "w")
	if !errors.Is(result, stop) || !errors.Is(leased, stop) {
		t.Errorf("Result: %v, Lease: %v, want the cause", result, leased)
	}
}

func told(t *testing.T, open opener, _ func(*testing.T)) {
	c, w := open(t)
	must.Do(t, w.Tell(t.Context(), farm.Standing{Worker: "w", Slots: 2, Done: 1}))
	must.Do(t, w.Tell(t.Context(), farm.Standing{Worker: "w", Slots: 2, Done: 5}))
	if told := must.Get(c.Told(t.Context()))(t); len(told) != 1 || told[0].Done != 5 {
		t.Errorf("told %+v", told)
	}
}
