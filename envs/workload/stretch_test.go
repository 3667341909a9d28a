package workload

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// counted is a trace of one function.
func counted(counts ...uint32) *Trace {
	return &Trace{Name: "test", Minutes: len(counts), Functions: []Function{{Name: "f", Counts: counts}}}
}

// The stretch is where calm, swings and a burst follow each other, wherever that lies; low, middle and high are its own.
func TestStretch(t *testing.T) {
	var counts []uint32
	for i := range 40 {
		counts = append(counts, 100+uint32(7*(i%2))) // neither
	}
	for i := range 10 {
		counts = append(counts, 100+uint32(i%2))
	}
	for i := range 10 {
		counts = append(counts, 90+20*uint32(i%2))
	}
	for i := range 10 {
		counts = append(counts, []uint32{100, 500}[i/8*(1-i%2)])
	}
	for range 40 {
		counts = append(counts, 103)
	}
	s := must.Get(counted(counts...).Stretch(30))(t)
	if s.From != 40 || s.Ends != [2]int{50, 60} || s.High != 68 || s.Low != 50 || s.Middle != 40 || s.Peak[2] != 5 {
		t.Errorf("found %+v", s)
	}
	if _, err := counted(counts[:40]...).Stretch(30); err == nil || !strings.Contains(err.Error(), "no 30 of the 40 minutes") {
		t.Errorf("without a burst: %v", err)
	}
	if _, err := counted(counts...).Stretch(200); err == nil || !strings.Contains(err.Error(), "want 9 to the 110") {
		t.Errorf("longer than the trace: %v", err)
	}
}

// The stretch of 85 minutes in the part of the embedded trace on which policies are evaluated, which
// configs/faasconf/trace.yaml plays.
func TestStretchOfTheTestPart(t *testing.T) {
	s := must.Get(configured(t, func(c *Config) { c.Split = "test" }).Trace().Stretch(85))(t)
	t.Logf("%+v", s)
	if s.From != 223 || s.Low != 305 || s.Middle != 228 || s.High != 284 {
		t.Errorf("found %+v: change configs/faasconf/trace.yaml and docs/traces.md too", s)
	}
	if !(s.Variation[1] > 1.5*s.Variation[0] && s.Variation[2] > 1.5*s.Variation[1]) {
		t.Errorf("the thirds vary by %v", s.Variation)
	}
}
