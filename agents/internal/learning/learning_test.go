package learning

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
)

func TestDiscount(t *testing.T) {
	for _, k := range []struct {
		d       Discount
		ended   bool
		elapsed int64
		want    float64
	}{
		{Discount{Gamma: 0.9}, false, 5e6, 0.9},
		{Discount{Gamma: 0.9}, true, 5e6, 0},
		{Discount{Gamma: 0.81, Seconds: 10}, false, 5e6, 0.9},
		{Discount{Gamma: 0.81, Seconds: 10}, true, 5e6, 0},
	} {
		if got := k.d.Of(k.ended, k.elapsed); math.Abs(got-k.want) > 1e-15 {
			t.Errorf("%+v: %g, want %g", k, got, k.want)
		}
	}
}

func TestLinear(t *testing.T) {
	for step, want := range map[float64]float64{0: 1, 25: 0.75, 50: 0.5, 100: 0, 200: 0} {
		if got := Linear(1, 0, step, 100); got != want {
			t.Errorf("step %g: %g, want %g", step, got, want)
		}
	}
	if got := Linear(1, 0.3, 0, 0); got != 0.3 {
		t.Errorf("over no steps: %g, want 0.3", got)
	}
}

func newNet(t *testing.T, e nets.Engine) nets.Net {
	t.Helper()
	n := must.Get(e.NewNet(nets.MLP{Agents: 1, In: []nets.Port{{Name: "x", Width: 1}}, Out: 1, Activation: nets.ReLU}))(t)
	return n
}

func TestCopyParams(t *testing.T) {
	e, other := native.New(native.Options{Threads: 1}), native.New(native.Options{Threads: 1})
	from := newNet(t, e)
	from.Params().Set([]float32{3, 4})
	for _, act := range []nets.Engine{e, other} {
		to, buf, got := newNet(t, act), make([]float32, 2), make([]float32, 2)
		must.Do(t, CopyParams(e, from, act, to, buf))
		if to.Params().Get(got); !slices.Equal(got, []float32{3, 4}) {
			t.Errorf("copied %v", got)
		}
	}
}

func TestTakeMean(t *testing.T) {
	x := native.New(native.Options{Threads: 1}).NewTensor(2)
	x.Set([]float32{6, 10})
	if got := TakeMean(x, 4); got != 2 {
		t.Errorf("the mean is %g, want 2", got)
	}
	if got := TakeMean(x, 1); got != 0 {
		t.Errorf("taken twice: %g, want 0", got)
	}
}
