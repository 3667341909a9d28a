// Package quantile predicts quantiles of delays from what is known of a request: StepConf's eq. 2.
//
// A [Model] is linear in the variables, their squares and their products, and is fitted by minimising the quantile
// loss, a linear program. [Solve] solves it by an interior-point method whose result carries a dual certificate, the
// greatest amount by which the loss may be above the least one. Several quantiles are predicted together and sorted,
// so that they never cross.
package quantile

import (
	"fmt"
	"slices"
)

// Options say what a model's columns are: beside a constant and the variables themselves, their squares and the
// products of each two.
type Options struct{ Squares, Products bool }

// Full is StepConf's eq. 2.
func Full() Options { return Options{Squares: true, Products: true} }

// Model predicts quantiles of y from variables.
type Model struct {
	// Levels ascend; Coefficients has a row for each.
	Levels       []float64   `json:"levels"`
	Variables    int         `json:"variables"`
	Options      Options     `json:"options"`
	Coefficients [][]float64 `json:"coefficients"`
	// Gap is the largest gap of the levels, relative to the loss.
	Gap float64 `json:"gap"`

	columns []float64 // of the row asked for last
}

// Columns returns how many columns a model of some variables has.
func (o Options) Columns(variables int) int {
	n := 1 + variables
	if o.Squares {
		n += variables
	}
	if o.Products {
		n += variables * (variables - 1) / 2
	}
	return n
}

// Append appends the columns of a row of variables to dst.
func (o Options) Append(dst, row []float64) []float64 {
	dst = append(append(dst, 1), row...)
	if o.Squares {
		for _, v := range row {
			dst = append(dst, float64(v*v))
		}
	}
	if o.Products {
		for i, v := range row {
			for _, u := range row[i+1:] {
				dst = append(dst, float64(v*u))
			}
		}
	}
	return dst
}

// Fit fits a model to rows of variables and the y of each, at ascending levels. It needs as many rows as columns.
func Fit(rows [][]float64, y []float64, levels []float64, o Options) (*Model, error) {
	if len(rows) == 0 || len(rows) != len(y) {
		return nil, fmt.Errorf("quantile: %d rows and %d values of y, want as many of both, and some", len(rows), len(y))
	}
	if len(levels) == 0 {
		return nil, fmt.Errorf("quantile: no levels")
	}
	for i, l := range levels {
		if i > 0 && !(l > levels[i-1]) {
			return nil, fmt.Errorf("quantile: levels %v, want ascending ones", levels)
		}
	}
	m := &Model{Levels: slices.Clone(levels), Variables: len(rows[0]), Options: o}
	columns := o.Columns(m.Variables)
	x := make([]float64, 0, len(rows)*columns)
	for i, r := range rows {
		if len(r) != m.Variables {
			return nil, fmt.Errorf("quantile: row %d has %d variables, the first %d", i, len(r), m.Variables)
		}
		x = o.Append(x, r)
	}
	for _, level := range levels {
		s, err := Solve(x, columns, y, level)
		if err != nil {
			return nil, err
		}
		m.Coefficients = append(m.Coefficients, s.Coefficients)
		if s.Loss > 0 {
			m.Gap = max(m.Gap, s.Gap/s.Loss)
		}
	}
	return m, nil
}

// Predict appends the quantiles at the model's levels to dst. They are sorted: quantiles that cross are exchanged,
// which brings none farther from the true one (Chernozhukov, Fernández-Val and Galichon, 2010). A model is used by one
// goroutine at a time.
func (m *Model) Predict(dst, row []float64) ([]float64, error) {
	if len(row) != m.Variables {
		return dst, fmt.Errorf("quantile: %d variables, the model has %d", len(row), m.Variables)
	}
	m.columns = m.Options.Append(m.columns[:0], row)
	from := len(dst)
	for _, c := range m.Coefficients {
		dst = append(dst, dot(m.columns, c))
	}
	slices.Sort(dst[from:])
	return dst, nil
}
