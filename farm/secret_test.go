package farm_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/farm"
	"github.com/stoker-rl/stoker/internal/must"
)

// A token is refused where others may read it. Its owner's group may, where the owner is another: then it is how this
// process may.
func TestTokenMode(t *testing.T) {
	if runtime.GOOS == "windows" || os.Getuid() != 0 {
		t.Skip("files can't be given to another user")
	}
	path := filepath.Join(t.TempDir(), "token")
	must.Do(t, os.WriteFile(path, []byte(strings.Repeat("0", 64)), 0o600))
	for _, c := range []struct {
		owner int
		mode  fs.FileMode
		ok    bool
	}{{0, 0o600, true}, {0, 0o640, false}, {0, 0o604, false}, {1, 0o440, true}, {1, 0o444, false}, {1, 0o660, false}} {
		must.Do(t, os.Chown(path, c.owner, 0))
		must.Do(t, os.Chmod(path, c.mode)) //nolint:gosec // that is what is tried
		if _, err := farm.Token(path, false); (err == nil) != c.ok {
			t.Errorf("owner %d, mode %04o: error %v", c.owner, c.mode, err)
		}
	}
}
