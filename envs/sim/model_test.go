package sim

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

// world is a random simulation under random commands, with what must be known of each request from outside.
type world struct {
	t        *rapid.T
	s        *Sim
	cfg      Config
	next     uint64
	open     map[uint64]Request // submitted and not yet finished
	finished int
	// What the claim tells.
	submitted uint64
	ends      [outcomes]int
	timers    map[uint64]Timer
	ids       []TimerID
	adjusted  bool // concurrency may have been lowered under running requests
	flip      uint64
}

func (w *world) Finished(s *Sim, r Response) {
	q, ok := w.open[r.ID]
	if !ok {
		w.t.Fatalf("request %d finished twice or was never submitted: %+v", r.ID, r)
	}
	delete(w.open, r.ID)
	w.finished++
	w.ends[r.Outcome]++
	if r.Tag != q.Tag || r.Function != q.Function || r.Arrived != q.At || r.Ended != s.Now() {
		w.t.Fatalf("request %+v came back as %+v at %d", q, r, s.Now())
	}
	if r.Started >= 0 && (r.Started < r.Arrived || r.Ended < r.Started) || r.Outcome == Completed && r.Started < 0 {
		w.t.Fatalf("request ended out of order: %+v", r)
	}
	demand := q.Demand
	if demand == 0 {
		demand = s.Demand(r.Function, r.ID, r.Attempt)
	}
	c := &w.cfg.Functions[q.Function]
	if r.Outcome == Completed && r.Demand != demand {
		w.t.Fatalf("request %d had the demand %d, its name draws %d", r.ID, r.Demand, demand)
	}
	if c.Timeout > 0 && r.Latency() > c.Timeout {
		w.t.Fatalf("request %+v outlived its timeout %d", r, c.Timeout)
	}
	w.audit()
	// One in four asks again, now or later: a caller's workflow.
	w.flip = w.flip*6364136223846793005 + 1442695040888963407
	if w.flip>>62 == 0 && w.finished < 3000 {
		w.submit(Request{Function: int32(w.flip>>33) % int32(len(w.cfg.Functions)),
			At: s.Now() + Time(w.flip>>40&1)*Time(w.flip>>50)})
	}
}

func (w *world) Fired(s *Sim, t Timer) {
	want, ok := w.timers[t.Payload]
	if !ok || want != t || t.At != s.Now() {
		w.t.Fatalf("timer %+v fired at %d, want %+v", t, s.Now(), want)
	}
	delete(w.timers, t.Payload)
	if t.Kind == 1 {
		s.Pause()
	}
	w.audit()
}

func (w *world) submit(r Request) {
	w.next++
	r.ID, r.Tag = w.next, w.next*7
	if err := w.s.Submit(r); err != nil {
		w.t.Fatal(err)
	}
	w.open[r.ID] = r
	w.submitted++
}

func (w *world) audit() {
	if err := w.s.check(); err != nil {
		w.t.Fatalf("at %d: %v", w.s.Now(), err)
	}
	if w.adjusted {
		return
	}
	for f := range w.cfg.Functions {
		for id := w.s.NextInstance(f, 0); id != 0; id = w.s.NextInstance(f, id) {
			if in := w.s.Instance(id); in.Running > int(in.Sizing.Concurrency) {
				w.t.Fatalf("instance %+v runs more than its concurrency", in)
			}
		}
	}
}

func anyLaw(t *rapid.T, what string, mean float64) Law {
	return Law{
		Kind: LawKind(rapid.IntRange(0, int(lawKinds)-1).Draw(t, what)), Mean: mean, CV: 0.7,
		Table: []float64{0, mean / 2, mean, 3 * mean},
	}
}

func anySizing(t *rapid.T) Sizing {
	low := rapid.Int32Range(0, 3).Draw(t, "min")
	return Sizing{
		CPU: rapid.SampledFrom([]int32{100, 500, 900, 2000}).Draw(t,
			"cpu"), Memory: rapid.SampledFrom([]int32{0, 128, 700}).Draw(t, "memory"),
		GPU: rapid.SampledFrom([]int32{0, 0, 1, 3}).Draw(t,
			"gpu"), Concurrency: rapid.SampledFrom([]int32{1, 2, 5, 70}).Draw(t, "concurrency"),
		Speed: rapid.SampledFrom([]float64{0.3, 1, 2.5}).Draw(t, "speed"),
		Contention: Contention{
			Cores: rapid.SampledFrom([]float64{0, 1, 1.5}).Draw(t,
				"cores"), Alpha: rapid.SampledFrom([]float64{0, 0.2, 1}).Draw(t, "alpha"),
		},
		Min: low, Max: low + rapid.SampledFrom([]int32{0, 1, 5, NoLimit - 3}).Draw(t, "spare"),
	}
}

func anyConfig(t *rapid.T) Config {
	cfg := Config{Placement: Placement(rapid.IntRange(0, 2).Draw(t, "placement")), SketchBits: 3}
	for range rapid.IntRange(0, 4).Draw(t, "nodes") {
		cfg.Nodes = append(cfg.Nodes, Node{
			CPU: rapid.Int32Range(0, 5000).Draw(t, "node cpu"), Memory: rapid.Int32Range(0, 3000).Draw(t,
				"node memory"), GPU: rapid.Int32Range(0, 5).Draw(t, "node gpu"),
		})
	}
	span := func(what string) Time {
		return rapid.SampledFrom([]Time{0, 1, 300, 20000}).Draw(t, what)
	}
	for range rapid.IntRange(1, 3).Draw(t, "functions") {
		cfg.Functions = append(cfg.Functions, Function{
			Demand: anyLaw(t, "demand", 0.001), ColdStart: anyLaw(t, "cold start", 0.002), Sizing: anySizing(t),
			Warm: rapid.Bool().Draw(t, "warm"), BindCold: rapid.Bool().Draw(t, "bind cold"),
			Dispatch: Dispatch(rapid.IntRange(0, int(dispatches)-1).Draw(t, "dispatch")),
			Queue: rapid.SampledFrom([]int32{0, 2, NoLimit}).Draw(t,
				"queue"), MaxInflight: rapid.SampledFrom([]int32{0, 0, 4}).Draw(t, "max inflight"),
			QueueTimeout: span("queue timeout"), Timeout: span("timeout"), KeepAlive: span("keep-alive"), SLO: span("slo"),
			RequestCPU: 300, IdleMemory: 64, RequestMemory: 10,
		})
	}
	return cfg
}

// Random configurations under random commands: no request is lost or served twice, no node carries more than it
// holds, every invariant of the state holds at every callback, a copy and a restored state go on as the original
// does, and restoring gives the same bytes again.
func TestModel(t *testing.T) {
	var a, b Sim // reused, so that copies land on old content
	worlds, requests := 0, uint64(0)
	var ends [outcomes]int
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, cfg: anyConfig(t), open: map[uint64]Request{}, timers: map[uint64]Timer{},
			flip: rapid.Uint64().Draw(t, "flip")}
		s := must.Get(New(w.cfg, rapid.Uint64Range(0, 3).Draw(t, "seed")))(t)
		w.s = s
		w.audit()
		fn := func() int { return rapid.IntRange(0, len(w.cfg.Functions)-1).Draw(t, "function") }
		instance := func() (id InstanceID) {
			f := fn()
			for range rapid.IntRange(0, 4).Draw(t, "instance") {
				id = s.NextInstance(f, id)
			}
			return id
		}
		later := func() Time {
			return s.Now() + rapid.SampledFrom([]Time{0, 1, 50, 500, 1000, 7000}).Draw(t, "later")
		}
		t.Repeat(map[string]func(*rapid.T){
			"submit": func(t *rapid.T) {
				for range rapid.IntRange(1, 12).Draw(t, "how many") {
					w.submit(Request{Function: int32(fn()), At: later(),
						Demand: Time(rapid.SampledFrom([]int{0, 0, 1, 4000}).Draw(t, "demand")), SLO: 900})
				}
			},
			"timer": func(t *rapid.T) {
				w.next++
				tm := Timer{At: later(), Kind: rapid.Int32Range(0, 1).Draw(t, "kind"), Payload: w.next}
				id := must.Get(s.At(tm))(t)
				w.timers[w.next], w.ids = tm, append(w.ids, id)
			},
			"cancel": func(t *rapid.T) {
				if len(w.ids) > 0 {
					id := rapid.SampledFrom(w.ids).Draw(t, "id")
					pending := s.Cancel(id)
					if pending == s.Cancel(id) && pending {
						t.Fatal("a timer was cancelled twice")
					}
					n := 0
					for i := range s.timers {
						n += b2i(s.timers[i].live)
					}
					for p, tm := range w.timers {
						if pending && !pendingTimer(s, tm) {
							delete(w.timers, p)
						}
					}
					if n != len(w.timers) {
						t.Fatalf("%d timers are pending, want %d", n, len(w.timers))
					}
				}
			},
			"run":    func(t *rapid.T) { s.Run(w, later()) },
			"resize": func(t *rapid.T) { mustNot(t, s.Resize(fn(), anySizing(t))) },
			"limits": func(t *rapid.T) {
				f := fn()
				z, o := s.Sizing(f), anySizing(t)
				z.Min, z.Max = o.Min, o.Max
				mustNot(t, s.Resize(f, z))
			},
			"redeploy": func(t *rapid.T) { mustNot(t, s.Redeploy(fn(), anySizing(t), rapid.Bool().Draw(t, "requeue"))) },
			"adjust": func(t *rapid.T) {
				if s.Adjust(fn(), anySizing(t)) == nil {
					w.adjusted = true
				}
			},
			"keep-alive": func(t *rapid.T) {
				mustNot(t, s.SetKeepAlive(fn(), rapid.SampledFrom([]Time{0, 1, 900}).Draw(t, "span")))
			},
			"flush":  func(t *rapid.T) { mustNot(t, s.Flush(fn())) },
			"launch": func(t *rapid.T) { s.Launch(fn(), rapid.IntRange(-1, len(w.cfg.Nodes)).Draw(t, "node")) },
			"retire": func(t *rapid.T) { s.Retire(instance()) },
			"kill":   func(t *rapid.T) { s.Kill(instance(), rapid.Bool().Draw(t, "requeue")) },
			"window": func(t *rapid.T) { s.ResetMeters() },
			"copies": func(t *rapid.T) {
				a.CopyFrom(s)
				image := save(t, s)
				if b.plan != s.plan {
					b.CopyFrom(s)
				}
				must.Do(t, b.UnmarshalBinary(image))
				if !bytes.Equal(save(t, &a), image) || !bytes.Equal(save(t, &b), image) {
					t.Fatal("a copy or a restored state saves as other bytes")
				}
				until := later()
				var left, right, orig tape
				var original Sim
				original.CopyFrom(s)
				a.Run(&left, until)
				b.Run(&right, until)
				original.Run(&orig, until)
				if string(left) != string(orig) || string(right) != string(orig) {
					t.Fatal("a copy or a restored state goes on otherwise than the original")
				}
				if !bytes.Equal(save(t, &a), save(t, &original)) || !bytes.Equal(save(t, &b), save(t, &original)) {
					t.Fatal("a copy or a restored state ends otherwise than the original")
				}
			},
			"": func(t *rapid.T) { w.audit() },
		})
		// In the end every request is reported, given instances that can run and time.
		for f := range w.cfg.Functions {
			z := Sizing{Concurrency: 3, Speed: 1, Min: 1, Max: 1}
			mustNot(t, s.Redeploy(f, z, true))
		}
		for s.Run(w, Forever) {
		}
		if len(w.open) != 0 {
			t.Fatalf("%d requests were lost", len(w.open))
		}
		worlds++
		requests += w.submitted
		for i, n := range w.ends {
			ends[i] += n
		}
	})
	proof.Claim(t, proof.Row{
		Topic: "simulator",
		Claim: "random configurations under random commands: no request is lost or served twice, no instance or node carries more than it holds, copies and restored states go on alike",
		Bound: "every request ends exactly once",
		Measured: fmt.Sprintf("%d worlds, %d requests: %d completed, %d rejected, %d timed out, %d killed, none twice or never",
			worlds, requests, ends[Completed], ends[Rejected], ends[TimedOut], ends[Killed]),
		Holds: !t.Failed() && worlds > 0,
	})
}

func pendingTimer(s *Sim, tm Timer) bool {
	for i := range s.timers {
		if s.timers[i].live && s.timers[i].Timer == tm {
			return true
		}
	}
	return false
}

func mustNot(t *rapid.T, err error) {
	must.Do(t, err)
}

func save(t rapid.TB, s *Sim) []byte {
	b := must.Get(s.AppendBinary(nil))(t)
	return b
}

// tape records what a handler hears.
type tape []byte

func (r *tape) Finished(s *Sim, x Response) { *r = appendResponse(*r, x) }
func (r *tape) Fired(s *Sim, x Timer) {
	*r = binary.LittleEndian.AppendUint64(*r, uint64(x.At))
	*r = binary.LittleEndian.AppendUint64(*r, x.Payload)
}

func appendResponse(b []byte, x Response) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(x.Function))
	b = append(b, byte(x.Outcome), byte(b2i(x.Cold)), byte(b2i(x.Late)))
	b = binary.LittleEndian.AppendUint32(b, uint32(x.Attempt))
	b = binary.LittleEndian.AppendUint64(b, x.ID)
	for _, t := range []Time{x.Arrived, x.Started, x.Ended, x.Demand} {
		b = binary.LittleEndian.AppendUint64(b, uint64(t))
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(x.Instance))
	return binary.LittleEndian.AppendUint32(b, uint32(x.Node))
}
