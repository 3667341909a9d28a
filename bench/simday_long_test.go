package bench

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

var (
	wholeDay = flag.Bool("whole-day", false, "simulate the whole day of 50,000 functions (minutes)")
	dayFile  = flag.String("day", "", "file with the line of stoker bench sim-day --json, to be judged instead of a day simulated here")
)

// TestWholeDay compares the day of 50,000 functions with its bounds on time and memory, with the expected number of
// requests, and with Little's law.
func TestWholeDay(t *testing.T) {
	if !*wholeDay && *dayFile == "" {
		t.Skip("a long proof; -whole-day simulates the day, -day FILE judges one")
	}
	r := new(DayResult)
	if *dayFile != "" {
		b, err := os.ReadFile(*dayFile)
		if err == nil {
			err = json.Unmarshal(b, r)
		}
		must.Do(t, err)
	} else {
		var err error
		if r, err = (Day{}).Run(); err != nil {
			t.Fatal(err)
		}
	}
	if r.Functions != 50_000 || r.Hours != 24 {
		t.Fatalf("%d functions for %g hours, want 50,000 for 24", r.Functions, r.Hours)
	}
	const command = "stoker bench sim-day --json"
	took, what := r.Wall, "wall time"
	if r.CPU > 0 {
		took, what = r.CPU, "processor time" // the process may have been paused
	}
	claim := func(holds bool, text, bound, measured string, args ...any) {
		proof.Claim(t, proof.Row{
			Topic: "speed", Command: command, Holds: holds, Claim: text, Bound: bound, Measured: fmt.Sprintf(measured,
				args...),
		})
	}
	claim(took <= 600, "a day of 50,000 functions like the Azure Functions sample's, "+
		"generated, simulated and metered on one core", "10 minutes",
		"%.0f s of %s for %d requests: %.3g µs each", took, what, r.Requests, 1e6*took/float64(r.Requests))
	claim(r.PeakMemory > 0 && r.PeakMemory <= 1000, "peak memory of that day", "1,000 MB",
		"%.0f MB with %.0f instances and %.0f requests under way on average", r.PeakMemory, r.Instances, r.Busy)
	off := float64(r.Requests)/r.Expected - 1
	claim(math.Abs(off) <= 0.01, "that day's requests against the mean of the law fitted to the sample", "1 %",
		"%+.3f %%: %d and %.0f; 1,000 times the sample's own %d would be %d", 100*off, r.Requests, r.Expected, r.SampleRequests, 1000*r.SampleRequests)
	off = r.Busy/r.Little - 1
	claim(math.Abs(off) <= 0.01, "that day's busy instances against Little's law, by the durations in the trace", "1 %",
		"%+.3f %%: %.0f and %.0f", 100*off, r.Busy, r.Little)
	t.Logf("cold starts %.3f %% of requests; of the functions' own shares the quartiles are %.3g; utilisation %.3f; busiest 18.6 %% of functions %.4f (sample %.4f)",
		100*r.Cold, r.ColdQuartiles, r.Utilisation, r.TopShare, r.SampleTopShare)
	if dir := os.Getenv(proof.Folder); dir != "" {
		b, err := json.MarshalIndent(r, "", " ")
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "day.json"), append(b, '\n'), 0o644)
		}
		if err != nil {
			t.Error(err)
		}
	}
}
