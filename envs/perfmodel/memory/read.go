package memory

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

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
