// Package tensorboard writes TensorBoard's event files.
//
// A [Writer] logs scalars, text and hyperparameters of one run; TensorBoard shows them while the run goes on. After a
// resume [Writer.Purge] makes what the stopped process logged beyond its last checkpoint invisible.
//
// An event file is a sequence of TFRecords, each an Event in protocol-buffer encoding. The few messages needed are
// encoded by hand, field by field. What is logged, and when, belongs to package train. Event files are for looking at:
// nothing is resumed from them, and nothing here reads them (tests do, with eventtest).
package tensorboard

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Writer writes one event file. After a write that failed every method returns that error: what would come behind
// a broken record could not be read. It is not safe for use by several goroutines.
type Writer struct {
	f       *os.File
	out     *bufio.Writer
	now     func() time.Time
	buf     []byte
	flushed time.Time
	err     error
}

// flushEvery bounds how long an event stays in memory while others follow it.
const flushEvery = 5 * time.Second

// filePrefix starts the name of an event file; TensorBoard looks for "tfevents".
const filePrefix = "events.out.tfevents."

// New starts a new event file in dir, making the folder where it is missing.
func New(dir string) (*Writer, error) { return NewAt(dir, time.Now) }

// NewAt is [New] with another clock.
func NewAt(dir string, now func() time.Time) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	// TensorBoard reads the files of a folder in the order of their names, and goes on to a later one only: a run
	// that is resumed within the second it was started in, or after the clock went back, must still come behind.
	second := now().Unix()
	last, err := lastSecond(dir)
	if err != nil {
		return nil, err
	}
	second = max(second, last+1)
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	name := fmt.Sprintf("%s%010d.%s.%d", filePrefix, second, host, os.Getpid())
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	w := &Writer{f: f, out: bufio.NewWriterSize(f, 64<<10), now: now, flushed: now()}
	err = w.write(appendString(w.event(0), eventFileVersion, fileVersion))
	if last < 0 && err == nil {
		// TensorBoard takes the first start of a session in a folder for the beginning, and only those that follow for
		// a resume that makes events invalid.
		err = w.Purge(0)
	}
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return w, nil
}

// lastSecond returns the time in the name of the newest event file of a folder, -1 where there is none.
func lastSecond(dir string) (int64, error) {
	names, err := eventFiles(dir)
	if err != nil {
		return 0, err
	}
	last := int64(-1)
	for _, name := range names {
		text, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(name), filePrefix), ".")
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			last = max(last, n)
		}
	}
	return last, nil
}

// eventFiles returns the event files of a folder in the order in which they were begun.
func eventFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filePrefix) && e.Type().IsRegular() {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	return names, nil
}

// event starts a record in the writer's buffer with an event of the present time.
func (w *Writer) event(step int64) []byte {
	b := append(w.buf[:0], make([]byte, recordHead)...)
	return appendEvent(b, float64(w.now().UnixMicro())/1e6, step)
}

// write seals a record that event began and puts it out.
func (w *Writer) write(b []byte) error {
	if w.err != nil {
		return w.err
	}
	w.buf = sealRecord(b)
	if _, err := w.out.Write(w.buf); err != nil {
		w.err = fmt.Errorf("event file %s: %w", w.f.Name(), err)
		return w.err
	}
	if w.now().Sub(w.flushed) >= flushEvery {
		return w.Flush()
	}
	return nil
}

// Scalar logs one number of a curve. TensorBoard keeps it in single precision.
func (w *Writer) Scalar(tag string, step int64, v float64) error {
	return w.write(appendScalar(w.event(step), tag, float32(v)))
}

// Text logs a text, which TensorBoard shows as Markdown.
func (w *Writer) Text(tag string, step int64, text string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("event file %s: text %q is not UTF-8", w.f.Name(), tag)
	}
	return w.write(appendValue(w.event(step), tag, appendText(appendPlugin(nil, "text", nil), text)))
}

// Purge says that this run goes on from an earlier state, and that all events of earlier files with this step or a
// later one do not count: TensorBoard drops them. Call it right after [New], with the first step that will be logged
// again.
func (w *Writer) Purge(step int64) error {
	b := w.event(step)
	return w.write(appendMessage(b, eventSessionLog, appendInt(nil, sessionLogStatus, sessionLogStart)))
}

// Flush hands what was logged to the operating system, where TensorBoard sees it.
func (w *Writer) Flush() error {
	if w.err != nil {
		return w.err
	}
	w.flushed = w.now()
	if err := w.out.Flush(); err != nil {
		w.err = fmt.Errorf("event file %s: %w", w.f.Name(), err)
	}
	return w.err
}

// Close flushes and closes the file.
func (w *Writer) Close() error {
	err := w.Flush()
	if cerr := w.f.Close(); err == nil {
		err = cerr
	}
	return err
}

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

// Field numbers of the messages used, from TensorBoard's compat/proto (event, summary, tensor) and
// plugins/hparams (plugin_data, api), and of google.protobuf.Value.
const (
	eventWallTime, eventStep, eventFileVersion, eventSummary, eventSessionLog = 1, 2, 3, 5, 7

	sessionLogStatus, sessionLogStart = 1, 1

	summaryValue                                             = 1
	valueTag, valueSimple, valueTensor, valueMetadata        = 1, 2, 8, 9
	metadataPlugin, metadataClass, pluginName, pluginContent = 1, 4, 1, 2
	classTensor                                              = 2
	tensorType, tensorShape, tensorFloats, tensorStrings     = 1, 2, 5, 8
	typeFloat, typeString                                    = 1, 7
	shapeDim, dimSize                                        = 2, 1
	hparamsExperiment, hparamsStart, hparamsEnd              = 2, 3, 4
	startHParams, startTime, endStatus, endTime              = 1, 5, 1, 2
	mapKey, mapValue, valueNumber, valueString, valueBool    = 1, 2, 2, 3, 4
	experimentTime, experimentHParam, experimentMetric       = 3, 4, 5
	hparamName, hparamType, metricName, metricNameTag        = 1, 4, 1, 2
	hparamTypeString, hparamTypeBool, hparamTypeFloat        = 1, 2, 3
)

// fileVersion is what the first event of every file says.
const fileVersion = "brain.Event:2"

func appendDouble(b []byte, field protowire.Number, v float64) []byte {
	b = protowire.AppendTag(b, field, protowire.Fixed64Type)
	return protowire.AppendFixed64(b, math.Float64bits(v))
}

func appendFloat(b []byte, field protowire.Number, v float32) []byte {
	b = protowire.AppendTag(b, field, protowire.Fixed32Type)
	return protowire.AppendFixed32(b, math.Float32bits(v))
}

func appendInt(b []byte, field protowire.Number, v int64) []byte {
	b = protowire.AppendTag(b, field, protowire.VarintType)
	return protowire.AppendVarint(b, uint64(v))
}

func appendString(b []byte, field protowire.Number, s string) []byte {
	b = protowire.AppendTag(b, field, protowire.BytesType)
	return protowire.AppendString(b, s)
}

func appendMessage(b []byte, field protowire.Number, m []byte) []byte {
	b = protowire.AppendTag(b, field, protowire.BytesType)
	return protowire.AppendBytes(b, m)
}

// appendEvent starts an event: its time in seconds since 1970 and its step.
func appendEvent(b []byte, wall float64, step int64) []byte {
	b = appendDouble(b, eventWallTime, wall)
	if step != 0 {
		b = appendInt(b, eventStep, step)
	}
	return b
}

// appendScalar appends a summary of one number. It computes the lengths of the messages around it beforehand, so
// that nothing is allocated. The number goes as simple_value, as Stable-Baselines3 and PyTorch write it.
func appendScalar(b []byte, tag string, v float32) []byte {
	size := protowire.SizeTag(valueTag) + protowire.SizeBytes(len(tag)) + protowire.SizeTag(valueSimple) + protowire.SizeFixed32()
	b = protowire.AppendTag(b, eventSummary, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(protowire.SizeTag(summaryValue)+protowire.SizeBytes(size)))
	b = protowire.AppendTag(b, summaryValue, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(size))
	b = appendString(b, valueTag, tag)
	return appendFloat(b, valueSimple, v)
}

// appendValue appends a summary of one value whose fields behind the tag are rest.
func appendValue(b []byte, tag string, rest []byte) []byte {
	value := append(appendString(nil, valueTag, tag), rest...)
	return appendMessage(b, eventSummary, appendMessage(nil, summaryValue, value))
}

// appendPlugin appends a value's metadata: the plugin that shows it and that plugin's own data.
func appendPlugin(b []byte, name string, content []byte) []byte {
	plugin := appendString(nil, pluginName, name)
	if len(content) > 0 {
		plugin = appendMessage(plugin, pluginContent, content)
	}
	meta := appendInt(appendMessage(nil, metadataPlugin, plugin), metadataClass, classTensor)
	return appendMessage(b, valueMetadata, meta)
}

// appendText appends a tensor of one string.
func appendText(b []byte, text string) []byte {
	t := appendInt(nil, tensorType, typeString)
	t = appendMessage(t, tensorShape, appendMessage(nil, shapeDim, appendInt(nil, dimSize, 1)))
	t = appendString(t, tensorStrings, text)
	return appendMessage(b, valueTensor, t)
}

// appendNull appends the tensor that stands where a value has none: one float, zero.
func appendNull(b []byte) []byte {
	t := appendInt(nil, tensorType, typeFloat)
	t = appendMessage(t, tensorShape, nil)
	t = appendMessage(t, tensorFloats, protowire.AppendFixed32(nil, 0))
	return appendMessage(b, valueTensor, t)
}

// A TFRecord is the length of its data (8 bytes, little-endian), the masked CRC-32C of these 8 bytes, the data, and the
// masked CRC-32C of the data.
const recordHead = 12

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked returns a CRC as TFRecords store it: rotated and offset, so that a CRC over data with CRCs in it stays a
// good one.
func masked(data []byte) uint32 {
	c := crc32.Checksum(data, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// sealRecord completes a record whose data stands in b behind recordHead bytes left free.
func sealRecord(b []byte) []byte {
	data := b[recordHead:]
	binary.LittleEndian.PutUint64(b, uint64(len(data)))
	binary.LittleEndian.PutUint32(b[8:], masked(b[:8]))
	return binary.LittleEndian.AppendUint32(b, masked(data))
}
