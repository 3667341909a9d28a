package train

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// A policy that serves next to nothing is said to have given up, beside what doing nothing returns; one that serves is not.
func TestGivingUpIsSaid(t *testing.T) {
	const text = `
name: idle
env: {id: stoker/Sizing-v3, windows: 3}
agent: ppo
train: {steps: 24, envs: 2, evaluate: {every: 24, episodes: 2}}
`
	for _, c := range []struct {
		factor string
		gaveUp bool
	}{{"workload.factor=30", true}, {"workload.factor=0.02", false}} {
		var out bytes.Buffer
		res := must.Get(Start(context.Background(), parse(t, text, c.factor), Options{RunsDir: t.TempDir(), Out: &out}))(t)
		g := res.GaveUp
		if (g != nil) != c.gaveUp || strings.Contains(out.String(), "has given up") != c.gaveUp {
			t.Errorf("%s: %+v, want gave up %v, in\n%s", c.factor, g, c.gaveUp, &out)
		}
		if g == nil {
			continue
		}
		if g.Quantity != "success" || g.Served >= g.Least || *res.LastValue != g.Return || g.Nothing == 0 {
			t.Errorf("%+v with a last return of %g", g, *res.LastValue)
		}
	}
}
