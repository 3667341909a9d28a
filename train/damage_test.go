package train

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/checkpoints/durable/durabletest"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

// damaged is a run that was killed when it had logged beyond its last checkpoint, to be damaged, and how it ends
// undamaged.
type damaged struct {
	lab
	base *durabletest.Disk
	text string
	want map[string]string
}

func killedBehindItsCheckpoint(t testing.TB, text string) *damaged {
	t.Helper()
	d := &damaged{lab: newLab(t), text: text, want: finished(t, parse(t, text))}
	o := d.options()
	lines := 0
	o.FS = durabletest.WithHooks(d.disk, durabletest.Hooks{Before: func(op durabletest.Op) error {
		if op.Kind == "write" && filepath.Base(op.Path) == checkpoints.MetricsFile {
			lines++
		}
		if lines < 4 || filepath.Base(op.Path) == checkpoints.MetricsFile {
			return nil
		}
		return errEnd
	}})
	if _, err := Start(context.Background(), parse(t, text), o); !errors.Is(err, errEnd) {
		t.Fatalf("not killed: %v", err)
	}
	if at := d.latest(); at <= 0 || at >= 16 {
		t.Fatalf("killed with the checkpoint of step %d", at)
	}
	d.base = d.disk.Disk
	return d
}

// read returns a file of the run.
func (d *damaged) read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := durable.ReadFile(d.base, filepath.Join(d.dir(), path), 1<<30)
	must.Do(t, err)
	return b
}

// set gives a file other bytes.
func (d *damaged) set(t testing.TB, path string, b []byte) {
	t.Helper()
	must.Do(t, d.disk.Set(filepath.Join(d.dir(), path), b))
}

// anew undoes all damage and all that was done since.
func (d *damaged) anew() { d.disk = memory{d.base.Clone()} }

// verdicts count what became of a file damaged in all ways.
type verdicts struct {
	File     string `json:"file"`
	Bytes    int    `json:"bytes"`
	Flips    int    `json:"flips"`
	Cuts     int    `json:"cuts"`
	Tried    int    `json:"resumes_tried"` // of the flips and cuts; the others were shown to checkpoints.Open alone
	Refused  int    `json:"refused"`
	Harmless int    `json:"harmless"` // accepted, and the run ended with the bytes of an undamaged one
	Silent   int    `json:"silent"`   // accepted, and it did not
	Unnamed  int    `json:"unnamed"`  // refused by an error that doesn't name the file
	// Why says what makes damage to this file harmless.
	Why string `json:"why,omitempty"`
}

// try resumes with what the disk holds and counts the verdict. Refusing changes nothing: behind it the file is put
// back alone.
func (v *verdicts) try(t *testing.T, d *damaged, what string) {
	t.Helper()
	v.Tried++
	_, err := Resume(context.Background(), d.dir(), d.options())
	switch {
	case err == nil:
		got := d.outcome(t)
		d.anew()
		if diff := differs(got, d.want); diff != "" {
			v.Silent++
			t.Errorf("%s: %s: accepted in silence: %s", v.File, what, diff)
			return
		}
		if v.Harmless++; v.Why == "" {
			v.Silent++
			t.Errorf("%s: %s: accepted", v.File, what)
		}
	case !strings.Contains(err.Error(), filepath.Base(v.File)):
		v.Unnamed++
		t.Errorf("%s: %s: the file is not named: %v", v.File, what, err)
	default:
		v.Refused++
	}
}

// open is try for files of a checkpoint, without all that a resume does before and behind.
func (v *verdicts) open(t *testing.T, d *damaged, what, path string) {
	t.Helper()
	_, err := checkpoints.OpenFS(d.disk, filepath.Join(d.dir(), filepath.Dir(path)))
	var r *checkpoints.RefusedError
	if !errors.As(err, &r) || r.File == "" {
		v.Silent++
		t.Errorf("%s: %s: %v", v.File, what, err)
		return
	}
	v.Refused++
}

// damage flips bits of every byte of a file and cuts it to every length, or with a stride some of them, and resumes.
// Files of a checkpoint are opened each time, and the run resumed every some times.
func (v *verdicts) damage(t *testing.T, d *damaged, stride int, everyBit bool, path string) {
	t.Helper()
	raw := d.read(t, path)
	v.Bytes = len(raw)
	d.anew()
	n := 0
	try := func(what string) {
		if n++; filepath.Dir(filepath.Dir(path)) == checkpoints.CheckpointsDir && n%61 != 0 {
			v.open(t, d, what, path)
		} else {
			v.try(t, d, what)
		}
	}
	for i := 0; i < len(raw); i += stride {
		bad := slices.Clone(raw)
		for bit := range 8 {
			if !everyBit && bit != i%8 {
				continue
			}
			bad[i] = raw[i] ^ 1<<bit
			v.Flips++
			d.set(t, path, bad)
			try(fmt.Sprintf("bit %d of byte %d (%q) flipped", bit, i, around(string(raw), i)))
		}
	}
	for n := 0; n < len(raw); n += stride {
		v.Cuts++
		d.set(t, path, raw[:n])
		try(fmt.Sprintf("cut to %d of %d bytes", n, len(raw)))
	}
	d.set(t, path, raw)
	_, err := Resume(context.Background(), d.dir(), d.options())
	must.Do(t, err)
	same(t, v.File+" mended", d.outcome(t), d.want)
}

// Every byte of what a resume reads is flipped, and every file cut to every length, in turn. Resuming is refused with
// a reason that names the file, or the damage is harmless: the run ends with the bytes of an undamaged one, for a
// reason that is known beforehand.
//
// Without -long it is some bytes and lengths.
func TestDamagedRun(t *testing.T) {
	stride := 1
	if !*long {
		stride = 331
	}
	var all []verdicts
	for _, c := range combinations() {
		// One with a continuous action, the history of safe exploration and the simulator's state, one with choices.
		if c.name != "attention on stoker/SimpleSpread-v1" && (!*long || c.name != "safe exploration on stoker/Sizing-v2") {
			continue
		}
		d := killedBehindItsCheckpoint(t, c.brief())
		at := filepath.Base(string(d.read(t, filepath.Join(checkpoints.CheckpointsDir,
			string(checkpoints.Latest)))[:len(checkpoints.StepName(0))]))
		entries, err := d.base.ReadDir(filepath.Join(d.dir(), checkpoints.CheckpointsDir, at))
		must.Do(t, err)
		files := map[string]string{ // by path: why damage can be harmless
			checkpoints.RunFile: "",
			checkpoints.MetricsFile: "lines behind the checkpoint's offset are those of steps that are done again: " +
				"resume cuts them, whole or torn",
			checkpoints.TimingFile: "times are for people; only the end is read, to cut a torn line",
			configFile: "the configuration is the same: white space, quotes, another spelling of a number, a key " +
				"that is cut and has its default, " +
				"or what shapes no result (workers, threads, device)",
			filepath.Join(checkpoints.CheckpointsDir, string(checkpoints.Latest)): "",
			filepath.Join(checkpoints.CheckpointsDir,
				string(checkpoints.Best)): "resume writes it anew from the checkpoint's own record",
		}
		for _, e := range entries {
			files[filepath.Join(checkpoints.CheckpointsDir, at, e.Name())] = ""
		}
		for _, path := range slices.Sorted(maps.Keys(files)) {
			v := verdicts{File: c.name + "/" + path, Why: files[path]}
			// One bit of each byte; all where the text has a meaning beneath its checksum, and of the smaller
			// checkpoint.
			everyBit := c.name == "attention on stoker/SimpleSpread-v1" && (path == configFile || strings.Contains(path, at))
			v.damage(t, d, stride, everyBit, path)
			all = append(all, v)
		}
	}
	claimDamage(t, all)
}

func claimDamage(t *testing.T, all []verdicts) {
	t.Helper()
	keepJSON(t, all)
	var inside, beside verdicts
	for _, v := range all {
		sum := &beside
		if strings.Contains(v.File, "/step-") {
			sum = &inside
		}
		sum.Bytes += v.Bytes
		sum.Flips += v.Flips
		sum.Cuts += v.Cuts
		sum.Tried += v.Tried
		sum.Refused += v.Refused
		sum.Harmless += v.Harmless
		sum.Silent += v.Silent
		sum.Unnamed += v.Unnamed
	}
	for _, c := range []struct {
		what, bound string
		v           verdicts
		holds       bool
	}{
		{"every file of a run's latest checkpoint, every byte flipped and cut to every length",
			"all refused by name, no panic", inside, inside.Harmless == 0},
		{"every other file that resume reads (run.json, config.yaml, metrics.jsonl, timing.jsonl, latest, best), " +
			"every byte flipped and cut to every length",
			"refused by name, or harmless for a reason known beforehand (the final bytes are an undamaged run's)", beside, true},
	} {
		proof.Claim(t, proof.Row{
			Topic: "resume", Claim: c.what, Bound: c.bound,
			Measured: fmt.Sprintf(
				"%d flips and %d cuts in %d bytes (%d resumes): %d refused, %d harmless, %d accepted in silence, %d "+
					"refused without the file's name, 0 panics",
				c.v.Flips,
				c.v.Cuts,
				c.v.Bytes,
				c.v.Tried,
				c.v.Refused,
				c.v.Harmless,
				c.v.Silent,
				c.v.Unnamed,
			),
			Holds: c.holds && c.v.Silent == 0 && c.v.Unnamed == 0,
		})
	}
}

// Files that are gone: without run.json or best nothing is lost but what they tell people; all else is refused by name.
func TestMissingFiles(t *testing.T) {
	d := killedBehindItsCheckpoint(t, combinations()[0].brief())
	for path, needed := range map[string]bool{
		checkpoints.RunFile: false, checkpoints.TimingFile: false, checkpoints.MetricsFile: true, configFile: true,
		filepath.Join(checkpoints.CheckpointsDir, string(checkpoints.Best)):   false,
		filepath.Join(checkpoints.CheckpointsDir, string(checkpoints.Latest)): true,
	} {
		d.disk = memory{d.base.Clone()}
		must.Do(t, d.disk.Remove(filepath.Join(d.dir(), path)))
		_, err := Resume(context.Background(), d.dir(), d.options())
		switch {
		case needed && (err == nil || !strings.Contains(err.Error(), filepath.Base(path))):
			t.Errorf("without %s: %v", path, err)
		case needed:
		case err != nil:
			t.Errorf("without %s: %v", path, err)
		default:
			same(t, "without "+path, d.outcome(t), d.want)
		}
	}
}
