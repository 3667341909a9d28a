package train

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/train/internal/tensorboard"
)

// logger writes one line of metrics to three places: metrics.jsonl (what), timing.jsonl (when and how fast) and the
// event file (both).
type logger struct {
	metrics, timing *durable.Log
	events          *tensorboard.Writer
	line            []byte
	flushed         time.Time
}

// flushEvery bounds how old TensorBoard's picture of a run can be.
const flushEvery = 5 * time.Second

// eventsDir is the folder of event files for TensorBoard in a run's.
const eventsDir = "tensorboard"

// openLogger opens the logs of a run folder; purge, where not negative, is the step from which events of an earlier
// process no longer count.
func openLogger(fsys durable.FS, dir string, purge int64) (*logger, error) {
	l := &logger{}
	if err := l.open(fsys, dir, purge); err != nil {
		_ = l.close() // the first error is the one to tell
		return nil, err
	}
	return l, nil
}

func (l *logger) open(fsys durable.FS, dir string, purge int64) (err error) {
	if l.metrics, err = durable.OpenLog(fsys, filepath.Join(dir, checkpoints.MetricsFile)); err != nil {
		return err
	}
	if l.timing, err = durable.OpenLog(fsys, filepath.Join(dir, checkpoints.TimingFile)); err != nil {
		return err
	}
	if l.timing.Torn() > 0 {
		if err := l.timing.TruncateTo(l.timing.Offset()); err != nil {
			return err
		}
	}
	if l.events, err = tensorboard.New(filepath.Join(dir, eventsDir)); err != nil {
		return err
	}
	if purge < 0 {
		return nil
	}
	return l.events.Purge(purge)
}

// value is one metric.
type value struct {
	name string
	x    float64
}

// write logs values under a step, in their order. Values that are not finite become null, as JSON has no word for them.
func (l *logger) write(step int64, values, times []value) error {
	if err := l.append(l.metrics, step, "", values); err != nil {
		return err
	}
	now := time.Now()
	if len(times) > 0 {
		if err := l.append(l.timing, step, now.UTC().Format(time.RFC3339Nano), times); err != nil {
			return err
		}
	}
	for _, list := range [][]value{values, times} {
		for _, v := range list {
			if err := l.events.Scalar(v.name, step, v.x); err != nil {
				return err
			}
		}
	}
	if now.Sub(l.flushed) < flushEvery {
		return nil
	}
	l.flushed = now
	return l.events.Flush()
}

func (l *logger) append(to *durable.Log, step int64, at string, values []value) error {
	l.line = fmt.Appendf(l.line[:0], `{"step":%d`, step)
	if at != "" {
		l.line = fmt.Appendf(l.line, `,"at":%q`, at)
	}
	for _, v := range values {
		name, err := json.Marshal(v.name)
		if err != nil {
			return err
		}
		l.line = append(append(append(l.line, ','), name...), ':')
		if math.IsNaN(v.x) || math.IsInf(v.x, 0) {
			l.line = append(l.line, "null"...)
			continue
		}
		x, err := json.Marshal(v.x)
		if err != nil {
			return err
		}
		l.line = append(l.line, x...)
	}
	l.line = append(l.line, '}')
	return to.Append(l.line)
}

// sync makes what was logged outlive a crash: metrics are on the disk, and event files hold what will not be logged
// again.
func (l *logger) sync() error {
	if err := l.metrics.Sync(); err != nil {
		return err
	}
	l.flushed = time.Now()
	return l.events.Flush()
}

func (l *logger) close() error {
	var err error
	if l.events != nil {
		err = l.events.Close()
	}
	for _, c := range []*durable.Log{l.metrics, l.timing} {
		if c == nil {
			continue
		}
		if e := c.Close(); err == nil {
			err = e
		}
	}
	return err
}
