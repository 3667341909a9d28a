// Package suitetest is what the tests of all evaluation suites need: [Same] runs a suite with one worker and with
// several and wants the same bytes, [Quick] does so with what stoker suite NAME --quick runs and claims that it is
// quick. It is to package suite what testing/fstest is to io/fs.
//
// Not here: what a suite finds, which its own tests look at.
package suitetest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-rl/stoker/eval/suite"
)

// Same runs a suite, the quick one, with one worker and with so many, and reports an error where they leave other
// bytes. It returns what the first found.
func Same(t *testing.T, s suite.Suite, workers int, seeds ...uint64) *suite.Result {
	t.Helper()
	one, several := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "out")
	res := run(t, s, one, 1, seeds)
	run(t, s, several, workers, seeds)
	if differ, files := differing(t, one, several); differ > 0 || files == 0 {
		t.Errorf("%d workers leave something else than one: %d of %d files differ", workers, differ, files)
	}
	return res
}

func run(t *testing.T, s suite.Suite, dir string, workers int, seeds []uint64) *suite.Result {
	t.Helper()
	res, err := suite.Run(t.Context(), s, suite.Options{Quick: true, Seeds: seeds, Workers: workers}, dir, suite.Made{})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// differing counts the names of files in two folders, and those of them that are not the same in both.
func differing(t *testing.T, one, other string) (differ, files int) {
	t.Helper()
	a, b := contents(t, one), contents(t, other)
	for name, text := range a {
		if other, ok := b[name]; !ok || !bytes.Equal(text, other) {
			differ++
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			differ++
			files++
		}
	}
	return differ, files + len(a)
}

func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, e := range list {
		if out[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
