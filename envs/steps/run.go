package steps

import (
	"math"
	"slices"

	"github.com/stoker-rl/stoker/internal/heap"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// moment is a time in seconds.
type moment float64

// Before orders times.
func (m moment) Before(o moment) bool { return m < o }

// holding is an instance that holds room until its end.
type holding struct {
	end       float64
	cores, mb int
}

// Before orders holdings by their ends.
func (h holding) Before(o holding) bool { return h.end < o.end }

// result is what a run of a step came to.
type result struct {
	seconds float64 // from its begin to the end of its last instance
	usd     float64
	mapping float64 // seconds until the last of its instances had started
	cold    int     // instances that started cold
	began   float64 // seconds until the instance started that ended last
	moved   float64 // seconds of its download and upload
	waited  float64 // seconds of mapping that are not the cold start's: waiting for a place, or for room
	// What mapping costs where it is billed, and the part of it that is there because of cold starts.
	mappingUSD, coldUSD float64
}

// Purposes of an instance's draws.
const (
	drawCold = iota
	drawDownload
	drawCompute
	drawUpload
	drawMapping
)

// runner draws the runs of steps on a platform. The draws of an instance are keyed by step and instance alone, so that
// they are the same under every configuration.
type runner struct {
	platform *Platform
	room     *room
	pool     *pool    // nil where no instance is ever warm
	places   []moment // of the running instances of a step that may not all run together
}

// run draws a run of a step that begins at a time, in seconds of the episode. key is that of the request's runs, warm how
// many idle instances of the size there are.
func (r *runner) run(key rng.Key, c *StepConfig, step int, o configuration, now float64, warm int) result {
	p, key := r.platform, key.With(uint64(step))
	t := p.times(c, o)
	download, upload := law(t.download), law(t.upload)
	compute := [2]logLaw{law(spread{t.compute[0], p.ComputeCV}), law(spread{t.compute[1], p.ComputeCV})}
	cold := law(spread{p.ColdStart, p.ColdCV})
	together := t.instances
	if p.Together > 0 {
		together = min(together, p.Together)
	}
	r.places = r.places[:0]
	if p.Formula {
		together = t.instances
	}
	warm = min(warm, together)
	out := result{}
	if p.Formula {
		out.mapping = float64(Mapping(t.instances, warm) * portable.Exp(float64(mappingSigma*normal(key.With(drawMapping)))))
		out.cold = t.instances - warm
	}
	var whole, ran float64
	for i := range t.instances {
		k, class := key.With(16+uint64(i)), 1
		if i < t.more {
			class = 0
		}
		begin := 0.0
		switch {
		case i >= together: // it takes the place of the first instance to end, which is warm
			begin = float64(heap.Pop(&r.places))
		case p.Workers > 0:
			begin = r.room.begin(now, p.CoresOf(o.mb), o.mb) - now
		}
		found := begin
		out.waited = max(out.waited, begin)
		switch {
		case p.Formula:
			begin += out.mapping
		case i < together && i >= warm:
			begin += float64(p.StartEvery*float64(i-warm+1)) + cold.draw(k.With(drawCold))
			out.cold++
		}
		down, up := download.draw(k.With(drawDownload)), upload.draw(k.With(drawUpload))
		takes := down + compute[class].draw(k.With(drawCompute)) + up
		end := begin + takes
		if p.Workers > 0 {
			r.room.take(now+end, p.CoresOf(o.mb), o.mb)
			r.room.note(now+found, now+end)
		}
		if t.instances > together || r.pool != nil {
			heap.Push(&r.places, moment(end))
		}
		if end > whole {
			out.began, out.moved = begin, down+up
		}
		out.mapping, ran, whole = max(out.mapping, begin), ran+takes, max(whole, end)
	}
	out.seconds = whole
	out.usd = p.price(o, whole, ran/float64(t.instances))
	if p.BillMapping {
		second := float64(float64(o.instances) * p.perSecond(o.mb))
		out.mappingUSD = second * out.mapping
		if out.cold > 0 {
			out.coldUSD = second * max(out.mapping-out.waited, 0)
		}
	}
	if r.pool != nil {
		list := step*r.pool.sizes + slices.Index(p.Memory, o.mb)
		r.pool.take(list, warm, now)
		for _, end := range r.places {
			r.pool.put(list, now+float64(end), now)
		}
	}
	return out
}

// logLaw is a lognormal law by mean and deviation of the logarithm.
type logLaw struct {
	mu, sigma, mean float64
}

func law(s spread) logLaw {
	if s.mean == 0 {
		return logLaw{}
	}
	mu, sigma := s.logarithm()
	return logLaw{mu, sigma, s.mean}
}

func (l *logLaw) draw(k rng.Key) float64 {
	if l.sigma == 0 {
		return l.mean
	}
	return portable.Exp(l.mu + float64(l.sigma*normal(k)))
}

// room is what the workers have left, as cores and memory of all of them together. Instances take it in the order in
// which their steps were decided, and one that finds none waits until enough have ended.
type room struct {
	cores, mb int // free at the time of the last instance that began
	at        float64
	running   []holding
	held      []hold // what is seen of them
}

// reset empties the workers.
func (r *room) reset(p *Platform) {
	*r = room{cores: p.Workers * p.Cores, mb: p.Workers * int(p.MemoryGB*1024), running: r.running[:0], held: slices.Grow(r.held[:0], roomyRuns)}
}

// roomyRuns is how many steps mostly run at a time at most.
const roomyRuns = 64

// begin returns when an instance that is wanted from now on finds room.
func (r *room) begin(now float64, cores, mb int) float64 {
	r.at = max(r.at, now)
	for len(r.running) > 0 && (r.running[0].end <= r.at || r.cores < cores || r.mb < mb) {
		h := heap.Pop(&r.running)
		r.at = max(r.at, h.end)
		r.cores, r.mb = r.cores+h.cores, r.mb+h.mb
	}
	return r.at
}

// take takes room until an end. The room was found by begin.
func (r *room) take(end float64, cores, mb int) {
	r.cores, r.mb = r.cores-cores, r.mb-mb
	heap.Push(&r.running, holding{end, cores, mb})
}

// normal is a key's number from the standard normal law. In the middle it is read from a table with an error below
// 2e-4.
func normal(k rng.Key) float64 {
	u := float64(k.Open() * normalBins)
	i := int(u)
	if i < normalTail || i >= normalBins-normalTail {
		return portable.NormQuantile(u / normalBins)
	}
	return normalTable[i] + float64((u-float64(i))*(normalTable[i+1]-normalTable[i]))
}

const (
	normalBins = 4096
	normalTail = 16
)

var normalTable = func() *[normalBins + 1]float64 {
	var t [normalBins + 1]float64
	for i := 1; i < normalBins; i++ {
		t[i] = portable.NormQuantile(float64(i) / normalBins)
	}
	t[0], t[normalBins] = math.Inf(-1), math.Inf(1)
	return &t
}()

// Run is a step's run on workers whose room is bounded: what an orchestrator sees of its instances.
type Run struct {
	// Step is the step, -1 of another request of the stream.
	Step int
	// Cores and MB are what an instance holds. Started instances run, Queued ones wait for room.
	Cores, MB       int
	Started, Queued int
	// Since is when the last of its instances found room, in seconds since the request began; of another request's it can
	// be negative. Seconds is for how long an instance is predicted to hold it in the mean, Last for how long the last does.
	Since, Seconds, Last float64
}

// hold is a run as the room keeps it: when its instances found room, and when they end, in seconds of the episode.
type hold struct {
	request, step, cores, mb int
	seconds, last            float64 // predicted, of an instance in the mean and of the last
	begins, ends             []float64
}

// open adds a run. Its instances follow, at most so many.
func (r *room) open(h hold, most int) {
	n := len(r.held)
	r.held = slices.Grow(r.held, 1)[:n+1]
	h.begins, h.ends = slices.Grow(r.held[n].begins[:0], most), slices.Grow(r.held[n].ends[:0], most)
	r.held[n] = h
}

// note adds an instance of the run that was opened last; where none was, nobody looks.
func (r *room) note(begin, end float64) {
	if len(r.held) == 0 {
		return
	}
	h := &r.held[len(r.held)-1]
	h.begins, h.ends = append(h.begins, begin), append(h.ends, end)
}

// forget lets runs go that have ended.
func (r *room) forget(now float64) {
	n := 0
	for i := range r.held {
		if slices.Max(r.held[i].ends) > now {
			r.held[n], r.held[i] = r.held[i], r.held[n]
			n++
		}
	}
	r.held = r.held[:n]
}

// runs appends what is seen of the runs at a time, in the order in which they were decided.
func (r *room) runs(dst []Run, w *walk) []Run {
	now := w.origin + w.at.Now
	r.forget(now)
	for i := range r.held {
		h := &r.held[i]
		x := Run{Step: h.step, Cores: h.cores, MB: h.mb, Seconds: h.seconds, Last: h.last, Since: h.begins[0] - w.origin}
		if h.request != w.number {
			x.Step = -1
		}
		for k, begin := range h.begins {
			switch {
			case begin > now:
				x.Queued++
			case h.ends[k] > now:
				x.Started++
				x.Since = max(x.Since, begin-w.origin)
			}
		}
		dst = append(dst, x)
	}
	return dst
}
