package stepconf

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/table"
	"github.com/stoker-rl/stoker/rng"
)

// measuredAt are the five sizes at which the functions of --data are profiled: those measured range from 128 to 3,008 MB.
var measuredAt = []float64{128, 512, 1024, 2048, 3008}

// bought is how many runs a profile has at each of its sizes.
const bought = 10

// data are six functions that were measured on AWS Lambda, 100 runs at each of 46 sizes: eq. 1, fitted at five of them, is
// held against all.
type data struct {
	names []string
	error [][][]float64 // by function, size and seed
}

func measuredFunctions(ctx context.Context, o *suite.Options) (*data, error) {
	if o.Data == "" {
		return nil, nil
	}
	file, err := os.Open(filepath.Join(o.Data, "slapp", "function_profiles.csv"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, suite.Usage("--data %s lacks a file of SLApp's: %v", o.Data, err)
	} else if err != nil {
		return nil, err
	}
	names, samples, err := memory.Read(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	d := &data{names: names, error: make([][][]float64, len(names))}
	return d, o.Each(ctx, "measured functions", len(names), func(i int) (err error) {
		d.error[i], err = errorsOf(samples[names[i]], o.Seeds, uint64(i))
		return err
	})
}

// errorsOf has the relative errors of a function by size and seed: a seed draws which runs the profile has.
func errorsOf(samples []memory.Sample, seeds []uint64, function uint64) ([][]float64, error) {
	all, err := memory.Sizes(samples)
	if err != nil {
		return nil, err
	}
	runs := map[float64][]float64{}
	for _, s := range samples {
		runs[s.MB] = append(runs[s.MB], s.Seconds)
	}
	out := make([][]float64, len(all))
	for _, seed := range seeds {
		draws := rng.New(seed, "stepconf/data").With(function).Stream()
		var profile []memory.Job
		for _, mb := range measuredAt {
			n := len(runs[mb])
			if n == 0 {
				return nil, suite.Usage("--data: function %d has no runs with %g MB", function, mb)
			}
			sum := 0.0
			for range bought {
				sum += runs[mb][draws.IntN(n)]
			}
			profile = append(profile, memory.Job{Jobs: 1, MB: mb, Q: 1, Seconds: sum / bought})
		}
		law, err := memory.FitPieces(profile, false, memory.Options{})
		if err != nil {
			return nil, err
		}
		for m, size := range all {
			out[m] = append(out[m], math.Abs(law.Seconds(1, size.MB, 1)/size.Mean-1))
		}
	}
	return out, nil
}

// below is the share in percent of sizes whose error is below a bound, and the largest error; by seed.
func (d *data) below(function int, bound float64) (share, most []float64) {
	for s := range d.error[function][0] {
		n, worst := 0, 0.0
		for _, bySeed := range d.error[function] {
			x := 100 * bySeed[s]
			if x < bound {
				n++
			}
			worst = max(worst, x)
		}
		share, most = append(share, 100*float64(n)/float64(len(d.error[function]))), append(most, worst)
	}
	return share, most
}

func (d *data) report(r *suite.Report) {
	if d == nil {
		r.Note("without --data: eq. 1 is not held against functions that were measured on AWS")
		return
	}
	t := table.Table{Name: "fig17-measured", Title: "Errors of eq. 1 on functions measured on AWS Lambda",
		Note: "SLApp's six functions, 46 sizes from 128 to 3,008 MB with 100 runs each: fitted to 10 runs at each of 128, 512, 1,024, " +
			"2,048 and 3,008 MB, which a seed draws; held against the means of all runs at every size.",
		Columns: table.Head("function", "sizes below 4 % [%]", "largest error [%]")}
	for f, name := range d.names {
		share, most := d.below(f, mostError)
		t.Rows = append(t.Rows, []any{name, estimate(r, share), estimate(r, most)})
	}
	r.Table(t)
}
