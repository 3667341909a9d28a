package train

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs/state/statetest"
	"github.com/stoker-rl/stoker/internal/must"
)

// Whatever a configuration says, with the keys of every environment, agent and baseline of the tables: it is refused, or
// written out and read back it is the same and shapes the same results.
func FuzzExperiment(f *testing.F) {
	for _, c := range combinations() {
		f.Add(c.brief(), "train.steps=3")
	}
	for _, name := range configs.Shipped() {
		x := must.Get(configs.Load(name, nil, catalog.Default()))(f)
		text := must.Get(x.YAML())(f)
		f.Add(string(text), "workload.path=a/b")
	}
	f.Fuzz(func(t *testing.T, text, set string) {
		x, err := configs.Parse("fuzz", []byte(text), []string{set}, catalog.Default())
		if err != nil {
			return
		}
		a := must.Get(x.YAML())(t)
		y, err := configs.Parse("dump", a, nil, catalog.Default())
		if err != nil {
			t.Fatalf("accepted, but its dump is not: %v\n%s", err, a)
		}
		before := must.Get(shapeOf(x))(t)
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

// forgeable is a run killed behind a checkpoint that is whole, and a world of its configuration, which loads others.
type forgeable struct {
	*damaged
	name  string // of the learner's form and the environment
	x     *configs.Experiment
	whole *checkpoints.Checkpoint
	world *world
}

func newForgeable(f *testing.F, c combination) *forgeable {
	f.Helper()
	d := killedBehindItsCheckpoint(f, c.brief())
	x, err := readConfig(d.base, d.dir(), catalog.Default())
	must.Do(f, err)
	from, err := checkpoints.Find(d.base, d.dir(), checkpoints.Latest)
	must.Do(f, err)
	whole, err := checkpoints.OpenFS(d.base, from)
	must.Do(f, err)
	w, err := build(x, 0, 0) // once: loading replaces all that an earlier one left
	must.Do(f, err)
	f.Cleanup(w.close)
	return &forgeable{d, c.name, x, whole, w}
}

// part is what a forger replaces in a checkpoint: a file, or the fields of a saved state in it, whose checksum holds
// then. Saved states are the environments' file and the blobs in the learner's.
type part struct {
	*forgeable
	file, blob string
}

// parts are those of a checkpoint, without its replay.
func (r *forgeable) parts(t testing.TB) (all []part) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(r.whole.Files())) {
		if !strings.Contains(name, ".seg-") {
			all = append(all, part{r, name, ""})
		}
	}
	var l learnerState
	must.Do(t, readJSON(r.whole, learnerStateFile, &l))
	for _, name := range slices.Sorted(maps.Keys(l.Blobs)) {
		all = append(all, part{r, learnerStateFile, name})
	}
	return all
}

// isState reports whether the part is the fields of a saved state.
func (p part) isState() bool { return p.file == checkpoints.EnvsFile || p.blob != "" }

// content returns the part, and a function that makes its file with another content.
func (p part) content(t testing.TB) (b []byte, file func([]byte) []byte) {
	t.Helper()
	raw, err := p.whole.Read(p.file)
	must.Do(t, err)
	switch {
	case !p.isState():
		return raw, func(b []byte) []byte { return b }
	case p.blob == "":
		return statetest.Body(raw), func(b []byte) []byte { return statetest.Forge(raw, b) }
	}
	var l learnerState
	must.Do(t, json.Unmarshal(raw, &l))
	blob := l.Blobs[p.blob]
	return statetest.Body(blob), func(b []byte) []byte {
		l.Blobs[p.blob] = statetest.Forge(blob, b)
		raw, err := json.Marshal(l)
		must.Do(t, err)
		return raw
	}
}

// Whatever stands in a checkpoint of any learner whose hashes and checksums agree, as only someone who means it makes
// them: the run is refused or resumed, and a policy is refused or opened; an error is fine, a panic is not.
func FuzzForgedCheckpoint(f *testing.F) {
	var parts []part
	for _, l := range catalog.Default().Learners {
		all := combinations()
		i := slices.IndexFunc(all, func(c combination) bool { return c.row.Name == l.Name })
		if i < 0 {
			f.Fatalf("learner %s has no short run", l.Name)
		}
		parts = append(parts, newForgeable(f, all[i]).parts(f)...)
	}
	for i, p := range parts {
		b, file := p.content(f)
		f.Add(uint(i), b, int64(0))
		p.anew()
		c, err := checkpoints.OpenFS(p.disk, forge(f, p, file(b), 0))
		must.Do(f, err)
		if err := p.run(f, c).load(c); err != nil {
			f.Fatalf("%s with its own %s %s is refused: %v", p.name, p.file, p.blob, err)
		}
	}
	f.Add(uint(0), []byte{}, int64(1)<<62)
	f.Fuzz(func(t *testing.T, which uint, b []byte, more int64) {
		p := parts[which%uint(len(parts))]
		p.anew()
		_, file := p.content(t)
		c, err := checkpoints.OpenFS(p.disk, forge(t, p, file(b), more))
		if err != nil {
			var refused *checkpoints.RefusedError
			if !errors.As(err, &refused) {
				t.Fatal(err)
			}
			return
		}
		if policy, err := ReadPolicy(c); err == nil {
			if a, err := catalog.Default().Learner(policy.Agent); err == nil {
				_, _ = a.Open(policy, p.world.vector.Spec(), p.world.actor)
			}
		}
		r := p.run(t, c)
		if err := r.load(c); err != nil {
			if p.isState() {
				statetest.FieldsRead(t, err)
			}
			return
		}
		r.progress = newProgress(r.opts.Out, false, r.state.Steps, p.x.Train.Steps)
		r.phases = newPhases(r.state.Steps)
		for range 6 {
			if r.step(t.Context()) != nil {
				return
			}
		}
	})
}

// run returns a run that can load a checkpoint and go on from it.
func (r *forgeable) run(t testing.TB, c *checkpoints.Checkpoint) *run {
	t.Helper()
	store, err := checkpoints.OpenStore(r.disk, filepath.Dir(c.Dir()))
	must.Do(t, err)
	return &run{opts: Options{}.filled(), fs: r.disk, dir: r.dir(), world: r.world, store: store}
}

// forge writes a checkpoint anew with b for a part's file, and with more rows said to have gone through its replay,
// where it has one. It returns the folder.
func forge(t testing.TB, p part, b []byte, more int64) string {
	t.Helper()
	whole := p.whole
	s, err := checkpoints.OpenStore(p.disk, filepath.Dir(whole.Dir()))
	must.Do(t, err)
	w, err := s.Create("forged", whole.Header())
	must.Do(t, err)
	for name := range whole.Files() {
		if strings.Contains(name, ".seg-") {
			continue
		}
		data := b
		if name != p.file {
			data, err = whole.Read(name)
			must.Do(t, err)
		}
		must.Do(t, w.Blob(name, data))
	}
	if info, ok := whole.Replay(replayName); ok {
		forgeReplay(t, w, whole, info, more)
	}
	_, err = w.Commit()
	must.Do(t, err)
	return filepath.Join(filepath.Dir(whole.Dir()), "forged")
}

// forgeReplay writes the replay of whole.
func forgeReplay(t testing.TB, w *checkpoints.Writer, whole *checkpoints.Checkpoint, info checkpoints.ReplayInfo,
	more int64) {
	t.Helper()
	var rows []byte
	must.Do(t, whole.ReplayRows(replayName, func(_ int64, row []byte) error { rows = append(rows, row...); return nil }))
	total := info.Total
	if more > 0 && more <= 1<<62 {
		total += more
	}
	must.Do(t, w.Replay(replayName, checkpoints.Replay{
		RowBytes: info.RowBytes, Total: total, Capacity: info.Capacity, SegmentRows: info.SegmentRows,
		Append: func(dst []byte, first int64, n int) ([]byte, error) {
			for i := range int64(n) {
				at := int((first + i) % info.Rows())
				dst = append(dst, rows[at*info.RowBytes:][:info.RowBytes]...)
			}
			return dst, nil
		},
	}))
}
