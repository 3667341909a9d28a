package suite

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// A part is done once for each key, comes back with all its bits, and a failed one is done again.
func TestMemo(t *testing.T) {
	o := &Options{Runs: t.TempDir()}
	type part struct{ X []float64 }
	calls := 0
	do := func() (part, error) {
		calls++
		return part{[]float64{math.Copysign(0, -1), math.Inf(1), 0.1, float64(calls)}}, nil
	}
	for range 3 {
		p, err := Memo(o, "a", do)
		if err != nil || calls != 1 || len(p.X) != 4 || !math.Signbit(p.X[0]) || !math.IsInf(p.X[1], 1) || p.X[3] != 1 {
			t.Fatalf("%v after %d calls, %v", p, calls, err)
		}
	}
	if p, err := Memo(o, "b", do); err != nil || p.X[3] != 2 {
		t.Fatalf("another key: %v, %v", p, err)
	}
	broken := errors.New("broken")
	if _, err := Memo(o, "c", func() (part, error) { return part{}, broken }); !errors.Is(err, broken) {
		t.Fatalf("a failing part: %v", err)
	}
	if p, err := Memo(o, "c", do); err != nil || p.X[3] != 3 {
		t.Fatalf("after it failed: %v, %v", p, err)
	}
	files, err := filepath.Glob(filepath.Join(o.Runs, memoDir, "*"))
	if err != nil || len(files) != 3 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, f := range files {
		must.Do(t, os.WriteFile(f, []byte("damaged"), 0o644))
	}
	if _, err := Memo(o, "a", do); err == nil {
		t.Error("a damaged part was taken")
	}
}
