package configs

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
	"github.com/stoker-rl/stoker/envs/steps"
)

// fit fits the laws of all steps that have none to measured runs of an instance (StepConf, eq. 1).
func (f *stepsFile) fit(lambdas map[string]string) error {
	file, err := os.Open(f.Profiles)
	if err != nil {
		return bounds.Errorf("profiles", "cannot be read: %v", err)
	}
	defer file.Close()
	names, runs, err := readRuns(file)
	if err != nil {
		return bounds.Errorf("profiles", "%s: %v", f.Profiles, err)
	}
	platform := f.Where()
	for i := range f.Steps {
		s := &f.Steps[i]
		if s.Tasks == 0 || !s.Law.Empty() {
			continue
		}
		of := runs[s.Name]
		if of == nil {
			of = runs[lambdas[s.Name]]
		}
		key := fmt.Sprintf("steps[%d].law", i)
		if of == nil {
			return bounds.Errorf(key, "is missing, and %s has no runs of %q: it has those of %s", f.Profiles, s.Name,
				strings.Join(names, ", "))
		}
		p, err := memory.FitPieces(of, s.Multicore, memory.Options{SingleCore: platform.SingleCore})
		if err != nil {
			return bounds.Errorf(key, "cannot be fitted to the runs of %q in %s: %s", s.Name, f.Profiles,
				strings.TrimPrefix(err.Error(), "memory: "))
		}
		if s.Law = (steps.Law{A: p.Inverse.A, B: p.Inverse.B, Fixed: p.Inverse.F}); s.Multicore {
			s.Law = steps.Law{A: p.Exponential.A, B: p.Exponential.B, C: p.Exponential.C, Fixed: p.Exponential.F}
		}
	}
	return nil
}

// runColumns are the columns of a file of measured runs of steps, lower case. The first three have no default.
var runColumns = []struct {
	names []string
	scale float64
	value float64 // where the column is missing
}{
	{names: []string{"step", "function", "name"}},
	{names: []string{"mb", "memory", "memory size", "memory_mb"}, scale: 1},
	{names: []string{"seconds", "duration_s", "s"}, scale: 1},
	{names: []string{"tasks", "jobs"}, scale: 1, value: 1},
	{names: []string{"processes", "cores"}, scale: 1, value: 1},
}

// milliseconds are names of the third column in another unit.
var milliseconds = []string{"ms", "duration", "duration_ms", "milliseconds"}

// readRuns reads measured runs of instances from a CSV file with a header: the step, the memory size in MB, the time in
// seconds (or ms), and how many tasks and processes the instance had (1 where the column is missing). It returns the
// steps in the order of the file. Errors name line and column.
func readRuns(r io.Reader) (names []string, runs map[string][]memory.Job, err error) {
	c := csv.NewReader(r)
	head, err := c.Read()
	if err != nil {
		return nil, nil, fmt.Errorf("reading the header: %w", err)
	}
	at := slices.Repeat([]int{-1}, len(runColumns))
	scale := 1.0
	for i, name := range head {
		name = strings.ToLower(strings.TrimSpace(name))
		for k, col := range runColumns {
			if slices.Contains(col.names, name) && at[k] < 0 {
				at[k] = i
			}
		}
		if slices.Contains(milliseconds, name) && at[2] < 0 {
			at[2], scale = i, 1e-3
		}
	}
	for k := range 3 {
		if at[k] < 0 {
			return nil, nil, fmt.Errorf("line 1: no column %s among %q: want step, mb, seconds, and where they are not 1 tasks "+
				"and processes", runColumns[k].names[0], head)
		}
	}
	runs = map[string][]memory.Job{}
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		line, _ := c.FieldPos(0)
		var x [5]float64
		for k := 1; k < len(runColumns); k++ {
			x[k] = runColumns[k].value
			if at[k] < 0 {
				continue
			}
			x[k], err = strconv.ParseFloat(strings.TrimSpace(row[at[k]]), 64)
			if err != nil || !(x[k] > 0 && x[k] <= 1e9) {
				return nil, nil, fmt.Errorf("line %d, column %d: %s is %q, want a number above 0", line, at[k]+1,
					runColumns[k].names[0], row[at[k]])
			}
		}
		name := strings.TrimSpace(row[at[0]])
		if runs[name] == nil {
			names = append(names, name)
		}
		runs[name] = append(runs[name], memory.Job{MB: x[1], Seconds: float64(x[2] * scale), Jobs: x[3], Q: x[4]})
	}
	if len(names) == 0 {
		return nil, nil, fmt.Errorf("the file has a header and no runs")
	}
	return names, runs, nil
}
