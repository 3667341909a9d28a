package workload

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// drawnRate is the arrivals a second of a whole workload, over some seeds.
func drawnRate(t *testing.T, s *Source, seeds uint64) float64 {
	t.Helper()
	var n int
	for seed := range seeds {
		n += len(drain(open(t, s, seed)))
	}
	return float64(n) / 60 / float64(s.Minutes()) / float64(seeds)
}

// Every kind of workload, and every kind of file, is scaled to a mean: exactly in expectation, and as drawn.
func TestMean(t *testing.T) {
	dir := t.TempDir()
	for name, text := range twoDays() {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	lone := filepath.Join(t.TempDir(), "counts.csv")
	must.Do(t, os.WriteFile(lone, []byte("HashOwner,HashApp,HashFunction,1,2,3\no,a,f,5,0,1\no,a,g,0,7,2\n"), 0o600))
	for name, change := range map[string]func(*Config){
		"embedded":    func(*Config) {},
		"by function": func(c *Config) { c.Streams = StreamsFunction },
		"calibrated":  func(c *Config) { c.Kind, c.Length = Calibrated, 2000 },
		"poisson":     func(c *Config) { c.Kind = Poisson },
		"bursty":      func(c *Config) { c.Kind, c.Length = Bursty, 10_000 },
		"periodic":    func(c *Config) { c.Kind, c.Length = Periodic, 1000 },
		"days":        func(c *Config) { c.Path = dir },
		"one day":     func(c *Config) { c.Path, c.Days = dir, []int{2} },
		"file":        func(c *Config) { c.Path = lone },
		"filter":      func(c *Config) { c.Functions.Top, c.Minutes = 3, Range{200, 900} },
	} {
		c := Default()
		change(&c)
		for _, mean := range []float64{0.37, 1.1} {
			c.Mean = mean
			s, err := Open(c)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var expected float64
			for _, r := range s.Rates() {
				expected += r / float64(s.Minutes())
			}
			if math.Abs(expected/mean-1) > 1e-9 {
				t.Errorf("%s: %v arrivals a second are expected, want %v", name, expected, mean)
			}
			if got := s.Config(); got.Mean != 0 || !(got.Factor > 0) {
				t.Errorf("%s: factor %v follows, and mean %v", name, got.Factor, got.Mean)
			}
			seeds := uint64(2)
			if s.Minutes() < 100 {
				seeds = 1000
			}
			// Counts of a burst are as random as its length: some hundred bursts give a few percent.
			if drawn := drawnRate(t, s, seeds); math.Abs(drawn/mean-1) > 0.06 {
				t.Errorf("%s: %v arrivals a second are drawn, want about %v", name, drawn, mean)
			}
		}
	}
}

// Training and evaluation have one factor: a mean is that of the whole workload.
func TestMeanBeforeSplit(t *testing.T) {
	var factors []Factor
	var sum float64
	for _, split := range []string{"all", "train", "test"} {
		s := configured(t, func(c *Config) { c.Mean, c.Split = 3, split })
		factors = append(factors, s.Config().Factor)
		if split != "all" {
			for _, r := range s.Rates() {
				sum += r
			}
		}
	}
	if factors[0] != factors[1] || factors[0] != factors[2] || math.Abs(sum/1440-3) > 1e-9 {
		t.Errorf("the factors are %v, the mean %v, want one factor and 3", factors, sum/1440)
	}
}

// Factor auto brings the workload to a share of what is served, and mean and auto are refused where they say nothing.
func TestAuto(t *testing.T) {
	c := Default()
	c.Factor, c.TargetUtilisation = Auto, 0.6
	if _, err := Open(c); err == nil || !strings.Contains(err.Error(), `workload.factor is auto, want a number here`) {
		t.Errorf("without an environment: %v", err)
	}
	s := must.Get(OpenFor(c, func() (float64, error) { return 5, nil }))(t)
	if drawn := drawnRate(t, s, 2); math.Abs(drawn-3) > 0.03 {
		t.Errorf("at utilisation 0.6 of 5 a second %v are drawn, want about 3", drawn)
	}
	asked := errors.New("nobody knows")
	if _, err := OpenFor(c, func() (float64, error) { return 0, asked }); !errors.Is(err, asked) {
		t.Errorf("%v, want the reason why it is not known", err)
	}
	for want, change := range map[string]func(*Config){
		"workload.mean is 2, want either a mean or a factor, and workload.factor is 0.6": func(c *Config) {
			c.Mean, c.Factor = 2, 0.6
		},
		"workload.mean is 2, want either a mean or a factor, and workload.factor is auto": func(c *Config) {
			c.Mean, c.Factor = 2, Auto
		},
		"workload.mean is 2, want 0 with closed-loop users":  func(c *Config) { c.Mean, c.Kind = 2, ClosedLoop },
		"workload.factor is auto, want a number with closed": func(c *Config) { c.Factor, c.Kind = Auto, ClosedLoop },
		"workload.mean is -1":                                func(c *Config) { c.Mean = -1 },
		"workload.mean is 1e+09, want at most":               func(c *Config) { c.Mean = 1e9 },
		"workload.target_utilisation is 0, want":             func(c *Config) { c.TargetUtilisation = 0 },
	} {
		c := Default()
		change(&c)
		if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A factor in a file is a number or auto, and comes back as it was.
func TestFactorText(t *testing.T) {
	for text, want := range map[string]Factor{"auto": Auto, "0.5": 0.5, "3": 3} {
		var f, g Factor
		if err := f.UnmarshalText([]byte(text)); err != nil || f != want || f.String() != text {
			t.Errorf("%s is read as %v, %v", text, f, err)
		}
		b, err := f.MarshalJSON()
		if err == nil {
			err = g.UnmarshalJSON(b)
		}
		if err != nil || g != f {
			t.Errorf("%s comes back as %v, %v", text, g, err)
		}
	}
	var f Factor
	for _, text := range []string{"", "0", "-1", "NaN", "Inf", "automatic"} {
		if err := f.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is read as %v", text, f)
		}
	}
}

// Saved states of environments hold a hash of this text.
func TestIdentity(t *testing.T) {
	c := Default()
	c.Path, c.Factor = "somewhere", 0.6
	const want = "{Kind:azure2019 Path: Sample:0 Days:[] Functions: Streams:total Minutes:{From:0 To:0} Split:all " +
		"TrainFraction:0.7 Factor:0.6 Placement:exponential Smooth:60 Rate:1 Length:1440 Burst:{Factor:8 On:60 Off:600} " +
		"Wave:{Period:1440 Amplitude:0.5 Phase:0} Users:{Count:10 SpawnRate:10 Think:0 ThinkLaw:constant}}"
	if got := c.Identity(); got != want {
		t.Errorf("%s, want the text of earlier versions: %s", got, want)
	}
}
