package tensorboard

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
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
