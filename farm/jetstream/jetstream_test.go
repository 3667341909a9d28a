//go:build farm

package jetstream

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/farm"
	"github.com/stoker-rl/stoker/farm/farmtest"
	"github.com/stoker-rl/stoker/internal/must"
)

const token = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

var study = Study{Revision: "r", Kernels: "k"}

// listen starts a farm, and a worker of it.
func listen(t *testing.T, o ListenOptions) (coordinator, worker farm.Farm, at farm.Address) {
	t.Helper()
	o.Address, o.Token, o.Study = "127.0.0.1:0", token, study
	c, at, err := Listen(t.Context(), o)
	must.Do(t, err)
	w, s, err := Join(t.Context(), JoinOptions{Address: at, Token: token, Patience: time.Minute})
	must.Do(t, err)
	if s != study {
		t.Errorf("the study is %+v, want %+v", s, study)
	}
	t.Cleanup(func() {
		_ = w.Close() // the coordinator may have ended it
		_ = c.Close()
	})
	return c, w, at
}

func TestFarm(t *testing.T) {
	// Leases are so short that a silent worker's next request is answered after they are over.
	farmtest.Run(t, func(t *testing.T) (farm.Farm, farm.Farm) {
		c, w, _ := listen(t, ListenOptions{Lease: 50 * time.Millisecond})
		return c, w
	}, func(*testing.T) {})
}

// A coordinator keeps to its memory, or to what GOMEMLIMIT says.
func TestOwnMemory(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	for _, given := range []string{"", "off"} {
		debug.SetMemoryLimit(math.MaxInt64)
		t.Setenv("GOMEMLIMIT", given)
		listen(t, ListenOptions{})
		if got := debug.SetMemoryLimit(-1); (got == ownMemory) != (given == "") {
			t.Errorf("GOMEMLIMIT=%s: the limit is %d bytes", given, got)
		}
	}
}

// With TLS a worker knows the coordinator by its fingerprint, and the coordinator the worker by its token.
func TestTLS(t *testing.T) {
	cert := must.Get(farm.Certificate(filepath.Join(t.TempDir(), "cert")))(t)
	_, _, at := listen(t, ListenOptions{Certificate: &cert})
	other := must.Get(farm.Certificate(filepath.Join(t.TempDir(), "cert")))(t)
	for want, o := range map[string]JoinOptions{
		"it is another coordinator": {Address: farm.Address{Host: at.Host, Fingerprint: farm.Fingerprint(other)}, Token: token},
		"Authorization Violation":   {Address: at, Token: strings.Repeat("0", 64)},
		"tls error":                 {Address: farm.Address{Host: at.Host}, Token: token},
	} {
		if _, _, err := Join(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestListenRefuses(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "example.org:1", "127.0.0.1", "127.0.0.1:x"} {
		c, _, err := Listen(t.Context(), ListenOptions{Address: address, Token: token, Study: study})
		if err == nil {
			t.Errorf("%s is listened on without a certificate", address)
			must.Do(t, c.Close())
		}
	}
	_, _, at := listen(t, ListenOptions{})
	if _, _, err := Listen(t.Context(), ListenOptions{Address: at.Host, Token: token}); err == nil {
		t.Error("a port is taken twice")
	}
}

// A worker outlives its coordinator: what it has done is taken by the next one, which has an empty queue.
func TestCoordinatorReturns(t *testing.T) {
	for !returns(t) { // another process has taken the port meanwhile
	}
}

// returns is one try; false where the second coordinator can't have the first one's port.
func returns(t *testing.T) bool {
	t.Helper()
	c, idle, at := listen(t, ListenOptions{})
	must.Do(t, idle.Close())
	w, _, err := Join(t.Context(), JoinOptions{Address: at, Token: token, Patience: time.Minute})
	must.Do(t, err)
	u := farmtest.Unit("u", 1)
	must.Do(t, c.Submit(t.Context(), farm.Task{Unit: u}))
	l := must.Get(w.Lease(t.Context(), "w"))(t)
	crash(c)
	c, _, err = Listen(t.Context(), ListenOptions{Address: at.Host, Token: token, Study: study})
	if errors.Is(err, syscall.EADDRINUSE) {
		_ = w.Close() // its coordinator is gone
		return false
	}
	must.Do(t, err)
	defer c.Close()
	must.Do(t, w.Done(t.Context(), l, farm.Result{Key: l.Key, Worker: "w"}))
	if r := must.Get(c.Result(t.Context()))(t); r.Key != u.Key() {
		t.Errorf("%+v", r)
	}
	must.Do(t, c.Submit(t.Context(), farm.Task{Unit: farmtest.Unit("v", 2)}))
	if l := must.Get(w.Lease(t.Context(), "w"))(t); l.Unit.Name != "v" {
		t.Errorf("leased %+v", l)
	}
	ended := make(chan error)
	go func() {
		_, err := w.Lease(t.Context(), "w")
		_ = w.Close() // the coordinator may be gone
		ended <- err
	}()
	must.Do(t, c.Close())
	if err := <-ended; !errors.Is(err, farm.ErrEnded) {
		t.Errorf("%v, want ErrEnded", err)
	}
	return true
}

// Units of one call are queued once, in their order, however many they are.
func TestManyUnits(t *testing.T) {
	c, w, _ := listen(t, ListenOptions{})
	tasks := make([]farm.Task, 2*together+together/2)
	for i := range tasks {
		tasks[i].Unit = farmtest.Unit(fmt.Sprint("u", i), uint64(i))
	}
	must.Do(t, c.Submit(t.Context(), tasks...))
	s := must.Get(c.(*conn).stream.Stream(t.Context(), plain+unitStream))(t)
	if n := s.CachedInfo().State.Msgs; n != uint64(len(tasks)) {
		t.Errorf("%d units are queued, want %d", n, len(tasks))
	}
	for i := range 10 {
		if l := must.Get(w.Lease(t.Context(), "w"))(t); l.Unit.Name != fmt.Sprint("u", i) {
			t.Errorf("lease %d is of unit %s", i, l.Unit.Name)
		}
	}
}

// crash ends a coordinator without a word.
func crash(f farm.Farm) {
	c := f.(*conn)
	c.nc.Close()
	c.server.Shutdown()
	c.server.WaitForShutdown()
	_ = c.leave() // nobody looks for it
}
