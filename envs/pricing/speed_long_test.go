package pricing

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

// timed is a size's runs of 40 windows of 60 slots.
type timed struct {
	vgpus   int
	growing bool // the load grows with the vGPUs
	env     *Pricing
	seconds []float64
}

// perUnit is the median's nanoseconds for each of a slot's arrivals and F·log2 N.
func (r *timed) perUnit() float64 {
	slots := float64(r.env.cfg.Windows * r.env.cfg.Slots)
	return 1e9 * r.median() / (r.env.total[accArrived] +
		float64(slots*float64(len(r.env.fn)))*math.Log2(float64(r.vgpus)))
}

func (r *timed) median() float64 {
	slices.Sort(r.seconds)
	return r.seconds[len(r.seconds)/2]
}

func (r *timed) String() string {
	load := "constant"
	if r.growing {
		load = "in proportion"
	}
	slots := float64(r.env.cfg.Windows * r.env.cfg.Slots)
	m := r.median()
	return fmt.Sprintf("| %d | %s | %.1f | %.2f (%.2f to %.2f) | %.2f | %.1f |", r.vgpus, load,
		r.env.total[accArrived]/slots,
		1e3*m, 1e3*r.seconds[0], 1e3*r.seconds[len(r.seconds)-1], 1e6*m/slots, r.perUnit())
}

// A run of 40 windows of 60 slots with the paper's scheduler inside, in seven rounds that take the sizes in turn, of
// the longest three. What a slot costs grows no faster than its arrivals and F·log N.
func TestHOPSSpeed(t *testing.T) {
	if !*long {
		t.Skip("rounds up to 65,536 vGPUs take half a minute: -long")
	}
	var all []*timed
	for _, growing := range []bool{true, false} {
		for _, n := range []int{64, 1024, 16384, 65536} {
			c := Default()
			c.VGPUs = n
			if growing {
				for i := range c.Baselines {
					c.Baselines[i] *= n / 64
				}
			} else {
				c.Demand.Mean = 45
			}
			e := must.Get(New(c, workload.Default(), nil))(t)
			all = append(all, &timed{vgpus: n, growing: growing, env: e})
		}
	}
	for round := range 8 {
		for _, r := range all {
			if round > 3 && r.growing && r.vgpus > 1024 {
				continue // seconds each
			}
			obs, act, out := envs.NewObservation(r.env.spec), envs.NewAction(r.env.spec), envs.NewOutcome(r.env.spec)
			start := time.Now()
			runEpisode(t, r.env, 1, obs, act, out)
			if round > 0 { // the first warms up
				r.seconds = append(r.seconds, time.Since(start).Seconds())
			}
		}
	}
	text := "| vGPUs | load | jobs a slot | run of 2,400 slots, ms (least to most) | µs a slot | " +
		"ns for each arrival and F·log2 N |\n|---|---|---|---|---|---|\n"
	worst := [2]float64{}
	for i, r := range all {
		text += r.String() + "\n"
		worst[i/4] = max(worst[i/4], r.perUnit()/all[i/4*4].perUnit())
	}
	t.Log("\n" + text)
	if dir := os.Getenv(proof.Folder); dir != "" {
		must.Do(t, os.WriteFile(filepath.Join(dir, "table.md"), []byte(text), 0o644))
	}
	first := strings.Split(all[0].String(), "|")[4]
	proof.Claim(t, proof.Row{
		Topic: "speed", Claim: "A run of 40 windows of 60 slots of HOPS' world at 64 vGPUs, ARMS inside, one core, " +
			"median of seven rounds (least to most)",
		Bound: "under 10 ms", Measured: strings.TrimSpace(first) + " ms", Holds: all[0].median() < 0.01,
	})
	proof.Claim(t, proof.Row{
		Topic: "speed", Claim: "HOPS' world from 64 to 65,536 vGPUs: a slot's time over its arrivals and F·log2 N, " +
			"against that at 64",
		Bound: "at most 2 (memory beyond the caches included)",
		Measured: fmt.Sprintf("at most %.2f with the load in proportion, %.2f with a constant one; runs of %.3g, %.3g, "+
			"%.3g and %.3g ms in proportion", worst[0], worst[1],
			1e3*all[0].median(), 1e3*all[1].median(), 1e3*all[2].median(), 1e3*all[3].median()),
		Holds: max(worst[0], worst[1]) <= 2,
	})
}
