package classic

import (
	"fmt"
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/tools/proof"
)

// From each recorded state one step ends where Gymnasium's does, pays and shows the same.
func TestPendulumStepsAsGymnasium(t *testing.T) {
	e, err := NewPendulum(DefaultPendulum())
	p := newPlayer(t, e, err)
	rows := readRows(t, "testdata/pendulum_gymnasium.csv")
	worst := 0.0
	for n, row := range rows {
		e.SetPose([2]float64(row[:2]), p.obs)
		p.act.Kinds[0][0] = float32(row[2])
		must.Do(t, e.Step(p.act, p.obs, p.out))
		for i, x := range e.Pose() {
			off := math.Abs(x-row[3+i]) / max(1, math.Abs(x))
			if worst = max(worst, off); off > near {
				t.Errorf("step %d: number %d of the state is %.17g, Gymnasium's %.17g", n, i, x, row[3+i])
			}
		}
		if r := p.out.Rewards[0][0]; math.Abs(float64(r)-row[5]) > 1e-6*max(1, -row[5]) {
			t.Errorf("step %d: reward %g, Gymnasium's %g", n, r, row[5])
		}
		for i, x := range p.obs.Kinds[0].Values {
			if math.Abs(float64(x)-row[6+i]) > 1e-6 {
				t.Errorf("step %d: sees %g, Gymnasium shows %g", n, x, row[6+i])
			}
		}
	}
	proof.Claim(t, proof.Row{
		Topic: "environments",
		Claim: fmt.Sprintf("Pendulum-v1: one step from each of %d recorded states agrees with Gymnasium 1.4.0 in float64",
			len(rows)),
		Bound: fmt.Sprintf("%g", near), Measured: fmt.Sprintf("%.1e", worst), Holds: worst <= near,
	})
}

// Free-running episodes of Gymnasium's end where they end here, and are cut at the same step.
func TestPendulumEpisodesAsGymnasium(t *testing.T) {
	e, err := NewPendulum(DefaultPendulum())
	p := newPlayer(t, e, err)
	rows := readRows(t, "testdata/pendulum_gymnasium.csv")
	for n, row := range rows[:400] {
		if n%200 == 0 {
			e.SetPose([2]float64(row[:2]), p.obs)
		}
		p.act.Kinds[0][0] = float32(row[2])
		must.Do(t, e.Step(p.act, p.obs, p.out))
		for i, x := range e.Pose() {
			if math.Abs(x-row[3+i]) > 1e-9 {
				t.Fatalf("step %d: number %d of the state is %.17g, Gymnasium's %.17g", n, i, x, row[3+i])
			}
		}
		if p.out.Truncated != (row[9] == 1) || p.out.Terminated {
			t.Errorf("step %d: truncated %v, terminated %v", n, p.out.Truncated, p.out.Terminated)
		}
	}
}

// Random torques return about −1,230 on average, as Gymnasium's environment gives them.
func TestPendulumUnderRandomTorques(t *testing.T) {
	e, err := NewPendulum(DefaultPendulum())
	p := newPlayer(t, e, err)
	s, total := rng.NewStream(2, "actions"), 0.0
	const n = 1000
	for seed := range uint64(n) {
		ret, _ := p.episode(t, seed, func() { p.act.Kinds[0][0] = float32(4*s.Float64() - 2) })
		total += ret
	}
	if mean := total / n; mean < -1280 || mean > -1180 {
		t.Errorf("random episodes return %g on average, want about −1,230", mean)
	}
}

func TestPendulumOptions(t *testing.T) {
	e, err := NewPendulum(DefaultPendulum())
	p := newPlayer(t, e, err)
	if err := e.Reset(1, envs.Options{"x_init": 0.0, "y_init": 0.0}, p.obs); err != nil || e.Pose() != [2]float64{} {
		t.Errorf("with x_init and y_init 0 the state is %v, error %v", e.Pose(), err)
	}
	for _, o := range []envs.Options{{"x_init": 1}, {"y_init": -0.1}, {"x_init": math.NaN()}, {"z": 0.1}} {
		if e.Reset(1, o, p.obs) == nil {
			t.Errorf("options %v were accepted", o)
		}
	}
}
