package workload

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// configured opens a changed default.
func configured(t testing.TB, change func(*Config)) *Source {
	t.Helper()
	c := Default()
	change(&c)
	s := must.Get(Open(c))(t)
	return s
}

// The trace at factor 1 arrives exactly as it was counted, function by function and minute by minute, wherever in the
// minute it is placed; at other factors as much in the mean.
func TestTraceCounts(t *testing.T) {
	for _, placement := range []string{Exponential, Uniform, Even} {
		s := configured(t, func(c *Config) { c.Streams, c.Placement = StreamsFunction, placement })
		got := make([][]uint32, s.Streams())
		for i := range got {
			got[i] = make([]uint32, s.Minutes())
		}
		for _, a := range drain(open(t, s, 8)) {
			got[a.Stream][a.Time/Minute]++
		}
		for i, f := range s.Trace().Functions {
			if !slices.Equal(got[i], f.Counts) {
				t.Fatalf("%s: function %d does not arrive as counted", placement, i)
			}
		}
	}
	for _, factor := range []float64{0.01, 0.35, 2.75} {
		s := configured(t, func(c *Config) { c.Streams, c.Factor = StreamsFunction, Factor(factor) })
		// Each function's minute rounds by less than one, with variance at most 1/4, where it has invocations.
		busy := 0
		var expected float64
		for i, f := range s.Trace().Functions {
			for m, c := range f.Counts {
				if c > 0 {
					busy++
				}
				expected += s.Expected(i, m)
			}
		}
		got := float64(len(drain(open(t, s, 8))))
		if want := 179342 * factor; math.Abs(expected-want) > 1e-6*want || math.Abs(got-want) > 5*math.Sqrt(float64(busy)/4) {
			t.Errorf("factor %v: %v arrivals, %v expected, want %v", factor, got, expected, want)
		}
	}
}

// Where arrivals lie in the minute: even gaps are equal; uniform has one in each part; exponential is a Poisson
// process's.
func TestPlacement(t *testing.T) {
	const n = 40
	k := rng.New(1, "test")
	even := place(nil, k, n, Even)
	for i := 1; i < n; i++ {
		if even[i]-even[i-1] != int32(Minute/n) {
			t.Fatalf("even: gap of %d µs, want %d", even[i]-even[i-1], Minute/n)
		}
	}
	var gaps, exponential []float64
	var mean float64
	const rounds = 2000
	for r := range uint64(rounds) {
		for i, at := range place(nil, k.With(r), n, Uniform) {
			if lo := part(i, n); int64(at) < lo || int64(at) >= part(i+1, n) {
				t.Fatalf("uniform: arrival %d at %d µs, outside its part", i, at)
			}
			mean += float64(at)
		}
		all := place(nil, k.With(r), n, Exponential)
		slices.Sort(all)
		gaps = append(gaps, float64(all[n/2]-all[n/2-1])*n/float64(Minute))
		// The gap between order statistics of n uniform points is 1 - U^(1/n) of the minute.
		exponential = append(exponential, n*(1-math.Pow(k.With(r).With(1).Open(), 1.0/n)))
	}
	if mean /= rounds * n; math.Abs(mean-float64(Minute)/2) > 1e-3*float64(Minute) {
		t.Errorf("uniform: mean at %v µs", mean)
	}
	if d := KS(gaps, exponential); d > 1.63*math.Sqrt(2.0/rounds) { // 1 % level
		t.Errorf("exponential: gaps differ from their distribution by %v", d)
	}
	// More arrivals than microseconds in a part, and none.
	for _, p := range []string{Even, Uniform, Exponential} {
		if got := place(nil, k, 0, p); len(got) != 0 {
			t.Errorf("%s: placed %d of none", p, len(got))
		}
		for _, at := range place(nil, k, 100000, p) {
			if at < 0 || int64(at) >= Minute {
				t.Fatalf("%s: placed at %d", p, at)
			}
		}
	}
}

// A Poisson process: mean and dispersion of counts, and exponential gaps across minutes' ends too.
func TestPoisson(t *testing.T) {
	s := configured(t, func(c *Config) { c.Kind, c.Rate, c.Factor, c.Length = Poisson, 0.25, 2, 3000 })
	streams, _ := tallies(s.loads[0].process, 1)
	st := Describe(streams[0].counts)
	if math.Abs(st.Mean-30) > 5*math.Sqrt(30.0/3000) || math.Abs(st.Dispersion-1) > 5*math.Sqrt(2.0/3000) ||
		math.Abs(st.Lag1) > 5/math.Sqrt(3000) {
		t.Errorf("counts are %s, want mean 30, dispersion 1, no correlation", st)
	}
	if s.Expected(0, 7) != 30 || s.Expected(0, 3000) != 0 || s.Expected(1, 0) != 0 || s.Expected(0, -1) != 0 {
		t.Error("expected counts are not 30 within the workload and 0 outside")
	}
	gaps := slices.Sorted(slices.Values(streams[0].gaps))
	var d float64
	for i, g := range gaps {
		d = max(d, math.Abs(1-math.Exp(-g*0.5/float64(Second))-float64(i)/float64(len(gaps))))
	}
	if d > 1.63/math.Sqrt(float64(len(gaps))) { // 1 % level
		t.Errorf("gaps differ from the exponential distribution by %v", d)
	}
}

// Dispersion of the two-state process in windows of t (the index of dispersion of a two-state MMPP; Fischer and
// Meier-Hellstern, 1993): 1 + 2 s²/(m g) (1 - (1 - exp(-g t))/(g t)), g the sum of both switching rates, s² the
// variance and m the mean of the rate.
func TestBursty(t *testing.T) {
	burst := Burst{Factor: 8, On: 20, Off: 60}
	s := configured(t, func(c *Config) { c.Kind, c.Rate, c.Burst, c.Length = Bursty, 0.5, burst, 60000 })
	streams, _ := tallies(s.loads[0].process, 1)
	st := Describe(streams[0].counts)
	low, high, p := 0.5, 4.0, 0.25
	mean := p*high + (1-p)*low
	variance := p * (1 - p) * (high - low) * (high - low)
	g := 1/burst.On + 1/burst.Off
	idc := 1 + 2*variance/(mean*g)*(1-(1-math.Exp(-g*60))/(g*60))
	if math.Abs(st.Mean/(60*mean)-1) > 0.02 || !nearly(s.Expected(0, 3), 60*mean) {
		t.Errorf("mean %v per minute, want %v", st.Mean, 60*mean)
	}
	if math.Abs(st.Dispersion/idc-1) > 0.05 {
		t.Errorf("dispersion %v, want %v", st.Dispersion, idc)
	}
}

// Seconds of the periodic process follow the sine.
func TestPeriodic(t *testing.T) {
	s := configured(t, func(c *Config) {
		c.Kind, c.Rate, c.Length = Periodic, 5, 6000
		c.Wave = Wave{Period: 120, Amplitude: 0.8, Phase: 30}
	})
	streams, _ := tallies(s.loads[0].process, 1)
	byPhase := make([]float64, 120)
	for m, c := range streams[0].counts {
		byPhase[m%120] += float64(c) / 50
	}
	for m, got := range byPhase {
		// The mean of 1 + a sin over the minute, integrated.
		a, b := 2*math.Pi*float64(m-30)/120, 2*math.Pi*float64(m-29)/120
		want := 300 * (1 + 0.8*(math.Cos(a)-math.Cos(b))/(b-a))
		if math.Abs(got-want) > 5*math.Sqrt(want/50) {
			t.Errorf("minute %d has %v arrivals, want %v", m, got, want)
		}
		if e := s.Expected(0, m); math.Abs(e-want) > 1e-3*want {
			t.Errorf("minute %d expects %v arrivals, want %v", m, e, want)
		}
	}
}

func TestUsers(t *testing.T) {
	for law, cv := range map[string]float64{Constant: 0, Uniform: 1 / math.Sqrt(3), Exponential: 1} {
		s := configured(t, func(c *Config) {
			c.Kind = ClosedLoop
			c.Users = UsersConfig{Count: 30, SpawnRate: 10, Think: 2.5, ThinkLaw: law}
		})
		u := must.Get(s.Users(3))(t)
		if u.Count() != 30 || u.Spawn(0) != 0 || u.Spawn(9) != 0 || u.Spawn(15) != Second || u.Spawn(29) != 2*Second ||
			u.Think(4, 0) != 0 {
			t.Errorf("%s: users join at %d, %d; think before the first request %d", law, u.Spawn(0), u.Spawn(15), u.Think(4, 0))
		}
		if one := (Users{config: UsersConfig{SpawnRate: 0.5}}); one.Spawn(3) != 6*Second {
			t.Errorf("at a user every two seconds the fourth joins after %d µs, want six seconds", one.Spawn(3))
		}
		var sum, sq float64
		const n = 20000
		for k := range uint64(n) {
			x := float64(u.Think(int(k%30), k/30+1)) / float64(Second)
			sum += x
			sq += x * x
		}
		mean := sum / n
		if got := math.Sqrt(max(sq/n-mean*mean, 0)) / mean; math.Abs(mean-2.5) > 5*2.5*cv/math.Sqrt(n)+1e-6 ||
			math.Abs(got-cv) > 0.02 {
			t.Errorf("%s: mean %v s, CV %v; want 2.5 s, %v", law, mean, got, cv)
		}
		again, _ := s.Users(3)
		other, _ := s.Users(4)
		if u.Think(7, 9) != again.Think(7, 9) || law != Constant && u.Think(7, 9) == other.Think(7, 9) {
			t.Errorf("%s: think times do not follow from the seed", law)
		}
		if _, err := s.Arrivals(1); err == nil || !s.Closed() || s.Streams() != 0 || s.Minutes() != 0 {
			t.Errorf("%s: a closed loop has arrivals", law)
		}
		if _, err := s.Goodness(1); err == nil {
			t.Errorf("%s: a closed loop was compared with a trace", law)
		}
	}
	if _, err := configured(t, func(*Config) {}).Users(1); err == nil {
		t.Error("an open loop has users")
	}
}
