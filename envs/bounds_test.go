package envs_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs"
)

// Bounds survive JSON, which knows no infinity, and contain what lies in them.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		b       envs.Bounds
		json    string
		in, out []float64
	}{
		{envs.Bounds{}, "null", []float64{-1e300, 0, 1e300}, []float64{math.NaN()}},
		{envs.Share(), "[0,1]", []float64{0, 0.5, 1}, []float64{-0.061, 1.017, math.NaN()}},
		{envs.AtLeast(0), "[0,null]", []float64{0, 1e300}, []float64{-0.001}},
		{envs.Bounds{math.Inf(-1), 2}, "[null,2]", []float64{-9, 2}, []float64{2.1}},
	} {
		text, err := json.Marshal(c.b)
		if err != nil || string(text) != c.json {
			t.Errorf("%v is %s (%v), want %s", c.b, text, err, c.json)
		}
		back := envs.Bounds{7, 8}
		if err := json.Unmarshal(text, &back); err != nil || back != c.b {
			t.Errorf("%s is read as %v (%v), want %v", text, back, err, c.b)
		}
		for _, x := range c.in {
			if !c.b.Contain(x) {
				t.Errorf("%v does not contain %g", c.b, x)
			}
		}
		for _, x := range c.out {
			if c.b.Contain(x) {
				t.Errorf("%v contains %g", c.b, x)
			}
		}
	}
	if err := json.Unmarshal([]byte(`"0 to 1"`), new(envs.Bounds)); err == nil {
		t.Error("a text is read as bounds")
	}
}
