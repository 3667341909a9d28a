package durable_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/checkpoints/durable/durabletest"
	"github.com/stoker-rl/stoker/internal/must"
)

func openLog(t *testing.T, fsys durable.FS, name string) *durable.Log {
	t.Helper()
	l := must.Get(durable.OpenLog(fsys, name))(t)
	t.Cleanup(func() { l.Close() })
	return l
}

func TestLogOnARealDisk(t *testing.T) {
	name := filepath.Join(t.TempDir(), "metrics.jsonl")
	fsys := durable.OS{}
	l := openLog(t, fsys, name)
	var offsets []int64
	for i := range 4 {
		offsets = append(offsets, l.Offset())
		must.Do(t, l.Append(fmt.Appendf(nil, `{"step":%d}`, i)))
	}
	must.Do(t, l.Sync())
	l.Close()

	l = openLog(t, fsys, name)
	if l.Torn() != 0 || l.Offset() != 4*int64(len("{\"step\":0}\n")) {
		t.Errorf("reopened: offset %d, torn %d", l.Offset(), l.Torn())
	}
	must.Do(t, l.TruncateTo(offsets[2]))
	must.Do(t, l.Append([]byte("again")))
	if got, want := read(t, fsys, name), "{\"step\":0}\n{\"step\":1}\nagain\n"; got != want {
		t.Errorf("log holds %q, want %q", got, want)
	}
	for _, c := range []struct {
		offset int64
		want   string
	}{{1000, "lines are missing"}, {-1, "lines are missing"}, {offsets[1] + 1, "inside a line"}} {
		if err := l.TruncateTo(c.offset); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("TruncateTo(%d): %v, want %q", c.offset, err, c.want)
		}
	}
	if err := l.Append([]byte("two\nlines")); err == nil {
		t.Error("a line with a newline was taken")
	}
	if err := l.TruncateTo(0); err != nil || l.Offset() != 0 {
		t.Errorf("TruncateTo(0): %v, offset %d", err, l.Offset())
	}
}

func TestLogFindsATornLine(t *testing.T) {
	for _, c := range []struct {
		text        string
		whole, torn int64
	}{{"", 0, 0}, {"a\n", 2, 0}, {"a\nbc", 2, 2}, {"abc", 0, 3}, {strings.Repeat("x", 5000), 0, 5000},
		{"a\n" + strings.Repeat("x", 9000), 2, 9000}, {strings.Repeat("x", 9000) + "\n", 9001, 0}} {
		d := durabletest.New()
		must.Do(t, durable.WriteFile(d, "/m", []byte(c.text)))
		l := openLog(t, d, "/m")
		if l.Offset() != c.whole || l.Torn() != c.torn {
			t.Errorf("%d bytes: offset %d, torn %d, want %d, %d", len(c.text), l.Offset(), l.Torn(), c.whole, c.torn)
		}
		err := l.Append([]byte("next"))
		if (err != nil) != (c.torn > 0) {
			t.Errorf("%d bytes: Append says %v", len(c.text), err)
		}
		if err := l.TruncateTo(c.whole); err != nil {
			t.Errorf("%d bytes: %v", len(c.text), err)
		}
		if err := l.Append([]byte("next")); err != nil {
			t.Errorf("%d bytes: %v", len(c.text), err)
		}
	}
}

func TestLogOnAFullDisk(t *testing.T) {
	for _, part := range []int{0, 1, 6} {
		d := durabletest.New()
		full, truncates := false, true
		fsys := durabletest.WithHooks(d, durabletest.Hooks{Before: func(o durabletest.Op) error {
			switch {
			case full && o.Kind == "write":
				return &durabletest.Cut{Bytes: part, Err: syscall.ENOSPC}
			case !truncates && o.Kind == "truncate":
				return syscall.EIO
			}
			return nil
		}})
		l := openLog(t, fsys, "/m")
		must.Do(t, l.Append([]byte("first")))
		full = true
		if err := l.Append([]byte("second")); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("full disk: %v", err)
		}
		full = false
		if err := l.Append([]byte("third")); err != nil {
			t.Errorf("space again: %v", err)
		}
		if got := read(t, d, "/m"); got != "first\nthird\n" {
			t.Errorf("log holds %q", got)
		}
		// After a failed write that cannot be undone the log is unusable.
		full, truncates = true, false
		for range 2 {
			if err := l.Append([]byte("fourth")); !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, syscall.EIO) {
				t.Errorf("neither write nor cut: %v", err)
			}
			full, truncates = false, true
		}
		if err := l.Sync(); err == nil {
			t.Error("Sync of a broken log succeeds")
		}
	}
}

func TestLogAfterAFailedSync(t *testing.T) {
	d := durabletest.New()
	fail := true
	l := openLog(t, durabletest.WithHooks(d, durabletest.Hooks{Before: func(o durabletest.Op) error {
		if fail && o.Kind == "sync" {
			return syscall.EIO
		}
		return nil
	}}), "/m")
	must.Do(t, l.Append([]byte("line")))
	if err := l.Sync(); !errors.Is(err, syscall.EIO) {
		t.Errorf("sync: %v", err)
	}
	fail = false
	if err := l.Sync(); !errors.Is(err, syscall.EIO) {
		t.Errorf("a second sync says %v: it cannot know that the lines are there", err)
	}
}

// TestLogSyncedLinesStay: lines appended before a successful Sync survive any power cut, and so does the log's name.
func TestLogSyncedLinesStay(t *testing.T) {
	d := durabletest.New()
	l := openLog(t, d, "/m")
	for _, line := range []string{"one", "two"} {
		must.Do(t, l.Append([]byte(line)))
	}
	must.Do(t, l.Sync())
	offset := l.Offset()
	must.Do(t, l.Append([]byte("three")))
	for seed := range uint64(30) {
		cut := d.PowerCut(seed)
		again := openLog(t, cut, "/m")
		if err := again.TruncateTo(offset); err != nil {
			t.Fatalf("power cut %d: %v", seed, err)
		}
		if got := read(t, cut, "/m"); got != "one\ntwo\n" {
			t.Errorf("power cut %d: %q", seed, got)
		}
	}
}

func BenchmarkLogAppend(b *testing.B) {
	l := must.Get(durable.OpenLog(durable.OS{}, filepath.Join(b.TempDir(), "m")))(b)
	defer l.Close()
	line := []byte(strings.Repeat("x", 300))
	b.ReportAllocs()
	for b.Loop() {
		must.Do(b, l.Append(line))
	}
}

// A log's checksum is that of its complete lines, whether appended or read back, and changes with every bit.
func TestChecksum(t *testing.T) {
	d := durabletest.New()
	l := openLog(t, d, "/log")
	for i := range 3 {
		must.Do(t, l.Append(fmt.Appendf(nil, `{"step":%d}`, i)))
	}
	n, want := l.Offset(), l.Checksum()
	if got, err := durable.Checksum(d, "/log", n); err != nil || got != want {
		t.Errorf("read back: %x, %v, want %x", got, err, want)
	}
	again := openLog(t, d, "/log")
	if err := again.TruncateTo(n); err != nil || again.Checksum() != want {
		t.Errorf("reopened: %x, %v, want %x", again.Checksum(), err, want)
	}
	raw := []byte(read(t, d, "/log"))
	for i := range raw {
		for bit := range 8 {
			raw[i] ^= 1 << bit
			must.Do(t, d.Set("/log", raw))
			if got, err := durable.Checksum(d, "/log", n); err == nil && got == want {
				t.Errorf("bit %d of byte %d changed nothing", bit, i)
			}
			raw[i] ^= 1 << bit
		}
	}
	for at := range raw {
		must.Do(t, d.Set("/log", raw[:at]))
		if _, err := durable.Checksum(d, "/log", n); err == nil || !strings.Contains(err.Error(), "/log: has") {
			t.Errorf("cut to %d bytes: %v", at, err)
		}
	}
}
