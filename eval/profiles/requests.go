package profiles

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Requests are measured executions of a whole workflow, in the order of the file.
type Requests struct {
	Seconds []float64
	// USD is what a million executions like each one would cost: its functions' bills. Empty where they were not measured.
	USD []float64
}

// ReadRequests reads requests from a CSV file with a header: a duration, in milliseconds ("duration", "ms") or seconds
// ("seconds"), and a cost in USD per execution ("usd") or a million executions ("usd_per_million", "1m_exe_cost"). A file
// may have one of both. Errors name line and column.
func ReadRequests(r io.Reader) (Requests, error) {
	var out Requests
	c := csv.NewReader(r)
	head, err := c.Read()
	if err != nil {
		return out, fmt.Errorf("reading the header: %w", err)
	}
	t := columns(head)
	seconds, scale, noTime := t.duration()
	usd, million := t.find("usd_per_million", "1m_exe_cost"), 1.0
	if usd < 0 {
		usd, million = t.find("usd", "cost"), 1e6
	}
	if noTime != nil && usd < 0 {
		return out, fmt.Errorf("%w, or one for the cost, named usd or usd_per_million", noTime)
	}
	err = rows(c, func(_ []string, number func(int) (float64, error)) error {
		if noTime == nil {
			x, err := number(seconds)
			if err != nil {
				return err
			}
			if x *= scale; !(x > 0) {
				return fmt.Errorf("column %d: a duration of %g s, want a positive number", seconds+1, x)
			}
			out.Seconds = append(out.Seconds, x)
		}
		if usd >= 0 {
			x, err := number(usd)
			if err != nil {
				return err
			}
			if x < 0 {
				return fmt.Errorf("column %d: a cost of %g USD, want a number from 0", usd+1, x)
			}
			out.USD = append(out.USD, x*million)
		}
		return nil
	})
	return out, err
}

// columns are the names of a CSV file's columns, lower case.
type columnNames []string

func columns(head []string) columnNames {
	out := make(columnNames, len(head))
	for i, name := range head {
		out[i] = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")))
	}
	return out
}

// find returns the column that has the first of the names that is there, or -1.
func (t columnNames) find(names ...string) int {
	for _, n := range names {
		if i := slices.Index(t, n); i >= 0 {
			return i
		}
	}
	return -1
}

func (t columnNames) want(what string, names ...string) (int, error) {
	if i := t.find(names...); i >= 0 {
		return i, nil
	}
	return -1, fmt.Errorf("line 1: no column for the %s among %q: want one named %q", what, []string(t), names[0])
}

// duration returns the column of times, and what makes seconds of them.
func (t columnNames) duration() (column int, scale float64, err error) {
	if i := t.find("seconds", "duration_s", "s"); i >= 0 {
		return i, 1, nil
	}
	i, err := t.want("duration", "ms", "duration", "duration_ms", "milliseconds")
	return i, 1e-3, err
}

// rows calls f for each row, with a function that reads a number. Errors get the line. No rows are an error.
func rows(c *csv.Reader, f func(row []string, number func(column int) (float64, error)) error) error {
	for n := 0; ; n++ {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			if n == 0 {
				return errors.New("the file has a header and no rows")
			}
			return nil
		}
		if err != nil {
			return err
		}
		line, _ := c.FieldPos(0)
		err = f(row, func(i int) (float64, error) {
			x, err := strconv.ParseFloat(strings.TrimSpace(row[i]), 64)
			if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
				return 0, fmt.Errorf("column %d: %q is no number", i+1, row[i])
			}
			return x, nil
		})
		if err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}
