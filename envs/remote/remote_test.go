package remote

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// client is the other side of a server, for tests.
type client struct {
	t      testing.TB
	to     *io.PipeWriter
	from   *io.PipeReader
	opened Opened
	copies int
	done   chan error
	memory []byte
}

func cartPole() (envs.Env, error)       { return classic.NewCartPole(classic.DefaultCartPole()) }
func onGraphs() (envs.Env, error)       { return placement.New(placement.Default(), workload.Default()) }
func cutShort() (envs.Env, error)       { return classic.NewCartPole(classic.CartPoleConfig{MaxSteps: 3}) }
func (c *client) ask(body string) error { return c.err(c.frame(Open, []byte(body))) }

// serve starts a server of copies of an environment.
func serve(t testing.TB, build func() (envs.Env, error), o Options) *client {
	c := &client{t: t, copies: o.Copies, done: make(chan error, 1)}
	s := Server{Version: "test", Open: func(request []byte) (func() (envs.Env, error), Options, error) {
		if string(request) != "{}" {
			return nil, o, errors.New("unexpected request")
		}
		o.Memory = func(n int) ([]byte, error) {
			c.memory = make([]byte, n)
			return c.memory, nil
		}
		return build, o, nil
	}}
	toServer, to := io.Pipe()
	from, fromServer := io.Pipe()
	c.to, c.from = to, from
	go func() {
		c.done <- s.Serve(toServer, fromServer)
		fromServer.Close()
	}()
	t.Cleanup(func() {
		to.Close()
		if err := <-c.done; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	if kind, body := c.receive(); kind != Hello || !strings.Contains(string(body), Protocol) {
		t.Fatalf("the server says %d %s", kind, body)
	}
	return c
}

// open is serve with the environment opened.
func open(t testing.TB, build func() (envs.Env, error), o Options) *client {
	c := serve(t, build, o)
	kind, body := c.frame(Open, []byte("{}"))
	must.Do(t, c.err(kind, body))
	must.Do(t, json.Unmarshal(body, &c.opened))
	return c
}

func (c *client) receive() (uint32, []byte) {
	var h [header]byte
	if _, err := io.ReadFull(c.from, h[:]); err != nil {
		c.t.Fatal(err)
	}
	body := make([]byte, binary.NativeEndian.Uint32(h[4:]))
	if _, err := io.ReadFull(c.from, body); err != nil {
		c.t.Fatal(err)
	}
	return binary.NativeEndian.Uint32(h[:]), body
}

// frame sends a frame and returns the answer.
func (c *client) frame(kind uint32, body []byte) (uint32, []byte) {
	f := binary.NativeEndian.AppendUint32(nil, kind)
	f = append(binary.NativeEndian.AppendUint32(f, uint32(len(body))), body...)
	if c.memory != nil {
		(&block{memory: c.memory}).word(framesWord).Add(1)
	}
	if _, err := c.to.Write(f); err != nil {
		c.t.Fatal(err)
	}
	return c.receive()
}

// err is the error of an answer.
func (c *client) err(kind uint32, body []byte) error {
	if kind == Answer {
		return nil
	}
	return errors.New(string(body))
}

// ring asks for a step in the memory alone.
func (c *client) ring(commands []uint8, seeds []uint64, actions ...[]float32) uint32 {
	b := &block{arrays: c.opened.Arrays, memory: c.memory}
	copy(in[uint8](b, "commands"), commands)
	copy(in[uint64](b, "seeds"), seeds)
	at := slices.IndexFunc(b.arrays, func(a Array) bool { return strings.HasSuffix(a.Name, "/action") })
	for k, a := range actions {
		copy(in[float32](b, b.arrays[at+k].Name), a)
	}
	return b.word(askedWord).Add(1)
}

// step has all copies carry out a command, and returns the memory as it is then.
func (c *client) step(commands []uint8, seeds []uint64, actions ...[]float32) ([]byte, error) {
	if c.memory != nil {
		c.ring(commands, seeds, actions...)
	}
	err := c.err(c.frame(Step, nil))
	return c.shown(), err
}

// shown is the memory as it is, but for the words, which the server still counts.
func (c *client) shown() []byte {
	if c.memory == nil {
		return nil
	}
	return append(make([]byte, wordBytes), c.memory[wordBytes:]...)
}

// array reads an array of a block.
func array[T any](c *client, block []byte, name string) []T {
	i := slices.IndexFunc(c.opened.Arrays, func(a Array) bool { return a.Name == name })
	if i < 0 {
		c.t.Fatalf("there is no array %s", name)
	}
	n := 1
	for _, d := range c.opened.Arrays[i].Shape {
		n *= d
	}
	out := make([]T, n)
	if _, err := binary.Decode(block[c.opened.Arrays[i].Offset:][:n*sizes[c.opened.Arrays[i].Type]], binary.NativeEndian, out); err != nil {
		c.t.Fatal(err)
	}
	return out
}

// What a client sees is what the environment shows, to the bit, for any number of workers; copies without a command stay as
// they are, and an episode that has ended wants a reset.
func TestStepsAsTheEnvironment(t *testing.T) {
	for _, workers := range []int{1, 3} {
		c := open(t, cartPole, Options{Copies: 3, Workers: workers})
		own := must.Get(cartPole())(t)
		spec := own.Spec()
		obs, act, out := envs.NewObservation(spec), envs.NewAction(spec), envs.NewOutcome(spec)
		must.Do(t, own.Reset(7, nil, obs))
		name := spec.Kinds[0].Name
		block := must.Get(c.step([]uint8{Begin, Begin, Leave}, []uint64{7, 8, 0}, make([]float32, 3)))(t)
		for k := range 200 {
			got := array[float32](c, block, name+"/observation")
			if !slices.Equal(got[:4], obs.Kinds[0].Values) || slices.Equal(got[:4], got[4:8]) || slices.Max(got[8:]) != 0 {
				t.Fatalf("step %d: the copies show %v, want %v, another episode and nothing", k, got, obs.Kinds[0].Values)
			}
			if out.Terminated {
				break
			}
			act.Kinds[0][0] = float32(k % 3 / 2)
			must.Do(t, own.Step(act, obs, out))
			block = must.Get(c.step([]uint8{Advance, Leave, Leave}, make([]uint64, 3), []float32{act.Kinds[0][0], 9, 9}))(t)
			if r := array[float32](c, block, name+"/reward"); r[0] != out.Rewards[0][0] {
				t.Fatalf("step %d: the reward is %v, want %v", k, r[0], out.Rewards[0][0])
			}
		}
		if end := array[bool](c, block, "terminated"); !end[0] || end[1] {
			t.Fatalf("terminated is %v, want the first copy alone", end)
		}
		if _, err := c.step([]uint8{Advance, Leave, Leave}, make([]uint64, 3), make([]float32, 3)); err == nil ||
			!strings.Contains(err.Error(), "copy 0: no episode is under way") {
			t.Fatalf("a step after the end: %v", err)
		}
	}
}

// A step of wrong actions is refused whole: no copy moves.
func TestBadSteps(t *testing.T) {
	c := open(t, cartPole, Options{Copies: 2})
	if _, err := c.step([]uint8{Advance, Advance}, make([]uint64, 2), make([]float32, 2)); err == nil {
		t.Error("a step before a reset passes")
	}
	must.Get(c.step([]uint8{Begin, Begin}, []uint64{1, 2}, make([]float32, 2)))(t)
	before := must.Get(c.step([]uint8{Leave, Leave}, make([]uint64, 2), make([]float32, 2)))(t)
	for what, actions := range map[string][]float32{"NaN": {0, float32(math.NaN())}, "outside": {0, 2}, "a part": {0, 0.5}} {
		if _, err := c.step([]uint8{Advance, Advance}, make([]uint64, 2), actions); err == nil ||
			!strings.Contains(err.Error(), "copy 1") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := c.step([]uint8{Advance, 9}, make([]uint64, 2), make([]float32, 2)); err == nil {
		t.Error("an unknown command passes")
	}
	for what, f := range map[string]struct {
		kind uint32
		body []byte
	}{
		"no copy": {Save, []byte{9, 0, 0, 0}}, "no number": {Save, nil},
		"no state": {Load, []byte{0, 0, 0, 0, 1, 2, 3}}, "hello": {Hello, []byte{0, 0, 0, 0}}, "open again": {Open, []byte("{}")},
		"no mask": {Mask, []byte{0, 0, 0, 0}}, "no agent": {Mask, make([]byte, 13)}, "no actor": {Decide, nil},
		"no actors": {Decide, make([]byte, 9)},
	} {
		if c.err(c.frame(f.kind, f.body)) == nil {
			t.Errorf("%s passes", what)
		}
	}
	after := must.Get(c.step([]uint8{Leave, Leave}, make([]uint64, 2), make([]float32, 2)))(t)
	if !bytes.Equal(before[wordBytes:], after[wordBytes:]) {
		t.Error("what was refused has changed a copy")
	}
}

// Forbidden choices, also those that depend on choices before them, are replaced by the first legal one and counted, or
// refused; Mask tells what is legal.
func TestForbiddenChoices(t *testing.T) {
	for _, substitute := range []bool{true, false} {
		c := open(t, onGraphs, Options{Copies: 1, Substitute: substitute})
		kind := must.Get(onGraphs())(t).Spec().Kinds[0]
		width := kind.Action.Width()
		must.Get(c.step([]uint8{Begin}, []uint64{1}, make([]float32, width)))(t)
		draws, replaced := rng.NewStream(1, "test"), 0
		word := (&block{memory: c.memory}).word(replacedWord)
		for range 50 {
			action := make([]float32, width)
			kind.Action.Sample(draws, nil, action)
			block, err := c.step([]uint8{Advance}, []uint64{0}, action)
			if err == nil {
				n := array[int32](c, block, "substituted")[0]
				replaced += int(n)
				if all := word.Load(); all != uint32(n) {
					t.Errorf("the word of replaced choices is %d, want %d", all, n)
				}
				left := must.Get(c.step([]uint8{Leave}, []uint64{0}, action))(t)
				if kept := array[int32](c, left, "substituted")[0]; kept != n {
					t.Errorf("a copy that is left tells of %d replaced choices, want the %d of its last step", kept, n)
				}
				continue
			}
			if substitute || !strings.Contains(err.Error(), "forbidden") {
				t.Fatal(err)
			}
			replaced++
			for m := range action { // what Mask allows passes
				ask := must.Get(binary.Append(make([]byte, 12), binary.NativeEndian, action[:m]))(t)
				status, legal := c.frame(Mask, ask)
				must.Do(t, c.err(status, legal))
				action[m] = float32(slices.Index(legal, 1))
			}
			must.Get(c.step([]uint8{Advance}, []uint64{0}, action))(t)
		}
		if replaced == 0 {
			t.Error("no random choice was forbidden")
		}
	}
}

// A state brings back an episode with what is seen, also in another process; one of another environment is refused.
func TestSaveAndLoad(t *testing.T) {
	c, other := open(t, onGraphs, Options{Copies: 2, Substitute: true}), open(t, onGraphs, Options{Copies: 1, Substitute: true})
	width := must.Get(onGraphs())(t).Spec().Kinds[0].Action.Width()
	must.Get(c.step([]uint8{Begin, Begin}, []uint64{3, 4}, make([]float32, 2*width)))(t)
	for range 9 {
		must.Get(c.step([]uint8{Advance, Advance}, make([]uint64, 2), make([]float32, 2*width)))(t)
	}
	status, state := c.frame(Save, []byte{1, 0, 0, 0})
	must.Do(t, c.err(status, state))
	must.Do(t, other.err(other.frame(Load, append(make([]byte, 4), state...))))
	at := other.shown()
	here := must.Get(c.step([]uint8{Leave, Leave}, make([]uint64, 2), make([]float32, 2*width)))(t)
	for range 9 {
		for _, a := range other.opened.Arrays {
			if a.Type != "float32" || strings.HasSuffix(a.Name, "reward") || strings.HasSuffix(a.Name, "action") {
				continue
			}
			if x, y := array[float32](other, at, a.Name), array[float32](c, here, a.Name); !slices.Equal(x, y[len(x):]) {
				t.Fatalf("%s differs", a.Name)
			}
		}
		here = must.Get(c.step([]uint8{Leave, Advance}, make([]uint64, 2), make([]float32, 2*width)))(t)
		at = must.Get(other.step([]uint8{Advance}, make([]uint64, 1), make([]float32, width)))(t)
	}
	pole := open(t, cartPole, Options{Copies: 1})
	if pole.err(pole.frame(Load, append(make([]byte, 4), state...))) == nil {
		t.Error("a state of another environment passes")
	}
}

// The number of steps cuts an episode, and says so.
func TestTruncation(t *testing.T) {
	c := open(t, cutShort, Options{Copies: 1})
	block := must.Get(c.step([]uint8{Begin}, []uint64{1}, []float32{0}))(t)
	for range 3 {
		block = must.Get(c.step([]uint8{Advance}, []uint64{0}, []float32{0}))(t)
	}
	if !array[bool](c, block, "truncated")[0] || array[bool](c, block, "terminated")[0] {
		t.Error("the episode is not truncated after three steps")
	}
}

// A wrong request to open tells why, and another one may follow.
func TestOpen(t *testing.T) {
	c := serve(t, cartPole, Options{Copies: 1})
	if _, err := c.step([]uint8{Begin}, []uint64{1}, []float32{0}); err == nil || !strings.Contains(err.Error(), "no environment") {
		t.Errorf("a step before open: %v", err)
	}
	if err := c.ask("[]"); err == nil || err.Error() != "unexpected request" {
		t.Errorf("a wrong request: %v", err)
	}
	must.Do(t, c.ask("{}"))
	for n, want := range map[int]bool{0: false, mostCopies + 1: false} {
		if _, err := newCopies(cartPole, Options{Copies: n}); (err == nil) != want {
			t.Errorf("%d copies: %v", n, err)
		}
	}
}

// Frames of every cut end in an error or in an answer, and never in a panic.
func FuzzServe(f *testing.F) {
	frame := func(kind uint32, body ...byte) []byte {
		b := binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint32(nil, kind), uint32(len(body)))
		return append(b, body...)
	}
	opened := frame(Open, []byte("{}")...)
	begun := slices.Concat(opened, frame(Step), frame(Wake))
	f.Add(begun)
	f.Add(slices.Concat(begun, frame(Save, 0, 0, 0, 0), frame(Mask, make([]byte, 12)...)))
	f.Add(slices.Concat(begun, frame(Load, make([]byte, 40)...)))
	f.Add(frame(Step, 1, 2, 3)[:9])
	f.Add(binary.NativeEndian.AppendUint32(frame(Load)[:4], 1<<31))
	f.Fuzz(func(t *testing.T, sent []byte) {
		memory := func(n int) ([]byte, error) { // a step that begins an episode is asked for
			b := &block{memory: make([]byte, n)}
			b.memory[wordBytes] = Begin
			b.word(askedWord).Store(1)
			return b.memory, nil
		}
		s := Server{Open: func([]byte) (func() (envs.Env, error), Options, error) {
			return cartPole, Options{Copies: 1, Memory: memory}, nil
		}}
		var out bytes.Buffer
		err := s.Serve(bytes.NewReader(sent), &out)
		if whole := len(sent) < header && len(sent) > 0; whole && err == nil || out.Len() < header {
			t.Errorf("%d bytes are answered by %d bytes and %v", len(sent), out.Len(), err)
		}
	})
}

// A step that is asked for in the memory alone is carried out: while the server looks, and after a Wake when it sleeps. A
// frame finds it in both cases.
func TestBell(t *testing.T) {
	c := open(t, cartPole, Options{Copies: 1})
	b := &block{arrays: c.opened.Arrays, memory: c.memory}
	until := func(word int, want uint32) {
		for b.word(word).Load() != want {
			runtime.Gosched()
		}
	}
	for k := range 20 {
		if k%2 == 1 {
			until(sleepsWord, 1)
		}
		n := c.ring([]uint8{Begin}, []uint64{uint64(k)}, []float32{0})
		if b.word(sleepsWord).Load() == 1 {
			b.word(framesWord).Add(1)
			if _, err := c.to.Write(binary.NativeEndian.AppendUint64(nil, uint64(Wake))); err != nil {
				t.Fatal(err)
			}
		}
		until(doneWord, n)
		if b.word(failedWord).Load() != 0 {
			t.Fatal("the step has failed")
		}
		must.Do(t, c.err(c.frame(Step, nil)))
	}
	c.ring([]uint8{9}, []uint64{0}, []float32{0})
	for range 2 {
		if err := c.err(c.frame(Step, nil)); err == nil || !strings.Contains(err.Error(), "command 9") {
			t.Errorf("a wrong command: %v", err)
		}
	}
	if b.word(failedWord).Load() != 1 {
		t.Error("the memory does not say that the step has failed")
	}
}

// counting is an actor that writes how often it was reset and asked.
type counting struct{ seed, asked float32 }

func (a *counting) Reset(seed uint64) error { *a = counting{seed: float32(seed)}; return nil }
func (a *counting) Act(_ envs.Env, _ *envs.Observation, act *envs.Action, deterministic bool) error {
	a.asked++
	act.Kinds[0][0] = a.seed*100 + a.asked
	if deterministic {
		act.Kinds[0][0] *= -1
	}
	return nil
}

// An actor of each copy writes its actions, is reset when an episode begins, and is not asked before.
func TestDecide(t *testing.T) {
	c := open(t, cartPole, Options{Copies: 2, Actor: func(name string, _ envs.Env) (Actor, error) {
		if name != "counting" {
			return nil, errors.New("no " + name)
		}
		return &counting{}, nil
	}})
	ask := func(name string, want ...float32) {
		t.Helper()
		err := c.err(c.frame(Decide, append(make([]byte, 4), name...)))
		if want == nil {
			if err == nil || err.Error() != "no "+name {
				t.Errorf("%s: %v", name, err)
			}
			return
		}
		if got := array[float32](c, c.memory, "cart/action"); err != nil || !slices.Equal(got, want) {
			t.Errorf("actions are %v, %v, want %v", got, err, want)
		}
	}
	ask("other")
	must.Get(c.step([]uint8{Begin, Leave}, []uint64{3, 0}, make([]float32, 2)))(t)
	ask("counting", 301, 0)
	ask("counting", 302, 0)
	must.Get(c.step([]uint8{Leave, Begin}, []uint64{0, 4}, make([]float32, 2)))(t)
	ask("counting", 303, 401)
	must.Get(c.step([]uint8{Begin, Leave}, []uint64{5, 0}, make([]float32, 2)))(t)
	must.Do(t, c.err(c.frame(Decide, append([]byte{1, 0, 0, 0}, "counting"...))))
	if got := array[float32](c, c.memory, "cart/action"); !slices.Equal(got, []float32{-501, -402}) {
		t.Errorf("actions are %v, want those of another episode, negative", got)
	}
}
