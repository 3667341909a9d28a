package checkpoints

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"

	"github.com/stoker-rl/stoker/checkpoints/durable"
)

// Names in a run folder, beside [CheckpointsDir].
const (
	RunFile     = "run.json"      // the resolved config, the command and the machine
	MetricsFile = "metrics.jsonl" // a JSON object per line, no times in it
	TimingFile  = "timing.jsonl"  // a JSON object per line, with times
	LockFile    = "lock"          // see [durable.AcquireLock]
)

// Counters that hold the length of [MetricsFile] when a checkpoint was taken, and the CRC-32C of those bytes.
const (
	MetricsOffset   = "metrics_offset"
	MetricsChecksum = "metrics_crc32c"
)

// run checks a run folder: run.json, the logs, every checkpoint, the pointers.
func (r *Report) run(fsys durable.FS, dir string) {
	r.object(fsys, filepath.Join(dir, RunFile), RunFile)
	metrics := r.lines(fsys, dir, MetricsFile)
	r.lines(fsys, dir, TimingFile)

	store := filepath.Join(dir, CheckpointsDir)
	entries, err := fsys.ReadDir(store)
	if missing(err) {
		if metrics != nil && metrics.size > 0 {
			r.add(Problem, CheckpointsDir, "there are none, although %s has steps", MetricsFile)
		} else {
			r.add(Notice, CheckpointsDir, "there are none yet")
		}
		return
	}
	if err != nil {
		r.add(Problem, CheckpointsDir, "%v", err)
		return
	}
	for _, e := range entries {
		name := e.Name()
		switch {
		case name == string(Latest) || name == string(Best):
		case durable.Leftover(name):
			r.add(Notice, join(CheckpointsDir, name),
				"not finished: being written now, or left by a crash (the next resume clears it)")
		case !e.IsDir() || checkName(name) != nil:
			r.add(Problem, join(CheckpointsDir, name), "does not belong here")
		default:
			r.member(fsys, store, name, metrics)
		}
	}
	r.pointers(fsys, store)
}

// member checks one checkpoint of a run, and that the metrics up to its offset are unchanged.
func (r *Report) member(fsys durable.FS, store, name string, metrics *lineIndex) {
	at := filepath.Join(store, name)
	before := len(r.Findings)
	ok := r.OK
	c := r.open(fsys, at, name)
	if c == nil {
		if !exists(fsys, at) {
			// The run that owns the folder pruned it while it was being read.
			r.Findings, r.OK = r.Findings[:before], ok
			r.add(Notice, name, "was removed while it was being checked")
		}
		return
	}
	offset, has := c.m.Counters[MetricsOffset]
	if !has {
		return
	}
	if metrics == nil {
		r.add(Problem, name, "was taken with %d bytes of %s, which is not there", offset, MetricsFile)
		return
	}
	sum, ends := metrics.sums[offset]
	want, summed := c.m.Counters[MetricsChecksum]
	switch {
	case offset > metrics.size:
		r.add(Problem, name, "was taken with %d bytes of %s, which has %d: lines are missing", offset, MetricsFile,
			metrics.size)
	case !ends:
		r.add(Problem, name, "names offset %d of %s, which is inside a line", offset, MetricsFile)
	case summed && want != int64(sum):
		r.add(Problem, name, "was taken with %d bytes of %s that have changed since: damaged", offset, MetricsFile)
	}
}

func (r *Report) pointers(fsys durable.FS, store string) {
	for _, p := range []Pointer{Latest, Best} {
		at, err := ReadPointer(fsys, store, p)
		switch {
		case missing(err):
			r.add(Notice, string(p), "not set yet")
		case err != nil:
			r.add(Problem, string(p), "%v", err)
		default:
			r.add(Good, string(p), "names %s", filepath.Base(at))
		}
	}
}

// object checks that a file is one JSON object.
func (r *Report) object(fsys durable.FS, path, what string) {
	b, err := durable.ReadFile(fsys, path, maxManifest)
	if err != nil {
		r.add(Problem, what, "%v", err)
		return
	}
	err = jsonObject(b)
	if err == nil {
		err = CheckSeal(b)
	}
	if err != nil {
		r.add(Problem, what, "%v", err)
		return
	}
	r.add(Good, what, "%d bytes", len(b))
}

func jsonObject(b []byte) error {
	trimmed := bytes.TrimSpace(b)
	if len(trimmed) == 0 || trimmed[0] != '{' {
		return errors.New("is not a JSON object")
	}
	var v json.RawMessage
	if err := json.Unmarshal(trimmed, &v); err != nil {
		return fmt.Errorf("is not a JSON object: %w", err)
	}
	return nil
}

// lineIndex holds the offsets at which a log's lines end, each with the CRC-32C of the bytes up to it.
type lineIndex struct {
	size int64
	sums map[int64]uint32
}

// lines checks a log: every line a JSON object, the last one complete. It returns nil for a log that cannot be read.
func (r *Report) lines(fsys durable.FS, dir, name string) *lineIndex {
	f, err := fsys.Open(filepath.Join(dir, name))
	if missing(err) {
		r.add(Notice, name, "there is none")
		return nil
	}
	if err != nil {
		r.add(Problem, name, "%v", err)
		return nil
	}
	defer f.Close()
	index, sum := &lineIndex{sums: map[int64]uint32{0: 0}}, uint32(0)
	in := bufio.NewReader(f)
	sound := true // until the first bad line: only that one is reported, but the index needs all offsets
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			r.add(Problem, name, "line %d: %v", number, err)
			return nil
		}
		if err != nil {
			if len(line) > 0 {
				// A killed process leaves this. Resume cuts it off; where a checkpoint needs these bytes, member reports it.
				r.add(Notice, name, "line %d is torn after %d bytes (resume cuts it)", number, len(line))
			}
			index.size += int64(len(line))
			if sound {
				r.add(Good, name, "%d lines", number-1)
			}
			return index
		}
		index.size += int64(len(line))
		sum = crc32.Update(sum, castagnoli, line)
		index.sums[index.size] = sum
		if err := jsonObject(line); err != nil && sound {
			sound = false
			r.add(Problem, name, "line %d: %v", number, err)
		}
	}
}
