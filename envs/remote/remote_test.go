package remote

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
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
}

func cartPole() (envs.Env, error)       { return classic.NewCartPole(classic.DefaultCartPole()) }
func onGraphs() (envs.Env, error)       { return placement.New(placement.Default(), workload.Default()) }
func cutShort() (envs.Env, error)       { return classic.NewCartPole(classic.CartPoleConfig{MaxSteps: 3}) }
func (c *client) ask(body string) error { return c.err(c.frame(Open, []byte(body))) }

// serve starts a server of copies of an environment.
func serve(t testing.TB, build func() (envs.Env, error), o Options) *client {
	s := Server{Version: "test", Open: func(request []byte) (func() (envs.Env, error), Options, error) {
		if string(request) != "{}" {
			return nil, o, errors.New("unexpected request")
		}
		return build, o, nil
	}}
	toServer, to := io.Pipe()
	from, fromServer := io.Pipe()
	c := &client{t: t, to: to, from: from, copies: o.Copies, done: make(chan error, 1)}
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

// step has all copies carry out a command.
func (c *client) step(commands []uint8, seeds []uint64, actions ...[]float32) ([]byte, error) {
	b := slices.Clone(commands)
	for _, s := range seeds {
		b = binary.NativeEndian.AppendUint64(b, s)
	}
	for _, a := range actions {
		b = must.Get(binary.Append(b, binary.NativeEndian, a))(c.t)
	}
	kind, body := c.frame(Step, b)
	return body, c.err(kind, body)
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
		"short": {Step, []byte{1}}, "no copy": {Save, []byte{9, 0, 0, 0}}, "no number": {Save, nil},
		"no state": {Load, []byte{0, 0, 0, 0, 1, 2, 3}}, "hello": {Hello, []byte{0, 0, 0, 0}}, "open again": {Open, []byte("{}")},
		"no mask": {Mask, []byte{0, 0, 0, 0}}, "no agent": {Mask, make([]byte, 13)},
	} {
		if c.err(c.frame(f.kind, f.body)) == nil {
			t.Errorf("%s passes", what)
		}
	}
	if after := must.Get(c.step([]uint8{Leave, Leave}, make([]uint64, 2), make([]float32, 2)))(t); !bytes.Equal(before, after) {
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
		for range 50 {
			action := make([]float32, width)
			kind.Action.Sample(draws, nil, action)
			block, err := c.step([]uint8{Advance}, []uint64{0}, action)
			if err == nil {
				replaced += int(array[int32](c, block, "substituted")[0])
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
	status, at := other.frame(Load, append(make([]byte, 4), state...))
	must.Do(t, other.err(status, at))
	here := must.Get(c.step([]uint8{Leave, Leave}, make([]uint64, 2), make([]float32, 2*width)))(t)
	for range 9 {
		for _, a := range other.opened.Arrays {
			if a.Type != "float32" || strings.HasSuffix(a.Name, "reward") {
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
	begun := slices.Concat(opened, frame(Step, append([]byte{Begin}, make([]byte, 12)...)...))
	f.Add(begun)
	f.Add(slices.Concat(begun, frame(Save, 0, 0, 0, 0), frame(Mask, make([]byte, 12)...)))
	f.Add(slices.Concat(begun, frame(Load, make([]byte, 40)...)))
	f.Add(frame(Step, 1, 2, 3)[:9])
	f.Add(binary.NativeEndian.AppendUint32(frame(Load)[:4], 1<<31))
	f.Fuzz(func(t *testing.T, sent []byte) {
		s := Server{Open: func([]byte) (func() (envs.Env, error), Options, error) { return cartPole, Options{Copies: 1}, nil }}
		var out bytes.Buffer
		err := s.Serve(bytes.NewReader(sent), &out)
		if whole := len(sent) < header && len(sent) > 0; whole && err == nil || out.Len() < header {
			t.Errorf("%d bytes are answered by %d bytes and %v", len(sent), out.Len(), err)
		}
	})
}

// An eager reader reads what a pipe has, sleeps where it has nothing, and ends with it; a file is read as it is.
func TestEager(t *testing.T) {
	r, w, err := os.Pipe()
	must.Do(t, err)
	defer r.Close()
	e := Eager(r)
	go func() {
		for range 3 {
			w.Write([]byte("abcd"))
		}
		w.Close()
	}()
	if got := must.Get(io.ReadAll(e))(t); string(got) != "abcdabcdabcd" {
		t.Errorf("read %q", got)
	}
	f := must.Get(os.Open("server.go"))(t)
	defer f.Close()
	if Eager(f) != io.Reader(f) {
		t.Error("a file is not read as it is")
	}
}
