package workload

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// The digest of a trace follows from its content: it is the same wherever the files lie and however they are split, and
// another one where a single number differs, or where other functions are selected.
func TestTraceDigest(t *testing.T) {
	digest := func(c Config) string {
		t.Helper()
		d := must.Get(TraceDigest(c))(t)
		return d
	}
	embedded := digest(Default())
	if len(embedded) != 64 {
		t.Fatalf("digest %q, want 64 digits", embedded)
	}
	split, top, drawn := Default(), Default(), Default()
	split.Split, split.Factor = "test", 3
	top.Functions.Top = 5
	drawn.Draw.Traces = []Drawable{{Kind: Azure2019}, {Kind: Poisson}}
	for what, c := range map[string]Config{"a process": {Kind: Poisson}, "users": {Kind: ClosedLoop}} {
		if d := digest(c); d != "" {
			t.Errorf("%s has the digest %q of a trace, want none", what, d)
		}
	}
	if digest(split) != embedded || digest(drawn) != embedded {
		t.Error("another split, factor or process beside it changes the digest of the trace")
	}
	if digest(top) == embedded {
		t.Error("other functions leave the digest of the trace as it was")
	}
	const head = "HashOwner,HashApp,HashFunction,minute_1,minute_2\n"
	in := func(row string) Config {
		dir := t.TempDir()
		must.Do(t, os.WriteFile(filepath.Join(dir, "1_inv.csv"), []byte(head+row), 0o666))
		c := Default()
		c.Path = dir
		return c
	}
	here, there, other := digest(in("a,b,c,1,2\n")), digest(in("a,b,c,1,2\n")), digest(in("a,b,c,1,3\n"))
	if here != there || here == other {
		t.Errorf("digests %s and %s of one trace in two folders, %s of another", here, there, other)
	}
	c := Default()
	c.Path = filepath.Join(t.TempDir(), "none")
	if _, err := TraceDigest(c); err == nil {
		t.Error("a trace that is not there has a digest")
	}
}
