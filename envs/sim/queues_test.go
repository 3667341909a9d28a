package sim

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/tools/proof"
)

// quantities that theory knows of a queue, and how a meter shows them. Waits and probabilities are of requests that
// were let in; the probability of loss is of all.
var quantities = []struct {
	name    string
	measure func(m *Meter) float64
}{
	{"mean wait (s)", meanWait},
	{"probability of waiting", func(m *Meter) float64 { return float64(m.Waited) / float64(m.Started) }},
	{"probability of loss", func(m *Meter) float64 { return float64(m.Rejected) / float64(m.Arrived) }},
	{"number in system", (*Meter).InSystem},
	{"busy servers", (*Meter).BusyInstances},
	{"throughput (1/s)", (*Meter).Throughput},
}

// answers are the values of the quantities, in their order; 0 where there is nothing to measure.
type answers [6]float64

// service is the mean service of all queues here, in seconds.
const service = 0.1

// queue is a model with known answers. Load is what is offered over what the servers can do.
type queue struct {
	name   string
	law    Law
	c      int32
	queue  int32 // places to wait
	limit  int32 // MaxInflight
	users  int   // of a closed loop; 0: Poisson arrivals
	loads  []float64
	sure   float64 // up to this load the long test runs until waits and probabilities are known to 1 %
	theory func(q *queue, load float64) answers
}

// queues and the loads of the long test. At 0.9 of one without a limit, and where few of many servers' requests wait,
// it would take more than 10⁸ requests to know the mean wait to 1 %.
var queues = []queue{
	{name: "M/M/1", law: exponential, c: 1, queue: NoLimit, loads: []float64{0.3, 0.5, 0.7, 0.9}, sure: 0.8,
		theory: birthDeath},
	{name: "M/M/3", law: exponential, c: 3, queue: NoLimit, loads: []float64{0.6, 0.7, 0.9}, sure: 0.8,
		theory: birthDeath},
	{name: "M/M/20", law: exponential, c: 20, queue: NoLimit, loads: []float64{0.7, 0.75, 0.8, 0.9}, theory: birthDeath},
	{name: "M/D/1", law: Law{Kind: Deterministic, Mean: service}, c: 1, queue: NoLimit,
		loads: []float64{0.3, 0.5, 0.7, 0.9}, sure: 0.8, theory: pollaczek},
	{name: "M/Erlang/1", law: Erlang(service, 3), c: 1, queue: NoLimit, loads: []float64{0.6}, sure: 0.8,
		theory: pollaczek},
	{name: "M/Lognormal/1", law: Law{Kind: Lognormal, Mean: service, CV: 0.8}, c: 1, queue: NoLimit,
		loads: []float64{0.3, 0.5, 0.7, 0.9}, sure: 0.8, theory: pollaczek},
	{name: "M/Gamma/1", law: Law{Kind: Gamma, Mean: service, CV: 1.4}, c: 1, queue: NoLimit,
		loads: []float64{0.3, 0.5, 0.7, 0.9}, sure: 0.8, theory: pollaczek},
	{name: "M/Empirical/1", law: Law{Kind: Empirical, Table: []float64{0.01, 0.02, 0.05, 0.06, 0.4}}, c: 1, queue: NoLimit,
		loads: []float64{0.6}, sure: 0.8, theory: pollaczek},
	{name: "M/M/8/8", law: exponential, c: 8, loads: []float64{0.5, 0.75, 1, 1.25}, sure: 2, theory: birthDeath},
	{name: "M/M/3/7", law: exponential, c: 3, queue: 4, loads: []float64{0.7, 0.9, 1.1, 1.3}, sure: 2, theory: birthDeath},
	{name: "M/M/3/7 by MaxInflight", law: exponential, c: 3, queue: NoLimit, limit: 7, loads: []float64{1.1}, sure: 2,
		theory: birthDeath},
	{name: "M/M/3//10", law: exponential, c: 3, queue: NoLimit, users: 10, loads: []float64{0.5, 0.7, 0.9, 1.2}, sure: 2,
		theory: birthDeath},
}

var exponential = Law{Kind: Exponential, Mean: service}

// mean service time and arrivals a second: of a closed loop, those if nobody ever waited.
func (q *queue) rate(load float64) (mean, lambda float64) {
	mean, _ = q.law.Moments()
	return mean, load * float64(q.c) / mean
}

// birthDeath solves p(n)·arrivals(n) = p(n+1)·departures(n+1), the balance of a queue with exponential service. Without
// a limit the chain is cut where nothing is left.
func birthDeath(q *queue, load float64) answers {
	mean, lambda := q.rate(load)
	most := 5000
	switch {
	case q.limit > 0:
		most = int(q.limit)
	case q.queue != NoLimit:
		most = int(q.c + q.queue)
	case q.users > 0:
		most = q.users
	}
	arrivals := func(n int) float64 {
		if q.users > 0 {
			return float64(q.users-n) / q.think(load)
		}
		return lambda
	}
	p, total := make([]float64, most+1), 1.0
	p[0] = 1
	for n := range most {
		p[n+1] = p[n] * arrivals(n) * mean / float64(min(n+1, int(q.c)))
		total += p[n+1]
	}
	var in, busy, let, waited, lost float64
	for n, x := range p {
		x /= total
		in += x * float64(n)
		busy += x * float64(min(n, int(q.c)))
		switch {
		case n == most:
			lost = x * arrivals(n)
		default:
			let += x * arrivals(n)
			if n >= int(q.c) {
				waited += x * arrivals(n)
			}
		}
	}
	// Little's law for those in the queue.
	return answers{(in - busy) / let, waited / let, lost / (let + lost), in, busy, let}
}

// think is the mean thinking time with which users offer a load, if they never waited.
func (q *queue) think(load float64) float64 {
	mean, lambda := q.rate(load)
	return float64(q.users)/lambda - mean
}

// pollaczek is Pollaczek's and Khinchine's: the mean wait in M/G/1 is ρ·(1+c²)/2·E[S]/(1−ρ).
func pollaczek(q *queue, load float64) answers {
	mean, lambda := q.rate(load)
	_, scv := q.law.Moments()
	wait := load * (1 + scv) / 2 * mean / (1 - load)
	return answers{wait, load, 0, lambda * (wait + mean), load, lambda}
}

// start builds the queue and the requests that come to it.
func (q *queue) start(t testing.TB, load float64, seed uint64) (*Sim, Handler) {
	cfg := station(q.law, q.c, q.queue)
	cfg.Functions[0].MaxInflight = q.limit
	s := mustNew(t, cfg, seed)
	if q.users > 0 {
		c := workload.Default()
		c.Kind = workload.ClosedLoop
		c.Users = workload.UsersConfig{Count: q.users, SpawnRate: 10, Think: q.think(load), ThinkLaw: workload.Exponential}
		src := must.Get(workload.Open(c))(t)
		they := must.Get(src.Users(seed))(t)
		u := &users{t: t, they: they, asked: make([]uint64, q.users)}
		for i := range u.asked {
			u.sleep(s, uint64(i))
		}
		return s, u
	}
	_, lambda := q.rate(load)
	p := &poisson{t: t, key: rng.New(seed, "arrivals"), rate: lambda, limit: math.MaxUint64}
	p.start(s)
	return s, p
}

// run measures all quantities over windows of so many requests each.
func (q *queue) run(t testing.TB, load float64, seed uint64, requests float64) (mean, deviation answers) {
	s, h := q.start(t, load, seed)
	_, lambda := q.rate(load)
	window := Seconds(requests / lambda)
	var measures []func(*Meter) float64
	for _, m := range quantities {
		measures = append(measures, m.measure)
	}
	m, d := windows(s, h, window, window, measures...)
	return answers(m), answers(d)
}

// simultaneous is the factor of Student's t by which n intervals hold together with 95 % (Bonferroni), for windowCount
// windows.
func simultaneous(n int) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: windowCount - 1}.Quantile(1 - 0.05/float64(2*n))
}

// compared is what is held against theory at a load, by index in quantities.
func compared(want answers) []int {
	var out []int
	for i, x := range want {
		if x > 1e-9 {
			out = append(out, i)
		}
	}
	return out
}

// Every queue agrees with theory inside its own interval, at one load; a long test has the others.
func TestQueues(t *testing.T) {
	n := 0
	for i := range queues {
		n += len(compared(queues[i].theory(&queues[i], queues[i].short())))
	}
	factor, outside, worst, requests := simultaneous(n), 0, 0.0, 0.0
	for i := range queues {
		q := &queues[i]
		load := q.short()
		_, lambda := q.rate(load)
		const each = 6000
		requests += each * windowCount
		got, sd := q.run(t, load, 21+uint64(i), each)
		want := q.theory(q, load)
		for _, k := range compared(want) {
			half := factor * sd[k]
			t.Logf("%-24s load %.2f, λ %.3g: %-24s %.5g ± %.2g, theory %.5g", q.name, load, lambda, quantities[k].name, got[k],
				half, want[k])
			worst = max(worst, math.Abs(got[k]-want[k])/half)
			if math.Abs(got[k]-want[k]) > half {
				outside++
				t.Errorf("%s: %s is %.5g ± %.2g, theory says %.5g", q.name, quantities[k].name, got[k], half, want[k])
			}
			// The rarest waits are known to a quarter, everything else to a tenth.
			if half > 0.25*want[k] || k > 2 && half > 0.1*want[k] {
				t.Errorf("%s: %s is known to ± %.2g only, of %.5g", q.name, quantities[k].name, half, want[k])
			}
		}
	}
	proof.Claim(t, proof.Row{
		Topic: "simulator",
		Claim: fmt.Sprintf("%d queues (M/M/c, M/G/1, M/M/c/K, M/M/c//N), one load each: %d waits, probabilities, numbers and rates against theory", len(queues), n),
		Bound: fmt.Sprintf("inside the simulation's own intervals, simultaneous 95 %% (Student's t × %.2f)", factor),
		Measured: fmt.Sprintf("%d outside; the furthest at %.2f of its half-width; runs of %d windows, %.3g requests in all",
			outside, worst, windowCount, requests),
		Holds: outside == 0,
	})
}

// short is the load of the short test.
func (q *queue) short() float64 { return q.loads[len(q.loads)/2] }

// Erlang's formula and the balance of the chain are the same.
func TestErlangC(t *testing.T) {
	for i := range queues {
		q := &queues[i]
		if q.queue != NoLimit || q.users > 0 || q.limit > 0 || q.law.Kind != Exponential {
			continue
		}
		for _, load := range q.loads {
			a := q.theory(q, load)
			p := erlangC(int(q.c), load*float64(q.c))
			if math.Abs(a[1]-p) > 1e-9 || math.Abs(a[0]-p*service/(float64(q.c)*(1-load))) > 1e-9 {
				t.Errorf("%s at load %g: waits %v with probability %v, Erlang says %v", q.name, load, a[0], a[1], p)
			}
		}
	}
	// M/M/1 in closed form: W = ρ/(1−ρ)·E[S].
	q := queues[0]
	if a := q.theory(&q, 0.5); math.Abs(a[0]-service) > 1e-12 || math.Abs(a[1]-0.5) > 1e-12 {
		t.Errorf("M/M/1 at load 0.5 waits %v", a)
	}
}
