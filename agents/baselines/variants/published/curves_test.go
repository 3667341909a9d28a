package published

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	rules "github.com/stoker-rl/stoker/agents/baselines/variants"
	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/internal/realdata"
)

func TestCurves(t *testing.T) {
	dir := filepath.Join(realdata.Dir(t), "slapp")
	f, err := os.Open(filepath.Join(dir, "function_profiles.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	profile, err := ReadProfile(f)
	if err != nil {
		t.Fatal(err)
	}
	bad, n := 0, 0
	for number := 1; number <= 4; number++ {
		app, err := SLApp(number, profile)
		if err != nil {
			t.Fatal(err)
		}
		m, err := app.Compile()
		if err != nil {
			t.Fatal(err)
		}
		l := rules.NewPlanner(m)
		for _, direction := range []string{"BPBC", "BCPC"} {
			file, err := os.Open(filepath.Join(dir, "curves", fmt.Sprintf("App%d_%s.csv", number, direction)))
			if err != nil {
				t.Fatal(err)
			}
			points, err := ReadCurve(file)
			file.Close()
			if err != nil {
				t.Fatal(err)
			}
			off := 0.0
			shown := 0
			for _, p := range points {
				o := rules.Published()
				o.Strategy, o.Threshold = p.Strategy, 0.2
				choice := make([]int, m.NumFunctions())
				for f, name := range m.Flow.Functions() {
					for c, x := range m.Options[f] {
						if x.MB == p.MB[name] {
							choice[f] = c
						}
					}
				}
				ev := m.Evaluate(choice)
				if off == 0 {
					off = p.Seconds - ev.Seconds
					t.Logf("offset %v", off)
				}
				if math.Abs(p.Seconds-ev.Seconds-off) > 1e-9 || math.Abs(p.USD-ev.USD) > 1e-9 {
					t.Errorf("model: %v %v vs %v", p, ev, off)
				}
				pr := variants.Problem{Objective: variants.Time, Budget: p.Constraint}
				if direction == "BCPC" {
					pr = variants.Problem{Objective: variants.Cost, Latency: p.Constraint/1000 - off}
				}
				a, err := l.Solve(pr, o)
				n++
				same := a.Steps == p.Iterations
				for f := range choice {
					same = same && choice[f] == a.Choice[f]
				}
				if !same {
					bad++
					if shown++; shown < 5 {
						t.Errorf("%s %s %s at %v: choice %v want %v (%v), %d steps, want %d; %v", m.App.Name, direction, p.Strategy, p.Constraint, a.Choice, choice, p.MB, a.Steps, p.Iterations, err)
					}
				}
			}
		}
	}
	t.Logf("%d of %d differ", bad, n)
}
