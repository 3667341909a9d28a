package deeprm

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/envs/deeprm"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

var peer = flag.String("peer", "", "command that runs DeepRM's own environment, to compare the pace with: 'python3 ../../../envs/deeprm/testdata/steps.py CHECKOUT'")

// paceRounds is how often each side is measured, in turn.
const paceRounds = 7

// A pace is the steps per second of both sides with the same form of observation, round by round.
type pace struct {
	form, peerForm string
	ours, theirs   []float64
	wanted         float64 // least ratio, 0 where none is claimed
}

// ratios are the ratios of measurements next to each other in time.
func (p *pace) ratios() []float64 {
	r := make([]float64, len(p.ours))
	for i := range r {
		r[i] = p.ours[i] / p.theirs[i]
	}
	return r
}

// span is median, minimum and maximum.
func span(x []float64) (median, low, high float64) {
	x = slices.Sorted(slices.Values(x))
	n := len(x)
	return (x[(n-1)/2] + x[n/2]) / 2, x[0], x[n-1]
}

// own is the steps per second of environment and SJF together, resets included.
func own(t *testing.T, form string) float64 {
	t.Helper()
	c := deeprm.Default()
	c.Observation = form
	w := newWorld(t, c, rules[1])
	seed, n := uint64(0), 0
	w.reset(seed)
	begun := time.Now()
	for time.Since(begun) < 500*time.Millisecond {
		for range 10_000 {
			if w.step(); w.ended() {
				seed++
				w.reset(seed)
			}
		}
		n += 10_000
	}
	return float64(n) / time.Since(begun).Seconds()
}

// foreign is the peer's steps per second.
func foreign(ctx context.Context, t *testing.T, form string) float64 {
	t.Helper()
	out, err := exec.CommandContext(ctx, "sh", "-c", *peer+" "+form).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		t.Fatalf("the peer's command: %v", err)
	}
	var line struct {
		StepsPerSecond float64 `json:"steps_per_second"`
	}
	if err := json.Unmarshal(out, &line); err != nil || line.StepsPerSecond <= 0 {
		t.Fatalf("the peer printed %q, want a JSON object with steps_per_second (%v)", out, err)
	}
	return line.StepsPerSecond
}

// Steps a second beside DeepRM's Python code, at its default rate with ten visible jobs, while SJF decides on both
// sides.
func TestPace(t *testing.T) {
	if *peer == "" {
		t.Skip("-peer COMMAND runs DeepRM's own environment beside ours")
	}
	if rules[1].name != "sjf" {
		t.Fatalf("rule 1 is %s, want sjf", rules[1].name)
	}
	paces := []*pace{
		{form: deeprm.Compact, peerForm: "compact", wanted: 500},
		{form: deeprm.Image, peerForm: "image", wanted: 100},
		{form: deeprm.Compact, peerForm: "none"},
	}
	for range paceRounds {
		for _, p := range paces {
			p.theirs = append(p.theirs, foreign(t.Context(), t, p.peerForm))
			p.ours = append(p.ours, own(t, p.form))
		}
	}
	rows := [][]string{{"seen", "seen_by_peer", "round", "steps_per_second", "peer_steps_per_second", "ratio"}}
	for _, p := range paces {
		ratios := p.ratios()
		for i, r := range ratios {
			rows = append(rows, []string{p.form, p.peerForm, strconv.Itoa(i + 1), fmt.Sprintf("%.0f", p.ours[i]),
				fmt.Sprintf("%.0f", p.theirs[i]), fmt.Sprintf("%.1f", r)})
		}
		median, low, high := span(ratios)
		ours, ourLow, ourHigh := span(p.ours)
		theirs, theirLow, theirHigh := span(p.theirs)
		text := fmt.Sprintf("%.0f times (%.0f to %.0f): %.3g million (%.3g to %.3g) against %.0f (%.0f to %.0f), medians of %d rounds and ranges",
			median, low, high, ours/1e6, ourLow/1e6, ourHigh/1e6, theirs, theirLow, theirHigh, paceRounds)
		if p.wanted == 0 {
			t.Logf("%s against the peer with %s: %s", p.form, p.peerForm, text)
			continue
		}
		proof.Claim(t, proof.Row{
			Topic: "speed", Claim: fmt.Sprintf("stoker/DeepRM-v1 and SJF, %s observations, one core: steps a second against DeepRM's own Python code in turn", p.form),
			Bound: fmt.Sprintf("median ratio ≥ %.0f", p.wanted), Measured: text, Holds: median >= p.wanted,
			Command: "make verify NAME=deeprmpace DEEPRM=CHECKOUT",
		})
	}
	writePace(t, rows)
}

// writePace writes every measurement as pace.csv to the folder for proofs, if there is one.
func writePace(t *testing.T, rows [][]string) {
	t.Helper()
	dir := os.Getenv(proof.Folder)
	if dir == "" {
		return
	}
	var b strings.Builder
	must.Do(t, csv.NewWriter(&b).WriteAll(rows))
	must.Do(t, os.WriteFile(filepath.Join(dir, "pace.csv"), []byte(b.String()), 0o644))
}
