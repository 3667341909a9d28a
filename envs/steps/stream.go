package steps

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/reuse"
	"github.com/stoker-rl/stoker/rng"
)

// pool is the instances of a platform that run or are kept warm, by step and memory size: each list has the times at
// which its instances end what they run, ascending. Those that have ended are idle, and are kept for KeepAlive. The most
// recently used one is taken first, as AWS Lambda does.
type pool struct {
	platform *Platform
	sizes    int
	lists    [][]float64
	mb       []int // per list
	// What all instances of the lists take of the workers, idle ones included.
	cores, memory int
}

// reset empties the pool.
func (p *pool) reset(of *Platform, steps int) {
	p.platform, p.sizes, p.cores, p.memory = of, len(of.Memory), 0, 0
	n := steps * p.sizes
	p.lists, p.mb = reuse.Slice(p.lists, n), reuse.Slice(p.mb, n)
	for i := range p.lists {
		p.lists[i], p.mb[i] = p.lists[i][:0], of.Memory[i%p.sizes]
	}
}

// expire lets instances of a list go that have been idle for too long.
func (p *pool) expire(list int, now float64) {
	l := p.lists[list]
	gone := 0
	for gone < len(l) && l[gone] < now-p.platform.KeepAlive {
		gone++
	}
	if gone > 0 {
		p.lists[list] = append(l[:0], l[gone:]...)
		p.count(list, -gone)
	}
}

// count notes that n instances of a list are there more.
func (p *pool) count(list, n int) {
	p.cores += n * p.platform.CoresOf(p.mb[list])
	p.memory += n * p.mb[list]
}

// idle is how many instances of a list are idle now.
func (p *pool) idle(list int, now float64) int {
	p.expire(list, now)
	l := p.lists[list]
	return sort.Search(len(l), func(i int) bool { return l[i] > now })
}

// take removes n idle instances of a list, the most recently used ones.
func (p *pool) take(list, n int, now float64) {
	k := p.idle(list, now)
	l := p.lists[list]
	p.lists[list] = append(l[:k-n], l[k:]...)
	p.count(list, -n)
}

// put adds an instance that ends what it runs at a time. Where the workers have no room for it, the instances that have
// been idle for longest go.
func (p *pool) put(list int, end, now float64) {
	i, _ := slices.BinarySearch(p.lists[list], end)
	p.lists[list] = slices.Insert(p.lists[list], i, end)
	p.count(list, 1)
	w := p.platform
	if w.Workers == 0 {
		return
	}
	for p.cores > w.Workers*w.Cores || p.memory > w.Workers*int(w.MemoryGB*1024) {
		oldest, at := now, -1
		for k, l := range p.lists {
			if len(l) > 0 && l[0] <= oldest {
				oldest, at = l[0], k
			}
		}
		if at < 0 {
			return // all are running
		}
		p.lists[at] = append(p.lists[at][:0], p.lists[at][1:]...)
		p.count(at, -1)
	}
}

// stream is the requests of an episode. They run the same workflow on one platform, and share its instances: those that
// have ended what they ran are kept warm for whoever comes next, and workers that are full let all of them wait. Each
// request is decided as if it were alone, in the order of the times at which decisions are due.
type stream struct {
	walks    []*walk
	pool     pool
	room     room
	source   *workload.Source
	arrivals workload.Arrivals

	arriving
	sums sums
}

// arriving says when requests come.
type arriving struct {
	begun   int     // requests that have begun
	clock   float64 // seconds since the episode began
	next    float64 // when the next request arrives
	last    float64 // when the last of the requests that have ended did
	stretch float64 // seconds of the episode in a second of the workload
	first   int64   // the workload's time at which the episode begins, in microseconds
	base    int64   // of the times that the workload has been gone through
}

// sums are what the requests that have ended came to.
type sums struct {
	requests, missed, cold, warmed     float64
	usd, oracle, over, seconds         float64
	mapping, busy                      float64
	mappingUSD, coldUSD, prewarmingUSD float64
}

// openStream opens the load of a stream of requests.
func openStream(c *EnvConfig, load workload.Config) (s stream, err error) {
	if c.Requests == 1 {
		return s, nil
	}
	if load.Kind == "" {
		load = workload.Default()
	}
	if s.source, err = workload.Open(load); err != nil {
		return s, fmt.Errorf("workload: %w", err)
	}
	if s.source.Closed() {
		return s, errors.New("workload.kind is closed-loop, want arrivals: azure2019, calibrated, poisson, bursty or periodic")
	}
	s.arrivals, err = s.source.Arrivals(0)
	return s, err
}

// beginStream begins the first request of an episode.
func (g *Game) beginStream(key rng.Key) error {
	s, c := &g.stream, &g.shelf.config
	s.arriving, s.sums = arriving{}, sums{}
	for _, w := range s.walks {
		w.busy = false
	}
	p := &g.entry.truth.Platform
	s.room.reset(p)
	s.pool.reset(p, g.entry.known.NumSteps())
	if s.arrivals != nil {
		mean, _ := s.source.Means()
		if !(mean > 0) {
			return errors.New("the workload has no arrivals")
		}
		s.stretch = mean * 60 / drawn(c.Rate, key.With(3))
		s.arrivals.Reset(key.With(4).Uint64())
		length := float64(s.source.Minutes()) * float64(workload.Minute)
		s.arrivals.SeekTo(int64(length * key.With(5).Float64()))
		first, err := s.arrival()
		if err != nil {
			return err
		}
		s.first = first
	}
	return g.advance()
}

// arrival returns the workload's time of the next arrival. After its last one it begins again.
func (s *stream) arrival() (int64, error) {
	for range 2 {
		if a, ok := s.arrivals.Next(); ok {
			return s.base + a.Time, nil
		}
		s.base += int64(s.source.Minutes()) * workload.Minute
		s.arrivals.SeekTo(0)
	}
	return 0, errors.New("the workload has no arrivals")
}

// advance goes to the request that is decided next, and begins those that arrive before. It reports the end of the
// episode in running.
func (g *Game) advance() error {
	s := &g.stream
	for {
		var best *walk
		due := math.Inf(1)
		for _, w := range s.walks {
			if t := w.origin + w.at.Now; w.busy && (t < due || t == due && w.number < best.number) {
				best, due = w, t
			}
		}
		if s.begun < g.shelf.config.Requests && s.next <= due {
			if err := g.arrive(); err != nil {
				return err
			}
			continue
		}
		if g.running = best != nil; !g.running {
			s.clock = s.last
			return nil
		}
		s.clock, g.walk = due, best
		if g.pooled() {
			best.look(&s.pool, due)
		}
		best.gauge()
		return nil
	}
}

// arrive begins a request.
func (g *Game) arrive() error {
	s, n, c := &g.stream, g.entry, &g.shelf.config
	var w *walk
	for _, x := range s.walks {
		if !x.busy {
			w = x
			break
		}
	}
	if w == nil {
		w = &walk{}
		s.walks = append(s.walks, w)
	}
	key := rng.New(g.seed, "steps/request")
	if s.begun > 0 {
		key = key.With(requests).With(uint64(s.begun))
	}
	slo := float64(drawn(c.SLO, key.With(0)) * n.known.Fastest)
	if n.known.App.SLO > 0 {
		slo = n.known.App.SLO
	}
	w.number, w.origin, w.busy = s.begun, s.next, true
	w.runner.room, w.runner.pool = &s.room, nil
	if g.pooled() {
		w.runner.pool = &s.pool
	}
	s.begun++
	if g.walk == nil {
		g.walk = w
	}
	if err := g.accompany(w); err != nil {
		return err
	}
	w.begin(n.known, n.truth, key.With(2), slo, float64(drawn(c.Miss, key.With(1))*unitOf(n.known)))
	if s.begun < c.Requests {
		at, err := s.arrival()
		if err != nil {
			return err
		}
		s.next = float64(at-s.first) / 1e6 * s.stretch
	}
	if w.over() {
		return g.finish(w)
	}
	return nil
}

// requests keeps the draws of later requests apart from those of the first one.
const requests = 1 << 33

// pooled reports whether instances can be warm.
func (g *Game) pooled() bool {
	return g.shelf.config.Requests > 1 || g.shelf.config.Prewarm != NoPrewarm
}

// finish counts a request that has ended.
func (g *Game) finish(w *walk) error {
	oracle, err := g.shelf.oracle(g.entry, w.at.SLO)
	if err != nil {
		return err
	}
	s, t := &g.stream.sums, &w.total
	s.requests++
	if w.late() {
		s.missed++
	}
	s.usd, s.oracle, s.over, s.seconds = s.usd+w.at.Spent, s.oracle+max(oracle, 1e-12), s.over+w.at.Now/w.at.SLO, s.seconds+w.at.Now
	s.mapping, s.busy, s.cold, s.warmed = s.mapping+t.mapping, s.busy+t.busy, s.cold+float64(t.cold), s.warmed+float64(t.warmed)
	s.mappingUSD, s.coldUSD = s.mappingUSD+t.mappingUSD, s.coldUSD+t.coldUSD
	s.prewarmingUSD += t.prewarmingUSD
	g.stream.last = max(g.stream.last, w.origin+w.at.Now)
	w.busy = false
	return nil
}

// late reports whether a request ended later than its SLO.
func (w *walk) late() bool { return w.at.Now > w.at.SLO }

// look counts the idle warm instances at a time of the episode.
func (w *walk) look(p *pool, now float64) {
	for i := range w.warm {
		w.warm[i] = p.idle(i, now)
	}
}

// Request returns the number of the request that is decided, from 0, and the place of its walk: requests of one place
// do not run at the same time.
func (g *Game) Request() (number, place int) {
	for i, w := range g.stream.walks {
		if w == g.walk {
			return w.number, i
		}
	}
	return 0, 0
}

// Requests returns how many requests an episode has.
func (g *Game) Requests() int { return g.shelf.config.Requests }
