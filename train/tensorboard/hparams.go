package tensorboard

import (
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Tags under which TensorBoard's HParams tab finds its data.
const (
	tagExperiment = "_hparams_/experiment"
	tagStart      = "_hparams_/session_start_info"
	tagEnd        = "_hparams_/session_end_info"
)

// Status is how a run ended, for the HParams tab.
type Status int64

// The statuses, by TensorBoard's numbers.
const (
	Success Status = 1
	Failure Status = 2
)

// HParams logs a run's hyperparameters: strings, bools and numbers. metrics names the tags of the scalars to show
// beside them.
//
// With metrics, TensorBoard takes the table's columns from this run, and where several runs are shown together from
// any one of them. Without (nil), it gathers the columns from all runs, and every scalar is a metric: better where
// runs with different hyperparameters are compared.
func (w *Writer) HParams(params map[string]any, metrics []string) error {
	names := slices.Sorted(maps.Keys(params))
	var start []byte
	experiment := appendDouble(nil, experimentTime, w.seconds())
	for _, name := range names {
		value, kind, err := hparam(params[name])
		if err != nil {
			return fmt.Errorf("hyperparameter %q: %w", name, err)
		}
		start = appendMessage(start, startHParams, appendMessage(appendString(nil, mapKey, name), mapValue, value))
		experiment = appendMessage(experiment, experimentHParam,
			appendInt(appendString(nil, hparamName, name), hparamType, kind))
	}
	start = appendDouble(start, startTime, w.seconds())
	if len(metrics) > 0 {
		for _, tag := range metrics {
			experiment = appendMessage(experiment, experimentMetric,
				appendMessage(nil, metricName, appendString(nil, metricNameTag, tag)))
		}
		if err := w.hparams(tagExperiment, hparamsExperiment, experiment); err != nil {
			return err
		}
	}
	return w.hparams(tagStart, hparamsStart, start)
}

// Finish logs how the run ended. TensorBoard keeps the first such word of a run, so a run that may be resumed says
// nothing yet.
func (w *Writer) Finish(s Status) error {
	return w.hparams(tagEnd, hparamsEnd, appendDouble(appendInt(nil, endStatus, int64(s)), endTime, w.seconds()))
}

func (w *Writer) seconds() float64 { return float64(w.now().UnixMicro()) / 1e6 }

func (w *Writer) hparams(tag string, field protowire.Number, message []byte) error {
	content := appendMessage(nil, field, message) // its version is 0, which is not written
	return w.write(appendValue(w.event(0), tag, appendNull(appendPlugin(nil, "hparams", content))))
}

// hparam returns a value as google.protobuf.Value, and its type for the HParams tab.
func hparam(v any) (value []byte, kind int64, err error) {
	number := func(x float64) ([]byte, int64, error) { return appendDouble(nil, valueNumber, x), hparamTypeFloat, nil }
	switch v := v.(type) {
	case string:
		return appendString(nil, valueString, v), hparamTypeString, nil
	case bool:
		return appendInt(nil, valueBool, int64(protowire.EncodeBool(v))), hparamTypeBool, nil
	case float64:
		return number(v)
	case float32:
		return number(float64(v))
	case int:
		return number(float64(v))
	case int64:
		return number(float64(v))
	case uint64:
		return number(float64(v))
	}
	return nil, 0, fmt.Errorf("%T cannot be shown: want a string, a bool or a number", v)
}
