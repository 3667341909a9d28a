package quantile_test

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/perfmodel/quantile"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/internal/realdata"
	"github.com/stoker-rl/stoker/rng"
)

// Requests with a law that is known: y = 1 + 2u + u² + (1 + v)·e, with e exponential. Its quantile at level ω is
// 1 + 2u + u² + (1 + v)·(−ln(1−ω)), which is linear in eq. 2's columns.
func law(s *rng.Stream, n int) (rows [][]float64, y []float64) {
	for range n {
		u, v := 2*s.Float64(), 2*s.Float64()
		rows = append(rows, []float64{u, v})
		y = append(y, 1+2*u+u*u+(1+v)*s.Exp())
	}
	return rows, y
}

func TestModel(t *testing.T) {
	s := rng.NewStream(5, "test/model")
	rows, y := law(s, 4000)
	levels := []float64{0.1, 0.5, 0.9}
	m := must.Get(quantile.Fit(rows, y, levels, quantile.Full()))(t)
	if m.Gap > 1e-9 {
		t.Errorf("gap %g of the loss, want at most 1e-9", m.Gap)
	}
	for _, row := range [][]float64{{0.5, 0.5}, {1, 1}, {1.5, 1.5}} {
		got := must.Get(m.Predict(nil, row))(t)
		for i, level := range levels {
			want := 1 + 2*row[0] + row[0]*row[0] - (1+row[1])*math.Log(1-level)
			if math.Abs(got[i]-want) > 0.25 {
				t.Errorf("level %g at %v: %.3f, want %.3f", level, row, got[i], want)
			}
		}
	}
}

// From few requests quantiles of near levels cross; predictions do not.
func TestNeverCross(t *testing.T) {
	s := rng.NewStream(6, "test/cross")
	rows, y := law(s, 40)
	levels := []float64{0.5, 0.6, 0.7, 0.8, 0.9}
	m := must.Get(quantile.Fit(rows, y, levels, quantile.Full()))(t)
	crossed := 0
	for range 1000 {
		row := []float64{3 * s.Float64(), 3 * s.Float64()}
		x := quantile.Full().Append(nil, row)
		before := math.Inf(-1)
		for _, c := range m.Coefficients {
			var v float64
			for j := range x {
				v += x[j] * c[j]
			}
			if v < before {
				crossed++
				break
			}
			before = v
		}
		got := must.Get(m.Predict(nil, row))(t)
		for i := 1; i < len(got); i++ {
			if got[i] < got[i-1] {
				t.Fatalf("at %v the quantiles are %v", row, got)
			}
		}
	}
	if crossed == 0 {
		t.Error("no quantiles crossed before they were sorted: the test shows nothing")
	}
}

// Requests whose law doubles half way: without a factor the share below the prediction falls, with it it stays.
func TestDrift(t *testing.T) {
	c := DefaultWindow()
	c.Last, c.Every = 400, 100
	for _, rate := range []float64{0, 0.05} {
		c.Rate = rate
		w := must.Get(NewWindow(c))(t)
		s := rng.NewStream(8, "test/drift")
		rows, y := law(s, 3000)
		below, asked := 0, 0
		for i, row := range rows {
			v := y[i] * math.Exp(float64(i)/1000)
			p, ok, err := w.Predict(row)
			must.Do(t, err)
			if ok {
				asked++
				if v <= p {
					below++
				}
			}
			must.Do(t, w.Observe(row, v))
		}
		share := float64(below) / float64(asked)
		t.Logf("rate %g: %.3f of %d below", rate, share, asked)
		if (rate == 0) == (math.Abs(share-0.9) < 0.02) {
			t.Errorf("rate %g: %.3f are below P90; want within 0.02 of it with a rate, and not without", rate, share)
		}
	}
}

func TestModelWrong(t *testing.T) {
	w := must.Get(NewWindow(DefaultWindow()))(t)
	fit := func(levels []float64, y []float64, rows ...[]float64) func() error {
		return func() error { _, err := quantile.Fit(rows, y, levels, quantile.Full()); return err }
	}
	window := func(c WindowConfig) func() error {
		return func() error { _, err := NewWindow(c); return err }
	}
	one, two := []float64{1}, []float64{1, 2}
	for want, f := range map[string]func() error{
		"no levels":        fit(nil, one, one),
		"ascending":        fit([]float64{0.9, 0.5}, one, one),
		"row 1 has 2":      fit([]float64{0.5}, two, one, two),
		"1 values of y":    fit([]float64{0.5}, one, one, two),
		"delay of 0":       func() error { return w.Observe(one, 0) },
		"fitted after":     window(WindowConfig{Level: 0.9}),
		"rate -1":          window(WindowConfig{Level: 0.9, Last: 1, Every: 1, Rate: -1}),
		"level 0, want on": window(WindowConfig{}),
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// 26,823 image requests of a production service (Alibaba GenAI 2026): images, steps, LoRAs and prompt length give the
// seconds. StepConf takes P90 from the last 100.
func TestImageRequests(t *testing.T) {
	f := must.Get(os.Open(filepath.Join(realdata.Dir(t), "alibaba-genai2026", "lora_request_trace.csv")))(t)
	defer f.Close()
	all := must.Get(csv.NewReader(f).ReadAll())(t)
	at := map[string]int{}
	for i, name := range all[0] {
		at[name] = i
	}
	var rows [][]float64
	var y []float64
	for _, r := range all[1:] {
		var v []float64
		for _, name := range []string{"num_images_per_prompt", "num_inference_steps", "num_lora", "prompt_length"} {
			n, err := strconv.ParseFloat(r[at[name]], 64)
			if err != nil {
				break
			}
			v = append(v, n)
		}
		seconds, err := strconv.ParseFloat(r[at["exec_time_seconds"]], 64)
		if err != nil || len(v) < 4 || r[at["predict_status"]] != "SUCCEED" || seconds <= 0 {
			continue
		}
		rows, y = append(rows, v), append(y, seconds)
	}
	for _, c := range []struct {
		name   string
		config WindowConfig
		held   bool
	}{
		{"the last 100", WindowConfig{Level: 0.9, Last: 100, Every: 100, Options: quantile.Full()}, false},
		{"the last 500", WindowConfig{Level: 0.9, Last: 500, Every: 250, Options: quantile.Full()}, false},
		{"with the factor",
			WindowConfig{Level: 0.9, Last: 500, Every: 250, Rate: 0.05, Options: quantile.Full()}, true},
	} {
		w := must.Get(NewWindow(c.config))(t)
		below, asked := 0, 0
		var sum, median float64
		for i, row := range rows {
			p, ok, err := w.Predict(row)
			must.Do(t, err)
			if ok {
				asked++
				sum += p
				median += y[i]
				if y[i] <= p {
					below++
				}
			}
			must.Do(t, w.Observe(row, y[i]))
		}
		share := float64(below) / float64(asked)
		t.Logf("%s: %.3f of %d requests below P90; mean prediction %.1f s, mean time %.1f s", c.name, share, asked,
			sum/float64(asked), median/float64(asked))
		if c.held && math.Abs(share-0.9) > 0.02 {
			t.Errorf("%s: %.3f are below P90, want 0.9 ± 0.02", c.name, share)
		}
	}
}
