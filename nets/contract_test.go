package nets_test

import (
	"testing"

	"github.com/stoker-rl/stoker/nets"
)

func TestDType(t *testing.T) {
	for d, want := range map[nets.DType]string{nets.Float32: "float32", nets.Float64: "float64", 9: "DType(9)"} {
		if d.String() != want {
			t.Errorf("DType %d is %q, want %q", uint8(d), d, want)
		}
	}
}

func TestAdamDefaults(t *testing.T) {
	if got, want := (nets.Adam{Rate: 1, Clip: 2}).WithDefaults(),
		(nets.Adam{Rate: 1, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, Clip: 2}); got != want {
		t.Errorf("defaults are %+v, want %+v", got, want)
	}
	set := nets.Adam{Rate: 1, Beta1: 0.5, Beta2: 0.6, Epsilon: 0.1}
	if got := set.WithDefaults(); got != set {
		t.Errorf("defaults changed %+v to %+v", set, got)
	}
}
