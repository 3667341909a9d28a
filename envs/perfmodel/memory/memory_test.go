package memory_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// grid measures a law at sizes from 128 to 3008 MB, with a relative error of each run.
func grid(l memory.Law, runs int, noise float64) []memory.Sample {
	s := rng.NewStream(7, "test/noise")
	var out []memory.Sample
	for mb := 128.0; mb <= 3008; mb += 192 {
		for range runs {
			out = append(out, memory.Sample{MB: mb, Seconds: l.Seconds(mb) * (1 + noise*s.Norm())})
		}
	}
	return out
}

var laws = []memory.Law{
	memory.Exp{A: 0.3, B: 2.5, C: 0.003},
	memory.Inverse{A: 0.2, B: 400, K: 1500},
	memory.Step{Case: memory.Single, A: 0.1, B: 0.4, C: 0.05, M: memory.SingleCore, Q: 1},
	memory.Step{Case: memory.Multi, A: 0.2, B: 3, C: 2, M: memory.SingleCore, Q: 1.2},
}

// Without noise each form finds its own numbers, and is chosen.
func TestRecovers(t *testing.T) {
	for _, l := range laws {
		sizes := must.Get(memory.Sizes(grid(l, 1, 0)))(t)
		o := memory.Options{}
		if s, ok := l.(memory.Step); ok {
			o.Cores = s.Q
		}
		got := must.Get(memory.Fit(l.Form(), sizes, o))(t)
		for mb := 100.0; mb < 4000; mb *= 1.07 {
			if e := math.Abs(got.Seconds(mb)/l.Seconds(mb) - 1); e > 1e-5 {
				t.Errorf("%v: fitted %v errs by %.2g at %.0f MB", l, got, e, mb)
			}
		}
		fits := must.Get(memory.Choose(sizes, o))(t)
		if best := fits[0]; best.LeftOut > 1e-5 {
			t.Errorf("%v: chosen is %v, which errs by %.2g at sizes left out", l, best.Law, best.LeftOut)
		}
		if len(fits) != len(memory.Forms()) {
			t.Errorf("%v: %d laws reported, want all %d", l, len(fits), len(memory.Forms()))
		}
	}
}

// With noise the error at sizes left out is above that of the fit, and near the noise of a mean.
func TestNoise(t *testing.T) {
	for _, l := range laws {
		sizes := must.Get(memory.Sizes(grid(l, 20, 0.05)))(t)
		o := memory.Options{}
		if s, ok := l.(memory.Step); ok {
			o.Cores = s.Q
		}
		fits := must.Get(memory.Choose(sizes, o, l.Form()))(t)
		if f := fits[0]; f.LeftOut <= f.MAPE || f.LeftOut > 0.03 {
			t.Errorf("%v: MAPE %.4f, left out %.4f: want left out above MAPE and at most 0.03", l, f.MAPE, f.LeftOut)
		}
	}
}

// A hand-made table: ends hold, measured sizes are exact, and between two sizes the line in logs.
func TestTable(t *testing.T) {
	l := memory.Measured{MB: []float64{100, 400}, Mean: []float64{4, 1}}
	for mb, want := range map[float64]float64{50: 4, 100: 4, 200: 2, 400: 1, 900: 1} {
		if got := l.Seconds(mb); math.Abs(got-want) > 1e-12 {
			t.Errorf("%.0f MB: %g s, want %g", mb, got, want)
		}
	}
}

func TestFew(t *testing.T) {
	sizes := must.Get(memory.Sizes(grid(laws[0], 1, 0)))(t)
	few := memory.Few(sizes, 4)
	if len(few) != 4 || few[0] != sizes[0] || few[3] != sizes[len(sizes)-1] {
		t.Errorf("four of %d sizes are %v, want four with both ends", len(sizes), few)
	}
	if all := memory.Few(sizes, 99); len(all) != len(sizes) {
		t.Errorf("99 of %d sizes are %d", len(sizes), len(all))
	}
}

func TestRises(t *testing.T) {
	sizes := []memory.Size{{MB: 128, Runs: 100, Mean: 2, SD: 0.1}, {MB: 256, Runs: 100, Mean: 1, SD: 0.1},
		{MB: 512, Runs: 100, Mean: 1.2, SD: 0.1}, {MB: 768, Runs: 100, Mean: 1.201, SD: 0.1}}
	if got := memory.Rises(sizes); len(got) != 1 || got[0].MB != 512 {
		t.Errorf("sizes slower than the one before: %v, want that of 512 MB", got)
	}
}

func TestWrong(t *testing.T) {
	for name, c := range map[string]struct{ csv, want string }{
		"no header":   {"", "header"},
		"no rows":     {"memory,ms\n", "no measurements"},
		"no column":   {"memory,time\n1,2\n", `no column for the duration`},
		"memory":      {"function,memory,ms\nf,128,90\nf,big,90\n", "line 3, column 2"},
		"duration":    {"function,memory,ms\nf,128,fast\n", "line 2, column 3"},
		"ragged":      {"function,memory,ms\nf,128\n", "line 2"},
		"zero":        {"memory,ms\n128,0\n", "line 2: an execution time of 0 s"},
		"negative MB": {"memory,seconds\n-1,1\n", "line 2: a memory size of -1 MB"},
		"NaN":         {"memory,seconds\n128,NaN\n", "line 2: an execution time of NaN"},
		"rises":       {"memory,seconds\n128,1\n256,2\n", "times rise with memory"},
		"too few":     {"memory,seconds\n128,2\n256,1\n", "too few"},
	} {
		functions, samples, err := memory.Read(strings.NewReader(c.csv))
		for _, f := range functions {
			var sizes []memory.Size
			if sizes, err = memory.Sizes(samples[f]); err == nil {
				_, err = memory.Fit(memory.Knee, sizes, memory.Options{})
			}
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
	if _, err := memory.Fit("cubic", nil, memory.Options{}); err == nil || !strings.Contains(err.Error(), "exponential") {
		t.Errorf("an unknown form: error %v, want the forms that there are", err)
	}
}

// Whatever the file, Read and what follows return or refuse; laws are finite, positive and never rise with memory.
func FuzzRead(f *testing.F) {
	f.Add("function,memory,ms\nf,128,90\nf,256,50\nf,512,30\nf,1024,29\n")
	f.Add("memory,seconds\n128,2\n256,1\n")
	f.Fuzz(func(t *testing.T, text string) {
		functions, samples, err := memory.Read(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, name := range functions {
			sizes, err := memory.Sizes(samples[name])
			if err != nil {
				continue
			}
			if first, last := sizes[0], sizes[len(sizes)-1]; first.MB < 1 || last.MB > 1e6 || first.Mean > 1e6 || last.Mean < 1e-6 {
				continue
			}
			for _, form := range memory.Forms() {
				l, err := memory.Fit(form, sizes, memory.Options{})
				if err != nil || form == memory.Table {
					continue
				}
				before := math.Inf(1)
				for _, s := range sizes {
					v := l.Seconds(s.MB)
					if !(v >= 0) || v > before*(1+1e-9) {
						t.Errorf("%v: %g s with %g MB after %g s with less", l, v, s.MB, before)
					}
					before = v
				}
			}
		}
	})
}
