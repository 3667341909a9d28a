package sim

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/state/statetest"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// lively is a simulation in the middle of everything: starting, pending and draining instances, queues, timers, a
// rolling resize.
func lively(t testing.TB) *Sim {
	z := Sizing{CPU: 700, Memory: 256, GPU: 1, Concurrency: 3, Speed: 1, Contention: Contention{Alpha: 0.3}, Min: 1,
		Max: 6}
	f := Function{
		Demand: Law{Kind: Lognormal, Mean: 0.2, CV: 1}, ColdStart: Law{Kind: Exponential, Mean: 0.3}, Sizing: z, Queue: 30,
		KeepAlive: Second, QueueTimeout: Second, Timeout: 3 * Second, SLO: 400 * ms, RequestCPU: 300,
	}
	g := f
	g.Dispatch, g.BindCold, g.Sizing.GPU = Random, true, 0
	s := mustNew(t, Config{Functions: []Function{f, g}, Nodes: []Node{{4000, 2000, 4}, {3000, 1500, 2}},
		Placement: BestFit, SketchBits: 4}, 11)
	p := &poisson{t: t, key: rng.New(11, "arrivals"), rate: 60, limit: math.MaxUint64}
	q := &poisson{t: t, key: rng.New(11, "others"), rate: 30, limit: math.MaxUint64, fn: 1}
	p.start(s)
	s.Run(p, 2*Second)
	q.start(s)
	s.Run(q, 4*Second)
	z.Speed = 1.5
	must.Do(t, s.Resize(0, z))
	for i := range uint64(40) {
		must.Do(t, s.Submit(Request{ID: 1 << 40 & i, Function: int32(i % 2), At: s.Now() + Time(i)*10*ms}))
	}
	s.Run(p, s.Now()+100*ms)
	must.Do(t, s.check())
	return s
}

// A copy and a restored simulation go on exactly as the original, onto whatever they held before; the original is
// not disturbed by either.
func TestCopyAndRestore(t *testing.T) {
	s := lively(t)
	image := save(t, s)
	stale := mustNew(t, farm(20, 2), 3)
	stale.Run(nil, Second)
	stale.CopyFrom(s)
	restored := lively(t)
	restored.Run(nil, Minute)
	ok(t, restored.UnmarshalBinary(image))
	var a, b, c tape
	s.Run(&a, s.Now()+20*Second)
	stale.Run(&b, s.Now())
	restored.Run(&c, s.Now())
	if len(a) == 0 || !bytes.Equal(a, b) || !bytes.Equal(a, c) {
		t.Error("the three went different ways")
	}
	if x := save(t, s); !bytes.Equal(x, save(t, stale)) || !bytes.Equal(x, save(t, restored)) || bytes.Equal(x, image) {
		t.Error("the three ended differently")
	}
	// Reset makes the state that New makes, byte for byte.
	fresh := mustNew(t, s.plan.cfg, 5)
	s.Reset(5)
	if !bytes.Equal(save(t, s), save(t, fresh)) {
		t.Error("Reset leaves something behind")
	}
}

// A copy taken inside a callback goes on as the original does after that callback.
type forker struct {
	tape
	at   int
	n    int
	copy Sim
}

func (f *forker) Finished(s *Sim, r Response) {
	if f.n++; f.n == f.at {
		f.tape = f.tape[:0]
		f.copy.CopyFrom(s)
		return
	}
	f.tape.Finished(s, r)
}

func TestCopyInCallback(t *testing.T) {
	for at := 1; at < 40; at++ {
		s := lively(t)
		f := &forker{at: at}
		until := s.Now() + 2*Second
		s.Run(f, until)
		var got tape
		f.copy.Run(&got, until)
		if !bytes.Equal(got, f.tape) || !bytes.Equal(save(t, s), save(t, &f.copy)) {
			t.Fatalf("a copy made in callback %d goes another way", at)
		}
	}
}

// Every byte flipped, every length cut: refused with a reason, and the simulation stays as it was.
func TestDamagedState(t *testing.T) {
	s := lively(t)
	image := save(t, s)
	other := mustNew(t, s.plan.cfg, 1)
	before := save(t, other)
	for i := range image {
		image[i] ^= 0x55
		if other.UnmarshalBinary(image) == nil {
			t.Fatalf("byte %d of %d changed and nobody noticed", i, len(image))
		}
		image[i] ^= 0x55
	}
	for n := 0; n < len(image); n += 1 + n/50 {
		if other.UnmarshalBinary(image[:n]) == nil {
			t.Fatalf("cut to %d of %d bytes and nobody noticed", n, len(image))
		}
	}
	if !bytes.Equal(save(t, other), before) {
		t.Error("a refused state left traces")
	}
	fails(t, other.UnmarshalBinary(append(image, 0)), "its header says")
	cfg := s.plan.cfg
	cfg.Placement = FirstFit
	fails(t, mustNew(t, cfg, 1).UnmarshalBinary(image), "another configuration")
	cfg = s.plan.cfg
	cfg.Prices.Request = 3 // prices do not shape the state
	ok(t, mustNew(t, cfg, 1).UnmarshalBinary(image))
}

// Forged states, whose checksums hold, are refused or run; they never panic, hang or break an invariant.
func FuzzForgedState(f *testing.F) {
	s := lively(f)
	image := save(f, s)
	body := statetest.Body(image)
	f.Add(body, uint32(0), uint64(0))
	for i := uint32(0); i < uint32(len(body)); i += 5 {
		f.Add(body, i, uint64(1)<<(i%64))
	}
	f.Fuzz(func(t *testing.T, body []byte, at uint32, change uint64) {
		body = bytes.Clone(body)
		if n := int(at); n+8 <= len(body) {
			binary.LittleEndian.PutUint64(body[n:], binary.LittleEndian.Uint64(body[n:])^change)
		}
		r := mustNew(t, s.plan.cfg, 1)
		if err := r.UnmarshalBinary(statetest.Forge(image, body)); err != nil {
			if !strings.HasPrefix(err.Error(), "sim: saved state of") {
				t.Errorf("refused with %v", err)
			}
			return
		}
		r.Run(nil, r.Now()+Second)
		if err := r.check(); err != nil {
			t.Errorf("accepted, ran, and then %v", err)
		}
	})
}
