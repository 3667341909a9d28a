package workload

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// evaluated is a workload of a function with these invocations a minute, of which the last four tenths are evaluated.
func evaluated(t *testing.T, counts []int, changes ...func(*Config)) *Source {
	t.Helper()
	head, row := "HashOwner,HashApp,HashFunction,Trigger", "o,a,f,http"
	for m, n := range counts {
		head, row = head+","+strconv.Itoa(m+1), row+","+strconv.Itoa(n)
	}
	path := filepath.Join(t.TempDir(), "invocations_per_function_md.anon.d01.csv")
	must.Do(t, os.WriteFile(path, []byte(head+"\n"+row+"\n"), 0o600))
	return configured(t, func(c *Config) {
		c.Kind, c.Path, c.Split, c.TrainFraction = Azure2019, filepath.Dir(path), "test", 0.6
		for _, change := range changes {
			change(c)
		}
	})
}

// perMinute counts arrivals by minute.
func perMinute(a Arrivals, minutes int) []int {
	out := make([]int, minutes)
	for _, x := range drain(a) {
		out[x.Time/Minute]++
	}
	return out
}

// A load that repeats every three minutes goes on as it did: known minutes stay as they are, coming ones are those of
// the training part after two minutes alike, whatever the evaluated part has there.
func TestHistory(t *testing.T) {
	counts := make([]int, 400)
	for m := range counts {
		counts[m] = []int{10, 100, 1000}[m%3]
	}
	others := slices.Clone(counts)
	for m := 240 + 20; m < 400; m++ {
		others[m] = 7
	}
	s, o := evaluated(t, counts), evaluated(t, others)
	h := must.Get(s.History())(t)
	for _, now := range []int64{12 * Minute, 12*Minute + 7} {
		a, b := open(t, s, 3), open(t, o, 3)
		a.Continue(h, 5, now)
		b.Continue(must.Get(o.History())(t), 5, now)
		a.SeekTo(now)
		b.SeekTo(now)
		if a.Expected(0, 11) != float64(counts[240+11]) || a.Expected(0, 100) != float64(counts[240+100]) {
			t.Errorf("at %d µs minutes 11 and 100 are expected to have %v and %v arrivals", now, a.Expected(0, 11), a.Expected(0, 100))
		}
		c := open(t, s, 8)
		must.Do(t, c.CopyFrom(a))
		first := drain(a)
		if !slices.Equal(first, drain(b)) {
			t.Errorf("at %d µs arrivals depend on minutes to come", now)
		}
		if !slices.Equal(first, drain(c)) {
			t.Errorf("at %d µs a copy goes on otherwise", now)
		}
		if _, err := a.AppendBinary(nil); err == nil || !strings.Contains(err.Error(), "not saved") {
			t.Errorf("saved: %v", err)
		}
		a.Reset(3)
		if got := perMinute(a, 160); !slices.Equal(got, counts[240:]) {
			t.Errorf("Reset does not end it: %v", got)
		}
	}
	a := open(t, s, 3)
	a.Continue(h, 5, 12*Minute)
	if got, want := perMinute(a, 160), counts[240:]; !slices.Equal(got[12:], want[12:]) {
		t.Errorf("minutes go on as %v, want %v", got[12:24], want[12:24])
	}
	a.Continue(h, 5, 0) // nothing is known: any minute may follow
	seen := map[float64]bool{}
	for seed := range uint64(40) {
		a.Continue(h, seed, 0)
		seen[a.Expected(0, 0)] = true
	}
	if len(seen) != 3 {
		t.Errorf("a first minute has %v arrivals, want each of three", seen)
	}
}

// Of a whole trace only minutes that have passed are drawn: the end of a trace that grows is never met before.
func TestHistoryOfWhole(t *testing.T) {
	counts := make([]int, 200)
	for m := range counts {
		counts[m] = m
	}
	s := evaluated(t, counts, func(c *Config) { c.Split = "all" })
	a, h := open(t, s, 1), must.Get(s.History())(t)
	for seed := range uint64(100) {
		a.Continue(h, seed, 100*Minute)
		if x := a.Expected(0, 100+gap-2); x >= 100 {
			t.Fatalf("seed %d: after minute 99 come %v arrivals, which have not been seen", seed, x)
		}
	}
}

// Without a trace the history is the process itself: the rates are as they were, and other seeds give other arrivals.
func TestHistoryOfProcess(t *testing.T) {
	s := configured(t, func(c *Config) { c.Kind, c.Rate, c.Length = Poisson, 3, 40 })
	a, n := open(t, s, 1), 0
	h := must.Get(s.History())(t)
	for seed := range uint64(50) {
		a.Continue(h, seed, 10*Minute)
		a.SeekTo(10 * Minute)
		n += len(drain(a))
	}
	if want := 50.0 * 30 * 180; math.Abs(float64(n)-want) > 4*math.Sqrt(want) {
		t.Errorf("%d arrivals in 50 continuations, want %v ± %v", n, want, 4*math.Sqrt(want))
	}
	if _, err := configured(t, func(c *Config) { c.Kind = ClosedLoop }).History(); err == nil {
		t.Error("a closed loop has a history")
	}
}
