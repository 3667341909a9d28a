package pricing

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/internal/must"
)

// A forged state is refused with the wrong number, and changes nothing; copies do not allocate.
func TestStates(t *testing.T) {
	elastic := func(c *pricing.Config) { c.Pool, c.Layout.Warm = pricing.Elastic, pricing.WarmShared }
	has := func() *HASGPU {
		p := must.Get(NewHAS(DefaultHAS(), newTable(t, 2, elastic).env))(t)
		return p
	}
	mqfq := func() *MQFQ {
		p := must.Get(NewMQFQ(DefaultMQFQ(), newTable(t, 2, fixed).env))(t)
		return p
	}
	torpor := func() *Torpor {
		p := must.Get(NewTorpor(DefaultTorpor(), newTable(t, 2, fixed).env))(t)
		return p
	}
	forge := map[string]func() (forged, good, fresh envs.Policy){}
	add := func(want string, f func() (forged, good, fresh envs.Policy)) { forge[want] = f }
	add("rate 1 is NaN", func() (envs.Policy, envs.Policy, envs.Policy) {
		p := has()
		p.rate[1] = math.NaN()
		return p, has(), has()
	})
	add("variance 0 is +Inf", func() (envs.Policy, envs.Policy, envs.Policy) {
		p := has()
		p.variance[0] = math.Inf(1)
		return p, has(), has()
	})
	add("virtual time 0 is NaN", func() (envs.Policy, envs.Policy, envs.Policy) {
		p := mqfq()
		p.virtual = math.NaN()
		return p, mqfq(), mqfq()
	})
	add("function 2 chosen last, want -1 to 1", func() (envs.Policy, envs.Policy, envs.Policy) {
		p := mqfq()
		p.chosen = 2
		return p, mqfq(), mqfq()
	})
	add("3 elements, want 2", func() (envs.Policy, envs.Policy, envs.Policy) {
		p := mqfq()
		p.start = make([]float64, 3)
		return p, mqfq(), mqfq()
	})
	add("threshold 0 is NaN", func() (envs.Policy, envs.Policy, envs.Policy) {
		p := torpor()
		p.threshold = math.NaN()
		return p, torpor(), torpor()
	})
	save := func(p envs.Policy) []byte {
		b := must.Get(p.AppendBinary(nil))(t)
		return b
	}
	for want, f := range forge {
		forged, good, fresh := f()
		before := save(good)
		if err := good.UnmarshalBinary(save(forged)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
		if !bytes.Equal(save(good), before) {
			t.Errorf("%s: the refused state changed something", want)
		}
		if n := testing.AllocsPerRun(100, func() { _ = fresh.CopyFrom(good) }); n != 0 {
			t.Errorf("%s: a copy allocates %g times", good.Name(), n)
		}
	}
}
