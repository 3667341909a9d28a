package sim

import (
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stoker-rl/stoker/tools/proof"
)

var long = flag.Bool("long", false, "run the long proofs")

// Lengths of runs of the long test, in requests per window. A pilot with another seed says how long a run must be for
// its intervals to be aimed wide, relative to theory; runs at loads that are not sure have a fixed length.
const (
	pilotWindow  = 10_000
	looseWindow  = 100_000
	longestRun   = 60e6   // requests
	aimed        = 0.0067 // a pilot's standard error is itself known to a tenth, and some of many are low
	tolerated    = 0.01
	pilotSeeds   = 1000
	measureSeeds = 2000
)

// demand says what waits and probabilities must be, beside inside their intervals.
func (q *queue) demand() string {
	switch q.sure {
	case 0:
		return ""
	case 2:
		return ", and within 1 %"
	}
	return fmt.Sprintf(", and within 1 %% up to %g", q.sure)
}

// exacting are the quantities that must be within 1 %: waits and probabilities.
const exacting = 3

// window is how many requests a window of the run at a load must have, as a pilot tells: standard errors fall with the
// root of the length.
func (q *queue) window(t *testing.T, load, factor float64, want answers) float64 {
	if load > q.sure {
		return looseWindow
	}
	_, sd := q.run(t, load, pilotSeeds+uint64(100*load), pilotWindow)
	longer := 1.0
	for _, k := range compared(want) {
		if k < exacting {
			longer = max(longer, math.Pow(factor*sd[k]/(aimed*want[k]), 2))
		}
	}
	return min(math.Ceil(longer*pilotWindow), longestRun/windowCount)
}

// measured is a queue at a load, measured.
type measured struct {
	load, requests  float64
	want, got, half answers
}

// Every queue at every load inside simultaneous intervals, and waits and probabilities within 1 %; with the plot and
// the table of all.
func TestQueuesLong(t *testing.T) {
	if !*long {
		t.Skip("a long proof; -long runs it")
	}
	n := 0
	for i := range queues {
		for _, load := range queues[i].loads {
			n += len(compared(queues[i].theory(&queues[i], load)))
		}
	}
	factor := simultaneous(n)
	points := make([][]measured, len(queues))
	for i := range queues {
		q := &queues[i]
		total, outside, compares, far, worst, widest := 0.0, 0, 0, 0, 0.0, 0.0
		for j, load := range q.loads {
			p := measured{load: load, want: q.theory(q, load)}
			window := q.window(t, load, factor, p.want)
			var sd answers
			p.got, sd = q.run(t, load, measureSeeds+uint64(100*i+j), window)
			p.requests = windowCount * window
			total += p.requests
			for _, k := range compared(p.want) {
				p.half[k] = factor * sd[k]
				off := math.Abs(p.got[k] - p.want[k])
				compares++
				if off > p.half[k] {
					outside++
				}
				if k < exacting && (load <= q.sure || q.sure == 0) {
					worst = max(worst, off/p.want[k])
				}
				if k < exacting && load <= q.sure {
					widest = max(widest, p.half[k]/p.want[k])
					if off > tolerated*p.want[k] || p.half[k] > tolerated*p.want[k] {
						far++
					}
				}
				t.Logf("%s, load %g, %.3g requests: %s %.6g ± %.2g, theory %.6g", q.name, load, p.requests, quantities[k].name,
					p.got[k], p.half[k], p.want[k])
			}
			points[i] = append(points[i], p)
		}
		seen := fmt.Sprintf("largest error %.2f %%", 100*worst)
		if q.sure > 0 {
			seen += fmt.Sprintf(", widest half-interval %.2f %%", 100*widest)
		}
		proof.Claim(t, proof.Row{
			Topic: "simulator",
			Claim: fmt.Sprintf("%s at loads %v: waits and probabilities against theory, long runs", q.name, q.loads),
			Bound: fmt.Sprintf("inside its own interval (simultaneous 95 %% of %d, t × %.2f)%s", n, factor, q.demand()),
			Measured: fmt.Sprintf("%d of %d outside; %s; %.3g requests in all, runs of %d windows", outside, compares, seen,
				total, windowCount),
			Holds: outside == 0 && far == 0,
		})
	}
	if dir := os.Getenv(proof.Folder); dir != "" {
		if err := writePoints(filepath.Join(dir, "queues.csv"), points); err != nil {
			t.Error(err)
		}
		draw(t, dir)
	}
}

func writePoints(path string, points [][]measured) error {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 8, 64) }
	rows := [][]string{{"queue", "load", "requests", "quantity", "simulated", "half_interval", "theory"}}
	for i, ps := range points {
		for _, p := range ps {
			for _, k := range compared(p.want) {
				rows = append(rows, []string{queues[i].name, number(p.load), number(p.requests), quantities[k].name,
					number(p.got[k]), number(p.half[k]), number(p.want[k])})
			}
		}
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(csv.NewWriter(f).WriteAll(rows), f.Close())
}
