package profiles

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
)

// ReadDeployed reads functions with the memory sizes that they have and the times of their runs from a CSV file with a
// header. It has the columns function and memory (MB), and either ms or seconds, one run a row, or quantiles in
// milliseconds, one function a row: p0, p50, p99.9, … with p0 and p100 among them, and perhaps mean. Other columns are not
// read. Errors name line and column.
func ReadDeployed(r io.Reader) ([]Deployed, error) {
	c := csv.NewReader(r)
	head, err := c.Read()
	if err != nil {
		return nil, fmt.Errorf("reading the header: %w", err)
	}
	t := columns(head)
	d := deployedReader{knots: t.knots(), mean: t.find("mean"), runs: map[string][]float64{}}
	if d.function, err = t.want("function", "function", "name"); err != nil {
		return nil, err
	}
	if d.mb, err = t.want("memory size", "memory", "memory size", "memory_mb", "mb"); err != nil {
		return nil, err
	}
	if n := len(d.knots); n == 0 {
		if d.seconds, d.scale, err = t.duration(); err != nil {
			return nil, fmt.Errorf("%w, or quantiles p0 to p100", err)
		}
	} else if d.knots[0].p != 0 || d.knots[n-1].p != 1 {
		return nil, errors.New("line 1: the quantiles go from p0 to p100: one of them is missing")
	}
	if err := rows(c, d.row); err != nil {
		return nil, err
	}
	for i := range d.out {
		if o := &d.out[i]; o.Law == nil {
			if o.Law, err = bill.NewRuns(d.runs[o.Name]); err != nil {
				return nil, fmt.Errorf("function %s: %w", o.Name, trim(err))
			}
		}
	}
	return d.out, nil
}

// deployedReader has the columns of a file of functions, and what was read.
type deployedReader struct {
	function, mb, seconds, mean int
	scale                       float64 // seconds in the unit of the column
	knots                       []knot
	out                         []Deployed
	runs                        map[string][]float64
}

// knot is a column of quantiles.
type knot struct {
	p      float64
	column int
}

// knots returns the columns of quantiles, ascending.
func (t columnNames) knots() []knot {
	var out []knot
	for i, name := range t {
		if !strings.HasPrefix(name, "p") {
			continue
		}
		if p, err := strconv.ParseFloat(name[1:], 64); err == nil {
			out = append(out, knot{p / 100, i})
		}
	}
	slices.SortFunc(out, func(a, b knot) int { return cmp.Compare(a.p, b.p) })
	return out
}

// row reads a row: of a function's quantiles, or of a run.
func (r *deployedReader) row(row []string, number func(column int) (float64, error)) error {
	d := Deployed{Name: row[r.function]}
	var err error
	if d.MB, err = number(r.mb); err != nil {
		return err
	}
	if !(d.MB > 0) {
		return fmt.Errorf("a memory size of %g MB, want a positive number", d.MB)
	}
	i := slices.IndexFunc(r.out, func(o Deployed) bool { return o.Name == d.Name })
	if len(r.knots) > 0 {
		if i >= 0 {
			return fmt.Errorf("function %s is there twice", d.Name)
		}
		if d.Law, err = r.quantiles(number); err != nil {
			return err
		}
		r.out = append(r.out, d)
		return nil
	}
	x, err := number(r.seconds)
	if err != nil {
		return err
	}
	switch {
	case i < 0:
		r.out = append(r.out, d)
	case r.out[i].MB != d.MB:
		return fmt.Errorf("function %s has %g MB here and %g MB before: want the one size that it has", d.Name, d.MB, r.out[i].MB)
	}
	r.runs[d.Name] = append(r.runs[d.Name], x*r.scale)
	return nil
}

func (r *deployedReader) quantiles(number func(column int) (float64, error)) (bill.Invertible, error) {
	var q bill.Quantiles
	for _, k := range r.knots {
		ms, err := number(k.column)
		if err != nil {
			return nil, err
		}
		if ms < 0 {
			return nil, fmt.Errorf("column %d: a time of %g ms, want a number from 0", k.column+1, ms)
		}
		q.P, q.Seconds = append(q.P, k.p), append(q.Seconds, ms/1000)
	}
	if err := q.Validate(); err != nil {
		return nil, trim(err)
	}
	if r.mean < 0 {
		return q, nil
	}
	mean, err := number(r.mean)
	if err != nil {
		return nil, err
	}
	if q, err = q.WithMean(mean / 1000); err != nil {
		return nil, trim(err)
	}
	return q, nil
}
