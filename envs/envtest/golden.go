package envtest

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"

	"github.com/stoker-rl/stoker/envs"
)

// GoldenSteps is the number of steps of a golden trace per seed, and GoldenBlock the number of steps per hash.
const (
	GoldenSteps = 1000
	GoldenBlock = 100
)

// Golden compares an environment with the golden trace in a file: every bit that it emits in 1,000 steps of random
// legal actions under each of the seeds 1, 2 and 3, episode after episode. With update it writes the file instead. Do
// that only if the dynamics were changed on purpose, and then with a new version in the environment's ID.
//
// The file has the first steps of each seed as numbers, so that a difference can be read, and a hash per hundred steps.
func Golden(t TB, file string, update bool, build Build) {
	t.Helper()
	got, err := goldenTrace(build, GoldenSteps)
	if err != nil {
		t.Errorf("golden trace: %v", err)
		return
	}
	if update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Errorf("%v", err)
			return
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Errorf("%v", err)
		}
		return
	}
	compareGolden(t, file, got, GoldenSteps)
}

// GoldenStart compares, of each seed, only the first steps with those in the file, in a fraction of the time; steps is
// a multiple of [GoldenBlock].
func GoldenStart(t TB, file string, steps int, build Build) {
	t.Helper()
	got, err := goldenTrace(build, steps)
	if err != nil {
		t.Errorf("golden trace: %v", err)
		return
	}
	compareGolden(t, file, got, steps)
}

// compareGolden holds a trace of some steps against the file's lines on these steps.
func compareGolden(t TB, file string, got []byte, steps int) {
	t.Helper()
	want, err := os.ReadFile(file)
	if err != nil {
		t.Errorf("golden trace: %v; record it with the test's -update flag", err)
		return
	}
	a, b := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	b = slices.DeleteFunc(b, func(line []byte) bool {
		var seed, to int
		n, _ := fmt.Sscanf(string(line), "seed %d steps to %d", &seed, &to)
		return n == 2 && to > steps
	})
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a) || i >= len(b):
			t.Errorf("%s has %d lines, the trace %d", file, len(b), len(a))
			return
		case !bytes.Equal(a[i], b[i]):
			t.Errorf("%s:%d: the trace differs from here on\nnow %s\nwas %s", file, i+1, a[i], b[i])
			return
		}
	}
}

// plainSteps is the number of steps at the beginning of a seed that the file has as numbers.
const plainSteps = 3

func goldenTrace(build Build, steps int) ([]byte, error) {
	c := &checker{build: build, Options: Options{Steps: GoldenSteps}}
	d, err := c.newDriver()
	if err != nil {
		return nil, err
	}
	var w bytes.Buffer
	fmt.Fprintf(&w, "# %s, %d steps under each seed: observations, rewards, infos. "+
		"Hashes are FNV-1a over all bits of %d steps.\n", d.spec.ID, GoldenSteps, GoldenBlock)
	for seed := uint64(1); seed <= 3; seed++ {
		if err := goldenSeed(&w, d, seed, steps); err != nil {
			return nil, fmt.Errorf("seed %d: %w", seed, err)
		}
	}
	return w.Bytes(), nil
}

func goldenSeed(w *bytes.Buffer, d *driver, seed uint64, steps int) error {
	h := fnv.New64a()
	episode := uint64(0)
	var b []byte
	begin := func() error {
		stream := *d.stream
		if err := d.reset(envs.EpisodeSeed(seed, 0, episode), seed); err != nil {
			return err
		}
		if episode > 0 {
			*d.stream = stream // all episodes of a seed share one stream of actions
		}
		episode++
		b = record(b[:0], d.obs, nil)
		h.Write(b)
		return nil
	}
	if err := begin(); err != nil {
		return err
	}
	fmt.Fprintf(w, "seed %d step 0 sees%s\n", seed, formatObservation(d.obs))
	for n := 1; n <= steps; n++ {
		if d.ended() {
			if err := begin(); err != nil {
				return err
			}
		}
		if err := d.step(); err != nil {
			return err
		}
		b = record(b[:0], d.obs, d.out)
		h.Write(b)
		if n <= plainSteps {
			fmt.Fprintf(w, "seed %d step %d does %v sees%s gets %v info %v\n", seed, n, d.act.Kinds, formatObservation(d.obs),
				d.out.Rewards, d.out.Info)
		}
		if n%GoldenBlock == 0 {
			fmt.Fprintf(w, "seed %d steps to %d, episode %d: %016x\n", seed, n, episode, h.Sum64())
		}
	}
	return nil
}

// formatObservation returns the first numbers of an observation as text.
func formatObservation(o *envs.Observation) string {
	s := ""
	for _, k := range o.Kinds {
		s += fmt.Sprint(" ", k.Values[:min(len(k.Values), 24)])
		if len(k.Values) > 24 {
			s += "…"
		}
		for _, g := range k.Graphs {
			s += fmt.Sprintf(" graph of %d nodes and edges", size(g))
		}
	}
	return s
}
