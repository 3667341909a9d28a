package durable

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path/filepath"
)

// Log is an append-only file of lines, such as metrics.jsonl. Only complete lines count: a failed write is undone, and
// a line cut by a crash is found when the log is opened.
type Log struct {
	fsys FS
	name string
	f    File
	// size is the file's length, whole the offset after its last complete line.
	size, whole int64
	sum         uint32 // CRC-32C of the complete lines; see Checksum
	buf         []byte
	broken      error
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// OpenLog opens a log for appending and creates a missing one. It reads the file's end to find an incomplete line.
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
		// A power cut could remove the name of a new log, and with it lines that a checkpoint needs.
		if err := fsys.SyncDir(filepath.Dir(name)); err != nil {
			f.Close()
			return nil, err
		}
	}
	return &Log{fsys: fsys, name: name, f: f, size: size, whole: whole}, nil
}

// lastLine returns a log's length and the offset after its last newline.
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

// Torn returns the number of bytes of an incomplete line at the end, 0 for an intact log. [Log.Append] refuses to write
// after them; [Log.TruncateTo] removes them.
func (l *Log) Torn() int64 { return l.size - l.whole }

// Offset returns the length of the log's complete lines. A checkpoint records it, and resume truncates the log there.
func (l *Log) Offset() int64 { return l.whole }

// Checksum returns the CRC-32C of the complete lines. A checkpoint records it beside [Log.Offset], so that later
// changes of the lines are detected, see [Checksum]. It is valid for a log that was empty when opened, or after
// [Log.TruncateTo].
func (l *Log) Checksum() uint32 { return l.sum }

// Append adds one line; line must not hold a newline. After a failed write the log is truncated to its former length,
// so that it holds only complete lines.
func (l *Log) Append(line []byte) error {
	if l.broken != nil {
		return l.broken
	}
	if t := l.Torn(); t != 0 {
		return fmt.Errorf("%s: %d bytes of an incomplete line at offset %d: call TruncateTo first", l.name, t, l.whole)
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
		l.sum = crc32.Update(l.sum, castagnoli, l.buf)
		return nil
	}
	if terr := l.f.Truncate(l.whole); terr != nil {
		// The end of the file is unknown now: nothing may be written after it.
		l.broken = fmt.Errorf("%s: not usable after a failed write: %w", l.name, errors.Join(err, terr))
		return l.broken
	}
	return err
}

// Sync makes all lines appended so far survive a power cut. A checkpoint that records [Log.Offset] is committed only
// after Sync.
func (l *Log) Sync() error {
	if l.broken != nil {
		return l.broken
	}
	if err := l.f.Sync(); err != nil {
		// After a failed fsync the kernel may have dropped the pages and marked them clean: a second fsync could succeed
		// although the data is lost.
		l.broken = fmt.Errorf("%s: not usable after a failed sync: %w", l.name, err)
		return l.broken
	}
	return nil
}

// TruncateTo truncates the log at offset, which must be the end of a line, and syncs; after it [Log.Checksum] is valid.
// It refuses an offset beyond the log's end: lines that a checkpoint needs are missing then.
func (l *Log) TruncateTo(offset int64) error {
	if l.broken != nil {
		return l.broken
	}
	if offset < 0 || offset > l.size {
		return shortLog(l.name, l.size, offset)
	}
	sum, err := Checksum(l.fsys, l.name, offset)
	if err != nil {
		return err
	}
	if offset < l.size {
		if err := l.f.Truncate(offset); err != nil {
			return err
		}
		l.size, l.whole = offset, offset
	}
	l.sum = sum
	return l.Sync()
}

// Checksum returns the CRC-32C of the first n bytes of a log, which must end with a newline. A shorter log is an error:
// lines that a checkpoint needs are missing.
func Checksum(fsys FS, name string, n int64) (uint32, error) {
	if n == 0 {
		return 0, nil
	}
	r, err := fsys.Open(name)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	sum, buf := uint32(0), make([]byte, min(n, 64<<10))
	for at := int64(0); at < n; {
		part := buf[:min(n-at, int64(len(buf)))]
		got, err := io.ReadFull(r, part)
		at += int64(got)
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return 0, shortLog(name, at, n)
		case err != nil:
			return 0, fmt.Errorf("%s: read byte %d: %w", name, at, err)
		}
		sum = crc32.Update(sum, castagnoli, part)
		if at == n && part[len(part)-1] != '\n' {
			return 0, fmt.Errorf("%s: offset %d is inside a line, not after one: this is not the log that the "+
				"checkpoint was taken with", name, n)
		}
	}
	return sum, nil
}

func shortLog(name string, have, want int64) error {
	return fmt.Errorf("%s: has %d bytes, the checkpoint was taken when it had %d: lines are missing", name, have, want)
}

// Close closes the log without syncing it.
func (l *Log) Close() error { return l.f.Close() }
