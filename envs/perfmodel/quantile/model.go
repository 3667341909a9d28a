// Package quantile predicts quantiles of delays from what is known of a request: StepConf's eq. 2.
//
// A [Model] is linear in the variables, their squares and their products, and is fitted by minimising the quantile
// loss, a linear program. [Solve] solves it by an interior-point method whose result carries a dual certificate, the
// greatest amount by which the loss may be above the least one. Several quantiles are predicted together and sorted,
// so that they never cross. [Window] predicts the next requests from the last ones, and moves the level it asks for so
// that the share of requests below the prediction is the one wanted although the law changes.
package quantile

import (
	"fmt"
	"math"
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

// Window predicts one quantile of the next request from the last ones, as StepConf's estimator does: a [Model] fitted
// again after every few requests.
//
// A model of many columns, fitted to few requests and used on later ones, covers less than its level says. So the
// prediction is multiplied by a factor that rises a little after a request above it and falls after one below, in the
// proportion that keeps the share below at the level whatever the law of the requests does (the quantile tracking of
// Angelopoulos, Candès and Tibshirani, 2023, on the logarithm).
type Window struct {
	c      WindowConfig
	rows   [][]float64 // a ring of the last requests
	y      []float64
	seen   int // requests observed
	model  *Model
	factor float64 // logarithm
	one    [1]float64
}

// WindowConfig are a window's settings.
type WindowConfig struct {
	// Level is the share of requests that should be below the prediction.
	Level float64
	// Last is the number of requests that a model is fitted to, Every how often it is fitted again.
	Last, Every int
	// Rate is the step of the factor's logarithm: Rate·Level after a request above, Rate·(1−Level) down after one below.
	// 0 keeps the factor at one, as in the paper.
	Rate float64
	// Options are the model's columns.
	Options Options
}

// PaperWindow is StepConf's estimator: P90 from the last 100 requests, without a factor.
func PaperWindow() WindowConfig {
	return WindowConfig{Level: 0.9, Last: 100, Every: 10, Options: Full()}
}

// DefaultWindow keeps P90 at 90 % on requests that drift.
func DefaultWindow() WindowConfig {
	return WindowConfig{Level: 0.9, Last: 1000, Every: 100, Rate: 0.05, Options: Full()}
}

// NewWindow returns an empty window.
func NewWindow(c WindowConfig) (*Window, error) {
	switch {
	case !(c.Level > 0 && c.Level < 1):
		return nil, fmt.Errorf("quantile: level %g, want one between 0 and 1", c.Level)
	case c.Last < 1 || c.Every < 1:
		return nil, fmt.Errorf("quantile: a window of %d requests fitted after every %d, want at least 1 of both", c.Last,
			c.Every)
	case !(c.Rate >= 0 && c.Rate < 1):
		return nil, fmt.Errorf("quantile: rate %g, want one from 0 to below 1", c.Rate)
	}
	return &Window{c: c}, nil
}

// Predict returns the prediction for a request, which is at least 0; ok is false until enough were observed.
func (w *Window) Predict(row []float64) (y float64, ok bool, err error) {
	if w.model == nil {
		return 0, false, nil
	}
	out, err := w.model.Predict(w.one[:0], row)
	if err != nil {
		return 0, false, err
	}
	return max(0, out[0]) * math.Exp(w.factor), true, nil
}

// Observe tells of a request that has ended: what Predict was given, and its delay, which is positive.
func (w *Window) Observe(row []float64, y float64) error {
	if !(y > 0) || math.IsInf(y, 0) {
		return fmt.Errorf("quantile: request %d has a delay of %g, want a positive number", w.seen, y)
	}
	predicted, ok, err := w.Predict(row)
	if err != nil {
		return err
	}
	if ok {
		if y > predicted {
			w.factor += float64(w.c.Rate * w.c.Level)
		} else {
			w.factor -= float64(w.c.Rate * (1 - w.c.Level))
		}
	}
	if len(w.rows) < w.c.Last {
		w.rows, w.y = append(w.rows, append([]float64(nil), row...)), append(w.y, y)
	} else {
		i := w.seen % w.c.Last
		w.rows[i], w.y[i] = append(w.rows[i][:0], row...), y
	}
	w.seen++
	if w.seen%w.c.Every != 0 || len(w.rows) < 2*w.c.Options.Columns(len(row)) {
		return nil
	}
	m, err := Fit(w.rows, w.y, []float64{w.c.Level}, w.c.Options)
	if err != nil {
		return err
	}
	w.model = m
	return nil
}
