package checkpoints

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/checkpoints/durable/durabletest"
	"github.com/stoker-rl/stoker/checkpoints/safetensors"
	"github.com/stoker-rl/stoker/internal/must"
)

// TestSegmentsCoverTheRows tries every small replay: the files hold the last min(total, capacity) rows in order,
// none is longer than it may be, and all but the two ends are whole segments.
func TestSegmentsCoverTheRows(t *testing.T) {
	for total := range int64(40) {
		for capacity := int64(1); capacity < 45; capacity++ {
			for sealed := int64(1); sealed < 12; sealed++ {
				info := ReplayInfo{RowBytes: 3, Total: total, Capacity: capacity, SegmentRows: sealed}
				next := max(0, total-capacity)
				var all []segment
				err := info.segments(func(s segment) error {
					if s.first != next || s.rows < 1 || s.rows > sealed || s.first/sealed != (s.first+s.rows-1)/sealed {
						return fmt.Errorf("segment %+v where row %d comes next", s, next)
					}
					next += s.rows
					all = append(all, s)
					return nil
				})
				if err != nil || next != total {
					t.Fatalf("%+v: ends at row %d: %v", info, next, err)
				}
				for i, s := range all {
					if i > 0 && i < len(all)-1 && s.rows != sealed {
						t.Fatalf("%+v: segment %+v inside is not whole", info, s)
					}
				}
			}
		}
	}
}

// saveRows saves a replay of so many rows on the real disk; written gets the numbers of the rows asked for.
func saveRows(t *testing.T, s *Store, total int64, written *[]int64) *Checkpoint {
	t.Helper()
	w, err := s.Create(StepName(total), Header{Kind: Full, Config: []byte("{}")})
	must.Do(t, err)
	defer w.Abort()
	must.Do(t, w.Tensors(WeightsFile, nil, safetensors.Of("w", []float32{1}, 1)))
	err = w.Replay("r", Replay{RowBytes: 8, Total: total, Capacity: 30, SegmentRows: 10,
		Append: func(dst []byte, first int64, n int) ([]byte, error) {
			for i := first; i < first+int64(n); i++ {
				*written = append(*written, i)
				dst = fmt.Appendf(dst, "%8d", i)
			}
			return dst, nil
		}})
	must.Do(t, err)
	c, err := w.Commit()
	must.Do(t, err)
	return c
}

func rowsOf(t *testing.T, c *Checkpoint) (out []int64) {
	t.Helper()
	err := c.ReplayRows("r", func(i int64, row []byte) error {
		if string(row) != fmt.Sprintf("%8d", i) {
			return fmt.Errorf("row %d holds %q", i, row)
		}
		out = append(out, i)
		return nil
	})
	must.Do(t, err)
	return out
}

func numbers(from, to int64) (out []int64) {
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

// TestOnlyNewRowsAreWritten: full segments are hard links to the previous checkpoint's files, and old rows are gone.
func TestOnlyNewRowsAreWritten(t *testing.T) {
	dir := t.TempDir()
	s, err := OpenStore(durable.OS{}, dir)
	must.Do(t, err)
	var written []int64
	first := saveRows(t, s, 25, &written)
	if !slices.Equal(written, numbers(0, 25)) {
		t.Errorf("first: wrote %v", written)
	}
	written = nil
	second := saveRows(t, s, 42, &written) // keeps 12 … 41; 20 … 29 was not sealed in the first
	if !slices.Equal(written, numbers(12, 42)) {
		t.Errorf("second: wrote %v", written)
	}
	written = nil
	third := saveRows(t, s, 45, &written) // keeps 15 … 44; 20 … 29 and 30 … 39 are sealed
	if want := append(numbers(15, 20), numbers(40, 45)...); !slices.Equal(written, want) {
		t.Errorf("third: wrote %v, want %v", written, want)
	}
	for _, file := range []string{"r.seg-000000000020-10.bin", "r.seg-000000000030-10.bin"} {
		a, errA := os.Stat(filepath.Join(second.Dir(), file))
		b, errB := os.Stat(filepath.Join(third.Dir(), file))
		if errA != nil || errB != nil || !os.SameFile(a, b) {
			t.Errorf("%s is not shared: %v, %v", file, errA, errB)
		}
	}
	if _, err := os.Stat(filepath.Join(third.Dir(), "r.seg-000000000010-10.bin")); err == nil {
		t.Error("a segment that is too old was carried along")
	}
	// Removing the older checkpoint leaves the newer one's rows.
	must.Do(t, durable.Retire(durable.OS{}, second.Dir()))
	again, err := Open(third.Dir())
	must.Do(t, err)
	if got := rowsOf(t, again); !slices.Equal(got, numbers(15, 45)) {
		t.Errorf("rows %v", got)
	}
	if info, ok := again.Replay("r"); !ok || info.First() != 15 || info.Rows() != 30 || info.Total != 45 {
		t.Errorf("info %+v", info)
	}
	if got := rowsOf(t, first); !slices.Equal(got, numbers(0, 25)) {
		t.Errorf("first checkpoint's rows %v", got)
	}

	// Where the base is missing or cannot be linked from, the rows are written.
	written = nil
	s.Continue(second)
	if got := rowsOf(t, saveRows(t, s, 46, &written)); !slices.Equal(got, numbers(16, 46)) || !slices.Equal(written, got) {
		t.Errorf("without its base: wrote %v, holds %v", written, got)
	}
	// A base whose file was cut, or whose rows have another length, is not linked from.
	last := saveRows(t, s, 47, &written)
	cut := filepath.Join(last.Dir(), "r.seg-000000000030-10.bin")
	must.Do(t, os.Truncate(cut, 100))
	written = nil
	if got := rowsOf(t, saveRows(t, s, 48, &written)); !slices.Equal(got, numbers(18, 48)) ||
		!slices.Contains(written, 30) || slices.Contains(written, 20) {
		t.Errorf("base cut: wrote %v, holds %v", written, got)
	}
	w, err := s.Create(StepName(49), Header{Kind: Full, Config: []byte("{}")})
	must.Do(t, err)
	err = errors.Join(w.Tensors(WeightsFile, nil),
		w.Replay("r", Replay{RowBytes: 2, Total: 48, Capacity: 30, SegmentRows: 10,
			Append: func(dst []byte, _ int64, n int) ([]byte, error) {
				return append(dst, make([]byte, 2*n)...), nil
			}}))
	must.Do(t, err)
	if _, err := w.Commit(); err != nil {
		t.Errorf("rows of another length: %v", err)
	}
	// A replay may have no rows yet.
	if got := rowsOf(t, saveRows(t, s, 0, &written)); len(got) != 0 {
		t.Errorf("empty replay holds %v", got)
	}
}

func TestReplayRefuses(t *testing.T) {
	none := func(dst []byte, _ int64, _ int) ([]byte, error) { return dst, nil }
	for _, r := range []Replay{
		{RowBytes: 0, Total: 1, Capacity: 1, Append: none},
		{RowBytes: -1, Total: 1, Capacity: 1, Append: none},
		{RowBytes: maxRow + 1, Total: 1, Capacity: 1, Append: none},
		{RowBytes: 1, Total: -1, Capacity: 1, Append: none},
		{RowBytes: 1, Total: 1, Capacity: 0, Append: none},
		{RowBytes: 1, Total: 1, Capacity: 1, SegmentRows: -1, Append: none},
		{RowBytes: 1 << 30, Total: 1 << 62, Capacity: 1 << 62, Append: none},
	} {
		w := must.Get(Create(durabletest.New(), "/c", Header{Kind: Full, Config: []byte("{}")}))(t)
		if err := w.Replay("r", r); err == nil || !strings.Contains(err.Error(), "replay r: {RowBytes:") {
			t.Errorf("%d rows of %d bytes, capacity %d: %v", r.Total, r.RowBytes, r.Capacity, err)
		}
	}
	w := must.Get(Create(durabletest.New(), "/c", Header{Kind: Full, Config: []byte("{}")}))(t)
	empty := Replay{RowBytes: 1, Capacity: 1, Append: none}
	if err := errors.Join(w.Replay("r", empty), w.Replay("r", empty)); err == nil ||
		!strings.Contains(err.Error(), "was written already") {
		t.Errorf("a replay twice: %v", err)
	}
}

// TestSegmentRefuses: every fault of a segment file is found when it is read, even without the checkpoint's hashes.
func TestSegmentRefuses(t *testing.T) {
	seg := segment{first: 7, rows: 3}
	var b strings.Builder
	err := seg.write(&b, Replay{RowBytes: 4, Append: func(dst []byte, first int64, n int) ([]byte, error) {
		return append(dst, strings.Repeat("abcd", n)...), nil
	}})
	must.Do(t, err)
	sound := b.String()
	if int64(len(sound)) != seg.bytes(4) {
		t.Errorf("%d bytes, want %d", len(sound), seg.bytes(4))
	}
	read := func(text string) error {
		return seg.read(strings.NewReader(text), 4, func(int64, []byte) error { return nil })
	}
	must.Do(t, read(sound))
	for n := range sound {
		if err := read(sound[:n]); err == nil || !strings.Contains(err.Error(), "cut short") {
			t.Errorf("%d bytes of %d: %v", n, len(sound), err)
		}
		flipped := []byte(sound)
		flipped[n] ^= 4
		if err := read(string(flipped)); err == nil {
			t.Errorf("byte %d flipped: accepted", n)
		}
	}
	if err := read(sound + "x"); err == nil || !strings.Contains(err.Error(), "after its end") {
		t.Errorf("a byte more: %v", err)
	}
}
