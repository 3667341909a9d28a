package check

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
)

// What is wrong is said once, of the first key; NaN and the open end are.
func TestKeys(t *testing.T) {
	for _, c := range []struct {
		do   func(*Keys)
		want string
	}{
		{func(k *Keys) { k.OneOf("loss", "l1", "squared", "huber") }, `loss is "l1", want one of ["squared" "huber"]`},
		{func(k *Keys) { k.Widths("hidden", []int{1, 0, -1}) }, "hidden[1] is 0, want at least 1"},
		{func(k *Keys) { k.Within("gamma", -1, 0, 1) }, "gamma is -1, want at least 0 and at most 1"},
		{func(k *Keys) { k.Within("gamma", 1.5, 0, 1) }, "gamma is 1.5, want at least 0 and at most 1"},
		{func(k *Keys) { k.Within("gamma", math.NaN(), 0, 1) }, "gamma is NaN, want at least 0 and at most 1"},
		{func(k *Keys) { k.Above("tau", 0, 0, 1) }, "tau is 0, want more than 0 and at most 1"},
		{func(k *Keys) { k.Above("tau", math.Inf(1), 0, 1) }, "tau is +Inf, want more than 0 and at most 1"},
		{func(k *Keys) { k.Above("tau", math.NaN(), 0, 1) }, "tau is NaN, want more than 0 and at most 1"},
		{func(k *Keys) { k.Above("a", 2, 0, 1); k.Within("b", 2, 0, 1) }, "a is 2, want more than 0 and at most 1"},
	} {
		var k Keys
		c.do(&k)
		if k.Err() == nil || k.Err().Error() != c.want {
			t.Errorf("got %v, want %q", k.Err(), c.want)
		}
	}
	var k Keys
	k.OneOf("loss", "huber", "squared", "huber")
	k.Widths("hidden", []int{1})
	k.Widths("hidden", nil)
	k.Within("gamma", 0, 0, 1)
	k.Within("gamma", 1, 0, 1)
	k.Above("tau", 1, 0, 1)
	if k.Err() != nil {
		t.Error(k.Err())
	}
}

func TestContext(t *testing.T) {
	e, double := native.New(native.Options{Threads: 1}), native.New(native.Options{DType: nets.Float64})
	for want, ctx := range map[string]agents.Context{
		"copies is 0, want at least 1":                   {Train: e},
		"the engine computes in float64, want float32: ": {Train: double, Copies: 1},
	} {
		if err := Context(&ctx); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if err := Context(&agents.Context{Train: e, Copies: 1}); err != nil {
		t.Error(err)
	}
}
