package sim

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/stoker-rl/stoker/internal/must"
)

// reference is a second, naive simulator of one function with a fixed pool of ready instances, a FIFO queue with a
// capacity, and contention: all in plain slices, every quantity recomputed at every event. It shares with the
// simulator only the meaning of the numbers: demands in µs and rates in 2^-24.
type reference struct {
	now   Time
	pool  [][]job
	used  []int // when each instance last changed, in events
	queue []job
	tick  int
	room  int
	z     Sizing
}

type job struct {
	id            uint64
	seq           int
	arrived       Time
	started, left int64 // µs; service left in 2^-24 µs
}

func (r *reference) rate(n int) int64 {
	slow := 1 + r.z.Contention.Alpha*float64(n-1)
	if c := r.z.Contention.Cores; c > 0 {
		slow *= max(1, float64(n)/c)
	}
	return int64(math.Round(r.z.Speed / slow * (1 << 24)))
}

// next is the moment and place of the next completion; ties go by the order in which the simulator came to know
// of them, which is the order of the instances' last changes.
func (r *reference) next() (at Time, who int) {
	at, who = Forever, -1
	for i, jobs := range r.pool {
		for _, j := range jobs {
			k := r.rate(len(jobs))
			t := r.now + Time((max(0, j.left)+k-1)/k)
			if t < at || t == at && r.used[i] < r.used[who] {
				at, who = t, i
			}
		}
	}
	return at, who
}

func (r *reference) move(to Time) {
	for i := range r.pool {
		k := r.rate(len(r.pool[i])) * int64(to-r.now)
		for j := range r.pool[i] {
			r.pool[i][j].left -= k
		}
	}
	r.now = to
}

func (r *reference) start(i int, j job) {
	j.started = int64(r.now)
	r.pool[i] = append(r.pool[i], j)
	r.tick++
	r.used[i] = r.tick
}

func (r *reference) arrive(j job) (rejected bool) {
	best := -1
	for i := range r.pool {
		n := len(r.pool[i])
		if n >= int(r.z.Concurrency) {
			continue
		}
		if best < 0 || n < len(r.pool[best]) || n == len(r.pool[best]) && r.used[i] > r.used[best] {
			best = i
		}
	}
	switch {
	case best >= 0:
		r.start(best, j)
	case len(r.queue) < r.room:
		r.queue = append(r.queue, j)
	default:
		return true
	}
	return false
}

func (r *reference) complete(i int) job {
	jobs := r.pool[i]
	k := 0
	for n := range jobs {
		if jobs[n].left < jobs[k].left || jobs[n].left == jobs[k].left && jobs[n].seq < jobs[k].seq {
			k = n
		}
	}
	done := jobs[k]
	r.pool[i] = slices.Delete(jobs, k, k+1)
	r.tick++
	r.used[i] = r.tick
	if len(r.queue) > 0 {
		j := r.queue[0]
		r.queue = r.queue[1:]
		r.start(i, j)
	}
	return done
}

type ended struct {
	id             uint64
	started, ended Time
	outcome        Outcome
}

type log []ended

func (l *log) Finished(_ *Sim, r Response) {
	*l = append(*l, ended{r.ID, r.Started, r.Ended, r.Outcome})
}
func (*log) Fired(*Sim, Timer) {}

// The simulator and the naive reference agree on every request to the microsecond, contention and ties included.
func TestReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		z := Sizing{
			Concurrency: rapid.Int32Range(1, 6).Draw(t, "concurrency"), Speed: rapid.SampledFrom([]float64{0.37, 1, 3}).Draw(t,
				"speed"),
			Contention: Contention{
				Cores: rapid.SampledFrom([]float64{0, 1, 2.5}).Draw(t,
					"cores"), Alpha: rapid.SampledFrom([]float64{0, 0.13, 1}).Draw(t, "alpha"),
			},
		}
		z.Min = rapid.Int32Range(1, 4).Draw(t, "instances")
		z.Max = z.Min
		room := rapid.Int32Range(0, 8).Draw(t, "room")
		s := must.Get(New(Config{Functions: []Function{{Demand: Law{Kind: Lognormal, Mean: 0.0002, CV: 1}, Sizing: z, Warm: true,
			Queue: room}}}, 1))(t)
		r := &reference{pool: make([][]job, z.Min), used: make([]int, z.Min), room: int(room), z: z}
		for i := range r.used {
			r.tick++
			r.used[i] = r.tick
		}
		gaps := rapid.SliceOfN(rapid.SampledFrom([]Time{0, 0, 1, 40, 90, 91, 400}), 40, 160).Draw(t, "gaps")
		var got, want log
		at := Time(0)
		for i, g := range gaps {
			at += g
			id := uint64(i)
			demand := s.Demand(0, id, 0)
			if i%2 == 0 { // ties
				demand = 100
			}
			mustNot(t, s.Submit(Request{ID: id, At: at, Demand: demand}))
			// Everything before this moment happens first, and what completes in it was known before it arrived
			// only if it was scheduled earlier; the simulator's arrivals are all scheduled first, so they precede
			// completions of their moment.
			for next, who := r.next(); next < at; next, who = r.next() {
				r.move(next)
				j := r.complete(who)
				want = append(want, ended{j.id, Time(j.started), r.now, Completed})
			}
			r.move(at)
			if r.arrive(job{id: id, seq: i, arrived: at, left: int64(demand) << 24}) {
				want = append(want, ended{id, -1, at, Rejected})
			}
		}
		for next, who := r.next(); who >= 0; next, who = r.next() {
			r.move(next)
			j := r.complete(who)
			want = append(want, ended{j.id, Time(j.started), r.now, Completed})
		}
		s.Run(&got, Forever)
		if !slices.Equal(got, want) {
			for i := range want {
				if i >= len(got) || got[i] != want[i] {
					t.Fatalf("of %d ends, number %d is %+v, want %+v", len(want), i, got[min(i, len(got)-1)], want[i])
				}
			}
			t.Fatalf("%d ends too many", len(got)-len(want))
		}
	})
}
