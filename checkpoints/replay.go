package checkpoints

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"path/filepath"
)

// Replay is a replay buffer to save: rows of one length, numbered from 0 in the order of arrival. A row never changes,
// so one checkpoint can share files with the next.
type Replay struct {
	// RowBytes is the length of a row.
	RowBytes int
	// Total is the number of rows ever appended; the last Capacity of them are kept.
	Total, Capacity int64
	// SegmentRows is the number of rows in a full segment; 0 means as many as fill about 4 MiB. It must stay the same
	// during a run: otherwise no file can be shared.
	SegmentRows int64
	// Append appends rows first … first+n-1 to dst. It is called only for the last min(Total, Capacity) rows.
	Append func(dst []byte, first int64, n int) ([]byte, error)
}

// ReplayInfo describes a replay in the manifest.
type ReplayInfo struct {
	RowBytes    int   `json:"row_bytes"`
	Total       int64 `json:"total"`
	Capacity    int64 `json:"capacity"`
	SegmentRows int64 `json:"segment_rows"`
}

// First returns the number of the oldest row kept.
func (r ReplayInfo) First() int64 { return max(0, r.Total-r.Capacity) }

// Rows returns how many rows are kept.
func (r ReplayInfo) Rows() int64 { return r.Total - r.First() }

// sealedBytes is the default size of a segment: large enough to write at the disk's full speed, small enough that
// writing the two partial segments again at each checkpoint is cheap.
const sealedBytes = 4 << 20

// maxRow bounds a row, so that a damaged header cannot make the program allocate all memory.
const maxRow = 1 << 30

func (r ReplayInfo) validate() error {
	if r.RowBytes < 1 || r.RowBytes > maxRow || r.Total < 0 || r.Capacity < 1 || r.SegmentRows < 1 {
		return fmt.Errorf("%+v is not a replay: rows have 1 to %d bytes, capacity and segment_rows are at least 1", r, maxRow)
	}
	if r.Rows() > math.MaxInt64/int64(r.RowBytes) {
		return fmt.Errorf("%+v takes more than 2^63-1 bytes", r)
	}
	return nil
}

// segment is one file of a replay: rows first … first+rows-1.
type segment struct{ first, rows int64 }

// segments calls each for every file of a replay. Files end at multiples of SegmentRows; the first begins at the oldest
// row kept, and the last ends with the newest. The files depend only on the rows, not on when checkpoints were taken,
// so that an interrupted run ends with the same files as an uninterrupted one.
func (r ReplayInfo) segments(each func(segment) error) error {
	for at := r.First(); at < r.Total; {
		end := min(r.Total, at+(r.SegmentRows-at%r.SegmentRows))
		if end < at { // the int64 overflowed
			end = r.Total
		}
		if err := each(segment{at, end - at}); err != nil {
			return err
		}
		at = end
	}
	return nil
}

func (s segment) file(replay string) string {
	return fmt.Sprintf("%s.seg-%012d-%d.bin", replay, s.first, s.rows)
}

// A segment file is a header of 40 bytes (magic, row length, first row, rows, CRC-32C of these, zero), the
// rows, and the CRC-32C of the rows. Numbers are little-endian.
const (
	segmentMagic  = "stokseg1"
	segmentHeader = 40
	segmentTail   = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (s segment) header(rowBytes int) []byte {
	b := append(make([]byte, 0, segmentHeader), segmentMagic...)
	b = binary.LittleEndian.AppendUint64(b, uint64(rowBytes))
	b = binary.LittleEndian.AppendUint64(b, uint64(s.first))
	b = binary.LittleEndian.AppendUint64(b, uint64(s.rows))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return binary.LittleEndian.AppendUint32(b, 0)
}

// bytes returns the file's length.
func (s segment) bytes(rowBytes int) int64 {
	return segmentHeader + s.rows*int64(rowBytes) + segmentTail
}

// chunkRows is how many rows move at once: about 256 KiB.
func chunkRows(rowBytes int, rows int64) int {
	return int(min(rows, max(1, int64(256<<10/rowBytes))))
}

func (s segment) write(w io.Writer, r Replay) error {
	if _, err := w.Write(s.header(r.RowBytes)); err != nil {
		return err
	}
	var buf []byte
	crc := uint32(0)
	for at, end := s.first, s.first+s.rows; at < end; {
		n := chunkRows(r.RowBytes, end-at)
		var err error
		if buf, err = r.Append(buf[:0], at, n); err != nil {
			return fmt.Errorf("rows %d to %d: %w", at, at+int64(n)-1, err)
		}
		if len(buf) != n*r.RowBytes {
			return fmt.Errorf("rows %d to %d: %d bytes came, want %d", at, at+int64(n)-1, len(buf), n*r.RowBytes)
		}
		crc = crc32.Update(crc, castagnoli, buf)
		if _, err := w.Write(buf); err != nil {
			return err
		}
		at += int64(n)
	}
	_, err := w.Write(binary.LittleEndian.AppendUint32(nil, crc))
	return err
}

// read reads a segment file. each receives every row in order; the slice is valid only during the call.
func (s segment) read(r io.Reader, rowBytes int, each func(index int64, row []byte) error) error {
	head := make([]byte, segmentHeader)
	if _, err := io.ReadFull(r, head); err != nil {
		return cutShort(err)
	}
	if string(head) != string(s.header(rowBytes)) {
		return fmt.Errorf("its header is not that of rows %d to %d of %d bytes", s.first, s.first+s.rows-1, rowBytes)
	}
	var buf []byte
	crc := uint32(0)
	for at, end := s.first, s.first+s.rows; at < end; {
		n := chunkRows(rowBytes, end-at)
		if buf == nil {
			buf = make([]byte, n*rowBytes)
		}
		chunk := buf[:n*rowBytes]
		if _, err := io.ReadFull(r, chunk); err != nil {
			return cutShort(err)
		}
		crc = crc32.Update(crc, castagnoli, chunk)
		for i := range n {
			if err := each(at+int64(i), chunk[i*rowBytes:(i+1)*rowBytes:(i+1)*rowBytes]); err != nil {
				return err
			}
		}
		at += int64(n)
	}
	var tail [segmentTail + 1]byte
	n, err := io.ReadFull(r, tail[:])
	switch {
	case n < segmentTail:
		return cutShort(err)
	case n > segmentTail:
		return errors.New("has bytes after its end")
	case binary.LittleEndian.Uint32(tail[:]) != crc:
		return errors.New("its rows do not match the checksum at its end")
	}
	return nil
}

func cutShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("is cut short")
	}
	return err
}

// validateReplay checks that the segment files are exactly those of the replays.
func (m *manifest) validateReplay() error {
	want := map[string]bool{}
	for name, info := range m.Replay {
		if err := checkFileName(name); err != nil {
			return fmt.Errorf("replay: %w", err)
		}
		if err := info.validate(); err != nil {
			return fmt.Errorf("replay %s: %w", name, err)
		}
		err := info.segments(func(s segment) error {
			file := s.file(name)
			want[file] = true
			f, ok := m.Files[file]
			if !ok {
				return fmt.Errorf("replay %s: file %s is missing", name, file)
			}
			if f.Bytes != s.bytes(info.RowBytes) {
				return fmt.Errorf("replay %s: file %s has %d bytes, want %d", name, file, f.Bytes, s.bytes(info.RowBytes))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for file := range m.Files {
		if segmentName(file) && !want[file] {
			return fmt.Errorf("file %s belongs to no replay", file)
		}
	}
	return nil
}

// segmentName reports whether a name is reserved for segments.
func segmentName(file string) bool {
	ok, _ := filepath.Match("*.seg-*.bin", file)
	return ok
}

// ReplayRows calls each for every row of a replay in order, oldest first, with the row's number. The row is valid only
// during the call.
func (c *Checkpoint) ReplayRows(name string, each func(index int64, row []byte) error) error {
	info, ok := c.m.Replay[name]
	if !ok {
		return c.refuse("", fmt.Errorf("has no replay %q", name))
	}
	return info.segments(func(s segment) error {
		file := s.file(name)
		f, err := c.fsys.Open(filepath.Join(c.dir, file))
		if err != nil {
			return c.refuse(file, err)
		}
		defer f.Close()
		var callers error // an error of each is returned as it is: the file is not at fault
		err = s.read(f, info.RowBytes, func(index int64, row []byte) error {
			callers = each(index, row)
			return callers
		})
		if err != nil && callers == nil {
			return c.refuse(file, err)
		}
		return err
	})
}

// Replay saves a replay. Files of the base checkpoint (see [Store.Continue]) that have the same rows are hard-linked;
// where the file system cannot link, they are written again from memory.
func (w *Writer) Replay(name string, r Replay) error {
	if w.err != nil {
		return w.err
	}
	if r.SegmentRows == 0 && r.RowBytes > 0 {
		r.SegmentRows = max(1, int64(sealedBytes/r.RowBytes))
	}
	info := ReplayInfo{r.RowBytes, r.Total, r.Capacity, r.SegmentRows}
	err := info.validate()
	if err == nil {
		err = checkFileName(name)
	}
	if _, twice := w.m.Replay[name]; twice && err == nil {
		err = errors.New("was written already")
	}
	if err != nil {
		return w.fail(fmt.Errorf("replay %s: %w", name, err))
	}
	err = info.segments(func(s segment) error {
		file := s.file(name)
		if w.link(name, file, info.RowBytes) {
			return nil
		}
		return w.file(file, func(out io.Writer) error { return s.write(out, r) })
	})
	if err != nil {
		return err
	}
	if w.m.Replay == nil {
		w.m.Replay = map[string]ReplayInfo{}
	}
	w.m.Replay[name] = info
	return nil
}

// link tries to hard-link a segment of the base checkpoint. It takes the hash from there and does not read the file.
func (w *Writer) link(replay, file string, rowBytes int) bool {
	if w.base == nil || w.base.m.Replay[replay].RowBytes != rowBytes {
		return false
	}
	f, ok := w.base.m.Files[file]
	if !ok {
		return false
	}
	from := filepath.Join(w.base.dir, file)
	if i, err := w.fsys.Lstat(from); err != nil || !i.Mode().IsRegular() || i.Size() != f.Bytes {
		return false
	}
	if w.fsys.Link(from, filepath.Join(w.temp, file)) != nil {
		return false
	}
	w.m.Files[file] = f
	return true
}
