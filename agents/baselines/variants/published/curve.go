package published

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/agents/baselines/variants"
)

// Point is what PRCP published of one strategy under one constraint.
type Point struct {
	Constraint float64 // USD per million executions of a budget, milliseconds of a latency
	Strategy   variants.Strategy
	Seconds    float64
	USD        float64            // per million executions
	MB         map[string]float64 // per function
	Iterations int
}

// columns are the names of the strategies in the files, by direction.
var columns = map[string]map[variants.Strategy]string{
	"Budget":                 {variants.Disabled: "disabled", variants.Slope: "RT/M", variants.Last: "ERT/C", variants.Max: "MAX"},
	"Performance_Constraint": {variants.Disabled: "disabled", variants.Slope: "M/RT", variants.Last: "C/ERT", variants.Max: "MAX"},
}

// ReadCurve reads one of AppN_BPBC.csv and AppN_BCPC.csv. Errors name the line.
func ReadCurve(r io.Reader) ([]Point, error) {
	rows, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) < 2 || columns[rows[0][0]] == nil {
		return nil, fmt.Errorf("line 1: want a first column Budget or Performance_Constraint, and points below")
	}
	var out []Point
	for i, row := range rows[1:] {
		number := func(column string) (float64, error) {
			c := slices.Index(rows[0], column)
			if c < 0 {
				return 0, fmt.Errorf("line 1: no column %q", column)
			}
			x, err := strconv.ParseFloat(row[c], 64)
			if err != nil {
				return 0, fmt.Errorf("line %d, column %s: %q is not a number", i+2, column, row[c])
			}
			return x, nil
		}
		for _, s := range variants.Strategies()[:4] {
			name := "BCR_" + columns[rows[0][0]][s]
			p := Point{Strategy: s}
			var steps float64
			for column, to := range map[string]*float64{rows[0][0]: &p.Constraint, name + "_RT": &p.Seconds,
				name + "_Cost": &p.USD, name + "_Iterations": &steps} {
				if *to, err = number(column); err != nil {
					return nil, err
				}
			}
			p.Seconds /= 1000
			p.Iterations = int(steps)
			c := slices.Index(rows[0], name+"_Config")
			if c < 0 {
				return nil, fmt.Errorf("line 1: no column %q", name+"_Config")
			}
			if p.MB, err = sizes(row[c]); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+2, err)
			}
			out = append(out, p)
		}
	}
	return out, nil
}

// sizes reads a configuration such as {1: 896, 2: 1856}, whose keys are the functions' numbers.
func sizes(s string) (map[string]float64, error) {
	out := map[string]float64{}
	for part := range strings.SplitSeq(strings.Trim(s, "{} "), ",") {
		f, mb, ok := strings.Cut(part, ":")
		x, err := strconv.ParseFloat(strings.TrimSpace(mb), 64)
		if !ok || err != nil {
			return nil, fmt.Errorf("%q is not a configuration such as {1: 896, 2: 1856}", s)
		}
		out["f"+strings.TrimSpace(f)] = x
	}
	return out, nil
}
