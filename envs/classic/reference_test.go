package classic

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

// readRows reads a file of testdata/record.py.
func readRows(t *testing.T, file string) [][]float64 {
	t.Helper()
	f, err := os.Open(file)
	must.Do(t, err)
	defer f.Close()
	r := csv.NewReader(f)
	r.FieldsPerRecord = -1
	records, err := r.ReadAll()
	must.Do(t, err)
	var rows [][]float64
	for _, record := range records[1:] {
		row := make([]float64, len(record))
		for i, s := range record {
			if row[i], err = strconv.ParseFloat(s, 64); err != nil {
				t.Fatal(err)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// near is the agreement that single steps must reach: what is left is the last place of sines and exponentials.
const near = 1e-12

func TestCartPoleConstants(t *testing.T) {
	// What Python prints for 12*2*math.pi/360, 0.1+1.0 and 0.1*0.5.
	if steepest != 0.20943951023931953 || totalMass != 1.1 || poleMoment != 0.05 {
		t.Errorf("constants are %.17g, %.17g, %.17g", steepest, totalMass, poleMoment)
	}
}

// Four episodes of MPE2 1.1.1 under random actions, step by step; one starts in contact.
func TestSpreadStepsAsMPE2(t *testing.T) {
	cfg := DefaultSpread()
	cfg.Physics, cfg.Reward = Current, PettingZoo
	s, err := NewSpread(cfg)
	p := newPlayer(t, s, err)
	touched, worst := 0, 0.0
	rows := readRows(t, "testdata/spread_mpe2.csv")
	for n, row := range rows {
		must.Do(t, s.SetBodies(row[0:6], row[6:12], row[12:18], p.obs))
		for i := range 3 {
			p.act.Kinds[0][i] = float32(row[18+i])
		}
		must.Do(t, s.Step(p.act, p.obs, p.out))
		pos, vel, _ := s.Bodies()
		for i, x := range append(append([]float64(nil), pos...), vel...) {
			off := math.Abs(x-row[21+i]) / max(1, math.Abs(x))
			if worst = max(worst, off); off > near {
				t.Errorf("step %d: number %d of positions and velocities is %.17g, MPE2's %.17g", n, i, x, row[21+i])
			}
		}
		for i, r := range p.out.Rewards[0] {
			if r != float32(row[33+i]) && math.Abs(float64(r)-row[33+i]) > 1e-6 {
				t.Fatalf("step %d: reward of agent %d is %g, MPE2's %g", n, i, r, row[33+i])
			}
		}
		if p.out.Info[1] > 0 {
			touched++
		}
	}
	if touched < 5 {
		t.Errorf("agents touch in only %d of the recorded steps; contacts are not tested", touched)
	}
	proof.Claim(t, proof.Row{
		Topic:    "environments",
		Claim:    fmt.Sprintf("simple_spread, PettingZoo's physics and rewards: %d steps of MPE2 1.1.1, %d of them in contact, agree in float64", len(rows), touched),
		Bound:    "1e-12 of positions and velocities, 1e-6 of float32 rewards",
		Measured: fmt.Sprintf("largest difference %.2g", worst),
		Holds:    worst <= near && !t.Failed(),
	})
}
