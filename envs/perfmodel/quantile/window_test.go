package quantile_test

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs/perfmodel/quantile"
)

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
	model  *quantile.Model
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
	Options quantile.Options
}

// DefaultWindow keeps P90 at 90 % on requests that drift.
func DefaultWindow() WindowConfig {
	return WindowConfig{Level: 0.9, Last: 1000, Every: 100, Rate: 0.05, Options: quantile.Full()}
}

// NewWindow returns an empty window.
func NewWindow(c WindowConfig) (*Window, error) {
	switch {
	case !(c.Level > 0 && c.Level < 1):
		return nil, fmt.Errorf("level %g, want one between 0 and 1", c.Level)
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
	m, err := quantile.Fit(w.rows, w.y, []float64{w.c.Level}, w.c.Options)
	if err != nil {
		return err
	}
	w.model = m
	return nil
}
