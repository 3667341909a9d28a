package frontier_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stoker-rl/stoker/envs/frontier"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

var long = flag.Bool("long", false, "1,000 applications of up to a million configurations each")

// outcome is what comparing a front with enumeration gave.
type outcome struct {
	app            string
	functions      int
	configurations float64
	points, others int
	err            error
}

// The exact front is that of enumeration, for graphs of all shapes.
func TestExactIsEnumeration(t *testing.T) {
	apps, decades := 100, 0.5 // from a thousand configurations on
	if *long {
		apps, decades = 1000, 3.0
	}
	out := make([]outcome, apps)
	next := make(chan int)
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := range next {
				p := generated(t, uint64(i), math.Pow(10, 3+decades*float64(i+1)/float64(apps)))
				o := &out[i]
				*o = outcome{p.Flow.Name(), p.Flow.NumFunctions(), configurations(p), 0, 0, nil}
				var front frontier.Front
				if front, o.err = frontier.Exact(context.Background(), p); o.err == nil {
					o.err = equal(p, front)
				}
				o.points = len(front)
				part, err := p.Flow.Parts(p.Delays)
				if err != nil {
					o.err = err
				}
				o.others = others(part)
			}
		})
	}
	for i := range out {
		next <- i
	}
	close(next)
	wait.Wait()
	var all, crossing, mismatches, points int
	var tried, largest float64
	table := []string{"app,functions,configurations,points,crossing_parts"}
	for _, o := range out {
		if o.err != nil {
			mismatches++
			t.Logf("%s: %v", o.app, o.err)
		}
		if all++; o.others > 0 {
			crossing++
		}
		points, tried, largest = points+o.points, tried+o.configurations, max(largest, o.configurations)
		table = append(table, fmt.Sprintf("%s,%d,%.0f,%d,%d", o.app, o.functions, o.configurations, o.points, o.others))
	}
	proof.Claim(t, proof.Row{
		Topic: "numerics", Claim: "Exact fronts against enumeration, on generated applications of all shapes",
		Bound: "0 mismatches",
		Measured: fmt.Sprintf("%d mismatches of %d applications (%d with crossing parts), up to %.0f configurations, "+
			"%.0f in all; %d points", mismatches, all, crossing, largest, tried, points),
		Holds: mismatches == 0,
	})
	if dir := os.Getenv(proof.Folder); dir != "" {
		must.Do(t, os.WriteFile(filepath.Join(dir, "fronts.csv"), []byte(strings.Join(table, "\n")+"\n"), 0o644))
	}
}

// others counts the parts that are neither series nor parallel.
func others(p workflow.Part) int {
	n := 0
	if p.Kind == workflow.Other {
		n++
	}
	for _, q := range p.Parts {
		n += others(q)
	}
	return n
}
