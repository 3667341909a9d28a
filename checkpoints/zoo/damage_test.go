package zoo

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/internal/must"
)

// TestDamaged: a policy with a changed byte, or a cut, missing or additional file, is refused with the file's name.
func TestDamaged(t *testing.T) {
	name := Names()[0]
	for _, d := range []struct {
		what string
		do   func(m fstest.MapFS, file string)
	}{
		{"flipped", func(m fstest.MapFS, file string) { m[file].Data[len(m[file].Data)/2] ^= 1 }},
		{"cut", func(m fstest.MapFS, file string) { m[file].Data = m[file].Data[:len(m[file].Data)-1] }},
		{"missing", func(m fstest.MapFS, file string) { delete(m, file) }},
		{"added", func(m fstest.MapFS, file string) { m[file+".more"] = &fstest.MapFile{Data: []byte("x")} }},
	} {
		for _, file := range files(t, name) {
			m := copied(t, name)
			d.do(m, file)
			_, err := open(m, name)
			var refused *checkpoints.RefusedError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), Prefix+name) {
				t.Errorf("%s %s: %v, want it refused", file, d.what, err)
			}
		}
	}
	if _, err := open(copied(t, name), name); err != nil {
		t.Errorf("undamaged: %v", err)
	}
}

// TestReadOnly: nothing in the zoo can be changed through its file system.
func TestReadOnly(t *testing.T) {
	r := readOnly{shipped}
	at := Prefix + Names()[0]
	_, create := r.Create(at + "/x")
	_, add := r.Append(at + "/x")
	for i, err := range []error{create, add, r.Mkdir(at), r.Rename(at, "x"), r.Link(at, "x"), r.Remove(at),
		r.SyncDir(at)} {
		if !errors.Is(err, errReadOnly) {
			t.Errorf("operation %d: %v, want it refused", i, err)
		}
	}
}

func files(t *testing.T, name string) []string {
	t.Helper()
	entries := must.Get(fs.ReadDir(shipped, path.Join(name, PolicyDir)))(t)
	var out []string
	for _, e := range entries {
		out = append(out, path.Join(name, PolicyDir, e.Name()))
	}
	return out
}

func copied(t *testing.T, name string) fstest.MapFS {
	t.Helper()
	m := fstest.MapFS{}
	for _, f := range files(t, name) {
		b := must.Get(fs.ReadFile(shipped, f))(t)
		m[f] = &fstest.MapFile{Data: slices.Clone(b)}
	}
	return m
}
