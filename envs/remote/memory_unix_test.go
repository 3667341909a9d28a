//go:build unix

package remote

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// What is no file's descriptor is refused; a file gets the size, and is seen by both.
func TestMemory(t *testing.T) {
	r, w, err := os.Pipe()
	must.Do(t, err)
	defer w.Close()
	for _, name := range []string{"", "x", "1", "-3", strconv.Itoa(1 << 20)} {
		if _, err := Memory(name)(1); err == nil {
			t.Errorf("%q passes", name)
		}
	}
	if _, err := Memory(strconv.Itoa(int(r.Fd())))(1); err == nil {
		t.Error("a pipe passes")
	}
	f := must.Get(os.Create(filepath.Join(t.TempDir(), "memory")))(t)
	defer f.Close()
	m := must.Get(Memory(strconv.Itoa(must.Get(syscall.Dup(int(f.Fd())))(t)))(5000))(t)
	copy(m[4990:], "seen")
	if got := must.Get(os.ReadFile(f.Name()))(t); len(got) != 5000 || string(got[4990:4994]) != "seen" {
		t.Errorf("the file has %d bytes, want what was written", len(got))
	}
}
