package memory

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Sample is one run of a function.
type Sample struct {
	MB      float64 // memory size
	Seconds float64 // execution time
	Line    int     // of the file that it was read from, 0 where there is none
}

// Size is what was measured at one memory size.
type Size struct {
	MB           float64 `json:"mb"`
	Runs         int     `json:"runs"`
	Mean, Median float64 `json:"-"` // seconds
	SD           float64 `json:"-"` // seconds, of single runs
}

// Sizes gathers samples by memory size, ascending. A time or a size that is not positive and finite is an error, and so
// are times that rise with memory from the smallest to the largest size: then memory buys nothing, or the columns are
// exchanged.
func Sizes(samples []Sample) ([]Size, error) {
	if len(samples) == 0 {
		return nil, fmt.Errorf("memory: no measurements")
	}
	by := map[float64][]float64{}
	for _, s := range samples {
		switch {
		case !(s.MB > 0) || math.IsInf(s.MB, 0):
			return nil, fmt.Errorf("memory: line %d: a memory size of %g MB, want a positive number", s.Line, s.MB)
		case !(s.Seconds > 0) || math.IsInf(s.Seconds, 0):
			return nil, fmt.Errorf("memory: line %d: an execution time of %g s, want a positive number", s.Line, s.Seconds)
		}
		by[s.MB] = append(by[s.MB], s.Seconds)
	}
	out := make([]Size, 0, len(by))
	for mb, times := range by {
		slices.Sort(times)
		out = append(out, SizeOf(mb, times))
	}
	slices.SortFunc(out, func(a, b Size) int { return cmp.Compare(a.MB, b.MB) })
	if first, last := out[0], out[len(out)-1]; last.Mean > first.Mean {
		return nil, fmt.Errorf("memory: times rise with memory: %.4g s with %g MB, %.4g s with %g MB; want "+
			"measurements of a function that more memory does not slow down", first.Mean, first.MB, last.Mean, last.MB)
	}
	return out, nil
}

// SizeOf summarises sorted times, of which there is one at least. A few runs of a size say nothing about others.
func SizeOf(mb float64, times []float64) Size {
	s := Size{MB: mb, Runs: len(times)}
	n := float64(len(times))
	for _, t := range times {
		s.Mean += t
	}
	s.Mean /= n
	for _, t := range times {
		s.SD += float64((t - s.Mean) * (t - s.Mean))
	}
	s.SD = math.Sqrt(s.SD / max(1, n-1))
	m := len(times) / 2
	s.Median = times[m]
	if len(times)%2 == 0 {
		s.Median = (times[m-1] + times[m]) / 2
	}
	return s
}

// Rises lists the sizes whose mean is above the one before by more than two standard errors and by 5 %: anomalies
// for which the thesis repeats the measurement after a cold start.
func Rises(sizes []Size) []Size {
	var out []Size
	for i := 1; i < len(sizes); i++ {
		a, b := sizes[i-1], sizes[i]
		err := math.Sqrt(float64(a.SD*a.SD)/float64(a.Runs) + float64(b.SD*b.SD)/float64(b.Runs))
		if d := b.Mean - a.Mean; d > 2*err && d > 0.05*a.Mean {
			out = append(out, b)
		}
	}
	return out
}

// columns are the names, lower case, by which [Read] knows a column.
var columns = []struct {
	what  string
	names []string
	scale float64 // to MB or seconds
}{
	{"function", []string{"function", "name"}, 0},
	{"memory size", []string{"memory size", "memory", "mb", "memory_mb"}, 1},
	{"duration", []string{"duration", "duration_ms", "ms", "milliseconds"}, 1e-3},
	{"duration", []string{"seconds", "duration_s", "s"}, 1},
}

// Read reads runs from a CSV file with a header: a function's name (may be missing: all rows are one function, named
// ""), a memory size in MB and a duration, in milliseconds ("duration", "ms") or seconds ("seconds"). Other columns are
// not read. It returns the functions in the order of the file. Errors name line and column.
func Read(r io.Reader) (functions []string, samples map[string][]Sample, err error) {
	c := csv.NewReader(r)
	c.ReuseRecord = true
	head, err := c.Read()
	head = slices.Clone(head)
	if err != nil {
		return nil, nil, fmt.Errorf("memory: reading the header: %w", err)
	}
	at := [3]int{-1, -1, -1}
	var scale float64
	for i, name := range head {
		name = strings.ToLower(strings.TrimSpace(name))
		for j, col := range columns {
			if k := min(j, 2); slices.Contains(col.names, name) && at[k] < 0 {
				at[k] = i
				if k == 2 {
					scale = col.scale
				}
			}
		}
	}
	for k := 1; k < 3; k++ {
		if at[k] < 0 {
			return nil, nil, fmt.Errorf("memory: line 1: no column for the %s among %q: want one named %q", columns[k].what,
				head, columns[k].names[0])
		}
	}
	samples = map[string][]Sample{}
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, fmt.Errorf("memory: %w", err)
		}
		line, _ := c.FieldPos(0)
		f := ""
		if at[0] >= 0 {
			f = strings.Clone(row[at[0]])
		}
		s := Sample{Line: line}
		if s.MB, err = strconv.ParseFloat(strings.TrimSpace(row[at[1]]), 64); err != nil {
			return nil, nil, fmt.Errorf("memory: line %d, column %d: %q is not a number of MB", line, at[1]+1, row[at[1]])
		}
		if s.Seconds, err = strconv.ParseFloat(strings.TrimSpace(row[at[2]]), 64); err != nil {
			return nil, nil, fmt.Errorf("memory: line %d, column %d: %q is not a duration", line, at[2]+1, row[at[2]])
		}
		s.Seconds *= scale
		if _, ok := samples[f]; !ok {
			functions = append(functions, f)
		}
		samples[f] = append(samples[f], s)
	}
	if len(functions) == 0 {
		return nil, nil, fmt.Errorf("memory: the file has a header and no measurements")
	}
	return functions, samples, nil
}
