package perfmodel

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// By hand: 2 cores and an overhead of 0.5 leave 4/2.5 = 1.6; a second request that takes 0.25 more leaves 4/2.75, which
// is 1.6/1.1.
func TestLaw(t *testing.T) {
	l := Law{Work: 3, Parallel: 1.25, Overhead: 0.5, Crowding: 0.25, Memory: 250, Idle: 8}
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"effective", l.Effective(2000), 1.6}, {"speed", l.Speed(2000), 1.25}, {"together", l.Together(2000), 1.28}, {"alone",
			l.Alone(2000), 2.4},
		{"effective of half a core", l.Effective(500), 0.25}, {"speed of half a core", l.Speed(500), 0.25},
		{"together of half a core", l.Together(500), 1}, {"slowing", l.Slowing(2000), 0.1}, {"slowing of half a core",
			l.Slowing(500), 0.25},
		{"slowing without crowding", (&Law{}).Slowing(0), 0}, {"alone on half a core", l.Alone(500),
			12}, {"effective of nothing", l.Effective(0), 0},
	} {
		if math.Abs(c.got-c.want) > 1e-12 {
			t.Errorf("%s: %g, want %g", c.name, c.got, c.want)
		}
	}
	for memory, want := range map[float64]int{100: 1, 508: 2, 757: 2, 758: 3, 9000: 10} {
		if got := l.Fits(memory, 10); got != want {
			t.Errorf("%d requests fit into %g MB, want %d", got, memory, want)
		}
	}
	l.Memory = 0
	if got := l.Fits(1, 10); got != 10 {
		t.Errorf("%d requests fit where memory does not matter, want 10", got)
	}
}

// More CPU never makes a request slower, and what requests have together never exceeds the limit.
func TestLawIsMonotone(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := Law{Work: 1, Parallel: rapid.Float64Range(0.2, 4).Draw(rt, "parallel"),
			Overhead: rapid.Float64Range(0, 1).Draw(rt, "overhead")}
		cpu := rapid.Float64Range(50, 4000).Draw(rt, "cpu")
		more := cpu + rapid.Float64Range(0, 1000).Draw(rt, "more")
		if l.Alone(more) > l.Alone(cpu)*(1+1e-12) {
			rt.Errorf("%g mC take %g s, %g mC %g s", cpu, l.Alone(cpu), more, l.Alone(more))
		}
		if used := l.Speed(cpu) * l.Together(cpu); used > cpu/1000*(1+1e-12) {
			rt.Errorf("an instance of %g mC uses %g cores", cpu, used)
		}
	})
}

func TestValidate(t *testing.T) {
	for want, l := range map[string]Law{
		"work is 0": {Parallel: 1}, "parallel is 0": {Work: 1}, "overhead is -1": {Work: 1, Parallel: 1, Overhead: -1},
		"cv is NaN": {Work: 1, Parallel: 1, CV: math.NaN()}, "memory is +Inf": {Work: 1, Parallel: 1, Memory: math.Inf(1)},
		"spoilt is 2": {Work: 1, Parallel: 1, Spoilt: 2},
	} {
		if err := l.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// Every function of the four workflows has a law that makes sense.
func TestFaaSConfLaws(t *testing.T) {
	names := []string{"starter", "load", "rgb", "resize", "update", "resnet", "mobilenet"}
	for n := range tcktapp {
		names = append(names, n)
	}
	for _, n := range names {
		l, err := FaaSConf(n)
		if err != nil {
			t.Error(err)
			continue
		}
		if err := l.Validate(); err != nil {
			t.Errorf("%s: %v", n, err)
		}
		if l.Source == "" {
			t.Errorf("%s: the law does not say where it is from", n)
		}
		if own, ok := tcktapp[n]; ok && math.Abs(l.Alone(ticketCPU)-own) > 1e-12 {
			t.Errorf("%s takes %g s at %d mC, want %g", n, l.Alone(ticketCPU), ticketCPU, own)
		}
	}
	if _, err := FaaSConf("fastercnn"); err == nil || !strings.Contains(err.Error(), "fastercnn") {
		t.Errorf("an unknown function: %v", err)
	}
}

// The price of one instance of 1 vCPU and 1000 MB, and the difference of the two rates.
func TestRates(t *testing.T) {
	if got, want := (Rates{CPU: 0.000173, Memory: 0.000012}).Hourly(1000, 1000, 2), 2*(0.173+0.012); math.Abs(got-want) > 1e-15 {
		t.Errorf("%g USD/h, want %g", got, want)
	}
	if got, want := (Rates{CPU: 0.000173, Memory: 0.0000123}).Hourly(0, 1000, 1), 0.0123; math.Abs(got-want) > 1e-15 {
		t.Errorf("%g USD/h, want %g", got, want)
	}
}
