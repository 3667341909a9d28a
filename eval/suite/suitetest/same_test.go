package suitetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// What is in one folder only, or has other bytes, differs.
func TestDiffering(t *testing.T) {
	one, other := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(one, "same"): "a", filepath.Join(other, "same"): "a",
		filepath.Join(one, "changed"): "a", filepath.Join(other, "changed"): "b",
		filepath.Join(one, "gone"): "", filepath.Join(other, "new"): "",
	} {
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	if differ, files := differing(t, one, other); differ != 3 || files != 4 {
		t.Errorf("%d of %d files differ, want 3 of 4", differ, files)
	}
	if differ, files := differing(t, one, one); differ != 0 || files != 3 {
		t.Errorf("%d of %d files differ from themselves, want none of 3", differ, files)
	}
}
