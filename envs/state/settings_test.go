package state_test

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs/state"
)

// Only what differs from the defaults is in the text, numbers to the last bit.
func TestSettings(t *testing.T) {
	type inner struct {
		A float64   `json:"a"`
		B []float64 `json:"b"`
	}
	type config struct {
		Name string `json:"name"`
		In   inner  `json:"in"`
		Size int    `json:"size,omitempty"`
	}
	d := config{"x", inner{1, []float64{2, 3}}, 5}
	zero := d
	zero.Size = 0
	same, list, number, none := d, d, d, d
	same.In.B = []float64{2, 3}
	list.In.B = []float64{2, 4}
	number.In.A = math.Nextafter(1, 2)
	none.In.B = nil
	empty := none
	empty.In.B = []float64{}
	endless := d
	endless.In.A = math.Inf(1)
	for _, c := range []struct {
		config config
		want   string
	}{
		{same, "{}"}, {zero, `{"size":null}`}, {list, `{"in":{"b":[2,4]}}`}, {number, `{"in":{"a":1.0000000000000002}}`}, {none, `{"in":{"b":null}}`},
		{empty, `{"in":{"b":null}}`},
		{endless, "{Name:x In:{A:+Inf B:[2 3]} Size:5}"},
	} {
		if got := state.Settings(c.config, d); got != c.want {
			t.Errorf("%+v is %s, want %s", c.config, got, c.want)
		}
	}
}
