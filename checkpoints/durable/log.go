package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
)

// Log is an append-only file of lines, such as metrics.jsonl. A line is whole or it is not there: a write that
// fails is undone, and a line torn by a crash is found when the log is opened.
type Log struct {
	fsys FS
	name string
	f    File
	// size is the file's length, whole the offset behind its last complete line.
	size, whole int64
	buf         []byte
	broken      error
}

// OpenLog opens a log for appending, making it where it is missing. It reads the file's end to find a torn line.
func OpenLog(fsys FS, name string) (*Log, error) {
	size, whole, err := lastLine(fsys, name)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return nil, err
	}
	f, err := fsys.Append(name)
	if err != nil {
		return nil, err
	}
	if missing {
		// A log whose name a power cut can take away loses the lines that a checkpoint counts on.
		if err := fsys.SyncDir(filepath.Dir(name)); err != nil {
			f.Close()
			return nil, err
		}
	}
	return &Log{fsys: fsys, name: name, f: f, size: size, whole: whole}, nil
}

// lastLine returns a log's length and the offset behind its last newline.
func lastLine(fsys FS, name string) (size, whole int64, err error) {
	info, err := fsys.Lstat(name)
	if err != nil {
		return 0, 0, err
	}
	if err := regular(name, info); err != nil {
		return 0, 0, err
	}
	r, err := fsys.Open(name)
	if err != nil {
		return 0, 0, err
	}
	defer r.Close()
	size = info.Size()
	buf := make([]byte, 4096)
	for end := size; end > 0; {
		n := min(end, int64(len(buf)))
		if _, err := r.ReadAt(buf[:n], end-n); err != nil {
			return 0, 0, fmt.Errorf("%s: read back: %w", name, err)
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return size, end - n + int64(i) + 1, nil
		}
		end -= n
	}
	return size, 0, nil
}

// Torn returns how many bytes of an incomplete line stand at the end: 0 for a sound log. [Log.Append] refuses
// to write behind them; [Log.TruncateTo] takes them away.
func (l *Log) Torn() int64 { return l.size - l.whole }

// Offset returns the length of the log's complete lines: what a checkpoint names so that resume can cut there.
func (l *Log) Offset() int64 { return l.whole }

// Append adds one line; line must not hold a newline. When the write fails the log is cut back to where it was,
// so that the next Append or reader finds whole lines only.
func (l *Log) Append(line []byte) error {
	if l.broken != nil {
		return l.broken
	}
	if t := l.Torn(); t != 0 {
		return fmt.Errorf("%s: %d bytes of a torn line at offset %d: cut them first", l.name, t, l.whole)
	}
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		return fmt.Errorf("%s: a line to append has a newline at byte %d", l.name, i)
	}
	l.buf = append(append(l.buf[:0], line...), '\n')
	n, err := l.f.Write(l.buf)
	if err == nil && n < len(l.buf) {
		err = io.ErrShortWrite
	}
	if err == nil {
		l.size += int64(n)
		l.whole = l.size
		return nil
	}
	if terr := l.f.Truncate(l.whole); terr != nil {
		// What stands at the end is unknown now: nothing more may be written behind it.
		l.broken = fmt.Errorf("%s: not usable after a failed write: %w", l.name, errors.Join(err, terr))
		return l.broken
	}
	return err
}

// Sync makes all lines appended so far survive a power cut. A checkpoint that names [Log.Offset] is committed
// after it, never before.
func (l *Log) Sync() error {
	if l.broken != nil {
		return l.broken
	}
	if err := l.f.Sync(); err != nil {
		// After a failed fsync the kernel may have dropped the pages and call them clean: a second fsync that
		// succeeds would prove nothing.
		l.broken = fmt.Errorf("%s: not usable after a failed sync: %w", l.name, err)
		return l.broken
	}
	return nil
}

// TruncateTo cuts the log at offset, which must be the end of a line, and syncs. It refuses an offset beyond
// the log's end: lines that a checkpoint counts on are gone then.
func (l *Log) TruncateTo(offset int64) error {
	if l.broken != nil {
		return l.broken
	}
	if offset < 0 || offset > l.size {
		return fmt.Errorf("%s: has %d bytes, the checkpoint was taken when it had %d: lines are missing", l.name, l.size, offset)
	}
	if err := endsLine(l.fsys, l.name, offset); err != nil {
		return err
	}
	if offset < l.size {
		if err := l.f.Truncate(offset); err != nil {
			return err
		}
		l.size, l.whole = offset, offset
	}
	return l.Sync()
}

// endsLine checks that a newline stands right before offset.
func endsLine(fsys FS, name string, offset int64) error {
	if offset == 0 {
		return nil
	}
	r, err := fsys.Open(name)
	if err != nil {
		return err
	}
	defer r.Close()
	var b [1]byte
	if _, err := r.ReadAt(b[:], offset-1); err != nil {
		return fmt.Errorf("%s: read byte %d: %w", name, offset-1, err)
	}
	if b[0] != '\n' {
		return fmt.Errorf("%s: offset %d is inside a line, not behind one: this is not the log that the checkpoint was taken with", name, offset)
	}
	return nil
}

// Close closes the log without syncing it.
func (l *Log) Close() error { return l.f.Close() }
