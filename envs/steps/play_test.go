package steps

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// turns takes options of every step in turn.
type turns struct {
	m *Model
	n int
}

func (d *turns) Begin(m *Model, _, _ float64) { d.m = m }

func (d *turns) Decide(_ *Moment, step int) int {
	d.n++
	return d.n * 7 % len(d.m.Options[step])
}

// The parts of a critical path make the time of the request, and equal requests come to the same whatever was played
// before.
func TestPlay(t *testing.T) {
	for _, name := range []string{"chain", "diamond", "ml", "vp", "dag"} {
		app := must.Get(Preset(name))(t)
		m := must.Get(app.Compile())(t)
		var p Player
		for i := range uint64(20) {
			r := p.Play(m, &turns{n: int(i)}, rng.New(1, "test").With(i), m.Fastest, 0)
			if sum := r.Mapping + r.Transfer + r.Compute; math.Abs(sum/r.Seconds-1) > 1e-9 {
				t.Errorf("%s, request %d: parts of %g s make %g s", name, i, r.Seconds, sum)
			}
			if !(r.USD > 0) || r.Mapping <= 0 || r.Transfer < 0 || r.Compute <= 0 || r.Cold == 0 || r.Decisions < 1 ||
				r.Decisions > m.NumSteps() {
				t.Errorf("%s, request %d: %+v", name, i, r)
			}
			var fresh Player
			if again := fresh.Play(m, &turns{n: int(i)}, rng.New(1, "test").With(i), m.Fastest, 0); again != r {
				t.Errorf("%s, request %d: %+v, then %+v", name, i, r, again)
			}
		}
	}
}

// A step measured alone: warm instances need no mapping, and without variation the rest is its law.
func TestMeasureStep(t *testing.T) {
	p := Lambda()
	p.ColdCV, p.ComputeCV, p.Storage.CommonCV, p.Storage.ObjectCV = 0, 0, 0, 0
	app := must.Get(Preset("chain"))(t)
	app.Platform, app.Own = Own, p
	m := must.Get(app.Compile())(t)
	option := must.Get(m.Pack(0, 2048, 4, 1))(t)
	var player Player
	warm, cold := player.Measure(m, 0, option, 4, rng.New(1, "test")), player.Measure(m, 0, option, 0, rng.New(1, "test"))
	if warm.Mapping != 0 || warm.Cold != 0 || cold.Cold != 4 {
		t.Errorf("warm %+v, cold %+v", warm, cold)
	}
	if want := p.ColdStart + 4*p.StartEvery; math.Abs(cold.Mapping-want) > 1e-12 || math.Abs(cold.Seconds-warm.Seconds-want) > 1e-12 {
		t.Errorf("cold %+v, want a mapping delay of %g s", cold, want)
	}
}
