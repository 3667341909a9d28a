package workload

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// A repeated source has the arrivals of the source first, then the same expected counts again with other draws, and ends
// where it was told to.
func TestRepeat(t *testing.T) {
	c := Default()
	c.Functions.Top, c.Factor, c.Minutes = 1, 0.3, Range{600, 660}
	s := must.Get(Open(c))(t)
	const minutes = 150
	r := must.Get(s.Repeat(minutes))(t)
	if r.Minutes() != minutes || r.Expected(0, 20) == 0 || r.Expected(0, 20) != s.Expected(0, 20) ||
		r.Expected(0, 80) != s.Expected(0, 20) || r.Expected(0, minutes) != 0 {
		t.Errorf("%d minutes, minutes 20 and 80 expect %g and %g, want %d and twice %g", r.Minutes(), r.Expected(0, 20),
			r.Expected(0, 80), minutes, s.Expected(0, 20))
	}
	one, again := must.Get(s.Arrivals(5))(t), must.Get(r.Arrivals(5))(t)
	var passes [3][]Arrival
	for a, ok := again.Next(); ok; a, ok = again.Next() {
		pass := a.Time / (60 * Minute)
		a.Time -= pass * 60 * Minute
		passes[pass] = append(passes[pass], a)
	}
	for i, a := range passes[0] {
		if b, ok := one.Next(); !ok || a != b {
			t.Fatalf("arrival %d is %+v, want %+v", i, a, b)
		}
	}
	if _, more := one.Next(); more || len(passes[0]) == 0 {
		t.Fatalf("the first time there are %d arrivals, want all of the source's", len(passes[0]))
	}
	same := 0
	for i := range min(len(passes[0]), len(passes[1])) {
		if passes[0][i] == passes[1][i] {
			same++
		}
	}
	if same > len(passes[0])/10 || len(passes[1]) == 0 || len(passes[2]) == 0 {
		t.Errorf("%d of %d arrivals come again at the same microsecond: later draws are to be others", same, len(passes[0]))
	}
	if err := again.CopyFrom(one); err == nil {
		t.Error("the arrivals of the source were taken for those of the repeated one")
	}
	if _, err := s.Repeat(0); err == nil || !strings.Contains(err.Error(), "want at least 1") {
		t.Errorf("no minutes: %v", err)
	}
	c.Kind = ClosedLoop
	if _, err := must.Get(Open(c))(t).Repeat(2); err == nil || !strings.Contains(err.Error(), "want an open-loop kind") {
		t.Errorf("users: %v", err)
	}
}
