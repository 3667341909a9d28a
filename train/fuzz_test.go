package train

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/configs"
)

// Whatever a configuration says, with the keys of every environment, agent and rival of the tables: it is refused, or
// written out and read back it is the same and shapes the same results.
func FuzzExperiment(f *testing.F) {
	for _, c := range combinations() {
		f.Add(c.brief(), "train.steps=3")
	}
	for _, name := range configs.Shipped() {
		x, err := configs.Load(name, nil, catalog.Default())
		if err != nil {
			f.Fatal(err)
		}
		text, err := x.YAML()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), "workload.path=a/b")
	}
	f.Fuzz(func(t *testing.T, text, set string) {
		x, err := configs.Parse("fuzz", []byte(text), []string{set}, catalog.Default())
		if err != nil {
			return
		}
		a, err := x.YAML()
		if err != nil {
			t.Fatal(err)
		}
		y, err := configs.Parse("dump", a, nil, catalog.Default())
		if err != nil {
			t.Fatalf("accepted, but its dump is not: %v\n%s", err, a)
		}
		before, err := shapeOf(x)
		if err != nil {
			t.Fatal(err)
		}
		after, err := shapeOf(y)
		if err != nil || string(before) != string(after) {
			t.Errorf("shapes %s, written out and read back %s (%v)", before, after, err)
		}
	})
}

// Files of a run folder that resume reads, outside its checkpoints.
var runFiles = []string{
	checkpoints.RunFile, configFile, checkpoints.MetricsFile, checkpoints.TimingFile,
	filepath.Join(checkpoints.CheckpointsDir, string(checkpoints.Latest)), filepath.Join(checkpoints.CheckpointsDir,
		string(checkpoints.Best)),
}

// Whatever stands in a file of a run folder, resuming is refused by the file's name, or ends with the bytes of an
// undamaged run.
func FuzzRunFolder(f *testing.F) {
	d := killedBehindItsCheckpoint(f, combinations()[len(combinations())-1].brief())
	for i, path := range runFiles {
		f.Add(uint(i), d.read(f, path))
	}
	f.Fuzz(func(t *testing.T, which uint, b []byte) {
		path := runFiles[which%uint(len(runFiles))]
		if strings.HasSuffix(path, configFile) && len(b) > 1<<16 {
			return
		}
		d.anew()
		d.set(t, path, b)
		_, err := Resume(context.Background(), d.dir(), d.options())
		switch {
		case err != nil && !strings.Contains(err.Error(), filepath.Base(path)):
			t.Errorf("%s: refused without its name: %v", path, err)
		case err == nil:
			same(t, path, d.outcome(t), d.want)
		}
	})
}

// Whatever stands in a file of a checkpoint whose hashes agree, as only someone who means it makes them: the run is
// refused or resumed, and a policy is refused or opened; an error is fine, a panic is not.
func FuzzForgedCheckpoint(f *testing.F) {
	d := killedBehindItsCheckpoint(f, combinations()[0].brief())
	x, err := readConfig(d.base, d.dir(), catalog.Default())
	must(f, err)
	from, err := checkpoints.Find(d.base, d.dir(), checkpoints.Latest)
	must(f, err)
	whole, err := checkpoints.OpenFS(d.base, from)
	must(f, err)
	var files []string
	for _, name := range slices.Sorted(maps.Keys(whole.Files())) {
		if !strings.Contains(name, ".seg-") {
			files = append(files, name)
		}
	}
	for i, name := range files {
		b, err := whole.Read(name)
		must(f, err)
		f.Add(uint(i), b, int64(0))
	}
	f.Add(uint(0), []byte{}, int64(1)<<62)
	w, err := build(x, 0) // once: loading replaces all that an earlier one left
	must(f, err)
	f.Cleanup(w.close)
	f.Fuzz(func(t *testing.T, which uint, b []byte, more int64) {
		d.anew()
		at := forge(t, d.disk, whole, files[which%uint(len(files))], b, more)
		c, err := checkpoints.OpenFS(d.disk, at)
		if err != nil {
			var refused *checkpoints.RefusedError
			if !errors.As(err, &refused) {
				t.Fatal(err)
			}
			return
		}
		if p, err := ReadPolicy(c); err == nil {
			if a, err := catalog.Default().Learner(p.Agent); err == nil {
				_, _ = a.Open(p, w.vector.Spec(), w.actor)
			}
		}
		r := &run{opts: Options{}.filled(), fs: d.disk, dir: d.dir(), world: w}
		r.store, err = checkpoints.OpenStore(d.disk, filepath.Dir(at))
		must(t, err)
		if r.load(c) != nil {
			return
		}
		r.progress = newProgress(r.opts.Out, false, r.state.Steps, x.Train.Steps)
		r.phases = newPhases(r.state.Steps)
		for range 6 {
			if r.step() != nil {
				return
			}
		}
	})
}

// forge writes whole anew with b for one of its files, and with more rows said to have gone through its replay. It
// returns the folder.
func forge(t testing.TB, fsys durable.FS, whole *checkpoints.Checkpoint, file string, b []byte, more int64) string {
	t.Helper()
	s, err := checkpoints.OpenStore(fsys, filepath.Dir(whole.Dir()))
	must(t, err)
	w, err := s.Create("forged", whole.Header())
	must(t, err)
	for name := range whole.Files() {
		if strings.Contains(name, ".seg-") {
			continue
		}
		data := b
		if name != file {
			data, err = whole.Read(name)
			must(t, err)
		}
		must(t, w.Blob(name, data))
	}
	info, _ := whole.Replay(replayName)
	var rows []byte
	must(t, whole.ReplayRows(replayName, func(_ int64, row []byte) error { rows = append(rows, row...); return nil }))
	total := info.Total
	if more > 0 && more <= 1<<62 {
		total += more
	}
	must(t, w.Replay(replayName, checkpoints.Replay{
		RowBytes: info.RowBytes, Total: total, Capacity: info.Capacity, SegmentRows: info.SegmentRows,
		Append: func(dst []byte, first int64, n int) ([]byte, error) {
			for i := range int64(n) {
				at := int((first + i) % info.Rows())
				dst = append(dst, rows[at*info.RowBytes:][:info.RowBytes]...)
			}
			return dst, nil
		},
	}))
	_, err = w.Commit()
	must(t, err)
	return filepath.Join(filepath.Dir(whole.Dir()), "forged")
}
